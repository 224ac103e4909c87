"""The nodes that answer joint states, as the tests that all of them must pass see them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from node_harness import Bench
from node_platforms import LEGS, TRUE, as_numbers, jacobian, lengths
from node_robots import ARM, ARM_JOINTS, oracle
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

AT_REST = {"velocity_source": "measured"}
"""Velocities that are absent are zero, wherever the robot was before."""
SPECIAL = (0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 1e160)


@dataclass(frozen=True)
class Case:
    """A node that answers joint states.

    Attributes
    ----------
    module : str
        Of the node; also its name.
    parameters : dict
        What it is started with.
    answer, topic : type, str
        Its answers, and where they come below its name.
    names, position : tuple of str, ndarray
        A state that it can answer, at rest.
    numbers : callable
        Returns the numbers of an answer.
    expected : callable
        Returns what they should be for that state; None where that depends on what came before.
    noise : callable
        Given a bench, the node's name and a random generator, returns functions that send rubbish to its other inputs.
    forgives : tuple of str
        Unusable states, by the names that tests give them, that this node can use all the same.
    effort : tuple of float
        Efforts in that state; none where the node needs none.
    single : bool
        Whether it answers each state by itself; else only those that follow others, in windows.
    reading : callable
        Makes what a sensor tells the node before each state; None where it needs none.
    """

    module: str
    parameters: dict[str, Any]
    answer: type
    topic: str
    names: tuple[str, ...]
    position: np.ndarray
    numbers: Callable[[Any], Any]
    expected: Callable[[], np.ndarray | None]
    noise: Callable[[Bench, str, np.random.Generator], list[Callable[[], None]]] = field(default=lambda *_: [])
    forgives: tuple[str, ...] = ()
    effort: tuple[float, ...] = ()
    single: bool = True
    reading: Callable[[], WrenchStamped] | None = None

    def start(self, bench: Bench, name: str | None = None, **parameters: Any) -> tuple[str, list[Any]]:
        """Start the node; returns its name and the list that its answers go to."""
        node = bench.start(self.module, name, **{**self.parameters, **parameters})
        return node, self.attach(bench, node)

    def attach(self, bench: Bench, node: str) -> list[Any]:
        """Let a bench send what a node needs besides states; returns the list that its answers go to."""
        if self.reading is not None:
            bench.readings = bench.publisher(WrenchStamped, f"{node}/wrench", heard=False)
        return bench.listen(self.answer, f"{node}/{self.topic}")

    def state(self, bench: Bench, stamp: int | None = None) -> JointState:
        """The state that can be answered."""
        return self.message(bench, self.names, self.position, (), stamp)

    def message(self, bench: Bench, *state: Any) -> JointState:
        """A state of these names, positions and velocities, with the efforts of the other, and a reading before it."""
        if self.reading is not None:
            bench.readings.publish(self.reading())
        message = bench.make_state(*state)
        message.effort = list(self.effort[: len(message.name)])
        return message

    def check(self, answer: Any) -> None:
        """Check the answer to that state."""
        expected = self.expected()
        if expected is not None:
            np.testing.assert_allclose(self.numbers(answer), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def rubbish(rng: np.random.Generator, size: int) -> list[float]:
    """Numbers, some of them none."""
    values = rng.normal(size=size)
    if size and rng.random() < 0.4:
        values[rng.integers(size)] = rng.choice(SPECIAL)
    return values.tolist()


def some_names(rng: np.random.Generator, names: tuple[str, ...]) -> list[str]:
    """Names as broken drivers send them."""
    names = [*names, "finger", "ünïcode", "", "x" * 300]
    names = [names[i] for i in rng.permutation(len(names))]
    return list(rng.choice(names, size=rng.integers(0, 15))) if rng.random() < 0.3 else names


def some_size(rng: np.random.Generator, size: int) -> int:
    return size if rng.random() < 0.8 else int(rng.integers(0, 12))


def random_state(rng: np.random.Generator, case: Case) -> tuple[list[str], list[float], list[float], list[float]]:
    """A joint state as broken drivers send it."""
    names = some_names(rng, case.names)
    return (names, *(rubbish(rng, some_size(rng, len(names))) for _ in range(3)))


def _arm_noise(bench: Bench, node: str, rng: np.random.Generator) -> list[Callable[[], None]]:
    # Not every node takes all of them.
    points, trajectories, wrenches = (
        bench.publisher(type_, f"{node}/{topic}", heard=False)
        for type_, topic in (
            (JointTrajectoryPoint, "joint_trajectory_point"),
            (JointTrajectory, "joint_trajectory"),
            (WrenchStamped, "external_wrench"),
        )
    )

    def point(size: int) -> JointTrajectoryPoint:
        return JointTrajectoryPoint(
            accelerations=rubbish(rng, some_size(rng, size)), effort=rubbish(rng, some_size(rng, size))
        )

    def send_trajectory() -> None:
        names = some_names(rng, ARM_JOINTS)
        many = [point(len(names)) for _ in range(rng.integers(0, 3))]
        trajectories.publish(JointTrajectory(joint_names=names, points=many))

    def send_wrench() -> None:
        message = WrenchStamped()
        message.header.frame_id = str(rng.choice(["panda_link8", "panda_link0", "nowhere", "", "panda_link4"]))
        message.wrench.force.x, message.wrench.torque.z = rubbish(rng, 2)
        wrenches.publish(message)

    return [lambda: points.publish(point(7)), send_trajectory, send_wrench]


def _hybrid_noise(bench: Bench, node: str, rng: np.random.Generator) -> list[Callable[[], None]]:
    senders = _arm_noise(bench, node, rng)
    try:
        from lie_dynamics_interfaces.msg import HybridCommand
    except ImportError:
        return senders
    commands = bench.publisher(HybridCommand, f"{node}/command")

    def send_command() -> None:
        names = some_names(rng, ARM_JOINTS)
        prescribed = (rng.random(some_size(rng, len(names))) < 0.5).tolist()
        values = rubbish(rng, some_size(rng, len(names)))
        commands.publish(HybridCommand(joint_names=names, prescribed=prescribed, input=values))

    return [*senders, send_command]


def _sensor_noise(bench: Bench, node: str, rng: np.random.Generator) -> list[Callable[[], None]]:
    def send_reading() -> None:
        message = reading()
        message.header.frame_id = str(rng.choice(["panda_link8", "panda_link0", "nowhere", ""]))
        message.wrench.force.x, message.wrench.torque.z = rubbish(rng, 2)
        bench.readings.publish(message)

    return [*_arm_noise(bench, node, rng), send_reading]


def reading() -> WrenchStamped:
    """What a sensor at the flange reads."""
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.x = "panda_link8", 3.0
    return message


def _force(answer: WrenchStamped) -> list[float]:
    return [getattr(answer.wrench.force, axis) for axis in "xyz"]


ARM_POSITION = np.linspace(-0.5, 0.5, 7)


def _falling() -> np.ndarray:
    """Accelerations of the arm under its weight alone, by another library."""
    pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")
    model = pin.buildModelFromXML(ARM)
    return np.array(pin.aba(model, model.createData(), ARM_POSITION, np.zeros(7), np.zeros(7)))


def _pose_numbers(answer: Any) -> list[float]:
    """Position, quaternion and covariance."""
    pose = answer.pose.pose
    place = [getattr(pose.position, c) for c in "xyz"] + [getattr(pose.orientation, c) for c in "xyzw"]
    return [*place, *answer.pose.covariance]


def _true_pose() -> np.ndarray:
    inverse = np.linalg.inv(jacobian(TRUE))
    return np.array([*as_numbers(TRUE), *(1e-10 * inverse @ inverse.T).ravel()])


def _holding(module: str, noise: Callable[..., Any] = _arm_noise, **parameters: Any) -> Case:
    """A node whose efforts hold up the arm."""
    return Case(
        module=module,
        parameters={"robot_description": ARM, **AT_REST, **parameters},
        answer=JointState,
        topic="joint_efforts",
        names=ARM_JOINTS,
        position=ARM_POSITION,
        numbers=lambda answer: answer.effort,
        expected=lambda: oracle(ARM, ARM_POSITION),
        noise=noise,
    )


CASES = (
    _holding("closed_loop", _hybrid_noise),  # without loops it is a tree
    _holding("inverse_dynamics"),
    # Without a spring and stops, a robot at rest is told what holds it up, wherever it was before.
    _holding(
        "computed_torque", kp=[0.0], kd=[0.0], error_limit=0.0, velocity_tolerance=100.0, blend_time=0.0
    ),
    Case(
        module="contact",
        parameters={"robot_description": ARM, **AT_REST, "velocity_noise": 1e-3, "effort_noise": 0.02},
        answer=JointState,
        topic="external_efforts",
        names=ARM_JOINTS,
        position=ARM_POSITION,
        numbers=lambda answer: answer.effort,
        expected=lambda: None,  # means of what came before, too
        noise=_arm_noise,
        effort=tuple(oracle(ARM, ARM_POSITION)),
        single=False,
    ),
    Case(
        module="tool_wrench",
        parameters={"robot_description": ARM, **AT_REST, "sensor_bias": [0.0] * 6},
        answer=WrenchStamped,
        topic="contact_wrench",
        names=ARM_JOINTS,
        position=ARM_POSITION,
        numbers=_force,
        expected=lambda: np.array([3.0, 0.0, 0.0]),
        noise=_sensor_noise,
        reading=reading,
    ),
    Case(
        module="hybrid_dynamics",
        parameters={"robot_description": ARM, **AT_REST},
        answer=JointTrajectory,
        topic="joint_accelerations",
        names=ARM_JOINTS,
        position=ARM_POSITION,
        numbers=lambda answer: answer.points[0].accelerations,
        expected=_falling,
        noise=_hybrid_noise,
    ),
    Case(
        module="stewart_pose",
        parameters={},
        answer=PoseWithCovarianceStamped,
        topic="pose",
        names=LEGS,
        position=lengths(TRUE),
        numbers=_pose_numbers,
        expected=_true_pose,
        forgives=("infinite velocity", "overflow"),  # the pose is right; there is no twist
    ),
)
FEW = ("computed_torque", "stewart_pose")
"""Nodes of every run where all answer by the same lines: that which keeps most from state to state, and legs."""
each_of_few = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case.module in FEW else pytest.mark.slow) for case in CASES],
    ids=lambda case: case.module,
    indirect=True,
    scope="module",
)
"""Instead of all nodes those few, the others with -m slow; for tests with a fixture ``case`` of all of them."""
