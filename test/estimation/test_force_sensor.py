"""A force-torque sensor between flange and tool, by MuJoCo's own sensors: calibration, and the contact that is left."""

import numpy as np
import pytest
from scipy import special
from support.arms import load
from support.sensed_tool import BIAS, COM, FLANGE, INERTIA, MASS, NOISE, Wrist

from lie_dynamics_ros.lie_dynamics import InputError, frame_pose
from lie_dynamics_ros.lie_dynamics.estimation import (
    ForceSensorCalibration,
    calibrate_force_sensor,
    next_direction,
    tool_contact,
)

READINGS = 100


@pytest.fixture(scope="module")
def wrist():
    return Wrist()


def poses(wrist, rng, count):
    limits = load("panda_arm")
    q = rng.uniform(limits.lower, limits.upper, (count, 7))
    gravity = np.array([frame_pose(wrist.model, x, FLANGE)[:3, :3].T @ [0.0, 0.0, -9.81] for x in q])
    zero = np.zeros(7)
    return gravity, np.array([wrist.read(x, zero, zero) for x in q])


@pytest.mark.parametrize("sign", [1, -1])
def test_tool_and_bias_are_found_as_well_as_the_covariance_says(wrist, sign):
    """Sixty calibrations of six poses each; chi-square of all ten parameters, and of what the fits leave."""
    rng, square, left = np.random.default_rng(1), 0.0, 0.0
    true = np.concatenate([BIAS, [MASS], MASS * COM])
    gravity, readings = poses(wrist, rng, 6)
    for _ in range(60):
        noisy = readings + BIAS + rng.multivariate_normal(np.zeros(6), NOISE / READINGS, len(readings))
        found = calibrate_force_sensor(gravity, sign * noisy, NOISE / READINGS)
        assert found.sign == sign
        error = np.concatenate([found.bias, [found.mass], found.mass * found.com]) - true
        square += error @ np.linalg.solve(found.covariance, error)
        left += found.chi_square
        assert found.degrees == 26 and (found.com_deviation < 1e-3).all() and found.mass_deviation < 5e-3
    assert special.chdtri(600, 1.0 - 1e-3) < square < special.chdtri(600, 1e-3)
    assert special.chdtri(60 * 26, 1.0 - 1e-3) < left < special.chdtri(60 * 26, 1e-3)


def test_contact_is_what_is_left_in_motion(wrist):
    """Without noise, to rounding errors, for any motion and push; the inertia about the centre of mass is given."""
    rng = np.random.default_rng(3)
    gravity, readings = poses(wrist, rng, 6)
    found = calibrate_force_sensor(gravity, readings + BIAS, NOISE)
    for _ in range(10):
        q, qd, qdd = (
            rng.uniform(-1.0, 1.0, 7) - [0, 0, 0, 1.5, 0, -1.5, 0],
            rng.normal(size=7),
            5.0 * rng.normal(size=7),
        )
        push = rng.normal(size=6) * np.repeat([1.0, 10.0], 3)
        reading = wrist.read(q, qd, qdd, push) + BIAS
        wrench, cover = tool_contact(wrist.model, found, FLANGE, (q, qd, qdd), reading[::-1].copy()[::-1], INERTIA)
        np.testing.assert_allclose(wrench, push, atol=1e-6)
        assert np.linalg.eigvalsh(cover).min() > 0.0


@pytest.mark.parametrize(
    ("state", "changed"),
    [((7, 7, 6), {}), ((7, 7, 8), {}), ((7, 6, 7), {}), ((6, 7, 7), {}), ((7, 7, (7, 2)), {}), (((2, 7), 7, 7), {}),
     ((7, 7, 7), {"covariance": np.eye(4)}), ((7, 7, 7), {"bias": np.zeros(3)}), ((7, 7, 7), {"com": np.zeros(2)})],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused(wrist, state, changed):
    known = {"bias": np.zeros(6), "mass": 1, "com": np.zeros(3), "sign": 1, "covariance": np.eye(10)}
    found = ForceSensorCalibration(**{**known, **changed}, chi_square=0.0, degrees=0)
    with pytest.raises(InputError):
        tool_contact(wrist.model, found, FLANGE, tuple(np.zeros(n) for n in state), np.zeros(6))


def test_poses_that_do_not_tell_all_are_refused_with_what_is_missing(wrist):
    down = np.array([[0.0, 0.0, -9.81]])
    for gravity in (np.zeros((0, 3)), down, np.repeat(down, 8, axis=0)):
        with pytest.raises(InputError, match="poses do not separate bias and tool; one with gravity along"):
            calibrate_force_sensor(gravity, np.zeros((len(gravity), 6)), NOISE)
    with pytest.raises(InputError, match="no mass"):
        calibrate_force_sensor(9.81 * np.vstack([np.eye(3), -np.eye(3)]), np.zeros((6, 6)), NOISE)
    with pytest.raises(InputError, match="covariance"):
        calibrate_force_sensor(down, np.zeros((1, 6)), -NOISE)


def test_guided_poses_are_enough_and_better_than_any_drawn(wrist):
    gravity = np.zeros((0, 3))
    for _ in range(4):
        gravity = np.vstack([gravity, 9.81 * next_direction(gravity, NOISE)])
    tool = np.concatenate([[MASS], MASS * COM])

    def deviation(g):
        read = np.array([np.concatenate([np.cross(tool[1:], x), MASS * x]) for x in g])
        return calibrate_force_sensor(g, read, NOISE).mass_deviation

    rng = np.random.default_rng(4)
    drawn = rng.normal(size=(50, 4, 3))
    drawn *= 9.81 / np.linalg.norm(drawn, axis=2, keepdims=True)
    assert deviation(gravity) < np.median([deviation(g) for g in drawn])


def test_a_touch_while_calibrating_is_told(wrist):
    gravity, readings = poses(wrist, np.random.default_rng(5), 6)
    readings[2, 3:] += 3.0
    assert calibrate_force_sensor(gravity, readings, NOISE / READINGS).plausibility < 1e-9
