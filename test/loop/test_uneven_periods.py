"""Drivers whose periods are long now and then: motions stay stable, and stops come to rest."""

from dataclasses import replace

import numpy as np
import pytest
from support import arms
from support.control.control_loop import ControlLoop
from support.control.control_scenarios import Case
from support.cores import sine

MODES = ("computed_torque", "passivity_based", "adaptive")


class Uneven:
    """A core that is asked at uneven times: a share of the periods is some ticks long, the others one.

    Efforts are held in between, and act one period late where the loop has a delay.
    """

    def __init__(self, core, share, ticks, late, rng):
        self.__dict__.update(core=core, share=share, ticks=ticks, late=late, rng=rng, left=0, last=None, new=None)

    def __getattr__(self, name):
        return getattr(self.core, name)

    def answer(self, state):
        if self.left:
            self.__dict__["left"] -= 1
            return self.last
        before, self.__dict__["new"] = self.new, self.core.answer(state)
        self.__dict__["last"] = before if self.late and before is not None else self.new
        if self.rng.uniform() < self.share:
            self.__dict__["left"] = self.ticks - 1
        return self.last


def judge(case, share, ticks, rng):
    """Follow sines, then stop from full swing; the delay is one of the uneven periods."""
    late, case = case.delay > 0.0, replace(case, delay=0.0)
    arm = arms.load(case.arm)
    q = arm.aligned(0)
    loop: ControlLoop = case.loop(q)
    loop.core = Uneven(loop.core, share, ticks, late, rng)
    loop.run(100 * ticks / case.rate)  # what is uneven is known
    room = np.minimum(q - arm.lower, arm.upper - q)
    swing = np.minimum(0.8 * room, np.where(arm.speed < 0.5, 0.01, 0.3 * np.minimum(1.0, arm.speed / 2.0)))
    loop.core.follow(sine(q, swing, 0.4 + 0.2 * np.linspace(0, 1, len(q)), 3.0), loop.stamp)
    moving = loop.run(1.5)
    told = f"{case}, {share:g} of the periods {ticks} times as long: {loop.core.reason}"
    assert set(moving.phase) <= {"holding", "following"}, told
    assert (moving.speed / arm.speed.max()).max() < 1.0 and np.abs(moving.error).max() < 0.1, told
    loop.core.stop("asked to")
    still = loop.run(2.0).since(loop.time - 0.5)
    assert set(still.phase) == {"stopped"} and still.speed.max() < 1e-3, told


@pytest.mark.parametrize(
    ("case", "share", "ticks"),
    [
        pytest.param(Case("panda_arm", "passivity_based", 500.0, 1.0), 0.25, 8, marks=pytest.mark.slow),
        (Case("ur5", "computed_torque", 500.0, 1.0), 0.1, 8),
    ],
    ids=str,
)
def test_uneven_periods(case, share, ticks, rng):
    judge(case, share, ticks, rng)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.25])
@pytest.mark.parametrize("ticks", [3, 6, 8])
@pytest.mark.parametrize("delay", [0.0, 1.0])
@pytest.mark.parametrize("rate", [500.0, 1000.0])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arm", ["panda_arm", "ur5", "xarm7"])
def test_all_uneven_periods(arm, mode, rate, delay, ticks, share, rng):
    judge(Case(arm, mode, rate, delay), share, ticks, rng)
