"""States that no motion explains: lone ones are refused, whatever else drivers do is not."""

import numpy as np
import pytest
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics.control.plausibility import FIRST, IN_A_ROW, StateCheck

FASTEST = np.array([2.0, 3.0, 1.0])
NONE = np.zeros(3, dtype=bool)
CASES = [(rate, measured) for rate in (100, 250, 500, 1000) for measured in (False, True)]
each = pytest.mark.parametrize(("rate", "measured"), CASES)


class Driver:
    """Smooth motions that use the speed limits, as a driver tells of them."""

    def __init__(self, rate, measured, bits=0, noise=0.0, turns=NONE, rng=None):
        self.check, self.rate, self.measured = StateCheck(FASTEST, turns), rate, measured
        self.step = 2 * np.pi / 2**bits if bits else 0.0
        self.noise, self.rng, self.k = noise, rng, 0

    def truth(self):
        t, w = self.k / self.rate, np.array([2.0, 3.0, 4.0])
        return FASTEST / w * np.sin(w * t), FASTEST * np.cos(w * t)

    def tell(self, q, qd):
        """Whether a state is refused, and why."""
        if self.step:
            q = self.step * np.round(q / self.step)
        if self.noise:
            q, qd = q + 0.01 * self.noise * self.rng.normal(size=3), qd + self.noise * self.rng.normal(size=3)
        self.k += 1
        return self.check.find(10**9 + round(self.k * 1e9 / self.rate), q, qd if self.measured else np.full(3, np.nan))

    def run(self, states):
        return [self.tell(*self.truth()) for _ in range(states)]


@each
def test_lone_states_that_no_motion_explains_are_refused_and_the_next_is_not(rate, measured):
    driver = Driver(rate, measured)
    assert not any(driver.run(2 * FIRST))
    rng = np.random.default_rng(rate)
    for k in range(60):
        q, qd = driver.truth()
        joint, size = k % 3, 0.1 + 2.0 * FASTEST[k % 3] / rate
        kind = k % 4 if measured else k % 3
        bad, fast = q.copy(), qd.copy()
        if kind == 0:
            bad, fast = q + rng.choice([-1, 1], 3) * size, np.zeros(3)
        elif kind == 1:
            bad[joint] += size
        elif kind == 2:
            bad[joint] -= size
        else:
            fast[joint] += rng.choice([-1, 1]) * (1.0 + 2.0 * 30.0 / rate) * FASTEST[joint]
        found = driver.tell(bad, fast)
        assert found is not None
        assert kind == 0 or found == (joint, "velocity" if kind == 3 else "position")
        assert not any(driver.run(1 + k % 3))


@each
def test_two_that_agree_are_taken(rate, measured):
    driver = Driver(rate, measured)
    driver.run(2 * FIRST)
    q, _ = driver.truth()
    assert driver.tell(q + 1.0, np.zeros(3)) is not None
    assert driver.tell(q + 1.0, np.zeros(3)) is None and driver.check.relocated
    assert driver.tell(q + 1.0, np.zeros(3)) is None and not driver.check.relocated


@each
@pytest.mark.parametrize(
    ("bits", "noise"), every_run([(12, 0.0)], [(0, 0.0), (12, 0.0), (14, 0.0), (0, 0.01), (0, 0.05)])
)
def test_motions_are_not_refused(rate, measured, bits, noise):
    driver = Driver(rate, measured, bits, noise, rng=np.random.default_rng(1))
    assert not any(driver.run(5 * rate))


@each
def test_gaps_late_states_and_seams_are_no_glitches(rate, measured):
    turns = np.array([True, False, False])
    driver = Driver(rate, measured, turns=turns)
    driver.run(2 * FIRST)
    for k in range(200):
        driver.k += (0, 0, 0, 1, 3)[k % 5]  # lost states
        q, qd = driver.truth()
        q[0] += (-2 * np.pi, 0.0, 2 * np.pi)[k % 3]
        assert driver.tell(q, qd) is None
    driver.k += rate
    assert driver.tell(np.array([1.0, -2.0, 3.0]), np.zeros(3)) is None


def test_drivers_that_put_robots_anywhere_are_answered(rng):
    driver = Driver(500, True)
    assert not any(driver.tell(rng.uniform(-3, 3, 3), rng.uniform(-1, 1, 3)) for _ in range(200))


def test_no_robot_is_refused_for_long(rng):
    driver = Driver(500, False)
    driver.run(2 * FIRST)
    found = [driver.tell(rng.uniform(-3, 3, 3) * 10.0, np.zeros(3)) for _ in range(IN_A_ROW + 1)]
    assert all(found[:-1]) and found[-1] is None
