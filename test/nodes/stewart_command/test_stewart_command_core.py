"""Set points tick by tick: differences of the lengths keep all limits whatever comes when; stops are stops."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.core.errors import ParameterError
from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, reference_platform
from lie_dynamics_ros.nodes.stewart_command.core import StewartCommandCore
from lie_dynamics_ros.nodes.stewart_command.options import StewartCommandOptions
from lie_dynamics_ros.nodes.stewart_command.settings import COMMAND_SETTINGS
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget, TwistTarget

REFERENCE = reference_platform()
PLATFORM = StewartPlatform(
    REFERENCE.base_points, REFERENCE.platform_points, (0.4, 0.7), home_pose=REFERENCE.home_pose
)  # fmt: skip
HOME = PLATFORM.home_pose
LEGS = [f"leg_{k}" for k in range(1, 7)]
DEFAULTS = {setting.name: setting.default for setting in COMMAND_SETTINGS}
LEAD = 0.04


def core_of(**values):
    """A core that holds the home pose."""
    core = StewartCommandCore(StewartCommandOptions.from_values(PLATFORM, {**DEFAULTS, **values}), LEGS)
    assert core.begin(PLATFORM.leg_lengths(HOME), np.zeros(6))
    return core


def pose(shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    made = HOME.copy()
    made[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    made[:3, 3] += shift
    return made


def to(*poses, **kwargs):
    return PathTarget(np.stack(poses), (False,) * len(poses), **kwargs)


class Run:
    """A core that ticks, with what it said."""

    def __init__(self, core, late=0):
        self.core, self.late = core, late
        self.period = 1.0 / core.options.rate
        self.lengths, self.efforts, self.rates, self.poses = [], [], [], []
        self._plans = []

    def ask(self, target):
        plan = self.core.ask(target, LEAD)
        if plan is not None:
            self._plans.append([self.late, plan.make()])

    def tick(self, count=1):
        for _ in range(count):
            waiting = self.core.due()
            if waiting is not None:
                self.ask(waiting)
            points = self.core.step(self.period)
            assert np.array_equal(self.core.pose, points.pose)  # services read it beside the ticks
            for field in points:
                assert np.isfinite(field).all()
            self.lengths.append(points.lengths)
            self.rates.append(points.rates)
            self.efforts.append(points.forces)
            self.poses.append(points.pose)
            for entry in self._plans:
                entry[0] -= 1
            for entry in [x for x in self._plans if x[0] < 0]:
                self._plans.remove(entry)
                self.core.take(entry[1])

    def until_rest(self, most=5000):
        for _ in range(most):
            self.tick()
            idle = not self._plans and not self.core.waits and self.core.phase not in ("following", "stopping")
            if idle and not self.rates[-1].any():
                return
        raise AssertionError(f"no rest: {self.core.phase}, {self.core.reason}, {self.core.refusal}")

    def check(self):
        """Differences of lengths are means of rates and accelerations: they keep the same limits."""
        values, lengths = self.core.options, np.array(self.lengths)
        limits = values.limits
        assert (lengths >= limits.stroke[:, 0]).all() and (lengths <= limits.stroke[:, 1]).all()
        rates = np.diff(lengths, axis=0) / self.period
        assert np.abs(rates).max() <= limits.rate[0] * (1.0 + 1e-9)
        accelerations = np.diff(rates, axis=0) / self.period
        assert np.abs(accelerations).max() <= limits.acceleration[0] * (1.0 + 1e-6)
        assert np.abs(np.array(self.rates)).max() <= limits.rate[0]


def test_goes_to_a_pose_and_holds_it():
    run = Run(core_of())
    run.tick(5)
    assert run.core.phase == "holding"
    goal = pose([0.03, -0.02, 0.04], [0.1, 0.05, -0.1])
    run.ask(to(goal))
    run.until_rest()
    run.tick(10)
    assert np.abs(run.core.pose - goal).max() < 1e-12
    assert np.abs(run.lengths[-1] - PLATFORM.leg_lengths(goal)).max() < 1e-12
    assert (run.core.phase, run.core.refusal) == ("holding", "")
    run.check()


def test_other_targets_under_way_are_taken_on_without_a_stop():
    run = Run(core_of(), late=5)
    run.ask(to(pose([0.08, 0.0, 0.0])))
    run.tick(80)
    assert np.abs(run.rates[-1]).max() > 0.05
    begin = len(run.rates)
    goal = pose([0.05, 0.06, 0.02])
    run.ask(to(goal))
    run.until_rest()
    assert np.abs(run.core.pose - goal).max() < 1e-12
    turn = np.abs(np.array(run.rates[begin : begin + 100])).max(axis=1)
    assert turn.min() > 0.01
    run.check()


def test_a_path_under_way_begins_after_a_stop_and_plans_that_come_late_are_made_again():
    for late in (0, 5, 40):
        run = Run(core_of(), late=late)
        run.ask(to(pose([0.06, 0.0, 0.0])))
        run.tick(late + 60)
        last = pose([0.0, 0.04, 0.03])
        run.ask(to(pose([0.0, 0.04, 0.0]), last))
        run.until_rest()
        assert np.abs(run.core.pose - last).max() < 1e-12, late
        run.check()


def test_a_twist_is_followed_while_it_counts():
    run = Run(core_of(twist_timeout=0.2))
    twist = np.array([0.0, 0.0, 0.1, 0.05, 0.0, 0.0])
    for _ in range(10):
        run.ask(TwistTarget(twist, "base"))
        run.tick(25)
    expected = PLATFORM.leg_rates(run.core.pose, twist, "aligned")
    assert np.abs(run.rates[-1] - expected).max() < 2e-3
    run.until_rest()
    run.check()
    assert run.core.phase == "holding"


@pytest.mark.parametrize("seed", range(2))
def test_limits_are_kept_whatever_comes_when(seed):
    rng = np.random.default_rng(seed)
    run = Run(core_of(max_force=400.0, mass=30.0, max_condition=30.0, rate=250.0), late=3)
    for _ in range(16):
        kind = rng.integers(5)
        if kind == 0:
            run.ask(to(pose(rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.5, 0.5, 3))))
        elif kind == 1:
            points = [pose(rng.uniform(-0.05, 0.05, 3), rng.uniform(-0.2, 0.2, 3)) for _ in range(3)]
            run.ask(to(*points, shape="smooth"))
        elif kind == 2:
            points = [pose(rng.uniform(-0.05, 0.05, 3), rng.uniform(-0.2, 0.2, 3)) for _ in range(3)]
            run.ask(to(*points, times=np.array([0.3, 0.6, 1.2])))
        elif kind == 3:
            run.ask(TwistTarget(rng.uniform(-0.3, 0.3, 6), rng.choice(["base", "work", "tool"])))
        else:
            run.core.hold()
        run.tick(rng.integers(1, 120))
    run.until_rest()
    run.check()
    assert np.abs(np.array(run.efforts)).max() <= 400.0
    assert np.ptp(np.array(run.lengths), axis=0).max() > 0.01


def test_a_twist_into_a_limit_ends_before_it():
    run = Run(core_of())
    for _ in range(30):
        run.ask(TwistTarget(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.2]), "base"))
        run.tick(40)
    run.until_rest()
    run.check()
    gap = 0.7 - np.max(run.lengths)
    assert 0.0 <= gap < 2e-3
    assert "limit" in run.core.refusal


def test_stops_follow_nothing_until_told_to_hold():
    run = Run(core_of())
    run.ask(to(pose([0.08, 0.0, 0.0])))
    run.tick(80)
    run.core.stop("leg lengths are 0.3 s old")
    assert run.core.phase == "stopping"
    run.until_rest()
    assert run.core.phase == "stopped" and "0.3 s old" in run.core.reason
    run.ask(to(HOME))
    run.tick(50)
    assert "hold" in run.core.refusal
    assert not run.rates[-1].any()
    run.core.hold()
    run.ask(to(HOME))
    run.until_rest()
    assert np.abs(run.core.pose - HOME).max() < 1e-12
    run.check()


def test_holding_again_and_again_does_not_put_the_stop_off():
    run = Run(core_of())
    run.ask(to(pose([0.08, 0.0, 0.0])))
    run.tick(80)
    for _ in range(40):
        run.core.hold()
        run.tick(5)
    assert not run.rates[-1].any()
    run.check()


def test_hold_forgets_what_is_being_planned():
    run = Run(core_of())
    for moving in (False, True):
        if moving:
            run.ask(to(pose([0.08, 0.0, 0.0])))
            run.tick(60)
        plan = run.core.ask(to(pose([0.0, 0.05, 0.0])), LEAD).make()
        run.core.hold()
        run.core.take(plan)
        run.until_rest()
        run.tick(20)
        assert (run.core.phase, run.core.waits) == ("holding", False)
        assert abs(run.core.pose[1, 3]) < 1e-12
    run.check()


def test_targets_at_any_time_of_a_motion_are_reached():
    """As it begins, before it ends, and as it ends."""
    duration = None
    for before in (None, 1, 2, 5, 19, 20, 21, 40):
        run = Run(core_of(), late=2)
        run.ask(to(pose([0.03, 0.0, 0.0])))
        if before is None:
            run.until_rest()
            duration = len(run.lengths)
            continue
        run.tick(duration - before)
        goal = pose([0.0, 0.02, 0.0])
        run.ask(to(goal))
        run.until_rest()
        assert np.abs(run.core.pose - goal).max() < 1e-12, before
        run.check()


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e3, 1e6])
def test_twists_of_any_size_keep_limits_and_directions(size):
    run = Run(core_of(tool_pose=[0.1, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0]))
    twist = size * np.array([0.0, 0.0, 1.0, 0.2, 0.0, 0.0])
    for _ in range(8):
        run.ask(TwistTarget(twist, "tool"))
        run.tick(20)
    moved = run.core.pose
    run.until_rest()
    run.check()
    turn = np.arctan2(moved[1, 0], moved[0, 0])
    assert turn > 0.02 if size >= 1.0 else abs(turn) < 1e-8
    assert np.abs(moved[2, :2]).max() < 1e-9


@pytest.mark.parametrize("ticks", [(1.6, 0.4), (2.6, 0.4), (0.3, 0.3, 2.4)])
def test_late_ticks_make_no_motion_faster_or_slower(ticks):
    run = Run(core_of())
    run.ask(to(pose([0.05, 0.0, 0.0])))
    run.tick(2)
    motion, begin, sent, passed = run.core._motion, run.core._tick, [], 0.0
    while run.core._motion is motion:
        for part in ticks:
            passed += part
            sent.append((passed + begin, run.core.step(part * run.period).lengths))
    ticked, found = (np.array(x) for x in zip(*sent[:-5], strict=True))
    behind, ahead = (motion.at((ticked + x) * run.period).lengths for x in (-1.0, 1.0))
    assert (found >= np.minimum(behind, ahead) - 1e-9).all() and (found <= np.maximum(behind, ahead) + 1e-9).all()
    assert abs((passed + begin) * run.period - motion.duration) < 4.0 * run.period


def test_legs_that_stay_behind_stop_the_platform():
    run = Run(core_of(following_tolerance=0.01))
    run.ask(to(pose([0.0, 0.0, 0.08])))
    run.tick(50)
    run.core.watch(run.lengths[-1] + 0.009)
    assert run.core.phase == "following"
    run.core.watch(run.lengths[-1] - [0.0, 0.0, 0.02, 0.0, 0.0, 0.0])
    assert run.core.phase == "stopping"
    assert "leg_3 is 0.02 m off" in run.core.reason
    nan = Run(core_of())
    nan.tick()
    nan.core.watch(np.full(6, np.nan))
    assert nan.core.phase == "stopped"


def test_targets_that_cannot_be_are_refused_with_leg_and_place():
    run = Run(core_of())
    run.ask(to(pose([0.0, 0.0, 0.3])))
    run.tick(5)
    assert "leg 1" in run.core.refusal or "leg 2" in run.core.refusal
    assert run.core.phase == "holding"
    run.ask(to(HOME))
    run.tick(2)
    assert (run.core.refusal, run.core.phase) == ("", "holding")


def test_targets_that_fail_in_any_way_are_refused():
    class Odd:
        word = "a path"

        def motion(self, ways, state):
            raise np.linalg.LinAlgError("no convergence")

    run = Run(core_of())
    run.ask(Odd())
    run.tick(3)
    assert (run.core.refusal, run.core.phase) == ("a path refused: LinAlgError: no convergence", "holding")


def test_displacements_are_those_of_the_tool_where_it_stands():
    tool = [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0]
    run = Run(core_of(tool_pose=tool))
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_rotvec([0.1, 0.0, 0.0]).as_matrix()
    run.ask(PathTarget(turn[None], (True,)))
    run.until_rest()
    point = np.array([0.0, 0.0, 0.3, 1.0])
    assert np.abs(run.core.pose @ point - HOME @ point).max() < 1e-12
    assert np.abs(run.core.pose[:3, :3] - turn[:3, :3]).max() < 1e-12


def test_begins_where_the_legs_are_found_at_rest():
    core = StewartCommandCore(StewartCommandOptions.from_values(PLATFORM, DEFAULTS), LEGS)
    there = pose([0.02, 0.01, -0.03], [0.05, 0.1, 0.0])
    lengths = PLATFORM.leg_lengths(there)
    bad = [
        (lengths, np.full(6, 0.1), "moves"),
        (lengths * np.nan, None, "positive"),
        (-lengths, None, "positive"),
        (lengths + 0.3 * np.eye(6)[1], None, "leg_2"),
        (np.array([0.41, 0.69, 0.41, 0.69, 0.41, 0.69]), None, "pose"),
    ]
    for wrong, rates, word in bad:
        assert not core.begin(wrong, rates)
        assert word in core.reason
        assert core.ask(to(HOME), LEAD) is None
        assert core.refusal
    assert core.begin(lengths, np.zeros(6))
    points = core.step(0.002)
    assert np.abs(points.lengths - lengths).max() < 1e-9
    assert np.abs(core.pose - there).max() < 1e-9


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"stroke_reserve": 0.2}, "stroke_reserve"),
        ({"inertia": [1.0, 2.0]}, "inertia"),
        ({"mass": 5.0, "inertia": [1.0, 0.0, 0.0, 1.0, 0.0, 9.0]}, "inertia"),
        ({"work_pose": [1.0, 2.0]}, "work_pose"),
        ({"tool_pose": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]}, "tool_pose"),
        ({"center_of_mass": [0.0]}, "center_of_mass"),
        ({"gravity": [0.0] * 4}, "gravity"),
    ],
)
def test_options_that_make_no_sense_are_refused(values, word):
    with pytest.raises(ParameterError, match=word):
        StewartCommandOptions.from_values(PLATFORM, {**DEFAULTS, **values})
