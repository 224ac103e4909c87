"""Modes that control a tool's pose, in MuJoCo: limits of joints, friction, delays, scaled speed."""

import numpy as np
import pytest
from support import arms
from support.control.control_scenarios import PRECISE, REST, Case
from support.cores import make_core

from lie_dynamics_ros.lie_dynamics import JointFriction, frame_pose, jacobian
from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.nodes.computed_torque.tool_options import TOOL_MODES

HOME = np.array([0.3, -0.5, 0.2, -1.9, 0.1, 1.6, 0.5])
STRETCHED = np.array([0.3, 0.4, 0.2, -0.1, 0.1, 1.9, 0.5])
"""The elbow is at its limit, the arm nearly straight."""
ELBOWS = {"panda_arm": (3, -0.1), "ur5": (2, 0.0), "xarm7": (3, 0.0)}
LOOPS = ((250.0, 0.0), (250.0, 1.0), (500.0, 0.0), (500.0, 1.0), (1000.0, 0.0), (1000.0, 1.0))
each_mode = pytest.mark.parametrize("mode", TOOL_MODES)


def aim(loop, name, move):
    """Aim at a pose that is moved (6,) from where the tool is, in the axes of the base."""
    goal = frame_pose(arms.load(name).model, loop.arm.q, loop.core.tool.frame)
    goal[:3, :3] = so3.exp(move[:3]) @ goal[:3, :3]
    goal[:3, 3] += move[3:]
    loop.core.aim("", goal)
    return goal


def judge(loop, name, seconds):
    """Run until all is at rest, or time is over; limits are kept, and nothing stops."""
    arm, first = arms.load(name), len(loop._rows)
    begun = loop.arm.q
    lower, upper = np.minimum(arm.model.limits.lower, begun), np.maximum(arm.model.limits.upper, begun)
    quiet = 0
    while loop.time < seconds and quiet < 100:
        loop.step()
        assert loop.core.phase in ("following", "holding"), loop.core.reason
        quiet = quiet + 1 if loop.core.phase == "holding" and np.abs(loop.arm.qd).max() < REST else 0
    record = loop.record(first)
    assert (np.abs(record.qd) / arm.speed).max() < 1.0
    assert (np.maximum(record.q - upper, lower - record.q)).max() < 0.02
    assert (np.abs(record.effort) / arm.limit).max() <= 1.0 + 1e-9
    return record


@pytest.mark.parametrize(
    ("mode", "move"),
    [
        pytest.param(mode, move, marks=() if i == k == 0 else pytest.mark.slow)
        for i, mode in enumerate(TOOL_MODES)
        for k, move in enumerate(([0, 0, 0, 0.4, 0.1, 0.3], [0.0, 0.9, 0.0, 0.0, 0.0, -0.25]))
    ],
)
def test_beyond_reach_and_limits_the_arm_yields_and_goes_on(mode, move):
    """From an elbow at its limit outwards, and inwards with a turn that a wrist cannot make."""
    loop = Case("panda_arm", mode, 250.0, 1.0).loop(STRETCHED)
    loop.run(0.02)
    home = frame_pose(arms.load("panda_arm").model, STRETCHED, loop.core.tool.frame)
    aim(loop, "panda_arm", np.array(move))
    record = judge(loop, "panda_arm", 3.0)
    assert record.speed[-1] < 0.1
    loop.core.aim("", home)
    judge(loop, "panda_arm", 7.0)
    np.testing.assert_allclose(
        frame_pose(arms.load("panda_arm").model, loop.arm.q, loop.core.tool.frame), home, atol=0.02
    )


def anywhere(name, k):
    """Return the k-th loop, pose and motion of the tool: in reach, or far from it, from anywhere or a straight arm."""
    arm, rng = arms.load(name), np.random.default_rng(k)
    q, frame = arm.random_pose(rng), arm.model.body_names[-1]
    if k % 2:
        joint, straight = ELBOWS[name]
        q[joint] = straight - 0.02 * abs(rng.normal())
    if k // 2 % 2:
        goal = frame_pose(arm.model, arm.random_pose(rng), frame)
        home = frame_pose(arm.model, q, frame)
        move = np.concatenate([so3.log(goal[:3, :3] @ home[:3, :3].T), goal[:3, 3] - home[:3, 3]])
    else:
        move = np.concatenate([0.7 * rng.normal(size=3), rng.uniform(-1.2, 1.2, 3)])
    return LOOPS[k // 4 % len(LOOPS)], q, move


def judge_from(name, mode, k):
    (rate, delay), q, move = anywhere(name, k)
    loop = Case(name, mode, rate, delay).loop(q)
    loop.run(0.02)
    aim(loop, name, move)
    try:
        judge(loop, name, 5.0)
    except AssertionError as error:
        raise AssertionError(f"the {k}-th case, {rate:g} Hz, delay {delay:g}, from {q.tolist()}") from error


TURNED = [
    *((name, TOOL_MODES[0], k) for name, k in (("panda_arm", 36), ("panda_arm", 163), ("ur5", 212), ("ur5", 307))),
    *((name, TOOL_MODES[1], k) for name, k in (("panda_arm", 365), ("xarm7", 315), ("xarm7", 482))),
]



@pytest.mark.slow  # in every run an arm is beyond reach and limits, in the test before
@pytest.mark.parametrize(("name", "mode", "k"), TURNED)
def test_what_cannot_be_reached_turns_the_tool_little(name, mode, k):
    """A posture that pulls on, targets beyond limits and reach: by the metric of the mass it turned half a radian."""
    judge_from(name, mode, k)


@pytest.mark.slow
@each_mode
@pytest.mark.parametrize("name", ELBOWS)
def test_nothing_stops_from_a_thousand_poses(name, mode):
    for k in range(1000):
        judge_from(name, mode, k)


def follow(loop, seconds, settle=0.5):
    """Lead the tool along a curve by pose and twist; return its distances from it after a while [m]."""
    model, away = arms.load("panda_arm").model, []
    home, begun = frame_pose(model, loop.arm.q, loop.core.tool.frame), loop.time
    size, pace = np.array([0.03, 0.05, 0.04]), np.array([2.0, 3.0, 2.5])
    while loop.time < begun + seconds:
        t = loop.time - begun
        part, rise = (min(1.0, t) ** 3, 3.0 * min(1.0, t) ** 2 * (t < 1.0))
        goal, twist = home.copy(), np.zeros(6)
        goal[:3, 3] += part * size * np.sin(pace * t)
        twist[3:] = rise * size * np.sin(pace * t) + part * size * pace * np.cos(pace * t)
        loop.core.drive("", twist, loop.stamp)
        loop.core.aim("", goal, loop.stamp)
        pose = frame_pose(model, loop.arm.q, loop.core.tool.frame)
        loop.step()  # which moves the desired pose to the time of that
        away.append(pose[:3, 3] - loop.core.tool.reference.pose[:3, 3])
    return np.array(away)[round(settle / loop.period) :]


@pytest.mark.slow  # in every run along the motion of joints, in test_friction
@each_mode
def test_friction_is_compensated_along_the_desired_motion(mode):
    arm, dry, errors = arms.load("panda_arm"), np.array([4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0]), []
    for friction in (None, JointFriction(np.full(7, 0.5), dry)):
        case = Case("panda_arm", mode, 250.0, 1.0)
        loop = case.loop(HOME, physics={"friction": dry, "damping": 0.5, "integrator": "implicitfast"})
        loop.core = make_core(arm.model, friction, mode=mode)
        loop.run(0.05)
        errors.append(np.sqrt((follow(loop, 1.5) ** 2).mean()))
    rest = loop.run(1.0).since(loop.time - 0.2)
    assert loop.core.phase == "holding" and rest.ripple() < 0.2  # no chatter
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("mode", [pytest.param(TOOL_MODES[0], marks=pytest.mark.slow), TOOL_MODES[1]])
def test_what_is_desired_is_commanded_for_the_time_at_which_efforts_act(mode):
    """As in the joint modes: errors are less where the delay is known, here 0.3 mm at 250 Hz."""
    found = []
    for told in ({"least_delay": 1.0}, {"delay": 0.0}):
        loop = Case("panda_arm", mode, 250.0, 1.0).loop(HOME, physics=PRECISE, **told)
        loop.run(0.1)
        found.append(np.abs(follow(loop, 1.5)).max())
    assert found[0] < min(4e-4, 0.75 * found[1])


def test_a_scaled_speed_slows_the_way_to_a_target_and_zero_stops_it_smoothly():
    loop = Case("panda_arm", "operational_space", 500.0, 1.0).loop(HOME)
    loop.run(0.05)
    goal = aim(loop, "panda_arm", np.array([0.0, 0.0, 0.0, 0.0, 0.3, -0.15]))
    speeds, reference = {}, loop.core.tool.reference
    for scaling in (1.0, 0.3, 0.0, 1.0):
        loop.core.scale_speed(scaling)
        loop.run(0.8)
        speeds[scaling] = np.linalg.norm(loop.core.tool.reference.twist[3:])
    assert 0.2 * 0.25 < speeds[0.3] < 0.32 * 0.25 and speeds[0.0] < 1e-3
    loop.run(1.0)
    steps = np.abs(np.diff(loop.record().effort, axis=0)) / arms.load("panda_arm").limit
    assert steps.max() < 0.02 and loop.core.phase == "holding"
    np.testing.assert_allclose(loop.core.tool.reference.pose, goal, atol=1e-4)
    assert reference is loop.core.tool.reference
    assert np.linalg.svd(jacobian(arms.load("panda_arm").model, loop.arm.q, loop.core.tool.frame))[1][-1] > 0.01
