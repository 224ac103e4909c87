"""A lone state that no motion explains, in the middle of a motion of an arm in MuJoCo, changes nothing."""

import numpy as np
import pytest
from support import arms

from lie_dynamics_ros import Controller

GLITCHES = ("zeros", "position", "all positions", "velocity")


def spoiled(kind, q, qd, speed, rng):
    """The state as a driver tells it now and then."""
    q, qd, joint = q.copy(), qd.copy(), rng.integers(len(q))
    if kind == "zeros":
        return np.zeros_like(q), np.zeros_like(qd)
    if kind == "position":
        q[joint] += 0.3
    elif kind == "all positions":
        q += rng.uniform(-1, 1, len(q))
    else:
        qd[joint] += 2.0 * speed[joint]
    return q, qd


@pytest.mark.parametrize(
    ("name", "rate", "measured"),
    [
        ("kinova", 250.0, False),
        ("ur5", 500.0, True),
        pytest.param("ur5", 500.0, False, marks=pytest.mark.slow),
        pytest.param("panda_arm", 1000.0, True, marks=pytest.mark.slow),
        pytest.param("kinova", 250.0, True, marks=pytest.mark.slow),
        pytest.param("panda_arm", 1000.0, False, marks=pytest.mark.slow),
    ],
)
def test_a_lone_state_that_no_motion_explains_changes_nothing(name, rate, measured, rng):
    arm = arms.load(name)
    simulated, start = arm.simulated(), arm.random_pose(rng, 0.35)
    simulated.set(start, 0.0)
    controller = Controller(arm.text, inertia_check="ignore")
    steps, glitched, largest, last = round(1000.0 * 2 / rate), 0, {True: 0.0, False: 0.0}, None
    speed = 0.0
    for k in range(round(1.5 * rate)):
        if k == round(0.1 * rate):
            goal = np.clip(start + 0.25 * np.minimum(arm.speed, 1.2), arm.lower, arm.upper)
            controller.follow([1.2], [goal], [np.zeros_like(goal)], [np.zeros_like(goal)])
        q, qd = simulated.q, simulated.qd
        glitch = k > 0.25 * rate and k % 23 == 0
        if glitch:
            kind = GLITCHES[glitched % (4 if measured else 3)]
            q, qd = spoiled(kind, q, qd, arm.speed, rng)
            glitched += 1
        answer = controller.update(k / rate, q, qd if measured else None)
        assert controller.implausible == glitched
        assert answer.phase in ("holding", "following")
        if last is not None:
            near = glitched > 0 and k % 23 < 3
            largest[near] = max(largest[near], float((np.abs(answer.effort - last) / arm.limit).max()))
        last = answer.effort
        simulated.advance(last, steps)
        speed = max(speed, float((np.abs(simulated.qd) / arm.speed).max()))
    assert glitched > 5
    assert largest[True] < 0.05
    assert speed < 0.6


def test_a_robot_that_is_elsewhere_is_believed(rng):
    """Two states agree: the usual limits are watched."""
    arm = arms.load("ur5")
    controller, q = Controller(arm.text), arm.random_pose(rng, 0.35)
    for k in range(100):
        controller.update(k * 0.002, q, np.zeros(6))
    answer = controller.update(0.2, q + 1.0, np.zeros(6))
    assert answer.phase == "holding" and controller.implausible == 1
    answer = controller.update(0.202, q + 1.0, np.zeros(6))
    assert answer.phase in ("stopping", "stopped") and "error_limit" in answer.reason
