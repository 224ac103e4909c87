"""Readings of several messages put together: a set a round, which waits for nobody that is silent or slow."""

from __future__ import annotations

import numpy as np
import pytest

from lie_dynamics_ros.nodes.stewart_pose.inputs import LegSets

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
