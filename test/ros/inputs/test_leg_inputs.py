"""Leg lengths of joint states: what counts as a rate, and what is told where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.platform import LEGS
from lie_dynamics_ros.lie_dynamics.stewart import LegReadings
from lie_dynamics_ros.nodes.stewart_pose.inputs import LegInputs

NAMES = [f"leg{k}" for k in range(1, LEGS + 1)]
LENGTHS = np.linspace(0.5, 0.7, LEGS)
RATES = np.linspace(-0.3, 0.2, LEGS)


def readings(offsets: list[float]) -> LegReadings:
    """Return what makes lengths of positions."""
    values = {"length_offsets": offsets, "length_scales": [1.0], "length_corrections": [0.0], "leg_expansions": [0.0]}
    return LegReadings.from_values(values | {"reference_temperature": 20.0})


def message(rates: list[float]) -> JointState:
    """Return leg lengths with these rates."""
    return JointState(name=NAMES, position=LENGTHS.tolist(), velocity=rates)


def test_a_state_becomes_one_value() -> None:
    """Lengths with their offsets, rates as sent, and the time."""
    inputs = LegInputs(NAMES, readings([0.1]))
    state = inputs.read(message(RATES.tolist()), 5, 7, 2e-9)
    assert state.stamp == 5
    np.testing.assert_array_equal(state.lengths, LENGTHS + 0.1)
    np.testing.assert_array_equal(state.rates, RATES)
    assert not inputs.take_without_rates()


@pytest.mark.parametrize("leg", range(LEGS))
@pytest.mark.parametrize("rate", [np.nan, np.inf, -np.inf, 1e200, -1e200])
def test_one_rate_that_is_no_number_leaves_none(leg: int, rate: float) -> None:
    """A twist follows from all six rates or from none; that is told once, and passes with the state."""
    inputs = LegInputs(NAMES, readings([0.0]))
    rates = RATES.tolist()
    rates[leg] = rate
    assert inputs.read(message(rates), 0, 0, 0.0).rates is None
    assert inputs.read(message([]), 0, 0, 0.0).rates is None
    np.testing.assert_array_equal(inputs.read(message(RATES.tolist()), 0, 0, 0.0).rates, RATES)
    assert inputs.take_without_rates()
    assert not inputs.take_without_rates()
