"""Drivers that report joints without end from -pi to pi: all who take joint positions answer as where they do not wrap.

The oracle is the same robot told without wrapping.
"""

import re
from functools import partial

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support import arms

from lie_dynamics_ros import Controller
from lie_dynamics_ros.core.turns import Turns
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.nodes.computed_torque.options import CONTROL_MODES
from lie_dynamics_ros.nodes.contact import node as contact
from lie_dynamics_ros.nodes.contact.core import ContactCore, ContactOptions
from lie_dynamics_ros.nodes.hybrid_dynamics import node as hybrid_dynamics
from lie_dynamics_ros.nodes.hybrid_dynamics.core import HybridDynamicsCore, HybridDynamicsOptions
from lie_dynamics_ros.nodes.inverse_dynamics import node as inverse_dynamics
from lie_dynamics_ros.nodes.inverse_dynamics.core import InverseDynamicsCore, InverseDynamicsOptions
from lie_dynamics_ros.nodes.tool_wrench import node as tool_wrench
from lie_dynamics_ros.nodes.tool_wrench.core import ToolWrenchCore, ToolWrenchOptions
from lie_dynamics_ros.ros.inputs.robot_inputs import RobotInputs

S, PERIOD = 10**9, 0.002
START = {"kinova": [3.1, 3.0, 1.6, 0.3, 2.5, 0.5], "ur5": [0.3, -1.2, 1.4, -0.4, 0.6, 3.1]}
JOINT = {"kinova": 0, "ur5": 5}
"""The joint that is brought over the seam."""
UNWATCHED = {"error_limit": 0.0, "velocity_tolerance": 100.0}


def wrap(x):
    return (x + np.pi) % (2 * np.pi) - np.pi


def text_of(name):
    """The last joint of the UR5 turns without end here, as in descriptions of newer ones."""
    text = arms.load(name).text
    if name != "ur5":
        return text
    text, count = re.subn(r'(<joint name="wrist_3_joint" type=)"revolute"', r'\1"continuous"', text)
    assert count == 1
    return text


class Told:
    """What a driver says of positions."""

    def __init__(self, name, wraps, noise=0.0):
        model = Model.from_urdf(text_of(name), inertia_check="warn")
        self.endless = Turns.of(model, model.joint_names).endless & wraps
        assert model.joint(model.joint_names[JOINT[name]]).kind == "continuous"
        self.noise, self.rng = noise, np.random.default_rng(1)

    def __call__(self, q):
        q = q + self.noise * self.rng.normal(size=len(q))
        return np.where(self.endless, wrap(q), q)


def run(name, told, act, seconds=2.0, start=None, velocity=True, period=2 * PERIOD, **parameters):
    """Let the controller move MuJoCo's arm; return where that ends less where it began, and the outputs."""
    arm, controller = arms.load(name).simulated(), Controller(text_of(name), **parameters)
    begin = np.array(START[name] if start is None else start)
    arm.set(begin, np.zeros(len(begin)))
    outputs = []
    for k in range(round(seconds / period)):
        seen = told(arm.q)
        outputs.append((seen, controller.update(k * period, seen, arm.qd if velocity else None)))
        if k == 5:
            act(controller, seen)
        arm.advance(outputs[-1][1].effort, round(2000.0 * period))
    return arm.q - begin, outputs


def moves(name, to, by="points"):
    """Follow one point, or begin with one where the robot is told to be."""

    def act(controller, seen):
        goal = seen.copy()
        goal[JOINT[name]] = to if by == "points" else seen[JOINT[name]] + to
        points = [goal] if by == "points" else [seen, goal]
        zero = np.zeros((len(points), len(goal)))
        controller.follow([1.6] if by == "points" else [0.0, 1.6], points, zero, zero)

    return act


def turned(name, by):
    return np.where(np.arange(len(START[name])) == JOINT[name], by, 0.0)


GOALS = [
    (True, 3.5, 0.4), (True, 3.5 - 2 * np.pi, 0.4), (False, -3.1, 2 * np.pi - 6.2), (True, -3.1, 2 * np.pi - 6.2),
    (True, 2.6, -0.5), (False, 3.5 + 6 * np.pi, 0.4),
]  # fmt: skip
FOLLOWERS = [("kinova", "passivity_based", True), ("kinova", "adaptive", True), ("ur5", "passivity_based", False)]
slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "mode", "velocity", "wraps", "to", "way"),
    [("kinova", "computed_torque", True, *GOALS[k]) for k in (0, 2, 5)]
    + [slow("kinova", "computed_torque", True, *GOALS[k]) for k in (1, 3, 4)]
    + [(*follower, *GOALS[1 + k % 2]) for k, follower in enumerate(FOLLOWERS) if k]
    + [slow(*FOLLOWERS[0], *GOALS[1])]
    + [slow(*follower, *GOALS[2 - k % 2]) for k, follower in enumerate(FOLLOWERS)],
)
def test_goals_take_the_short_way_over_the_seam(name, mode, wraps, to, way, velocity):
    moved, outputs = run(name, Told(name, wraps), moves(name, to), mode=mode, velocity=velocity)
    assert {output.phase for _, output in outputs} == {"holding", "following"}, outputs[-1][1].reason
    np.testing.assert_allclose(moved, turned(name, way), rtol=0, atol=0.01)
    seen, output = outputs[-1]
    assert np.abs(output.desired_position - seen).max() < 0.02, "desired positions count turns as the driver does"


@pytest.mark.parametrize(
    ("name", "turns"),
    [("ur5", 2), *(slow(*x) for x in (("kinova", -1), ("kinova", 0), ("kinova", 2), ("ur5", -1), ("ur5", 0)))],
)
def test_a_planner_may_count_other_turns_than_the_driver(name, turns):
    def act(controller, seen):
        return moves(name, 0.3, "start")(controller, seen + turned(name, 2 * np.pi * turns))

    moved, outputs = run(name, Told(name, False), act)
    assert outputs[-1][1].phase == "holding"
    np.testing.assert_allclose(moved, turned(name, 0.3), rtol=0, atol=0.01)


@pytest.mark.parametrize(("name", "wraps"), [slow("kinova", True), ("ur5", True), slow("ur5", False)])
def test_a_trajectory_that_winds_is_followed_as_written(name, wraps):
    seconds = {"kinova": 13.0, "ur5": 5.0}[name]  # as quickly as its joint turns
    t = np.linspace(0.0, seconds, 27)
    way, rate = 2.25 * (1.0 - np.cos(np.pi * t / seconds)), 2.25 * np.pi / seconds * np.sin(np.pi * t / seconds)

    def act(controller, seen):
        controller.follow(t, seen + np.outer(way, turned(name, 1.0)), np.outer(rate, turned(name, 1.0)))

    moved, outputs = run(name, Told(name, wraps), act, seconds + 0.5, error_limit=0.3)
    assert outputs[-1][1].phase == "holding", outputs[-1][1].reason
    np.testing.assert_allclose(moved, turned(name, 4.5), rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("name", "mode", "velocity"),
    [("kinova", mode, k % 2 == 0) for k, mode in enumerate(CONTROL_MODES)]
    + [slow("kinova", mode, k % 2 == 1) for k, mode in enumerate(CONTROL_MODES)]
    + [("ur5", "computed_torque", False), slow("ur5", "computed_torque", True)],
)
def test_rest_at_the_seam_stays_rest(name, mode, velocity):
    """By the velocities that a driver tells, or by positions alone."""
    start = np.array(START[name])
    start[JOINT[name]] = np.pi - 2e-4
    moved, outputs = run(
        name, Told(name, True, 2e-4), lambda *_: None, 1.0, start, velocity, mode=mode, velocity_filter_time=0.02
    )
    told = np.array([seen[JOINT[name]] for seen, _ in outputs])
    assert np.abs(np.diff(told)).max() > 6.0, "the driver never wrapped"
    assert outputs[-1][1].phase in ("holding", "following"), outputs[-1][1].reason
    np.testing.assert_allclose(moved, 0.0, rtol=0, atol=0.01)


@pytest.mark.parametrize("mode", CONTROL_MODES)
def test_efforts_are_those_of_a_driver_that_does_not_wrap(mode):
    """Over the seam and back in a motion that is given; a posture of the null space counts turns as it likes, too."""
    efforts = []
    start = np.array(START["kinova"])
    posture = start + turned("kinova", -2 * np.pi)
    for wraps in (True, False):
        told = Told("kinova", wraps)
        controller = Controller(text_of("kinova"), mode=mode, posture=(start if not wraps else posture), **UNWATCHED)
        q = [start + turned("kinova", 0.3 * np.sin(0.04 * k)) for k in range(100)]
        efforts.append([controller.update(k * PERIOD, told(x)).effort for k, x in enumerate(q)])
    scale = np.abs(efforts).max()
    np.testing.assert_allclose(efforts[0], efforts[1], rtol=0, atol=1e-6 * scale)


CORES = {
    "inverse_dynamics": (inverse_dynamics, InverseDynamicsCore, InverseDynamicsOptions, lambda a: a.effort),
    "hybrid_dynamics": (hybrid_dynamics, HybridDynamicsCore, HybridDynamicsOptions, lambda a: a.acceleration),
    "contact": (contact, ContactCore, ContactOptions, lambda a: a.found.torque),
    "tool_wrench": (tool_wrench, ToolWrenchCore, ToolWrenchOptions, lambda a: a.wrench),
}


@pytest.mark.parametrize("node", CORES)
def test_other_nodes_answer_as_to_a_driver_that_does_not_wrap(node):
    module, make, options, numbers = CORES[node]
    model = Model.from_urdf(text_of("kinova"), inertia_check="warn")
    values = {setting.name: setting.default for setting in module.SETTINGS} | {"state_timeout": 0.1}
    if node == "contact":
        values |= {"velocity_noise": 1e-3, "effort_noise": 0.02}
    if node == "tool_wrench":
        values |= {"sensor_bias": [0.0] * 6, "sensor_frame": model.body_names[-1]}
    found, start = [], np.array(START["kinova"])
    for wraps in (True, False):
        told, core, inputs = Told("kinova", wraps), make(model, options.from_values(values)), RobotInputs(model, ())
        core.start()
        inputs.with_effort = core.uses_effort
        rows = []
        for k in range(300):
            q = start + turned("kinova", 0.3 * np.sin(0.01 * k))
            stamp = S + round(k * PERIOD * S)
            message = JointState(name=model.joint_names, position=told(q), effort=np.cos(0.02 * k + np.arange(6.0)))
            if node == "tool_wrench":
                core.read("", np.arange(6.0), stamp)
            answer = core.answer(inputs.read(message, stamp, stamp, 0.0))
            if answer is not None:
                rows.append(np.array(numbers(answer)))
        found.append(rows)
    assert len(found[0]) > 200
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6 * np.abs(found[1]).max())
