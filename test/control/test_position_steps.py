"""Steps of positions: how large they are, and where in them a joint is."""

import numpy as np

from lie_dynamics_ros.lie_dynamics.control.position_steps import COARSEST, PositionSteps

STEP = 1e-4


def seen(q):
    return STEP * np.round(q / STEP)


def test_steps_are_the_smallest_changes(rng):
    steps = PositionSteps(2)
    path = np.cumsum(rng.uniform(0, 3 * STEP, (400, 2)), axis=0)
    found = [steps.note(seen(q)) for q in path]
    assert np.allclose(steps.steps, STEP, rtol=1e-9) and not found[0] and any(found)
    assert not PositionSteps(1).note(np.array([1.0])) and (PositionSteps(1).steps == COARSEST).all()


def test_a_joint_is_where_readings_let_it_be(rng):
    """Never more than half a step from what was read; at the edge itself where it comes to rest about one."""
    steps = PositionSteps(3)
    edge = STEP * (np.array([3.0, 40.0, -7.0]) + 0.5)
    for k in range(3000):
        swing = 30 * STEP * np.exp(-k / 300.0) * np.sin(0.1 * k + np.arange(3))
        q = edge + swing + 0.01 * STEP * rng.standard_normal(3)
        steps.note(seen(q))
        where = steps.inside(seen(q))
        assert (np.abs(where - seen(q)) <= 0.5 * STEP * (1.0 + 1e-6)).all() or k < 100
    assert np.abs(where - edge).max() < 0.05 * STEP
    assert np.abs(seen(q) - edge).min() > 0.49 * STEP


def test_positions_that_do_not_step_are_taken_as_they_are(rng):
    steps = PositionSteps(2)
    still = np.array([0.3, -0.2])
    for _ in range(5):
        steps.note(still)
        assert np.array_equal(steps.inside(still), still)
    for q in rng.uniform(-1.0, 1.0, (2000, 2)):
        steps.note(q)
    steps.forget()
    assert (steps.steps < 0.01).all() and np.array_equal(steps.inside(still), still)
    assert np.abs(steps.inside(still + 1.0) - still - 1.0).max() <= 0.5 * COARSEST
