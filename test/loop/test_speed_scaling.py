"""Desired motions are led to the time at which efforts act, also while their speed changes and they pause."""

import numpy as np
import pytest
from support import arms
from support.control.control_scenarios import PRECISE, Case, stated_error
from support.cores import sine

SECONDS = 3.0
#: Speed scaling from some times on: slower, standing, back before it stands, and so on.
SPEEDS = {0.4: 0.3, 1.0: 0.0, 1.8: 1.0, 2.2: 0.0, 2.25: 1.0, 2.6: 0.5, 3.4: 0.0, 3.7: 1.0}


class Watched:
    """A controller's core, and the motion that each of its answers commands."""

    def __init__(self, core):
        self.core, self.ahead = core, []

    def __getattr__(self, name):
        return getattr(self.core, name)

    def answer(self, state):
        answer = self.core.answer(state)
        self.ahead.append(np.array(answer.ahead[:3]))
        return answer


def run(case, speeds):
    """Sines of all joints but the last, which goes one way; return the record and what was commanded (k, 3, n)."""
    arm = arms.load(case.arm)
    q = arm.aligned(0)
    loop = case.loop(q, 0.0, PRECISE)
    # What it tells moves what is commanded by up to half a period.
    loop.core.parts.timing.effort_delay.note = lambda *_: False
    loop.core = Watched(loop.core)
    loop.run(0.1)
    points = sine(q, np.append(np.full(len(q) - 1, 0.2), 0.0), 0.5 + 0.05 * np.arange(len(q)), SECONDS)
    s = points.times / SECONDS
    points.position[:, -1] += 0.5 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    points.velocity[:, -1] = 15.0 * s**2 * (1.0 - s) ** 2 / SECONDS
    points.acceleration[:, -1] = 30.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / SECONDS**2
    loop.core.follow(points, loop.stamp)
    first, begun = len(loop._rows), loop.time
    waiting = sorted(speeds.items())
    while loop.core.player.moving or loop.time < begun + 0.1:
        if waiting and loop.time >= begun + waiting[0][0] - 1e-9:
            loop.core.scale_speed(waiting.pop(0)[1])
        loop.step()
        assert loop.time < 20.0
    loop.run(0.2)
    return loop.record(first), np.array(loop.core.ahead[first:]), points.position[-1]


@pytest.mark.parametrize(
    "case",
    [
        Case("panda_arm", "computed_torque", 250.0, 1.0),
        pytest.param(Case("ur5", "passivity_based", 500.0, 1.0), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_what_is_commanded_goes_on_smoothly_to_its_end_at_every_speed(case):
    record, ahead, end = run(case, SPEEDS)
    h = 1.0 / case.rate
    q, qd, qdd = ahead[:, 0], ahead[:, 1], ahead[:, 2]
    assert record.t[-1] - record.t[0] > SECONDS + 1.5 and set(record.phase) == {"following", "holding"}

    jerk = np.abs(np.diff(qdd, axis=0))
    # r^3 q''' + 3 r r' q'' + r'' q' of paths up to 50 rad/s^3, at rates r with r' up to 3.5 /s and r'' to 90 /s^2
    assert jerk.max() < 250.0 * h
    # A change of speed acts from the state before on, and shows as far ahead as is commanded when it is told: by r'' h
    # times that in the rate.
    told = 90.0 * h * record.lead.max() * np.abs(qd).max()
    passed = (h + np.diff(record.lead))[:, None]  # as it is found how late efforts act, what is ahead moves on
    assert (np.abs(np.diff(qd, axis=0) - 0.5 * passed * (qdd[1:] + qdd[:-1])) < 0.25 * h * jerk.max() + told).all()
    assert (np.abs(np.diff(q, axis=0) - 0.5 * passed * (qd[1:] + qd[:-1])) < h * (0.25 * h * jerk.max() + told)).all()

    led = q[:, -1]
    assert (np.diff(led) >= -1e-12).all() and (led <= end[-1] + 1e-12).all()
    assert (led >= record.desired[:, -1] - 1e-12).all()
    np.testing.assert_allclose(q[-1], end, rtol=0, atol=1e-9)
    assert np.abs(record.error).max() < 1.05 * stated_error(case, record) + 2e-6
