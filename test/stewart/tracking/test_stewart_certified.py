"""What `certified` claims: at the declared speed no other pose with these lengths was within reach."""

import copy
import pickle

import numpy as np
import pytest
import stewart_oracle as oracle
from stewart_adversary import attack, displaced, separation, wrong
from support.grids import all_of, every_run

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartTracker,
    TrackingStatus,
    assembly_modes,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.solvers.memory import new_memory
from lie_dynamics_ros.lie_dynamics.stewart.tracking.reach import Anchor, poses_in_reach

SPEEDS = (1.0, 4.0)
HOME = oracle.pose_of((0, 0, 50), (0, 0, 0))


def crossing(t):
    """A motion through a singular pose at t = 1.566."""
    T = np.eye(4)
    T[:3, :3] = oracle.rotation((0, 0, t)) @ oracle.rotation((0.2 * np.sin(t), 0, 0))
    T[:3, 3] = 0.05 * np.sin(2 * t), 0.0, 0.5
    return T


def ordinary(t):
    """A motion of all six freedoms, +-8 cm and +-17 degrees at 1 Hz: at most 0.9 m/s and 3 rad/s."""
    q = np.sin(2 * np.pi * t + np.arange(6)) * ([8.0] * 3 + [17.0] * 3)
    return oracle.pose_of((q[0], q[1], 50.0 + q[2]), q[3:])


def lengths_of(platform, T):
    return oracle.lengths(platform.base_points, platform.platform_points, T[:3, :3], T[:3, 3])


def table(platform, motion, times):
    return np.array([lengths_of(platform, motion(t)) for t in times])


@pytest.mark.parametrize("dt", [1e-3, 5e-3, 2e-2])
def test_nothing_wrong_is_certified_beyond_a_singularity(dt):
    platform = reference_platform()
    times = np.arange(1.3, 1.9, dt)
    lengths = table(platform, crossing, times)
    path = StewartTracker(platform, crossing(times[0]), SPEEDS).update_many(lengths, dt=dt)
    right = np.array([not wrong(crossing(t), T, 1e-6) for t, T in zip(times, path.poses, strict=True)])
    assert right[path.certified].all()
    assert path.certified[times < 1.53 - 3 * dt].all()
    assert not path.certified[times > 1.566].any()
    # Without the bound it goes on from the wrong side of the singularity, and says only that it has continued.
    unbounded = StewartTracker(platform, crossing(times[0])).update_many(lengths)
    assert unbounded.continued.all() and unbounded.valid.all() and not unbounded.certified.any()
    assert wrong(crossing(times[-1]), unbounded.poses[-1], 0.01)
    last = path[-1]
    assert last.status is TrackingStatus.AMBIGUOUS and last.continued and last.valid
    assert any(not wrong(crossing(times[-1]), T, 1e-6) for T in last.candidates)
    assert "within reach" in last.message and np.array_equal(last.candidates[0], last.pose)


def test_ordinary_motion_is_certified():
    platform = reference_platform()
    times = 1e-3 * np.arange(2000)
    path = StewartTracker(platform, ordinary(0), SPEEDS).update_many(table(platform, ordinary, times), dt=1e-3)
    assert path.certified.mean() >= 0.999
    noisy = table(platform, ordinary, times) + np.random.default_rng(1).uniform(-1e-5, 1e-5, (2000, 6))
    path = StewartTracker(platform, ordinary(0), SPEEDS, length_error=1e-5).update_many(noisy, dt=1e-3)
    assert path.certified.mean() >= 0.999


def test_coarse_sampling_is_certified_by_search():
    platform = reference_platform()
    times = 0.03 * np.arange(60)
    tracker = StewartTracker(platform, ordinary(0), SPEEDS)
    path = tracker.update_many(table(platform, ordinary, times), dt=0.03)
    assert path.certified.all()
    assert max(np.abs(T - ordinary(t)).max() for t, T in zip(times, path.poses, strict=True)) < 1e-12
    assert path.candidates  # the quick test alone is not enough here


@pytest.mark.parametrize(("length_error", "seed"), every_run([(1e-5, 3)], [(0.0, 1), (0.0, 2), (1e-5, 3)]))
def test_adversarial_motions(length_error, seed):
    make = lambda platform, pose, speeds: StewartTracker(platform, pose, speeds, length_error=length_error)  # noqa: E731
    counts = attack(make, 1000, seed, length_error)
    assert counts["wrong"] == 0 and counts["excluded"] == 0
    assert counts["certified"] > 600 and counts["ambiguous"] > 10


@pytest.mark.slow
@all_of("seed", range(100, 200))
def test_a_million_adversarial_samples(seed):
    length_error = (0.0, 0.0, 1e-6, 1e-5)[seed % 4]
    make = lambda platform, pose, speeds: StewartTracker(platform, pose, speeds, length_error=length_error)  # noqa: E731
    counts = attack(make, 10_000, seed, length_error)
    assert counts["wrong"] == 0 and counts["excluded"] == 0, counts


@pytest.mark.parametrize("seed", range(3))
def test_search_finds_the_assembly_modes_in_reach(seed):
    rng = np.random.default_rng(seed)
    platform = reference_platform()
    several = 0
    for _ in range(12):
        age = 10.0 ** rng.uniform(-3, -1.6)
        T = displaced(crossing(rng.uniform(1.5, 1.63)), rng.normal(size=3) * 0.02, rng.normal(size=3) * 0.01)
        turn, move = rng.normal(size=3), rng.normal(size=3)
        turn *= rng.uniform() * SPEEDS[1] * age / np.linalg.norm(turn)
        move *= rng.uniform() * SPEEDS[0] * age / np.linalg.norm(move)
        truth = displaced(T, turn, move)
        lengths = lengths_of(platform, truth)
        reach = poses_in_reach(new_memory(platform, T, 10, SPEEDS), lengths, Anchor(T, age, 0.0))
        assert reach.complete
        wanted = []
        for other in assembly_modes(platform, lengths).poses:
            turn, move = separation(T, other)
            if np.linalg.norm(turn) <= SPEEDS[1] * age and np.linalg.norm(move) <= SPEEDS[0] * age:
                wanted.append(other)
        several += len(wanted) > 1
        assert len(reach.found) == len(wanted)
        for other in wanted:
            assert min(np.abs(found.pose - other).max() for found in reach.found) < 1e-8
    assert several > 0


def test_what_is_out_of_reach_is_refused_until_there_was_time_for_it():
    platform = reference_platform()
    tracker = StewartTracker(platform, HOME, SPEEDS)
    away = HOME.copy()
    away[0, 3] += 0.02
    tracked = tracker.update(lengths_of(platform, away), dt=0.01)
    assert tracked.status is TrackingStatus.OUT_OF_REACH and not (tracked.valid or tracked.certified)
    assert not tracked.continued and np.abs(tracked.pose - HOME).max() < 1e-15 and len(tracked.candidates) == 0
    assert "dt and max_speed" in tracked.message
    later = tracker.update(lengths_of(platform, away), dt=0.0101)
    assert later.continued and np.abs(later.pose - away).max() < 1e-12
    assert tracker.refuted and not later.certified  # a length, the time or the bound was wrong: nobody knows which
    later = tracker.update_many(np.array([lengths_of(platform, away)] * 3), dt=0.01)
    assert not later.certified.any()
    assert not pickle.loads(pickle.dumps(tracker)).update(lengths_of(platform, away), dt=0.01).certified
    tracker.reset(away)
    assert not tracker.refuted and tracker.update(lengths_of(platform, away), dt=0.01).certified


def test_reach_grows_while_samples_are_lost():
    platform = reference_platform()
    tracker = StewartTracker(platform, HOME, SPEEDS)
    away = HOME.copy()
    away[2, 3] += 0.009
    for _ in range(9):
        assert not tracker.update(np.full(6, np.nan), dt=1e-3).certified
    assert tracker.update(lengths_of(platform, away), dt=1e-3).certified
    home = tracker.update_many(np.array([np.full(6, -1.0), lengths_of(platform, HOME)]), dt=[0.004, 0.004])
    assert home.statuses.tolist() == [TrackingStatus.NOT_POSITIVE, TrackingStatus.OUT_OF_REACH]
    assert tracker.update(lengths_of(platform, HOME), dt=0.004).continued


def test_a_reset_ends_an_ambiguity():
    platform = reference_platform()
    tracker = StewartTracker(platform, crossing(1.5), SPEEDS)
    path = tracker.update_many(table(platform, crossing, np.arange(1.5, 1.6, 2e-3)), dt=2e-3)
    assert path[-1].status is TrackingStatus.AMBIGUOUS
    tracker.reset(crossing(1.6))
    tracked = tracker.update(lengths_of(platform, crossing(1.602)), dt=2e-3)
    assert not tracked.certified or np.abs(tracked.pose - crossing(1.602)).max() < 1e-9
    tracker.reset(crossing(1.7))
    assert tracker.update(lengths_of(platform, crossing(1.701)), dt=1e-3).certified


def test_single_updates_and_batch_agree_also_when_ambiguous():
    platform = reference_platform()
    times = np.arange(1.5, 1.62, 4e-3)
    lengths = table(platform, crossing, times)
    rates = np.ones_like(lengths)
    tracker = StewartTracker(platform, crossing(1.5), SPEEDS)
    single = [tracker.update(row, rate, dt=4e-3) for row, rate in zip(lengths, rates, strict=True)]
    path = StewartTracker(platform, crossing(1.5), SPEEDS).update_many(lengths, rates, dt=4e-3)
    assert [s.status for s in single] == path.statuses.tolist()
    assert len(set(path.statuses.tolist())) > 1
    for one, other in zip(single, path, strict=True):
        assert np.array_equal(one.pose, other.pose) and np.array_equal(one.candidates, other.candidates)
        assert np.array_equal(one.twist, other.twist, equal_nan=True)


@pytest.mark.parametrize(
    ("make_copy", "start"),
    [(copy.copy, 1.3), (copy.deepcopy, 1.3), (lambda t: pickle.loads(pickle.dumps(t)), 1.566)],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_share_nothing(make_copy, start):
    platform = reference_platform()
    tracker = StewartTracker(platform, crossing(start - 0.05), SPEEDS, leg_noise=2e-5)
    times = np.arange(start - 0.05, start + 0.01, 2e-3)
    before = tracker.update_many(table(platform, crossing, times), dt=2e-3)[-1]
    twin = make_copy(tracker)
    kept = before.pose.copy()
    ahead = table(platform, crossing, times[-1] + 2e-3 * np.arange(1, 80))
    first = [tracker.update(row, dt=2e-3) for row in ahead]
    assert np.array_equal(twin.pose, kept) and np.array_equal(before.pose, kept)
    second = [twin.update(row, dt=2e-3) for row in ahead]
    assert [t.status for t in first] == [t.status for t in second]
    assert all(np.array_equal(a.pose, b.pose) for a, b in zip(first, second, strict=True))
    assert np.array_equal(twin.leg_covariance, tracker.leg_covariance) and twin.max_speed == SPEEDS


def test_results_can_be_copied():
    platform = reference_platform()
    tracked = StewartTracker(platform, HOME, SPEEDS).update(lengths_of(platform, HOME), dt=1e-3)
    for made in (copy.deepcopy(tracked), pickle.loads(pickle.dumps(tracked))):
        assert made.certified and np.array_equal(made.pose, tracked.pose) and made.residual == tracked.residual


def first_singular(platform, T, twist, times):
    """First time at which det J changes its sign along a constant body twist."""
    signs = (np.linalg.det(platform.jacobian(oracle_screw(T, twist, t))) > 0.0 for t in times)
    first = next(signs)
    return next(t for t, sign in zip(times[1:], signs, strict=False) if sign != first)


def oracle_screw(T, twist, t):
    from scipy.linalg import expm

    X = np.zeros((4, 4))
    w, v = twist[:3], twist[3:]
    X[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    X[:3, 3] = v
    return T @ expm(t * X)


@pytest.mark.parametrize("seed", every_run([0], range(4)))
def test_time_left_before_a_singularity(seed):
    rng = np.random.default_rng(seed)
    platform = reference_platform()
    T = crossing(1.4)
    twist = np.r_[0.1 * rng.normal(size=2), 1.0, 0.05 * rng.normal(size=3)]
    rates = platform.leg_rates(T, twist)
    tracked = StewartTracker(platform, T).update(lengths_of(platform, T), rates)
    times = np.arange(0.0, 0.4, 1e-4)
    expected = first_singular(platform, T, twist, times)
    assert tracked.time_to_singularity() == pytest.approx(expected, rel=2e-3, abs=2e-4)
    assert tracked.time_to_singularity(0.5 * expected) == np.inf


def test_time_left_without_leg_rates():
    platform = reference_platform()
    tracker = StewartTracker(platform, crossing(1.4), SPEEDS)
    path = tracker.update_many(table(platform, crossing, 1.4 + 1e-3 * np.arange(100)), dt=1e-3)
    left = np.array([t.time_to_singularity() for t in path])
    ahead = 1.566 - (1.4 + 1e-3 * np.arange(100))
    assert left[0] == np.inf  # standing still at first
    assert np.abs(left[1:] - ahead[1:]).max() < 0.02
    assert np.isnan(StewartTracker(platform, HOME).update(lengths_of(platform, HOME)).time_to_singularity())


@all_of(
    ("call", "words"),
    [
        (lambda t, L: t.update(L), "dt is needed"),
        (lambda t, L: t.update(L, np.ones(6)), "dt is needed"),
        (lambda t, L: t.update(L, dt=-1e-3), "dt of sample 0 is -0.001 s"),
        (lambda t, L: t.update(L, dt=np.nan), "dt of sample 0 is nan"),
        (lambda t, L: t.update(L, dt="soon"), "dt is no time"),
        (lambda t, L: t.update(L[:5], dt=1e-3), "lengths has shape"),
        (lambda t, L: t.update_many([L, L]), "dt is needed"),
        (lambda t, L: t.update_many([L, L], dt=[1e-3, np.inf]), "dt of sample 1 is inf"),
        (lambda t, L: t.update_many([L, L], dt=[1e-3] * 3), "one for each of 2 samples"),
        (lambda t, L: StewartTracker(t.platform, HOME, (1.0, 0.0)), "max_speed is"),
        (lambda t, L: StewartTracker(t.platform, HOME, (1.0, np.nan)), "max_speed is"),
        (lambda t, L: StewartTracker(t.platform, HOME, 1.0), "max_speed is"),
        (lambda t, L: StewartTracker(t.platform, HOME, SPEEDS, length_error=-1.0), "length_error is"),
    ],
)
def test_wrong_arguments(call, words):
    platform = reference_platform()
    tracker = StewartTracker(platform, HOME, SPEEDS)
    lengths = lengths_of(platform, HOME)
    with pytest.raises(StewartError, match=words):
        call(tracker, lengths)
    assert tracker.update(lengths, dt=1e-3).certified
