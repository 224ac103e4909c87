"""Positions in steps: what only shakes at the edge of two of them, and what surely swings."""

import math

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.control.kernels.oscillation import EASE
from lie_dynamics_ros.nodes.computed_torque.sensor_noise import CoarsePositions

STEP, PERIOD, LATE = 7.7e-4, 1e-3, 0.01


def seen(rate, size, seconds=1.0, center=0.5):
    """Return positions (k, 1) of a sine about an edge of two steps: its rate [Hz], and its size in steps."""
    t = np.arange(0.0, seconds, PERIOD)
    return STEP * np.round(center + size * np.sin(2.0 * math.pi * rate * t + 0.1))[:, None]


def run(path):
    """Return the positions that are found, eased ones, and where joints toggle, a row a state."""
    coarse, rows = CoarsePositions(1), []
    for q in path:
        settled, eased = coarse.update(q, np.array([STEP]), PERIOD, LATE)
        rows.append((settled[0], eased[0], coarse.toggle[0]))
    return coarse, np.array(rows)


@pytest.mark.parametrize("rate", [30.0, 67.0, 123.0])
def test_a_joint_that_shakes_by_less_than_a_step_stays_at_the_edge(rate):
    path = seen(rate, 0.4)
    assert np.ptp(path) == pytest.approx(STEP)
    coarse, found = run(path)
    settled, eased, toggles = found[500:].T
    assert toggles.all() and np.allclose(settled, 0.5 * STEP) and np.ptp(eased) < 1e-6 * STEP
    assert not coarse.swings(LATE)[0]


def test_drivers_may_use_their_arrays_again():
    path, used = seen(67.0, 0.4), [np.zeros(1), np.zeros(1)]
    again = (np.copyto(used[k % 2], q) or used[k % 2] for k, q in enumerate(path))
    assert (run(again)[1] == run(path)[1]).all()


def test_what_dampers_damp_counts_as_motion():
    """Slow toggling, and a swing of more than a step, which a damper of such a delay feeds or damps as it is."""
    for rate, size in ((8.0, 0.4), (8.0, 3.0), (67.0, 3.0)):
        path = seen(rate, size)
        _, found = run(path)
        assert (found[:, 0] == path[:, 0]).all() and not found[:, 2].any()


def test_a_joint_that_goes_on_is_damped_at_once():
    path = np.concatenate([seen(67.0, 0.4), STEP * np.arange(2.0, 5.0)[:, None]])
    coarse, found = run(path)
    assert found[-4, 2] and not found[-3:, 2].any() and found[-1, 0] == path[-1, 0]
    coarse.reset()
    assert not coarse.begun
    run_on, _ = coarse.update(np.array([7.0]), np.array([STEP]), PERIOD, LATE)
    assert run_on[0] == 7.0 and not coarse.toggle[0]


def test_swings_of_more_than_a_step_are_sure_where_they_are_slow():
    for rate, size, sure in ((13.0, 2.0, True), (13.0, 0.4, False), (40.0, 2.0, False)):
        coarse, _ = run(seen(rate, size))
        assert coarse.swings(LATE)[0] == sure, (rate, size)
    coarse, _ = run(STEP * np.round(np.linspace(0.0, 50.0, 1000))[:, None])  # one way
    assert not coarse.swings(LATE)[0]


def test_eased_positions_go_on_within_a_time_and_are_never_a_step_behind():
    path = np.concatenate([np.zeros((50, 1)), np.full((100, 1), STEP), STEP * np.arange(2.0, 30.0)[:, None]])
    _, found = run(path)
    eased, away = found[:, 1], found[:, 1] - path[:, 0]
    assert np.abs(away).max() <= STEP * (1.0 + 1e-9)
    assert eased[50] == pytest.approx(STEP * -math.expm1(-EASE * PERIOD))
    assert eased[149] == pytest.approx(STEP, rel=0.01)


def test_positions_without_steps_pass_unchanged(rng):
    coarse, none = CoarsePositions(3), np.zeros(3)
    for q in rng.normal(size=(50, 3)):
        settled, eased = coarse.update(q, none, PERIOD, LATE)
        assert (settled == q).all() and (eased == q).all()
    assert not coarse.toggle.any()


@pytest.mark.parametrize("speed", [-0.02, 0.005, 0.1])
def test_a_joint_that_creeps_is_seen_from_edge_to_edge(speed):
    """The noise of one step between edges is none at them; a joint that stays is slower and slower."""
    coarse, step = CoarsePositions(1), np.array([STEP])
    path = STEP * np.round(speed * np.arange(0.0, 1.0, PERIOD) / STEP)
    found = [(coarse.update(np.array([q]), step, PERIOD, LATE), *coarse.creep(step))[1:] for q in path]
    velocity, lasted = (np.ravel(x) for x in zip(*found, strict=True))
    edges = np.flatnonzero(np.diff(path)) + 1
    assert (np.flatnonzero(lasted) == edges).all() and lasted[edges[0]] < 0.0 < lasted[edges[1:]].min()
    assert velocity[edges[1:]] == pytest.approx(speed, abs=2.0 * PERIOD * speed**2 / STEP)
    for _ in range(500):
        coarse.update(path[-1:], step, PERIOD, LATE)
    assert 0.0 < np.sign(speed) * coarse.creep(step)[0][0] <= STEP / 0.5
    coarse.update(path[-1:] - np.sign(speed) * STEP, step, PERIOD, LATE)  # turns round
    assert coarse.creep(step)[0][0] == 0.0 > coarse.creep(step)[1][0]
