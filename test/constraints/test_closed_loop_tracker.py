"""`ClosedLoopTracker`: what is found, what is proven, and the bounds that it is proven with."""

import numpy as np
import pytest
from closed_loop_adversary import RATES, distance, freedoms
from mechanisms_by_name import MADE, MORE

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar_arm
from lie_dynamics_ros.lie_dynamics.tracking import TrackingStatus


def motion(made, rate, count, dt=1e-3, seed=0):
    """Closed configurations (count, nq) along a smooth motion whose fastest joint moves at `rate`."""
    rng = np.random.default_rng(seed)
    model, constraints, q = made.model, made.constraints, made.q
    wish, states = rng.normal(size=model.nv), []
    for k in range(count):
        N = freedoms(model, constraints, q)
        v = N @ (N.T @ wish)
        q, _ = ld.project_to_constraints(
            model, constraints, model.integrate(q, rate * dt * np.sin(0.03 * k) * v / np.abs(v).max())
        )
        states.append(q)
    return np.array(states)


def places(made, names=None):
    return [made.model.joint(name).q_slice.start for name in names or made.actuated]


@pytest.mark.parametrize("name", MADE | MORE)
def test_ordinary_motion_is_found_and_certified(name):
    made = (MADE | MORE)[name]()
    model, states = made.model, motion(made, 0.5, 50)
    rates = np.full(model.nv, 1.0)
    tracker = ld.ClosedLoopTracker(model, made.constraints, made.q, made.actuated, rates)
    found = tracker.update_many(states[:, places(made)], dt=1e-3)
    assert found.certified.all()
    assert max(np.abs(model.difference(a, b)).max() for a, b in zip(found.q, states, strict=True)) < 1e-10
    assert np.abs(ld.constraint_error(model, made.constraints, found.q)[0]).max() < 1e-11
    one = ld.ClosedLoopTracker(model, made.constraints, made.q, list(made.actuated), rates)
    for k in range(20):
        state = one.update(states[k, places(made)], dt=1e-3)
        assert state.certified and np.abs(model.difference(state.q, found.q[k])).max() < 1e-12
    unbounded = ld.ClosedLoopTracker(model, made.constraints, made.q, made.actuated)
    found = unbounded.update_many(states[:, places(made)])
    assert found.continued.all() and not found.certified.any()
    assert max(np.abs(model.difference(a, b)).max() for a, b in zip(found.q, states, strict=True)) < 1e-10


@pytest.mark.parametrize("extra", [["joint_3"], ["joint_2", "joint_4"]])
def test_redundant_sensors_fit_best(extra, rng):
    made = MADE["five-bar"]()
    model, constraints = made.model, made.constraints
    names = [*made.actuated, *extra]
    states = motion(made, 0.5, 50)
    noise = 1e-5 * rng.normal(size=(50, len(names)))
    tracker = ld.ClosedLoopTracker(model, constraints, made.q, names, sensor_noise=1e-5)
    found = tracker.update_many(states[:, places(made, names)] + noise)
    assert found.valid.all()
    columns = [model.joint(n).v_slice.start for n in names]
    for q, truth, e in zip(found.q, states, noise, strict=True):
        N = freedoms(model, constraints, truth)
        best = model.integrate(truth, N @ np.linalg.lstsq(N[columns], e, rcond=None)[0])
        assert np.abs(model.difference(q, best)).max() < 2e-8
        assert np.abs(ld.constraint_error(model, constraints, q)[0]).max() < 1e-9
    assert np.abs(found[-1].sensor_residuals).max() > 1e-7


def test_a_singularity_is_announced_and_not_passed():
    """Cranks that straighten the couplers of a five-bar: beyond, no configuration has these joints."""
    made = five_bar(lengths=(0.4, 0.3, 0.4, 0.4, 0.3))
    model = made.model
    tracker = ld.ClosedLoopTracker(model, made.constraints, made.q, made.actuated, np.full(model.nv, 6.0))
    line = np.linspace(0.0, 1.5, 6000)[:, None] * [1.0, -1.0]
    best = tracker.update_many(made.q[places(made)] + line, dt=1e-3)
    assert not best.valid.all()
    last = int(np.flatnonzero(best.valid)[-1])
    assert best.statuses[last + 1] in (TrackingStatus.SINGULAR, TrackingStatus.OUT_OF_REACH)
    assert best.regular_for[last] < 0.1 * best.regular_for[0]
    assert np.array_equal(best.q[-1], best.q[last])
    state = best[last + 1]
    assert not state.valid and "last good" in state.message
    with pytest.raises(ld.SingularityError, match="last good"):
        state.require()


def test_bad_samples_are_told_and_left_out():
    made = MADE["five-bar"]()
    model, states = made.model, motion(made, 0.5, 20)
    y = states[:, places(made)]
    tracker = ld.ClosedLoopTracker(model, made.constraints, made.q, made.actuated, np.full(model.nv, 1.0))
    y[5, 1], y[10, 0] = np.nan, y[10, 0] + 1.0
    found = tracker.update_many(y, dt=1e-3)
    assert np.flatnonzero(~found.valid).tolist() == [5, 10]
    assert found[5].status is TrackingStatus.NOT_FINITE and made.actuated[1] in found[5].message
    assert found[10].status is TrackingStatus.OUT_OF_REACH
    assert found.certified[:5].all() and found.valid[11:].all()
    with pytest.raises(ld.InputError, match="time since"):
        tracker.update(y[0])
    with pytest.raises(ld.InputError, match="2 of the measured joints"):
        tracker.update(np.zeros(3), dt=1e-3)
    with pytest.raises(ld.InputError, match="at least 0 s"):
        tracker.update(y[0], dt=-1.0)


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_refuted_is_not_certified_again(at_once):
    """A sensor jumps and stays: reach grows until the wrong positions are followed, as nobody knows what is wrong."""
    for name, jump in (("five-bar", 0.05), ("stewart", 0.02)):
        made = MADE[name]()
        model = made.model
        tracker = ld.ClosedLoopTracker(model, made.constraints, made.q, made.actuated, np.full(model.nv, 1.0))
        y = np.repeat(made.q[places(made)][None], 200, axis=0)
        y[50:, 0] += jump
        if at_once:
            assert not tracker.refuted
            first, second = tracker.update_many(y[:100], dt=2e-3), tracker.update_many(y[100:], dt=2e-3)
            states = [*first, *second]
        else:
            states = [tracker.update(sample, dt=2e-3) for sample in y]
        out = [state.status is TrackingStatus.OUT_OF_REACH for state in states]
        assert out.index(True) == 50 and all(state.certified for state in states[:50])
        assert states[-1].valid and not any(state.certified for state in states[50:])
        assert tracker.refuted
        tracker.reset(tracker.q)
        assert not tracker.refuted and tracker.update(y[-1], dt=2e-3).certified


def test_rates_and_covariances(rng):
    made = MADE["stewart"]()
    model, constraints = made.model, made.constraints
    noise = rng.uniform(1e-5, 3e-5, 6)
    tracker = ld.ClosedLoopTracker(model, constraints, made.q, made.actuated, sensor_noise=noise)
    state = tracker.update(made.q[places(made)])
    A = ld.constraint_quantities(model, constraints, state.q, np.zeros(model.nv)).jacobian
    columns = [model.joint(n).v_slice.start for n in made.actuated]
    system = np.concatenate([A, np.eye(model.nv)[columns]])
    given = rng.normal(size=6)
    gain = np.linalg.inv(system)[:, -6:]
    assert np.abs(state.rates(given) - gain @ given).max() < 1e-10
    expected = gain @ np.diag(noise**2) @ gain.T
    assert np.abs(state.covariance - expected).max() < 1e-9 * np.abs(expected).max()
    J = ld.jacobian(model, state.q, "platform", "aligned")
    assert np.abs(state.pose_covariance("platform") - J @ expected @ J.T).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(state.twist("platform", given) - ld.jacobian(model, state.q, "platform") @ gain @ given).max() < 1e-10
    assert np.array_equal(state.pose("platform"), ld.frame_pose(model, state.q, "platform"))
    assert np.abs(state.residuals).max() < 1e-12 and not state.sensor_residuals.any()


def test_couplings_and_what_is_refused(rng):
    made = MADE["five-bar"]()
    model, q = made.model, made.q
    gear = ld.Coupling({"joint_1": 1.0, "joint_5": 1.0}, q[0] + q[4])
    coupled = ld.ConstraintSet(model, [*made.constraints.loops, gear])
    tracker = ld.ClosedLoopTracker(model, coupled, q, ["joint_1"], np.full(5, 2.0))
    found = tracker.update([q[0] + 1e-3], dt=1e-3)
    assert found.certified and np.abs(found.q[4] - q[4] + 1e-3) < 1e-12
    own = ld.UserConstraint("own", 1, lambda x: x[:1] - q[:1])
    for what, arguments in (
        ("determine|cannot tell", (model, made.constraints, q, ["joint_1"])),
        ("user constraints", (model, ld.ConstraintSet(model, [*made.constraints.loops, own]), q, made.actuated)),
        ("closed configuration", (model, made.constraints, q + 0.1, made.actuated)),
        ("each once", (model, made.constraints, q, ["joint_1", "joint_1"])),
        ("joint 'joint_3' is missing", (model, made.constraints, q, made.actuated, {"joint_1": 1.0, "joint_2": 2.0})),
        ("above zero", (model, made.constraints, q, made.actuated, np.zeros(5))),
    ):
        with pytest.raises(ld.InputError, match=what):
            ld.ClosedLoopTracker(*arguments)
    delta = MADE["delta"]()
    with pytest.raises(ld.InputError, match="has 7 coordinates"):
        ld.ClosedLoopTracker(delta.model, delta.constraints, delta.q, ["platform", "arm_1", "arm_2"])
    assert distance(model, RATES["five-bar"], q, found.q) > 0.0


def test_hostile_arguments():
    """What is no array of real numbers of the right shape raises InputError, and leaves the tracker as it was."""
    made = MADE["five-bar"]()
    y = made.q[places(made)]
    arguments = made.model, made.constraints, made.q
    tracker = ld.ClosedLoopTracker(*arguments, made.actuated, np.ones(5))
    state = tracker.update(y, dt=1e-3)
    before = tracker._memory.copy()
    texts, masked, huge = ["1.0", "0.5"], np.ma.MaskedArray(y, mask=[True, False]), np.array(10**400, dtype=object)
    wrong = [texts, masked, y + 1j, None, [], {}, 1.0, object(), [[1.0], [1.0, 2.0]], huge]
    for value in wrong:
        for call in (
            lambda v: tracker.update(v, dt=1e-3),
            lambda v: tracker.update_many(v[None] if isinstance(v, np.ndarray) else [v], dt=1e-3),
            state.rates,
            tracker.time_to_singularity,
            lambda v: state.twist("crank_1", v),
        ):
            with pytest.raises(ld.InputError):
                call(value)
    for dt in (None, "1e-3", np.nan, np.inf, -1e-3, 1j, {}, [], [1e-3, 1e-3], object(), 10**400):
        for call in (lambda dt: tracker.update(y, dt=dt), lambda dt: tracker.update_many([y], dt=dt)):
            with pytest.raises(ld.InputError, match="dt"):
                call(dt)
    for bad in (0.0, -1.0, np.nan, np.inf, "1", None):
        with pytest.raises(ld.InputError, match="horizon"):
            tracker.time_to_singularity(y, bad)
    qd = state.rates(y)
    for given in ((qd, y + 1j), (y, y), (qd, [y]), (qd, y, ["joint_1"]), (qd, y, "joint_1"), (qd, y, ["nobody", "x"])):
        with pytest.raises(ld.InputError):
            state.accelerations(*given)
    assert np.array_equal(tracker._memory, before)
    for rates in ([np.nan, 1.0], [1.0, np.inf]):
        with pytest.raises(ld.InputError, match="measured"):
            state.rates(rates)
    for measured in (None, 3, "joint_1", [0, 1], [["joint_1"]], []):
        with pytest.raises(ld.InputError):
            ld.ClosedLoopTracker(*arguments, measured)
    for speed in ("fast", ["1"] * 5, np.ones(5) + 1j, dict.fromkeys(made.model.joint_names, "1"), object()):
        with pytest.raises(ld.InputError, match="max_speed"):
            ld.ClosedLoopTracker(*arguments, made.actuated, speed)
    for option in ({"max_steps": 10**400}, {"max_steps": True}, {"sensor_error": 1j}, {"sensor_noise": texts}):
        with pytest.raises(ld.InputError, match=next(iter(option))):
            ld.ClosedLoopTracker(*arguments, made.actuated, **option)


@pytest.mark.parametrize("many", [False, True])
def test_what_was_measured_is_kept(many):
    """A driver that fills the same array again changes no earlier result."""
    made = MADE["five-bar"]()
    y = made.q[places(made)]
    tracker, given = ld.ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated), y.copy()
    state = tracker.update_many(given[None])[0] if many else tracker.update(given)
    given[:] = 7.0
    assert np.array_equal(state.measured, y) and not state.sensor_residuals.any()


@pytest.mark.parametrize("name", MADE)
def test_accelerations_are_those_along_a_motion(name):
    """Second differences of tracked configurations, and the constraints' own equation."""
    made = MADE[name]()
    model, h = made.model, 1e-4
    y, rng = made.q[places(made)], np.random.default_rng(3)
    yd, ydd = rng.normal(size=(2, len(y)))
    tracker = ld.ClosedLoopTracker(model, made.constraints, made.q, made.actuated)
    ahead, behind, state = (tracker.update(y + t * yd + 0.5 * t * t * ydd) for t in (h, -h, 0.0))
    rates = state.rates(yd)
    found = state.accelerations(rates, ydd)
    forward, backward = model.difference(state.q, ahead.q), model.difference(state.q, behind.q)
    assert np.abs((forward - backward) / (2.0 * h) - rates).max() < 1e-5
    assert np.abs((forward + backward) / h**2 - found).max() < 1e-3 * np.abs(found).max()
    exact = ld.constraint_quantities(model, made.constraints, state.q, rates)
    assert np.abs(exact.jacobian @ found + exact.bias).max() < 1e-9 * np.abs(found).max()
    last = [made.actuated[-1]]  # too few: the smallest that have it
    part = state.accelerations(rates, ydd[-1:], last)
    assert abs(part[model.joint(last[0]).v_slice][0] - ydd[-1]) < 1e-9
    assert np.abs(exact.jacobian @ part + exact.bias).max() < 1e-9 * np.abs(found).max()


@pytest.mark.parametrize("horizon", [1.0, 3.0])
@pytest.mark.parametrize("rates", [(1.0, -1.0), (0.3, -2.0), (-0.9, 0.2), (0.05, 0.05)])
def test_time_to_singularity_is_when_the_couplers_are_in_line(rates, horizon):
    made = five_bar((0.6, 0.3, 0.5, 0.5, 0.3))
    y = made.q[places(made)]
    tracker = ld.ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated)
    before = tracker._memory.copy()

    def stretched(t):
        first, second = y[:, None] + np.outer(rates, t)
        return abs(0.6 + 0.3 * np.exp(1j * second) - 0.3 * np.exp(1j * first)) - 1.0

    times = np.linspace(0.0, horizon, 60001)
    over = np.flatnonzero(stretched(times) >= 0.0)
    left = tracker.time_to_singularity(rates, horizon)
    if over.size:
        assert times[over[0]] - 0.05 * horizon <= left <= times[over[0]]
        if left > 0.0:  # no singularity before
            assert tracker.time_to_singularity(rates, 0.98 * left) >= 0.95 * left
    else:
        assert np.isinf(left)
    assert np.isinf(tracker.time_to_singularity([0.0, 0.0]))
    assert np.array_equal(tracker._memory, before)


def test_where_every_joint_is_measured_nothing_is_left_to_find():
    made = four_bar_arm()
    names = [joint.name for joint in made.model.joints]
    for model, constraints in ((made.model, made.constraints), (made.model, ld.ConstraintSet(made.model, []))):
        found = ld.ClosedLoopTracker(model, constraints, made.q, names).update(made.q)
        np.testing.assert_allclose(found.q, made.q, atol=1e-12)
