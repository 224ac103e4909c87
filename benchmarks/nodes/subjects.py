"""The nodes whose messages are timed, each with the relay that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
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
    besides : dict
        What else it publishes for every state, before the answer: topic below its name, and what makes the message.
    inputs : dict
        What it needs besides, sent before every state: topic below its name, and what makes the message.
    results : str
        What the names of its results begin with.
    """

    node: str
    answer: type
    topic: str
    make_state: Callable[[], JointState]
    parameters: dict[str, Any] = field(default_factory=dict)
    make_answer: Callable[[], Any] | None = None
    besides: dict[str, Callable[[], Any]] = field(default_factory=dict)
    inputs: dict[str, Callable[[], Any]] = field(default_factory=dict)
    results: str = ""


def arm_state() -> JointState:
    """A joint state of the arm."""
    names = [f"panda_joint{i}" for i in range(1, 8)]
    return JointState(name=names, position=[0.1 * i for i in range(7)], velocity=[0.2 * i for i in range(7)])


def arm_state_within_limits() -> JointState:
    """One that a controller need not stop for."""
    state = arm_state()
    state.position = [0.1, 0.2, 0.3, -1.5, 0.5, 1.6, 0.7]
    return state


def arm_accelerations() -> JointTrajectory:
    """Accelerations of the arm."""
    point = JointTrajectoryPoint(accelerations=[0.1 * i for i in range(7)])
    return JointTrajectory(joint_names=arm_state().name, points=[point])


def arm_commands() -> Float64MultiArray:
    """Efforts of the arm, as effort controllers take them."""
    layout = MultiArrayLayout(dim=[MultiArrayDimension(label="joints", size=7, stride=7)])
    return Float64MultiArray(layout=layout, data=[0.1 * i for i in range(7)])


def arm_state_with_efforts() -> JointState:
    """One of an arm that rests, and holds itself up."""
    state = arm_state_within_limits()
    state.velocity = [0.0] * 7
    state.effort = [0.0, -30.3, 1.7, 19.0, 0.8, 1.4, 0.0]
    return state


def reading() -> WrenchStamped:
    """What a sensor at the flange reads."""
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.x = "panda_link8", 3.0
    return message


def leg_lengths() -> JointState:
    """Leg lengths of the reference platform in the true pose of the paper, and rates."""
    names = [f"leg_{i}" for i in range(1, 7)]
    lengths = [0.5585583542, 0.6253130024, 0.5274363698, 0.5514569326, 0.4479721341, 0.5199103155]
    return JointState(name=names, position=lengths, velocity=[0.01 * i for i in range(6)])


INVERSE_DYNAMICS = Subject("inverse_dynamics", JointState, "joint_efforts", arm_state, {"robot_description": ARM})
HYBRID_DYNAMICS = Subject(
    "hybrid_dynamics",
    JointTrajectory,
    "joint_accelerations",
    arm_state,
    {"robot_description": ARM},
    arm_accelerations,
    results="hybrid_",
)
COMPUTED_TORQUE = Subject(
    "computed_torque",
    JointState,
    "joint_efforts",
    arm_state_within_limits,
    {"robot_description": ARM, "error_limit": 0.0, "velocity_tolerance": 100.0},
    besides={"commands": arm_commands},
    results="computed_torque_",
)
STEWART_POSE = Subject("stewart_pose", PoseWithCovarianceStamped, "pose", leg_lengths, results="stewart_")
CONTACT = Subject(
    "contact",
    JointState,
    "external_efforts",
    arm_state_with_efforts,
    {"robot_description": ARM, "velocity_noise": 1e-3, "effort_noise": 0.02},
    besides={"contact_wrench": WrenchStamped},
    results="contact_",
)
TOOL_WRENCH = Subject(
    "tool_wrench",
    WrenchStamped,
    "contact_wrench",
    arm_state_within_limits,
    {"robot_description": ARM, "sensor_bias": [0.0] * 6, "tool_mass": 1.0},
    inputs={"wrench": reading},
    results="tool_wrench_",
)
SUBJECTS = {
    subject.node: subject
    for subject in (INVERSE_DYNAMICS, HYBRID_DYNAMICS, COMPUTED_TORQUE, STEWART_POSE, CONTACT, TOOL_WRENCH)
}


def runs(
    benchmark: str, question: str, measure: Callable[[Subject], Any], subjects: Iterable[Subject] = SUBJECTS.values()
) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return what a benchmark measures: by the name of its results their title, and what measures one node."""
    return {f"{s.results}{benchmark}": (f"Node {s.node}: {question}", partial(measure, s)) for s in subjects}
