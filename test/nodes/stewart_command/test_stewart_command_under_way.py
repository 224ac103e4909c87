"""Targets of stewart_command that come under way, whenever that is: they are reached, and all limits kept."""

import numpy as np
import pytest
from stewart_command_runs import Run, core_of, pose, to

from lie_dynamics_ros.nodes.stewart_command.targets import TwistTarget


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


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
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
