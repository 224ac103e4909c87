"""Stops of stewart_command: on the path, not put off, and nothing is followed after one until told to hold."""

import numpy as np
from stewart_command_runs import HOME, LEAD, Run, core_of, pose, to


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
