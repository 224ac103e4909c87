"""The nodes whose messages are timed, each with the relay that it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"


@dataclass(frozen=True)
class Subject:
    """A node that answers joint states.

    Attributes
    ----------
    node : str
        Its name, which is also that of its module.
    answer : type
        Type of its answers.
    topic : str
        Where they come, below its name.
    make_state : callable
        Makes a joint state that it can answer.
    parameters : dict
        What it is started with.
    make_answer : callable
        Makes a message as large as its answers, for the relay; by default an empty one, for types of fixed size.
    """

    node: str
    answer: type
    topic: str
    make_state: Callable[[], JointState]
    parameters: dict[str, Any] = field(default_factory=dict)
    make_answer: Callable[[], Any] | None = None


def arm_state() -> JointState:
    """A joint state of the arm."""
    names = [f"panda_joint{i}" for i in range(1, 8)]
    return JointState(name=names, position=[0.1 * i for i in range(7)], velocity=[0.2 * i for i in range(7)])


def arm_accelerations() -> JointTrajectory:
    """Accelerations of the arm."""
    point = JointTrajectoryPoint(accelerations=[0.1 * i for i in range(7)])
    return JointTrajectory(joint_names=arm_state().name, points=[point])


def leg_lengths() -> JointState:
    """Leg lengths of the reference platform in the true pose of the paper, and rates."""
    names = [f"leg_{i}" for i in range(1, 7)]
    lengths = [0.5585583542, 0.6253130024, 0.5274363698, 0.5514569326, 0.4479721341, 0.5199103155]
    return JointState(name=names, position=lengths, velocity=[0.01 * i for i in range(6)])


INVERSE_DYNAMICS = Subject("inverse_dynamics", JointState, "joint_efforts", arm_state, {"robot_description": ARM})
HYBRID_DYNAMICS = Subject(
    "hybrid_dynamics", JointTrajectory, "joint_accelerations", arm_state, {"robot_description": ARM}, arm_accelerations
)
COMPUTED_TORQUE = Subject(
    "computed_torque",
    JointState,
    "joint_efforts",
    arm_state,
    {"robot_description": ARM, "error_limit": 0.0, "velocity_tolerance": 100.0},
)
STEWART_POSE = Subject("stewart_pose", PoseWithCovarianceStamped, "pose", leg_lengths)
SUBJECTS = {subject.node: subject for subject in (INVERSE_DYNAMICS, HYBRID_DYNAMICS, COMPUTED_TORQUE, STEWART_POSE)}
