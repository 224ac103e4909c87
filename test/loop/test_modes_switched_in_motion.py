"""Modes, gains, payload and model that change in motion, in MuJoCo: nothing stops, and no limit is passed."""

import numpy as np
import pytest
from support import arms
from support.control.control_scenarios import Case
from support.cores import make_core, options

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.nodes.computed_torque.options import CONTROL_MODES

LOOPS = ((250.0, 1.5), (500.0, 0.5), (1000.0, 1.0), (2000.0, 0.0))
ARMS = ("panda_arm", "ur5", "xarm7", "kinova")
PATHS = CONTROL_MODES[:1] + CONTROL_MODES[2:4]
SLOW = pytest.mark.slow
#: Of the five modes that may follow each of three, those of every run. First from modes that follow paths, to one that
#: does not and to one that does; then from a guided arm, and from a tool on its way. Each mode follows another one in
#: `test_modes_that_follow_each_other_within_the_way_to_rest`.
QUICK = ((0,), (), (0,)), ((0,), (), (1,))
PAYLOAD = {"payload_mass": 1.0, "payload_center_of_mass": [0.0, 0.0, 0.05]}


def moving(arm, mode, rate, delay, rng, share, **physics):
    """A loop in the middle of a motion that uses some share of the speed limits."""
    q = arm.random_pose(rng, 0.3)
    loop = Case(arm.name, mode, rate, delay).loop(q, physics={"step": 0.25e-3 if rate > 1000.0 else 0.5e-3, **physics})
    loop.run(0.1)
    room = 0.1 * (arm.upper - arm.lower)
    seconds = 1.0
    while True:
        way = np.clip(rng.choice([-1, 1], len(q)) * share * arm.speed * seconds / 1.9, -0.8, 0.8)
        goal = np.clip(q + way, arm.lower + room, arm.upper - room)[None]
        points = JointPoints(np.arange(len(q)), np.array([seconds]), goal, np.zeros_like(goal), np.zeros_like(goal))
        try:
            loop.core.follow(points, loop.stamp)
            break
        except ValueError:  # more than limits of efforts allow
            seconds *= 1.3
    loop.run(rng.uniform(0.2, 0.8) * seconds)
    return loop


def judge(arm, loop, before, seconds=1.5):
    """Nothing stops, no joint is faster than its limit or than before, none leaves its range; it ends at rest."""
    record = loop.run(seconds)
    assert set(record.phase) <= {"following", "holding"}, loop.core.reason
    assert (np.abs(record.qd) / arm.speed).max() <= max(1.0, 1.001 * before)
    assert (np.maximum(record.q - arm.model.limits.upper, arm.model.limits.lower - record.q)).max() <= 0.0
    assert record.speed[-1] < 0.02
    return record


def switches():
    pairs = [(a, b) for a in PATHS for b in CONTROL_MODES if a != b]
    for k, (first, then) in enumerate(pairs):
        rate, delay = LOOPS[(k + k // 4) % 4]
        yield pytest.param(ARMS[k % 4], first, then, rate, delay, k, marks=() if k % 5 in QUICK[0][k // 5] else SLOW)


@pytest.mark.parametrize(("name", "first", "then", "rate", "delay", "seed"), switches())
def test_a_mode_that_changes_in_motion_lets_it_come_to_rest_along_its_path(name, first, then, rate, delay, seed):
    arm, rng = arms.load(name), np.random.default_rng(seed)
    loop = moving(arm, first, rate, delay, rng, rng.uniform(0.3, 0.9))
    last = loop.record(-1)
    loop.core = loop.core.with_options(options(mode=then))
    record = judge(arm, loop, (np.abs(last.qd) / arm.speed).max())
    if then in PATHS:  # else it is measured once the mode has begun
        way = record.desired - record.desired[0]
        along = way[-1] / np.linalg.norm(way[-1])
        assert np.abs(way - np.outer(way @ along, along)).max() < 1e-9  # a straight line, as the motion was one
        assert ((way @ along) >= -1e-12).all() and (np.diff(way @ along) >= -1e-12).all()


@pytest.mark.parametrize("name", [ARMS[0], pytest.param(ARMS[1], marks=SLOW)])
def test_modes_that_follow_each_other_within_the_way_to_rest(name):
    arm, rng = arms.load(name), np.random.default_rng(3)
    loop = moving(arm, "computed_torque", 500.0, 1.0, rng, 0.6)
    before = (np.abs(loop.record(-1).qd) / arm.speed).max()
    for mode in ("impedance", "adaptive", "gravity_compensation", "operational_space", "passivity_based", "impedance"):
        loop.core = loop.core.with_options(options(mode=mode))
        loop.run(0.06)
    judge(arm, loop, before)
    assert loop.core.mode == "impedance"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(a, b, marks=() if k in QUICK[1][j] else SLOW)
        for j, a in enumerate(mode for mode in CONTROL_MODES if mode not in PATHS)
        for k, b in enumerate(mode for mode in CONTROL_MODES if mode != a)
    ],
)
def test_a_robot_that_no_path_moves_comes_to_rest_from_what_it_does(first, then):
    """The tool is on its way, or the arm is guided; it is led on by at most what stopping takes."""
    arm, rng = arms.load("ur5"), np.random.default_rng(len(first + then))
    q = np.array([0.3, -1.2, 1.4, -1.5, -1.3, 0.2])
    qd = 0.4 * rng.uniform(-1, 1, 6) if first == "gravity_compensation" else np.zeros(6)
    loop = Case("ur5", first, 250.0, 1.0).loop(q, qd)
    loop.run(0.1)
    if first != "gravity_compensation":
        loop.core.drive("", np.array([0.0, 0.3, 0.0, 0.1, 0.1, -0.1]))
        loop.run(0.09)
    begun = loop.record(-1)
    loop.core = loop.core.with_options(options(mode=then))
    record = judge(arm, loop, (np.abs(begun.qd) / arm.speed).max())
    assert (np.abs(record.qd).max(axis=0) <= 1.1 * np.abs(begun.qd[0]) + 0.03).all()


@pytest.mark.parametrize(
    ("mode", "change"),  # in every run gains; payload and gravity change under way in test_scenarios, too
    [
        pytest.param(mode, change, marks=() if j == k == 0 else SLOW)
        for j, mode in enumerate(PATHS)
        for k, change in enumerate(
            ({"kp": [400.0], "kd": [40.0], "sliding_rate": [40.0]}, PAYLOAD, {"gravity": [0.0, 0.5, -9.7]})
        )
    ],
)
def test_gains_payload_and_gravity_change_in_motion_and_it_goes_on(mode, change):
    arm, rng = arms.load("panda_arm"), np.random.default_rng(len(mode) + len(change))
    change = {**change, "payload_frame": "panda_link7"} if change is PAYLOAD else change
    physics = {"payload": ("panda_link7", 0.5, (0.0, 0.0, 0.05))} if "payload_mass" in change else {}
    loop = moving(arm, mode, 500.0, 1.0, rng, 0.5, **physics)
    last, goal = loop.record(-1), loop.core.player.pieces[0].position[-1]
    loop.core = loop.core.with_options(options(mode=mode, **change))
    judge(arm, loop, (np.abs(last.qd) / arm.speed).max(), 2.0)
    assert np.abs(loop.record(-1).desired[-1] - goal).max() < 1e-6


@pytest.mark.parametrize(
    "modes",
    [("computed_torque",), pytest.param(("impedance",), marks=SLOW), ("impedance", "computed_torque")],
    ids=str,
)
def test_another_model_of_the_robot_in_motion(modes):
    """In the same mode, in another one, and back right after a change of mode."""
    arm = arms.load("panda_arm")
    loop = moving(arm, "computed_torque", 250.0, 1.0, np.random.default_rng(5), 0.6)
    before = (np.abs(loop.record(-1).qd) / arm.speed).max()
    for mode in modes[:-1]:
        loop.core = loop.core.with_options(options(mode=mode))
    other = make_core(arm.model.with_payload("panda_link7", 0.2, [0, 0, 0.05]), mode=modes[-1])
    other.start()
    other.take_over_from(loop.core)
    loop.core = other
    judge(arm, loop, before)
