"""Derivatives along the entries of q, against differences with quaternions brought back to length 1."""

import numpy as np
import pytest
from moving_tree import normalized, states, tree
from support.compare import relative

from lie_dynamics_ros.lie_dynamics.autodiff import FORWARD, INVERSE


@pytest.mark.parametrize("dynamics", [INVERSE, FORWARD], ids=lambda d: d.name)
def test_against_differences(dynamics, rng):
    model = tree()
    assert model.nq == model.nv + 2
    arguments = states(model, rng, 4)
    found = dynamics.derivatives(model, *arguments)
    for k, block in enumerate(found):
        for entry in range(block.shape[-1]):
            ends = []
            for step in (-2e-5, -1e-5, 1e-5, 2e-5):
                moved = [np.array(argument) for argument in arguments]
                moved[k][:, entry] += step
                ends.append(dynamics.value(model, normalized(model, moved[0]), *moved[1:]))
            slope = (ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / 12e-5
            assert np.abs(block[..., entry] - slope).max() < 1e-8 * np.abs(np.concatenate(found, -1)).max()


def test_a_batch_is_its_states(rng):
    model = tree()
    arguments = states(model, rng, 2, 3)
    for whole, one in zip(
        INVERSE.derivatives(model, *arguments), INVERSE.derivatives(model, *(a[1, 2] for a in arguments)), strict=True
    ):
        assert relative(whole[1, 2], one) < 1e-13
