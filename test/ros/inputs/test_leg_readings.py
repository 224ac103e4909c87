"""Readings made lengths: against the formula, rates against differences, and what cannot be used."""

import numpy as np
import pytest

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics.stewart import LegReadings, StewartError
from lie_dynamics_ros.nodes.stewart_pose.inputs import LegTemperatures

VALUES = {
    "length_scales": [1.0],
    "length_offsets": [0.0],
    "length_corrections": [0.0],
    "leg_expansions": [0.0],
    "reference_temperature": 20.0,
}
NOTHING = np.full(6, np.nan)


def lengths_of(readings, x, temperatures=NOTHING):
    out = np.array(x, dtype=float)
    readings.apply(out, None, temperatures)
    return out


def test_readings_are_lengths_unless_something_is_given():
    assert LegReadings.from_values(VALUES).plain
    for name, value in (("length_scales", [2.0]), ("length_offsets", [0.1]), ("leg_expansions", [1e-5])):
        assert not LegReadings.from_values(VALUES | {name: value}).plain


def test_scale_offset_nonlinearity_and_temperature():
    """A spindle of 5 mm lead, a table for the first two legs, steel at 45 degrees for one leg."""
    lead = 5e-3 / (2 * np.pi)
    table = [0.3, 0.0, 1e-4, 0, 0, 0, 0, 0.5, 2e-4, 1e-4, 0, 0, 0, 0, 0.6, 2e-4, -1e-4, 0, 0, 0, 0]
    given = {"length_scales": [lead], "length_offsets": [0.4, 0.5, 0.4, 0.4, 0.4, 0.4], "leg_expansions": [1.2e-5]}
    readings = LegReadings.from_values(VALUES | given | {"length_corrections": table})
    temperatures = NOTHING.copy()
    temperatures[2] = 45.0
    x = np.array([10.0, 40.0, 20.0, 0.0, -10.0, 300.0])
    found = lengths_of(readings, x, temperatures)
    y = lead * x + np.array([0.4, 0.5, 0.4, 0.4, 0.4, 0.4])
    expected = y + np.array([1e-3 * (y[0] - 0.3), 1e-4 - 2e-3 * (y[1] - 0.5), 0, 0, 0, 0])
    expected[2] *= 1 + 1.2e-5 * 25.0
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    rates, h = np.array([1.0, -2.0, 3.0, 0.0, 1.0, 5.0]), 1e-6
    numeric = (
        lengths_of(readings, x + h * rates, temperatures) - lengths_of(readings, x - h * rates, temperatures)
    ) / (2 * h)
    out = x.copy()
    readings.apply(out, rates, temperatures)
    np.testing.assert_allclose(rates, numeric, atol=1e-9)


def test_beyond_the_table_corrections_stay():
    readings = LegReadings.from_values(VALUES | {"length_corrections": [0.4, 1, 1, 1, 1, 1, 1, 0.5, 2, 2, 2, 2, 2, 2]})
    assert lengths_of(readings, [0.1, 0.4, 0.45, 0.5, 0.6, 9.0]) == pytest.approx([1.1, 1.4, 1.95, 2.5, 2.6, 11.0])
    single = LegReadings.from_values(VALUES | {"length_corrections": [0.4, 1, 1, 1, 1, 1, 1]})
    rates = np.ones(6)
    single.apply(np.full(6, 0.3), rates, NOTHING)
    assert (rates == 1.0).all()


@pytest.mark.parametrize(
    "values, words",
    [
        ({"length_scales": [1.0, 2.0]}, "length_scales has 2"),
        ({"length_scales": [0.0]}, "length_scales is"),
        ({"length_offsets": []}, "length_offsets has 0"),
        ({"leg_expansions": [0.0] * 5}, "leg_expansions has 5"),
        ({"length_corrections": [0.0, 1.0]}, "rows of seven"),
        ({"length_corrections": []}, "rows of seven"),
        ({"length_corrections": [0.5] + [0.0] * 6 + [0.4] + [0.0] * 6}, "grow"),
        ({"length_corrections": [0.4] + [0.2] * 6 + [0.5] + [0.0] * 6}, "grow"),
    ],
)
def test_values_that_cannot_be_used_are_named(values, words):
    with pytest.raises(StewartError, match=words):
        LegReadings.from_values(VALUES | values)


def test_temperatures_by_leg_and_of_all():
    legs = tuple("abcdef")
    temperatures = LegTemperatures(legs)
    temperatures.take("", 21.0, 0.0)
    temperatures.take("c", 30.0, 0.0)
    assert temperatures.values.tolist() == [21.0, 21.0, 30.0, 21.0, 21.0, 21.0]
    for leg, value in (("x", 20.0), ("a", float("nan")), ("a", float("inf")), ("", -300.0)):
        with pytest.raises(MessageError):
            temperatures.take(leg, value, 0.0)
    assert temperatures.values.tolist() == [21.0, 21.0, 30.0, 21.0, 21.0, 21.0]
