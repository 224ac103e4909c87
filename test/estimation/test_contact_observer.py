"""Contacts from efforts: how soon, how well, how seldom without reason. Oracles: MuJoCo, and statistics."""

from itertools import product

import numpy as np
import pytest
from scipy import special
from support import sample_trees
from support.arms import NAMES, load, physics
from support.compare import relative
from support.grids import every_run
from touched_arm import EFFORT_NOISE, PERIOD, TOOL, VELOCITY_NOISE, TouchedArm

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.control import VelocityFilter, velocity_noise
from lie_dynamics_ros.lie_dynamics.estimation import ContactObserver, SensorNoise, contact_wrench
from lie_dynamics_ros.lie_dynamics.estimation.force_sensor import WINDOWS
from lie_dynamics_ros.lie_dynamics.simulation import integrate_motion

REST = np.array([0.0, -0.3, 0.0, -1.7, 0.0, 1.8, 0.5])


def panda():
    return load("panda_arm").model


def published():
    return SensorNoise.white(panda(), VELOCITY_NOISE, EFFORT_NOISE, PERIOD)


TOOLS = {"panda_arm": TOOL, "ur5": "wrist_3_link", "xarm7": "link7", "kinova": "j2s6s200_link_6"}
"""The link that is touched."""


@pytest.mark.parametrize(("name", "count"), every_run([("panda_arm", 6)], product(TOOLS, (6, 40))))
def test_a_touch_of_5_N_is_found_within_10_ms_and_its_force_within_what_is_said(name, count):
    """Motions and directions at random; noise as published, exact model. Chi-square of all errors together."""
    tool, rng, square, errors = TOOLS[name], np.random.default_rng(1), 0.0, []
    for _ in range(count):
        arm = TouchedArm(rng, name, tool)
        noise = SensorNoise.white(arm.model, VELOCITY_NOISE, EFFORT_NOISE, PERIOD)
        observer = ContactObserver(arm.model, noise, held=True)
        force = rng.normal(size=3)
        force *= 5.0 / np.linalg.norm(force)
        found, axes = None, []
        for k in range(220):
            axes.append(arm.pose()[1])
            state = observer.update(*arm.measure())
            if k == 150:
                arm.force = force
            if k <= 150:
                assert state is None or not state.touching
            elif state.begun:
                found = k - 150
            arm.step()
        assert found is not None and found <= 10
        told = contact_wrench(arm.model, state.q, tool, state.torque, state.covariance, moment=False)
        true = axes[-1 - round(state.age / PERIOD)].T @ force
        error, cover = told.wrench[3:] - true, told.covariance[3:, 3:]
        assert not len(told.unfelt) and not told.wrench[:3].any()
        square += error @ np.linalg.solve(cover, error)
        errors.append(np.linalg.norm(error))
    assert special.chdtri(3 * count, 1.0 - 1e-3) < square < special.chdtri(3 * count, 1e-3)
    assert name == "ur5" or np.max(errors) < 0.5  # where it knows its force less well, the covariance says so


@pytest.mark.parametrize("way", every_run(("known", "coloured"), ("known", "estimated", "coloured")))
def test_false_alarms_are_as_rare_as_said(way):
    """At rest, asked for ten a second: the mean number of windows above the threshold; estimated noise errs rarer."""
    rng, model = np.random.default_rng(2), panda()
    gravity = ld.gravity_force(model, REST)

    def states(count):
        white = rng.normal(size=(count + 200, 7))
        if way == "coloured":
            for k in range(1, len(white)):
                white[k] = 0.8 * white[k - 1] + 0.6 * white[k]
        rest = np.broadcast_to(REST, (count, 7))
        return rest, VELOCITY_NOISE * white[200:], gravity + EFFORT_NOISE * rng.normal(size=(count, 7))

    noise = published() if way == "known" else SensorNoise.from_rest(model, *states(8000), PERIOD)
    observer = ContactObserver(model, noise, false_alarms=36000.0)
    above = 0
    for state in zip(*states(10000), strict=True):
        found = observer.update(*state)
        above += found is not None and found.evidence > 1.0
    # 100 windows are expected above it where the covariance is exact; a state counts once, however many of its are.
    assert above <= 130
    assert above >= (55 if way == "known" else 5)


@pytest.mark.slow
def test_no_false_alarm_in_an_hour_of_motion():
    """Efforts of the motion by MuJoCo, repeated; noise is new each time."""
    model, judge, rng = panda(), physics("panda_arm"), np.random.default_rng(3)
    time = np.arange(0.0, 10.0, PERIOD)[:, None]
    rate = 2.0 * np.pi / 10.0 * np.array([1, 2, 3, 2, 4, 3, 5])
    size = 0.8 / np.array([1, 2, 3, 2, 4, 3, 5]) ** 0.5
    q = REST + size * np.sin(rate * time)
    qd, qdd = size * rate * np.cos(rate * time), -size * rate**2 * np.sin(rate * time)
    tau = np.array([judge.inverse_dynamics(*state) for state in zip(q, qd, qdd, strict=True)])
    observer, most = ContactObserver(model, published()), 0.0
    for _ in range(360):
        v, e = qd + VELOCITY_NOISE * rng.normal(size=qd.shape), tau + EFFORT_NOISE * rng.normal(size=tau.shape)
        for state in zip(q, v, e, strict=True):
            found = observer.update(*state)
            if found is not None:
                most = max(most, found.evidence)
        assert most < 1.0


def to_and_fro(seconds, size=0.4, rate=3.0):
    """A motion of all joints with its efforts, by MuJoCo."""
    t = np.arange(0.0, seconds, PERIOD)[:, None]
    phase = np.linspace(0.0, 1.0, 7)
    q = REST + size * np.sin(rate * t + phase)
    qd, qdd = size * rate * np.cos(rate * t + phase), -size * rate**2 * np.sin(rate * t + phase)
    judge = physics("panda_arm")
    return q, qd, np.array([judge.inverse_dynamics(*state) for state in zip(q, qd, qdd, strict=True)])


def test_friction_that_is_not_known_does_not_ring_when_joints_turn_round_and_is_learned():
    """Drives rub by up to 0.6 N m more than the model, and drift; then a push half as large is felt."""
    model, rng = panda(), np.random.default_rng(4)
    q, qd, tau = to_and_fro(14.0)
    drift = np.linspace(1.0, 1.2, len(q))[:, None]
    rub = 0.6 * rng.uniform(0.5, 1.0, 7) * np.tanh(qd / 0.02) * drift + rng.uniform(-0.3, 0.3, 7)
    qd = qd + VELOCITY_NOISE * rng.normal(size=q.shape)
    tau = tau + rub + EFFORT_NOISE * rng.normal(size=q.shape)
    push = np.zeros_like(tau)
    push[-200:] = 0.3
    wary = ContactObserver(model, published(), offset_error=0.3, friction_error=0.6)
    naive = ContactObserver(model, published())
    first, rang = None, False
    for k, state in enumerate(zip(q, qd, tau - push, strict=True)):
        found = wary.update(*state)
        if k < 2000:
            told = naive.update(*state)
            rang |= told is not None and told.touching
        if found is not None and found.begun:
            first = k if first is None else first
    assert rang
    assert first is not None and 0 <= first - (len(q) - 200) <= 60


@pytest.mark.parametrize(("friction", "lost"), [(4.0, range(0)), (0.0, range(66, 86))])
def test_states_that_come_in_a_burst_do_not_ring_though_friction_was_learned(friction, lost):
    """Friction that nobody told, learned; then 30 states a time wait, and come 0.1 ms apart.

    A window of 64 states that begins with some of those may end with a gap as long as what is left of their wait.
    """
    model, rng = panda(), np.random.default_rng(6)
    q, qd, tau = to_and_fro(8.0, size=0.3, rate=5.0)
    tau = tau + friction * qd / np.hypot(qd, 0.01) + EFFORT_NOISE * rng.normal(size=q.shape)
    qd = qd + VELOCITY_NOISE * rng.normal(size=q.shape)
    observer, stamp, last, largest = ContactObserver(model, published(), friction_error=friction), 0.0, -PERIOD, 0.0
    for k in range(len(q)):
        part = k % 200
        stamp = k * PERIOD
        if k > 4000 and part in lost:
            continue
        if k > 4000 and part < 30:
            stamp = (k - part + 30) * PERIOD - 1e-4 * (30 - part)
        found = observer.update(q[k], qd[k], tau[k], stamp - last)
        last = stamp
        largest = max(largest, 0.0 if found is None else found.evidence)
    assert np.abs(observer.drift[:, 1] + friction).max() < 0.5
    assert largest < 1.0


def test_a_contact_ends_though_offsets_have_drifted_meanwhile():
    """What was learned before a long contact is known less well after it."""
    model, gravity = panda(), ld.gravity_force(panda(), REST)
    observer = ContactObserver(model, published(), offset_error=0.3, drift_time=2.0)
    rng, touching = np.random.default_rng(8), []
    for k in range(9000):
        pushed = 2.0 if 2000 <= k < 6000 else 0.3 if k >= 6000 else 0.0
        v, e = VELOCITY_NOISE * rng.normal(size=7), EFFORT_NOISE * rng.normal(size=7)
        found = observer.update(REST, v, gravity - pushed + e)
        touching.append(found is not None and found.touching)
    assert not any(touching[:2000]) and all(touching[2010:6000]) and not any(touching[6300:])
    np.testing.assert_allclose(observer.drift[:, 0], 0.3, atol=0.05)


def test_friction_of_a_joint_at_rest_does_not_ring():
    model = panda()
    friction = ld.JointFriction(np.zeros(7), np.full(7, 2.0))
    observer = ContactObserver(model, published(), friction=friction)
    for sign in (1.0, -1.0):
        for _ in range(100):
            found = observer.update(REST, np.zeros(7), ld.gravity_force(model, REST) + 2.0 * sign)
            assert found is None or found.evidence <= 1.0 + 1e-9
    for _ in range(100):
        found = observer.update(REST, np.zeros(7), ld.gravity_force(model, REST) + 4.0)
    assert found.touching


class Errands:
    """An arm that goes to and fro, rests between, with dry friction; states are lost, or come late in bursts."""

    PERIOD = 2e-3

    def __init__(self, name, seed, seconds, delay=0.0):
        rng, arm = np.random.default_rng(seed), load(name)
        self.rng, self.model, n = rng, arm.model, arm.model.nv
        t = np.arange(0.0, seconds, self.PERIOD)
        period, share = rng.uniform(3.0, 6.0), rng.uniform(0.4, 0.8)
        leg, part = np.divmod(t - delay, period)
        s, way, fast = np.clip(part / (share * period), 0.0, 1.0), np.where(leg % 2 == 0, 1.0, -1.0), 1 / share / period
        start, end = arm.random_pose(rng, 0.3), arm.random_pose(rng, 0.3)
        along = (leg % 2 != 0) + way * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
        rate, change = 30.0 * (s * (1.0 - s)) ** 2 * way * fast, 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) * way * fast**2
        q, qd, qdd = (x[:, None] * (end - start) for x in (along, rate, change))
        judge = physics(name)
        tau = np.array([judge.inverse_dynamics(*x) for x in zip(start + q, qd, qdd, strict=True)])
        self.dry = 0.05 * np.abs(tau).max(axis=0) + 0.2
        held = rng.uniform(-1.0, 1.0, (int(leg.max()) + 2, n))[leg.astype(int)]
        self.effort = tau + self.dry * np.where(rate[:, None] == 0.0, held, qd / np.sqrt(qd**2 + 1e-4))
        self.effort += self.dry * rng.uniform(-0.1, 0.1, n) * np.sign(qd) + self.dry * rng.uniform(-0.05, 0.05, n)
        shift = round(delay / self.PERIOD)  # states are of now, efforts of a time ago
        self.states = tuple(np.roll(x, -shift, axis=0) for x in (start + q, qd)) if shift else (start + q, qd)

    def measured(self):
        """Yield states with noise, and the time since the one before, as far as stamps tell."""
        rng, k, stamp, last = self.rng, 0, 0.0, -self.PERIOD
        while k < len(self.effort) - 20:
            wait, late = int(rng.integers(100, 600)), int(rng.integers(2, 16))
            for i in range(wait + late):  # of a driver that stalls: these are lost, or come at its end in a burst
                stamp = (k + i) * self.PERIOD + rng.uniform(0.0, 2e-5) if i < wait else last + 1e-4
                if i == wait:
                    stamp, lost = (k + wait + late - 1) * self.PERIOD - 1e-4 * late, rng.random() < 0.5
                if (i >= wait and lost) or k + i >= len(self.effort):
                    continue
                noise = rng.normal(size=(2, self.model.nv)) * [[VELOCITY_NOISE], [0.05]]
                q, qd = (x[k + i] for x in self.states)
                yield q, qd + noise[0], self.effort[k + i] + noise[1], stamp - last
                last = stamp
            k += wait + late


USUAL = (0, False), (1, True)
"""Arms in every run, by number, and whether their friction is known."""


@pytest.mark.parametrize(
    ("name", "seconds", "known"),
    [
        pytest.param(name, seconds, known, marks=() if seconds < 10.0 and (k, known) in USUAL else pytest.mark.slow)
        for k, name in enumerate(NAMES)
        for seconds in (6.0, 3600.0)
        for known in (True, False)
    ],
)
def test_nothing_rings_in_free_motion_with_rests_gaps_bursts_and_dry_friction(name, seconds, known):
    """The friction known to a tenth, or not at all; MuJoCo's efforts. The slow ones take an hour each."""
    for seed in range(max(1, round(seconds / 30.0))):
        arm = Errands(name, seed, min(seconds, 30.0))
        noise = SensorNoise.white(arm.model, VELOCITY_NOISE, 0.05, arm.PERIOD)
        told = {"friction_error": 0.1 * arm.dry, "offset_error": 0.05 * arm.dry} if known else {
            "friction_error": arm.dry, "offset_error": 0.3
        }  # fmt: skip
        law = ld.JointFriction(np.zeros(arm.model.nv), arm.dry) if known else None
        observer = ContactObserver(arm.model, noise, friction=law, **told)
        for state in arm.measured():
            found = observer.update(*state)
            assert found is None or found.evidence < 1.0


@pytest.mark.slow  # in every run late efforts are, and gaps, each in a test
def test_late_efforts_and_gaps_do_not_ring():
    arm = Errands("ur5", 3, 6.0, delay=0.006)
    noise = SensorNoise.white(arm.model, VELOCITY_NOISE, 0.05, arm.PERIOD)
    friction = ld.JointFriction(np.zeros(6), arm.dry)
    observer = ContactObserver(
        arm.model, noise, friction=friction, friction_error=0.1 * arm.dry, offset_error=0.05 * arm.dry,
        effort_delay=0.006,
    )  # fmt: skip
    for state in arm.measured():
        found = observer.update(*state)
        assert found is None or found.evidence < 1.0


@pytest.mark.parametrize(
    ("held", "friction", "offset"),
    [
        (2.5, 0.5, 0.5),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1.0, 0.5, 0.0), (2.5, 0.0, 0.0), (2.5, 0.5, 2.0))),
    ],
)
def test_what_friction_holds_at_rest_is_not_learned(held, friction, offset):
    """Ten seconds of rest, where dry friction holds a part of what it can, then free motion; nothing touches."""
    model, rng = panda(), np.random.default_rng(1)
    law = ld.JointFriction(np.zeros(7), np.full(7, 3.0))
    observer = ContactObserver(
        model, SensorNoise.white(model, VELOCITY_NOISE, EFFORT_NOISE, PERIOD), friction=law,
        friction_error=friction, offset_error=offset,
    )  # fmt: skip
    q, qd, tau = to_and_fro(4.0, rate=1.0)
    start = q[0], np.zeros(7), ld.gravity_force(model, q[0]) + held
    ride = zip(q, qd, tau + law.force(qd, tau), strict=True)
    for k, (x, v, e) in enumerate([*[start] * 10000, *ride]):
        found = observer.update(
            x, v + VELOCITY_NOISE * rng.normal(size=7) if k >= 10000 else v, e + EFFORT_NOISE * rng.normal(size=7)
        )
        if k == 10002:
            observer.restart()  # the motion begins at its full speed
        assert found is None or found.evidence < 1.0 or k in (10000, 10001, 10002)


def test_errors_that_are_told_larger_never_ring_more():
    """A joint rubs otherwise than offset and sign can say, as real drives do: louder errors are heard less."""
    model, rng = panda(), np.random.default_rng(9)
    q, qd, tau = to_and_fro(3.0, rate=2.0)
    rub = 3.0 * np.tanh(qd / 0.05) * (1.0 + 0.5 * np.sin(3.0 * q)) + 2.0 * np.sin(2.0 * q)
    qd, tau = qd + VELOCITY_NOISE * rng.normal(size=q.shape), tau + rub + EFFORT_NOISE * rng.normal(size=q.shape)
    shares = []
    for told in (0.0, 1.0, 3.0, 10.0):
        observer = ContactObserver(model, published(), friction_error=told, offset_error=told)
        found = [observer.update(*state) for state in zip(q, qd, tau, strict=True)]
        shares.append(sum(x is not None and x.touching for x in found) / len(found))
    assert shares[0] > 0.9 and shares[-2] == shares[-1] == 0.0
    assert shares == sorted(shares, reverse=True)


def test_every_kind_of_joint_and_efforts_between_states():
    """A tree with balls, screws and a free joint under constant forces and a push, without noise."""
    rng = np.random.default_rng(5)
    model = sample_trees.to_model(sample_trees.zoo(rng))
    q, qd, tau, push = model.random(rng), 0.3 * rng.normal(size=model.nv), *rng.normal(size=(2, model.nv))
    motion = integrate_motion(
        model, lambda _t, x, v: ld.forward_dynamics(model, x, v, tau + push), q, qd, step=5e-4, steps=80
    )
    for delay in (0.0, 0.0035):
        observer = ContactObserver(model, SensorNoise.white(model, 1e-3, 1e-2, 5e-4), effort_delay=delay)
        for x, v in zip(motion.q, motion.qd, strict=True):
            found = observer.update(x, v, tau)
        assert relative(found.torque, push) < 2e-3
        assert found.torque.shape == (model.nv,) and found.q.shape == (model.nq,)


def test_late_efforts_are_held_against_the_states_they_belong_to():
    """5 ms late: as they come they ring; with `effort_delay` torques are those without delay, later by as much."""
    model = panda()
    q, qd, tau = to_and_fro(1.0, 0.3, 8.0)
    late = np.vstack([tau[:5][:1].repeat(5, axis=0), tau[:-5]])
    noise = SensorNoise.white(model, VELOCITY_NOISE, EFFORT_NOISE, PERIOD)
    plain = ContactObserver(model, noise)
    aligned = ContactObserver(model, noise, effort_delay=0.005)
    heedless = ContactObserver(model, noise)
    worst, exact = 0.0, []
    for k in range(len(q)):
        exact.append(plain.update(q[k], qd[k], tau[k]))
        found = aligned.update(q[k], qd[k], late[k])
        careless = heedless.update(q[k], qd[k], late[k])
        if k > 100:
            worst = max(worst, careless.evidence)
            assert np.allclose(found.torque, exact[k - 5].torque, atol=1e-9)
            assert found.age == pytest.approx(exact[k - 5].age + 0.005)
    assert worst > 1.0


def test_positions_alone_are_enough_for_a_touch():
    """Steps of 2^-18 turns, which do not show at rest; velocities by the filter of the nodes, which expects efforts."""
    rng, step, n = np.random.default_rng(6), 2.0 * np.pi / 2**18, np.zeros(7)
    held_up = ld.gravity_force(panda(), REST) + EFFORT_NOISE * rng.normal(size=(1000, 7))
    still = SensorNoise.from_rest(panda(), np.tile(REST, (1000, 1)), np.zeros((1000, 7)), held_up, PERIOD)
    noise = still.with_resolution(n + velocity_noise(0.005, PERIOD) * step, n)
    for _ in range(2):
        arm = TouchedArm(rng)
        filter_ = VelocityFilter(7, 0.005)
        observer = ContactObserver(arm.model, noise, held=True)
        found = None
        for k in range(400):
            q, _, tau = arm.measure()
            seen, velocity = step * np.round(q / step), np.full(7, np.nan)
            filter_.fill(k * 10**6, seen, velocity, observer.acceleration)
            if k < 80:
                observer.acceleration = arm.desired(k * PERIOD)[2]
                velocity = arm.desired(k * PERIOD)[1]
            state = observer.update(seen, velocity, tau)
            if k == 300:
                arm.force = np.array([0.0, 0.0, 5.0])
            if 100 < k <= 300:
                assert not state.touching
            elif state is not None and state.begun and found is None:
                found = k - 300
            arm.step()
        assert found is not None and 0 < found <= 10


def test_the_acceleration_that_filters_are_to_expect_is_that_of_the_motion():
    q, qd, tau = to_and_fro(1.0, 0.6, 4.0)
    observer = ContactObserver(panda(), published())
    for k, state in enumerate(zip(q, qd, tau, strict=True)):
        observer.update(*state)
        np.testing.assert_allclose(observer.acceleration, -16.0 * (q[k] - REST), rtol=0, atol=1e-6)


def test_steps_of_readings_count_as_noise_over_a_twelfth_of_their_square():
    """Readings that move through steps of their own, against the statistics of what rounding leaves."""
    rng, step, force = np.random.default_rng(9), 0.01, 0.3
    noise = SensorNoise.white(panda(), 1e-9, 1e-9, PERIOD).with_resolution(np.full(7, step), np.full(7, force))
    off = rng.uniform(0.0, step, (20000, 7))
    error = step * np.round(off / step) - off
    np.testing.assert_allclose(np.diag(noise.velocity[0]), 2.0 * error.var(axis=0), rtol=0.05)
    off = rng.uniform(0.0, force, (4000, 64, 7))
    over = PERIOD * (force * np.round(off / force) - off).sum(axis=1)
    np.testing.assert_allclose(np.diag(noise.impulse[-1]), over.var(axis=0), rtol=0.1)
    assert np.array_equal(noise.velocity[0], np.diag(np.diag(noise.velocity[0])))
    for steps, reason in ((([1.0], 0.0), "velocity"), ((0.0, -1.0), "effort"), ((np.nan, 0.0), "velocity")):
        with pytest.raises(ld.InputError, match=reason):
            noise.with_resolution(*steps)


def test_a_contact_ends_after_a_while_without_it():
    model, gravity = panda(), ld.gravity_force(panda(), REST)
    observer, events = ContactObserver(model, published(), release=0.05), []
    for k in range(400):
        pushed = np.where(100 <= k < 200, 2.0, 0.0)
        found = observer.update(REST, np.zeros(7), gravity - pushed)
        if found is not None and (found.begun or found.ended):
            events.append((k, found.begun))
    (begun, first), (ended, last) = events
    assert first and not last and 100 <= begun <= 102
    assert 250 <= ended <= 200 + WINDOWS[-1] + 52
    observer.reset()
    assert observer.update(REST, np.zeros(7), gravity) is None


def test_directions_that_are_not_felt_are_told():
    """A force on the elbow along the upper arm passes through the axes of all joints before it."""
    model, cover = panda(), 1e-4 * np.eye(7)
    upper = ld.frame_pose(model, REST, "panda_link3")[:3, :3].T @ ld.frame_pose(model, REST, "panda_link3")[:3, 3]
    upper -= ld.frame_pose(model, REST, "panda_link3")[:3, :3].T @ np.array([0.0, 0.0, 0.333])  # from the shoulder on
    upper /= np.linalg.norm(upper)
    force = np.array([3.0, -2.0, 4.0])
    J = ld.jacobian(model, REST, "panda_link3")
    told = contact_wrench(model, REST, "panda_link3", J[3:].T @ force, cover, moment=False)
    assert len(told.unfelt) == 1 and not told.unfelt[0, :3].any()
    assert abs(told.unfelt[0, 3:] @ upper) == pytest.approx(1.0)
    assert np.allclose(told.wrench[3:], force - upper * (upper @ force))
    assert np.abs(told.covariance @ told.unfelt[0]).max() < 1e-12
    whole = contact_wrench(model, REST, TOOL, ld.jacobian(model, REST, TOOL).T @ np.arange(1.0, 7.0), cover)
    assert not len(whole.unfelt) and np.allclose(whole.wrench, np.arange(1.0, 7.0))
    at_shoulder = np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert contact_wrench(model, REST, TOOL, at_shoulder, cover, moment=False).misfit < 1e-6


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"false_alarms": 0.0}, "false_alarms"),
        ({"averaging": np.nan}, "averaging"),
        ({"release": -1.0}, "release"),
        ({"friction_error": [1.0, 2.0]}, "friction_error"),
        ({"effort_delay": "5"}, "effort_delay"),
        ({"noise": None}, "SensorNoise"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(ld.InputError, match=reason):
        ContactObserver(panda(), **{"noise": published()} | settings)


def test_arrays_may_lie_in_memory_as_they_like():
    """Columns of a table, and matrices by columns, give what their copies give."""
    model, rng = panda(), np.random.default_rng(9)
    table, noise, told = rng.normal(size=(4, 7, 3)), published(), []
    root = rng.normal(size=(7, 7))
    for of in (lambda x: x, lambda x: x.copy()):
        observer = ContactObserver(model, noise)
        states = [observer.update(*(of(column) for column in row.T)) for row in table]
        found = contact_wrench(model, of(table[0, :, 0]), TOOL, of(table[0, :, 1]), of((root @ root.T).T))
        told.append((states[-1].torque, states[-1].covariance, found.wrench))
    for one, other in zip(*told, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_noise_is_of_a_robot_at_rest():
    model, states = panda(), np.zeros((1000, 7))
    moving = states.copy()
    moving[:, 3] = np.linspace(0.0, 0.1, 1000)
    with pytest.raises(ld.InputError, match="panda_joint4"):
        SensorNoise.from_rest(model, moving, states, states, PERIOD)
    with pytest.raises(ld.InputError, match="272 states"):
        SensorNoise.from_rest(model, states[:200], states[:200], states[:200], PERIOD)
    with pytest.raises(ld.InputError, match="period"):
        SensorNoise.from_rest(model, states, states, states, 0.0)
    observer = ContactObserver(model, published())
    with pytest.raises(ld.InputError, match="tau"):
        observer.update(REST, np.zeros(7), np.full(7, np.nan))


@pytest.mark.parametrize("moment", [True, False])
def test_wrenches_are_those_of_a_singular_value_decomposition(moment):
    """The weighted map by LAPACK, with what it cannot tell: felt and unfelt, for bodies with more and less joints."""
    model, rng = panda(), np.random.default_rng(5)
    scale = np.diag([0.1] * 3 + [1.0] * 3)[:, 0 if moment else 3 :]
    ranks = set()
    for frame in ("panda_link3", "panda_link5", "panda_link8"):
        for limit in (0.05, 1.0, 20.0):
            q = rng.uniform(-1.0, 1.0, 7) + np.array([0, 0, 0, -1.5, 0, 1.5, 0])
            factor, torque = 0.1 * rng.normal(size=(7, 7)) + 0.1 * np.eye(7), rng.normal(size=7)
            told = contact_wrench(model, q, frame, torque, factor @ factor.T, moment, limit)
            white = np.linalg.inv(factor)
            _, s, V = np.linalg.svd(white @ ld.jacobian(model, q, frame).T @ scale)
            felt = s * limit > 1.0
            back = scale @ V[: len(s)][felt].T / s[felt]
            ranks.add(int(felt.sum()))
            wrench = (
                scale
                @ V[: len(s)][felt].T
                @ np.linalg.lstsq(
                    white @ ld.jacobian(model, q, frame).T @ scale @ V[: len(s)][felt].T, white @ torque, rcond=None
                )[0]
            )
            np.testing.assert_allclose(told.wrench, wrench, atol=1e-9 * np.abs(wrench).max(initial=1e-9))
            np.testing.assert_allclose(told.covariance, back @ back.T, atol=1e-9 * (back**2).max(initial=1e-9))
            unfelt = scale @ np.vstack([V[: len(s)][~felt], V[len(s) :]]).T
            np.testing.assert_allclose(told.unfelt.T @ told.unfelt, unfelt @ unfelt.T, atol=1e-9)
    assert len(ranks) > 2
