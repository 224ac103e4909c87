"""The classical washout against transfer functions by scipy.signal, a differential equation, and gravity."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart.command import ClassicalWashout

G = 9.81
REST = np.array([0.0, 0.0, G])
STILL = np.zeros(3)
HIGH, LOW, TURN, BACK = (2.5, 0.8), (3.0, 1.2), (1.1, 0.7), 0.3


def washout(period=0.01, **options):
    given = dict(
        translation_cutoff=HIGH[0], translation_damping=HIGH[1], return_cutoff=BACK, rotation_cutoff=TURN[0],
        rotation_damping=TURN[1], tilt_cutoff=LOW[0], tilt_damping=LOW[1], force_scale=1.0, rate_scale=1.0,
        tilt_rate=1e3, tilt_angle=1.4,
    )  # fmt: skip
    return ClassicalWashout(period, **{**given, **options})


def second(corner):
    """Denominator s^2 + 2 z w s + w^2."""
    return [1.0, 2.0 * corner[0] * corner[1], corner[0] ** 2]


def sampled(numerator, denominator, period, held):
    """What a transfer function makes of a held input, at the end of each period."""
    from scipy.signal import cont2discrete, dlsim  # loaded by who runs this, not by all who collect tests

    system = cont2discrete((numerator, denominator), period)
    _, out = dlsim((*(np.atleast_2d(x) if k == 0 else x for k, x in enumerate(system[:2])), period),
                   np.append(held, held[-1]))  # fmt: skip
    return out[1:, 0]


def test_heave_is_that_of_the_transfer_function(rng):
    """Along the vertical there is no tilt: position over acceleration is s / ((s^2 + 2 z w s + w^2) (s + w'))."""
    period = 0.02
    held = rng.uniform(-5.0, 5.0, 200)
    found = washout(period).run(REST + held[:, None] * [0, 0, 1], np.zeros((200, 3)))
    expected = sampled([1.0, 0.0], np.polymul(second(HIGH), [1.0, BACK]), period, held)
    np.testing.assert_allclose(found.pose[:, 2, 3], expected, rtol=0, atol=1e-9)
    speed = sampled([1.0, 0.0, 0.0], np.polymul(second(HIGH), [1.0, BACK]), period, held)
    np.testing.assert_allclose(found.twist[:, 5], speed, rtol=0, atol=1e-9)
    assert np.abs(found.pose[:, :3, :3] - np.eye(3)).max() == 0.0


def test_large_turns_about_one_axis_are_those_of_the_transfer_function(rng):
    """Angle over rate is s / (s^2 + 2 z w s + w^2), however far it goes."""
    axis = np.array([0.0, 0.0, 1.0])  # no gravity in it
    held = np.repeat(rng.uniform(-2.0, 2.0, 10), 40)
    found = washout().run(np.tile(REST, (400, 1)), held[:, None] * axis)
    expected = sampled([1.0, 0.0], second(TURN), 0.01, held)
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(found.pose[:, :3, :3], Rotation.from_rotvec(expected[:, None] * axis).as_matrix(),
                               rtol=0, atol=1e-9)  # fmt: skip
    assert np.abs(found.pose[:, :3, 3]).max() < 1e-12
    ends = np.arange(39, 399, 40)
    rates = np.diff(expected)[ends - 1] / 0.01  # before the input changes; the mean of the last period
    assert np.abs(found.twist[ends, 2] - rates).max() < 0.03


def test_turns_about_any_axes_approach_the_differential_equation():
    """R' = R [w - c1 log R - c0 z], z' = log R: the error falls with the period."""
    c1, c0 = 2.0 * TURN[0] * TURN[1], TURN[0] ** 2

    def rate(t):
        return np.array([1.2 * np.sin(2.0 * t), 0.9 * np.cos(3.0 * t), 0.8])

    def flow(t, x):
        turn = Rotation.from_quat(x[:4])
        phi = turn.as_rotvec()
        w = rate(t) - c1 * phi - c0 * x[4:]
        return np.concatenate([0.5 * (Rotation.from_quat(x[:4]).as_quat()[3] * np.append(w, 0.0)
                               + np.append(np.cross(x[:3], w), -x[:3] @ w)), phi])  # fmt: skip

    exact = solve_ivp(flow, (0.0, 3.0), [0, 0, 0, 1.0, 0, 0, 0], rtol=1e-9, atol=1e-10).y[:, -1]
    errors = []
    for period in (0.04, 0.02):
        middle = (np.arange(round(3.0 / period)) + 0.5) * period
        # Specific forces that pull nowhere: the tilt stays where it is.
        filters = washout(period, force_scale=0.0)
        found = filters.run(np.tile(REST, (len(middle), 1)), np.array([rate(t) for t in middle]))
        errors.append((Rotation.from_quat(exact[:4]).inv() * Rotation.from_matrix(found.pose[-1, :3, :3])).magnitude())
    assert errors[1] < 0.6 * errors[0] < 0.03


def test_small_forces_are_felt_by_the_frequency_response():
    """Felt over given is L + H (1 - L): the low-pass filter by tilt, the high-pass filters by acceleration."""
    period, w = 0.02, np.array([0.7, 2.0])
    s = 1j * w
    high = s**3 / (np.polyval(second(HIGH), s) * (s + BACK))
    low = LOW[0] ** 2 / np.polyval(second(LOW), s)
    held = (1.0 - np.exp(-s * period)) / (s * period)
    t = period * np.arange(1, round(34.0 / period) + 1)[:, None]
    given = np.zeros((len(t), 2, 3))
    given[:, 0, 0], given[:, 1, 1] = (1e-3 * np.sin(w * (t - period))).T  # along x, and along y
    found = washout(period).run(REST + given, np.zeros_like(given))

    def response(x):
        made = []
        for k in (0, 1):
            last = t[:, 0] > 25.0
            basis = np.stack([np.sin(w[k] * t[last, 0]), np.cos(w[k] * t[last, 0])], axis=1)
            a, b = np.linalg.lstsq(basis, x[last, k, k], rcond=None)[0]
            made.append(1e3 * (a + 1j * b))
        return np.array(made)

    place = response(found.pose[..., :3, 3])
    assert (np.abs(place - high / s**2 * (1.0 - low) * held) < 0.01 * np.abs(high / s**2)).all()
    lean = response(found.pose[..., 2, :3])  # the vertical in axes of the cab
    assert (np.abs(lean * G - low * held) < 0.01 * np.abs(low)).all()
    assert (np.abs(response(found.felt) - (low + high * (1.0 - low)) * held) < 0.05).all()


def test_a_lasting_acceleration_becomes_a_tilt_by_which_gravity_pulls_that_way():
    period, push = 0.1, np.array([[2.0, 0.0, 0.0], [0.0, 1.5, 0.0], [-1.0, -1.0, 0.0]])
    filters, none = washout(period, tilt_rate=0.05, tilt_angle=0.3), np.zeros((500, 3, 3))
    found = filters.run(np.tile(REST + push, (500, 1, 1)), none)
    direction = (REST + push) / np.linalg.norm(REST + push, axis=-1, keepdims=True)
    np.testing.assert_allclose(found.felt[-1], G * direction, rtol=0, atol=1e-3)
    # Axes of the cab that point where the vehicle speeds up point upward: ahead with the nose up.
    assert np.array_equal(np.sign(found.pose[-1, :, 2, :2].round(9)), np.sign(push[:, :2]))
    assert np.abs(found.pose[-1, :, :3, 3]).max() < 1e-3 < np.abs(found.pose[:, :, :3, 3]).max()
    turns = [Rotation.from_matrix(x.reshape(-1, 3, 3)) for x in (found.pose[:-1, :, :3, :3], found.pose[1:, :, :3, :3])]
    speed = (turns[0].inv() * turns[1]).magnitude() / period
    assert 0.0499 < speed.max() <= 0.05 * (1.0 + 1e-6)
    back = filters.run(np.tile(REST, (500, 3, 1)), none)
    assert np.abs(back.pose[-1] - np.eye(4)).max() < 1e-4
    assert np.abs(back.twist[-1]).max() < 1e-4


def test_poses_twists_and_felt_forces_are_those_of_one_motion(rng):
    """Differences of poses in small periods: body twists, and accelerations of the head with gravity."""
    period = 1e-4
    filters = washout(period, tilt_rate=0.2)
    filters.run(rng.normal(REST, 0.5, (50, 3)), rng.normal(0.0, 0.5, (50, 3)))
    force, rate = REST + np.array([1.0, -0.6, 0.4]), np.array([0.3, -0.2, 0.5])
    found = filters.run(np.tile(force, (4, 1)), np.tile(rate, (4, 1)))
    turns = Rotation.from_matrix(found.pose[:, :3, :3])
    w = (turns[0].inv() * turns[2]).as_rotvec() / (2.0 * period)
    np.testing.assert_allclose(found.twist[1, :3], w, rtol=0, atol=1e-3)
    velocity = (found.pose[2, :3, 3] - found.pose[0, :3, 3]) / (2.0 * period)
    np.testing.assert_allclose(found.twist[1, 3:], turns[1].inv().apply(velocity), rtol=0, atol=1e-5)
    speeds = [turns[k].apply(found.twist[k, 3:]) for k in range(3)]
    felt = turns[1].inv().apply((speeds[2] - speeds[0]) / (2.0 * period) + REST)
    np.testing.assert_allclose(found.felt[1], felt, rtol=0, atol=1e-3)


def test_scales_and_largest_inputs_keep_directions():
    small = ClassicalWashout(0.1, force_scale=0.5, largest_force=1.0, tilt_rate=1e3, tilt_angle=1.4)
    force = REST + np.array([[0.4], [1e3], [1e300]]) * np.array([3.0, 4.0, 0.0])
    felt = small.run(np.tile(force, (400, 1, 1)), np.zeros((400, 3, 3))).felt[-1]
    np.testing.assert_allclose(felt[:, :2] / felt[:, 2:], np.tile([0.6 / G, 0.8 / G], (3, 1)), rtol=1e-3)


def test_any_finite_input_makes_a_finite_motion_within_the_angle(rng):
    force = np.array([(0.0, 0.0, 0.0), (0.0, 0.0, -30.0), (50.0, 0.0, 0.0), (1e308, -1e308, 1e308)])
    for size in (0.0, 1.0, 1e300):
        filters = washout(0.05, tilt_angle=0.2, largest_force=100.0)
        found = filters.run(np.tile(force, (150, 1, 1)), size * rng.uniform(-1.0, 1.0, (150, 4, 3)))
        assert all(np.isfinite(field).all() for field in found)
        R = found.pose[..., :3, :3]
        assert np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max() < 1e-12
        if not size:
            assert np.arccos(R[..., 2, 2].clip(-1.0, 1.0)).max() <= 0.2 + 1e-6


def test_states_go_on_in_filters_of_another_period():
    fine, coarse = washout(0.01), washout(0.1)
    force, still = np.tile(REST + np.array([0.0, 0.0, 2.0]), (10, 1)), np.zeros((10, 3))
    fine.run(force, still)
    coarse.state = fine.state
    ahead = coarse.step(force[0], STILL)
    np.testing.assert_allclose(ahead.pose, fine.run(force, still).pose[-1], rtol=0, atol=1e-12)
    fine.reset()
    assert np.array_equal(fine.motion.pose, np.eye(4))
    assert np.array_equal(fine.motion.felt, REST)


BAD = [
    *(
        lambda name=name, value=value: ClassicalWashout(0.01, **{name: value})
        for name in ("translation_cutoff", "tilt_damping", "return_cutoff", "rotation_cutoff", "tilt_rate", "gravity")
        for value in (0.0, -1.0, np.nan, np.inf, None, "1", [1.0, 2.0], {}, True)
    ),
    *(lambda value=value: ClassicalWashout(0.01, force_scale=value) for value in (np.nan, 1e9, None, [1.0, 2.0])),
    lambda: ClassicalWashout(0.0),
    lambda: ClassicalWashout(np.nan),
    lambda: washout().step([0.0, np.nan, 0.0], STILL),
    lambda: washout().step(REST, [0.0, np.inf, 0.0]),
    lambda: washout().step([0.0, 0.0], STILL),
    lambda: washout().run(REST, STILL),
    lambda: washout().run(np.zeros((0, 3)), np.zeros((0, 3))),
    lambda: washout().run(np.zeros((3, 3)), np.zeros((2, 3))),
]


@all_of("call", BAD)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(LieDynamicsError):
        call()
