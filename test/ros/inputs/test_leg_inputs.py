"""Leg lengths of joint states: readings made lengths, rates, sets of messages, and what cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.platform import LEGS
from lie_dynamics_ros.lie_dynamics.stewart import LegReadings, StewartError
from lie_dynamics_ros.nodes.stewart_pose.inputs import LegInputs, LegSets, LegTemperatures

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

MS, LIMIT = 1_000_000, 100_000_000


def play(sets, events):
    """Sets that readings make, each told as time [ms] and sensor: (time of the set, {sensor: age [ms]}) for each."""
    found = []
    for time, *sensors in events:
        present = np.isin(np.arange(4), sensors)
        values = np.where(present, 10.0 * time + np.arange(4), np.nan)
        state = sets.take(round(time * MS), values, present, LIMIT)
        if state is not None:
            ages = {int(k): round(1e3 * state.ages[k], 6) for k in np.flatnonzero(state.present)}
            for k, age in ages.items():  # each reading is the one of its time
                assert state.lengths[k] == pytest.approx(10.0 * (state.stamp / MS - age) + k)
            assert np.isnan(state.lengths[~state.present]).all() and not state.ages[~state.present].any()
            found.append((state.stamp / MS, ages))
    return found


def test_one_set_for_each_round():
    events = [(k + 0.1 * place, place) for k in range(3) for place in range(4)]
    ages = {0: 0.3, 1: 0.2, 2: 0.1, 3: 0.0}
    assert play(LegSets(4), events) == [(0.3, ages), (1.3, ages), (2.3, ages)]


def test_whole_messages_are_sets_of_their_own():
    whole = dict.fromkeys(range(4), 0.0)
    assert play(LegSets(4), [(k, 0, 1, 2, 3) for k in range(3)]) == [(k, whole) for k in range(3)]


def test_a_silent_sensor_is_waited_for_once_and_taken_in_again():
    events = [(k + 0.1 * place, place) for k in range(9) for place in range(4) if place != 1 or k in (0, 1, 6, 7, 8)]
    found = play(LegSets(4), events)
    # The round in which it is missed ends with the next one's first reading; those after it end in time.
    assert [time for time, _ in found] == [0.3, 1.3, 2.3, 3.3, 4.3, 5.3, 6.3, 7.3, 8.3]
    assert [1 in ages for _, ages in found] == [True, True, *[False] * 4, True, True, True]


def test_after_a_lost_reading_sets_are_of_one_round_again():
    events = [(10.0 * k + 0.1 * place, place) for k in range(6) for place in range(4) if (k, place) != (3, 0)]
    found = play(LegSets(4), events)
    assert [time for time, _ in found] == [10.0 * k + 0.3 for k in range(6)]
    assert all(max(ages.values()) <= 0.3 for _, ages in found)


def test_a_seldom_sensor_is_not_waited_for():
    events = [event for k in range(30) for event in ((k, 0, 1, 2), (k + 0.5, 3))[: 2 if k % 10 == 5 else 1]]
    found = play(LegSets(4), events)
    after = [time for time, _ in found if time > 2]
    assert after == list(range(3, 30)) and sum(3 in ages for _, ages in found) == 3
    assert max(max(ages.values()) for _, ages in found) == 0.5


def test_a_whole_message_takes_the_place_of_what_waits():
    sets = LegSets(4)
    found = play(sets, [(0, 2), (1, 0, 1, 2, 3), (2, 0, 1, 2, 3)])
    assert found == [(1, dict.fromkeys(range(4), 0.0)), (2, dict.fromkeys(range(4), 0.0))]


def test_old_readings_have_no_part():
    assert play(LegSets(4), [(0, 3), (150, 0, 1, 2)]) == [(150, {0: 0.0, 1: 0.0, 2: 0.0})]


def test_forgetting_begins_afresh():
    sets = LegSets(4)
    assert play(sets, [(0, 0, 1)]) == []
    sets.forget()
    assert play(sets, [(1, 2, 3), (2, 0, 1)]) == [(2, {0: 0.0, 1: 0.0, 2: 1.0, 3: 1.0})]

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
