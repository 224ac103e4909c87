"""Steps of positions: how large they are."""

import numpy as np

from lie_dynamics_ros.lie_dynamics.control.velocity_filter import COARSEST, PositionSteps

STEP = 1e-4


def seen(q):
    return STEP * np.round(q / STEP)


def test_steps_are_the_smallest_changes(rng):
    steps = PositionSteps(2)
    path = np.cumsum(rng.uniform(0, 3 * STEP, (400, 2)), axis=0)
    found = [steps.note(seen(q)) for q in path]
    assert np.allclose(steps.steps, STEP, rtol=1e-9) and not found[0] and any(found)
    assert not PositionSteps(1).note(np.array([1.0])) and (PositionSteps(1).steps == COARSEST).all()
