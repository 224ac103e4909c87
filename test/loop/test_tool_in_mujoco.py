"""Modes that control a tool's pose in MuJoCo: stiffness, damping, tracking, null space, singularities."""

import numpy as np
import pytest
from support import arms
from support.control import control_scenarios as scenarios
from support.control.control_scenarios import REST, Case
from support.control.eigenvalue_sweep import GROWTH, RATES, growths
from support.cores import DEFAULTS, options
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics import frame_pose, jacobian
from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.nodes.computed_torque.tool_options import TOOL_MODES

POSES = {
    "panda_arm": [0.3, -0.5, 0.2, -1.9, 0.1, 1.6, 0.5],
    "ur5": [0.3, -1.2, 1.5, -1.0, -1.3, 0.3],
    "xarm7": [0.2, -0.4, 0.2, 1.2, 0.1, 1.3, 0.2],
}
LOOPS = {"panda_arm": (500.0, 1.0), "ur5": (500.0, 0.0), "xarm7": (1000.0, 0.0)}
STIFFNESS = {"rotational_stiffness": [3.0, 4.0, 5.0], "translational_stiffness": [300.0, 400.0, 500.0]}
each_arm = pytest.mark.parametrize("name", POSES)
each_mode = pytest.mark.parametrize("mode", TOOL_MODES)


def begin(name, mode, q=None, rate=None, **values):
    """Return a loop that has run for a moment."""
    usual, delay = LOOPS[name]
    case = Case(name, mode, rate or usual, delay)
    loop = case.loop(np.array(POSES[name] if q is None else q), **values)
    loop.run(0.05)
    return loop


def tool_pose(loop, name):
    return frame_pose(arms.load(name).model, loop.arm.q, loop.core.tool.frame)


def press(loop, name, wrench, seconds, rise=0.3):
    """Apply a wrench at the tool, in the axes of the base, that rises within some time."""
    model, frame, begun = arms.load(name).model, loop.core.tool.frame, loop.time
    while loop.time < begun + seconds:
        part = min(1.0, (loop.time - begun) / rise)
        loop.push = jacobian(model, loop.arm.q, frame, "aligned").T @ (part * wrench)
        loop.step()


def judge_stiffness(name, axes, wrench, seconds, rate=None):
    asked = np.array([*STIFFNESS["rotational_stiffness"], *STIFFNESS["translational_stiffness"]])
    loop = begin(name, "impedance", rate=rate, **STIFFNESS, tool_axes=axes)
    home = tool_pose(loop, name)
    turn = np.kron(np.eye(2), home[:3, :3]) if axes == "tool" else np.eye(6)
    press(loop, name, turn @ wrench, seconds)
    pose = tool_pose(loop, name)
    moved = turn.T @ np.concatenate([so3.log(pose[:3, :3] @ home[:3, :3].T), pose[:3, 3] - home[:3, 3]])
    assert loop.core.phase == "holding" and loop.core.tool.share == 1.0
    pressed = wrench != 0.0
    np.testing.assert_allclose((moved * asked)[pressed], wrench[pressed], rtol=0.03)


PRESSED = np.array([0.03, -0.03, 0.03, 1.0, 1.0, -1.0])


@pytest.mark.parametrize("axes", ["base", "tool"])
def test_the_tool_is_as_stiff_as_asked_along_and_about_all_axes_at_once(axes):
    judge_stiffness("panda_arm", axes, PRESSED, 1.5, 250.0)


@pytest.mark.slow
@each_arm
@pytest.mark.parametrize("axes", ["base", "tool"])
@pytest.mark.parametrize("axis", range(6))
def test_every_tool_is_as_stiff_as_asked_along_and_about_each_axis(name, axes, axis):
    judge_stiffness(name, axes, PRESSED * (np.arange(6) == axis), 4.0)


def test_stiffness_that_the_loop_cannot_carry_is_brought_down_and_told():
    """About the last axis of a light wrist: what is told to be in force is what is measured."""
    loop = Case("xarm7", "impedance", 250.0, 1.0).loop(np.array(POSES["xarm7"]))
    loop.run(0.2)
    core, home = loop.core, tool_pose(loop, "xarm7")
    assert core.tool.share < 0.1
    task = core.tool.torque("impedance", core.tool.reference, loop.arm.q, np.zeros(7), core.gains)
    soft = np.linalg.eigh(task.spring)
    turn = np.kron(np.eye(2), home[:3, :3])
    press(loop, "xarm7", turn @ (0.02 * soft[1][:, 0] / np.abs(soft[1][:3, 0]).max()), 2.0)
    pose = tool_pose(loop, "xarm7")
    moved = turn.T @ np.concatenate([so3.log(pose[:3, :3] @ home[:3, :3].T), pose[:3, 3] - home[:3, 3]])
    direction = soft[1][:, 0]
    force = 0.02 / np.abs(direction[:3]).max()
    assert force / (direction @ moved) == pytest.approx(soft[0][0], rel=0.03)
    assert core.loop().radius < 1.0 and core.loop().rate < core.loop().allowed


@pytest.mark.parametrize("name", ["panda_arm", *(pytest.param(x, marks=pytest.mark.slow) for x in ("ur5", "xarm7"))])
@pytest.mark.parametrize("ratio", [0.5])
def test_the_tool_swings_with_the_damping_ratio_asked_for(name, ratio):
    """A pushed tool is let go: the overshoot in the slowest mode is exp(-pi zeta / sqrt(1 - zeta^2)) of the way."""
    values = {f"{kind}_damping_ratio": [ratio] for kind in ("rotational", "translational")}
    loop = begin(name, "impedance", rate=250.0, **values, rotational_stiffness=[5.0], translational_stiffness=[200.0])
    model, core, q = arms.load(name).model, loop.core, loop.arm.q
    task = core.tool.torque("impedance", core.tool.reference, q, np.zeros(len(q)), core.gains)
    home, (values, vectors) = tool_pose(loop, name), np.linalg.eigh(task.spring)
    root = (vectors * np.sqrt(values)) @ vectors.T
    J = jacobian(model, q, core.tool.frame)
    modes = np.linalg.eigh(root @ J @ np.linalg.solve(arms.physics(name).mass_matrix(q), J.T) @ root)
    way = np.linalg.solve(root, modes[1][:, 2])  # a displacement that swings in the third mode alone
    way *= 0.01 / max(np.abs(way[3:]).max(), 0.3 * np.abs(way[:3]).max())
    turn, rate = np.kron(np.eye(2), home[:3, :3]), np.sqrt(modes[0][2])
    press(loop, name, turn @ task.spring @ way, 12.0 / rate)
    loop.push = None
    measured = []
    for _ in range(round(2.0 * np.pi / rate / loop.period)):
        loop.step()
        pose = tool_pose(loop, name)
        moved = np.concatenate([so3.log(home[:3, :3].T @ pose[:3, :3]), home[:3, :3].T @ (pose[:3, 3] - home[:3, 3])])
        measured.append((way @ task.spring @ moved) / (way @ task.spring @ way))
    expected = np.exp(-np.pi * ratio / np.sqrt(1.0 - ratio**2))
    assert -min(measured) / measured[0] == pytest.approx(expected, abs=0.02)


def target(home, t, size=1.0):
    """A path that swells, and its twist."""

    def pose(t):
        part = size * min(1.0, max(0.0, t)) ** 3
        found = home.copy()
        found[:3, 3] += part * np.array([0.03, 0.04, 0.03]) * np.sin([2.0 * t, 2.5 * t, 3.0 * t])
        found[:3, :3] = so3.exp(0.2 * part * np.sin([2.0 * t, 1.5 * t, t])) @ home[:3, :3]
        return found

    a, b = pose(t - 1e-5), pose(t + 1e-5)
    twist = np.concatenate([so3.log(b[:3, :3] @ a[:3, :3].T), b[:3, 3] - a[:3, 3]]) / 2e-5
    return pose(t), twist


def null_space_rests_within(name, speed):
    """Time in which joints that no direction of the tool takes are at rest [s]; 0 for arms without any.

    What they are off by goes to 0 critically damped, at `posture_rate` r: from a speed v and as much as r times what
    they are off by, they move at v (2 r t + 1) exp(-r t) at most.
    """
    if len(POSES[name]) <= 6:
        return 0.0
    t, rate = np.arange(0.0, 6.0, 1e-3), DEFAULTS["posture_rate"]
    return float(t[np.flatnonzero(speed * (2.0 * rate * t + 1.0) * np.exp(-rate * t) > REST).max(initial=0)])


@pytest.mark.parametrize(
    ("name", "mode", "rate"),
    [
        ("panda_arm", "operational_space", 250.0),
        *(pytest.param(name, mode, None, marks=pytest.mark.slow) for name in POSES for mode in TOOL_MODES),
    ],
)
def test_the_tool_follows_a_target_told_by_pose_and_twist(name, mode, rate):
    loop = begin(name, mode, rate=rate)
    home, begun, worst = tool_pose(loop, name), loop.time, 0.0
    while loop.time < begun + 2.3:
        wanted, twist = target(home, loop.time - begun)
        loop.core.drive("", twist, loop.stamp)
        loop.core.aim("", wanted, loop.stamp)
        pose = tool_pose(loop, name)
        loop.step()
        if loop.time > begun + 1.5:
            worst = max(worst, float(np.abs(pose[:3, 3] - wanted[:3, 3]).max()))
    assert loop.core.phase == "following"
    assert worst < 2e-3
    # Silence: the last target is held, moved on for the time that a twist counts.
    loop.run(max(1.2, null_space_rests_within(name, np.abs(loop.arm.qd).max())))
    assert loop.core.phase == "holding" and np.abs(loop.arm.qd).max() < REST
    np.testing.assert_allclose(tool_pose(loop, name), loop.core.tool.reference.pose, atol=1e-4)
    assert 1e-3 < np.abs(tool_pose(loop, name)[:3, 3] - wanted[:3, 3]).max() < 0.1 * np.abs(twist[3:]).max() + 2e-3


@pytest.mark.slow
@each_mode
@each_arm
def test_a_target_that_jumps_is_no_jump_of_efforts(name, mode):
    loop, arm = begin(name, mode), arms.load(name)
    goal = tool_pose(loop, name)
    goal[:3, 3] += [0.05, 0.1, -0.1]
    goal[:3, :3] = so3.exp([0.0, 0.3, 0.4]) @ goal[:3, :3]
    before = loop.record().effort[-1]
    loop.core.aim("", goal)
    record = loop.run(2.5)
    steps = np.abs(np.diff(np.vstack([before, record.effort]), axis=0)) / arm.limit
    assert steps.max() < 0.05 and set(record.phase.tolist()) == {"following", "holding"}
    np.testing.assert_allclose(tool_pose(loop, name), goal, atol=1e-3)


@pytest.mark.parametrize("mode", every_run(["impedance"], TOOL_MODES))
def test_a_target_near_a_singularity_is_reached(mode):
    """The spring of the null space would hold the tool 6 mm or 24 mrad away."""
    loop = begin("xarm7", mode, rate=250.0)
    goal = tool_pose(loop, "xarm7")
    goal[:3, 3] += [0.05, 0.1, -0.1]
    goal[:3, :3] = so3.exp([0.0, 0.3, 0.4]) @ goal[:3, :3]
    loop.core.aim("", goal)
    loop.run(2.0)
    assert loop.core.tool.damped > 0 and loop.core.phase == "holding"
    np.testing.assert_allclose(tool_pose(loop, "xarm7"), goal, atol=1e-4)


@pytest.mark.slow
@each_mode
def test_the_null_space_goes_to_a_posture_and_does_not_disturb_the_tool(mode):
    posture = np.add(POSES["panda_arm"], [0.4, 0.2, -0.4, 0.1, 0.3, 0.0, 0.0])
    loop = begin("panda_arm", mode)
    home = tool_pose(loop, "panda_arm")
    loop.core = loop.core.with_options(options(mode=mode, posture=posture.tolist()))
    record = loop.run(3.0)
    poses = frame_pose(arms.load("panda_arm").model, record.q, loop.core.tool.frame)
    assert np.abs(record.q[-1] - record.q[0]).max() > 0.05 and np.abs(record.qd[-1]).max() < 5e-3
    assert np.abs(poses - home).max() < 1e-3


def go_and_return(name, mode, move, q, seconds, rate):
    """Lead the tool somewhere and back; return what happened, and how near to a singularity that was."""
    loop, model = begin(name, mode, q, rate), arms.load(name).model
    home = tool_pose(loop, name)
    goal = home.copy()
    goal[:3, 3] += move[3:]
    goal[:3, :3] = so3.exp(move[:3]) @ home[:3, :3]
    for pose in (goal, home):
        loop.core.aim("", pose)
        loop.run(seconds)
    record = loop.record()
    least = min(np.linalg.svd(jacobian(model, x, loop.core.tool.frame))[1][-1] for x in record.q[::20])
    return loop, record, home, least


STRETCHED = ("panda_arm", POSES["panda_arm"], [0.0, 0.0, 0.0, 0.3, 0.0, 0.3])  # out of reach
LINED_UP = ("ur5", [0.3, -1.2, 1.5, -1.0, -0.5, 0.3], [0.0, 0.0, 0.8, 0.3, -0.2, 0.0])  # past axes 4 and 6 in line


@pytest.mark.parametrize(
    ("mode", "name", "q", "move", "rate"),
    [
        # That they are reached and come back from is in every run by `test_tool_limits`, with bounds as tight.
        *(pytest.param(mode, *STRETCHED, 500.0, marks=pytest.mark.slow) for mode in TOOL_MODES),
        *(pytest.param(mode, *LINED_UP, 500.0, marks=pytest.mark.slow) for mode in TOOL_MODES),
    ],
)
def test_singularities_are_passed_with_bounded_efforts_and_speeds(mode, name, q, move, rate):
    arm = arms.load(name)
    loop, record, home, least = go_and_return(name, mode, np.array(move), q, 4.0, rate)
    assert least < 0.01
    assert set(record.phase.tolist()) <= {"following", "holding"}, loop.core.reason
    assert (np.abs(record.effort) / arm.limit).max() < 1.0 and (np.abs(record.qd) / arm.speed).max() < 1.2
    np.testing.assert_allclose(tool_pose(loop, name), home, atol=2e-3)
    assert np.abs(loop.arm.qd).max() < 1e-2


@pytest.mark.slow
@each_mode
@each_arm
def test_pushes_stops_and_changes_of_mode(name, mode, rng):
    case, q, arm = Case(name, mode, *LOOPS[name]), np.array(POSES[name]), arms.load(name)
    found = scenarios.stop(case, q, scenarios.allowed_velocity(arm, q, rng))
    assert found["rest after"] < 1.0 and found["phase"] == "stopped" and found["limits"] < 1.0 + 1e-9, found
    found = scenarios.push(case, q, rng, 0.1)
    within = max(2.0, null_space_rests_within(name, found["fastest"]))
    assert found["rest after"] < within and found["ripple"] < 1.0 and found["limits"] < 1.0 + 1e-9, found
    other = "computed_torque" if mode == "impedance" else "impedance"
    for begins, to in ((Case(name, other, *LOOPS[name]), mode), (case, other)):
        found = scenarios.switch(begins, q, {"mode": to}, wait=0.2)
        assert found["step"] < 0.05 and found["near steps"] < 0.05, (to, found)


@pytest.mark.parametrize(("name", "rate"), every_run([("ur5", RATES[1])], zip(POSES, RATES, strict=True)))
def test_nothing_is_unstable_where_axes_line_up(name, rate, rng):
    found = list(growths(name, 1, rng, TOOL_MODES, [rate]))
    unstable = [(*what, growth) for what, growth in found if growth > GROWTH]
    assert not unstable, f"{len(unstable)} of {len(found)}, such as {unstable[:3]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [*POSES, "panda"])
def test_no_pose_of_a_thousand_is_unstable(name, rng):
    found = list(growths(name, 1000, rng, TOOL_MODES))
    assert not [what for what, growth in found if growth > GROWTH]
