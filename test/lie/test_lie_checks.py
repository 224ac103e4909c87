"""What is refused, and what the messages say; special values."""

import pickle

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import errors
from lie_dynamics_ros.lie_dynamics.lie import quaternion, se3, so3


def test_every_error_is_a_value_error_and_survives_pickling():
    error = errors.GroupError("message", name="R", value=2.0, expected="1")
    assert isinstance(error, errors.LieDynamicsError) and isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.name, again.value, again.expected) == ("message", "R", 2.0, "1")


@all_of(
    "call, words",
    [
        (lambda: so3.exp([1.0, 2.0]), ["phi", "(..., 3)", "(2,)"]),
        (lambda: so3.exp([1.0, np.nan, 0.0]), ["phi", "nan", "(1,)"]),
        (lambda: se3.log(np.eye(3)), ["T", "(..., 4, 4)", "(3, 3)"]),
        (lambda: so3.exp(["a", "b", "c"]), ["phi", "numbers"]),
        (lambda: so3.log(np.eye(3) + 0j), ["R", "real"]),
        (lambda: so3.vee(np.eye(3)), ["skew"]),
        (lambda: se3.vee(np.eye(4)), ["last row"]),
        (lambda: quaternion.slerp([0, 0, 0, 1], [0, 0, 0, 1], np.inf), ["s", "inf"]),
    ],
)
def test_input_errors_say_what_was_expected(call, words):
    with pytest.raises(errors.InputError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_non_unit_quaternion_is_refused_with_its_value():
    with pytest.raises(errors.GroupError, match=r"q0: unit quaternion.*\[0.0, 0.0, 0.0, 1.1\] of length 1.1"):
        quaternion.slerp([0, 0, 0, 1.1], [0, 0, 0, 1], 0.5)
    with pytest.raises(errors.GroupError, match=r"at index \(1,\)") as caught:
        so3.from_quaternion([[0, 0, 0, 1.0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(caught.value.value, np.zeros(4))
    np.testing.assert_allclose(quaternion.check([0, 0, 0, 1 + 1e-8]), [0, 0, 0, 1], atol=0, rtol=0)
    with pytest.raises(errors.GroupError):
        quaternion.normalize(np.zeros(4))
    np.testing.assert_allclose(quaternion.normalize([0, 3e-200, 0, 4e-200]), [0, 0.6, 0, 0.8], rtol=1e-15)


@pytest.mark.parametrize("bad", [2 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3)), np.ones((3, 3))])
def test_what_is_no_rotation_is_refused(bad):
    assert not so3.is_rotation(bad)
    for function in (so3.log, so3.to_quaternion, so3.check):
        with pytest.raises(errors.GroupError, match="determinant"):
            function(bad)
    with pytest.raises(errors.GroupError):
        se3.log(se3.from_parts(bad, np.zeros(3)))
    T = np.eye(4)
    T[3, 0] = 0.1
    with pytest.raises(errors.GroupError, match="last row"):
        se3.check(T)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, -1, 0], [0, 0, 1], [-1, -1, 0], [1, 2, 3], [0, -1e-9, 1]])
def test_log_of_a_half_turn_is_a_valid_axis(axis):
    axis = np.array(axis) / np.linalg.norm(axis)
    half_turn = 2.0 * np.outer(axis, axis) - np.eye(3)  # symmetric: the exact half turn, sin = 0
    log = so3.log(half_turn)
    assert np.linalg.norm(log) == pytest.approx(np.pi, rel=1e-15)
    assert np.abs(np.cross(log, axis)).max() < 1e-15 * np.pi * 4
    np.testing.assert_allclose(so3.exp(log), half_turn, atol=1e-15)
    assert log[np.abs(log).argmax()] > 0  # the choice between the two axes does not depend on round-off


def test_whole_turns():
    with pytest.raises(errors.SingularityError, match="whole turn"):
        so3.left_jacobian_inverse([0, 0, 2 * np.pi])
    with pytest.raises(errors.SingularityError):
        se3.right_jacobian_inverse([0, 4 * np.pi, 0, 1, 0, 0])
    np.testing.assert_allclose(so3.exp([0, 0, 100 * np.pi]), np.eye(3), atol=2e-14)
    np.testing.assert_allclose(so3.left_jacobian([2 * np.pi, 0, 0]), np.diag([1.0, 0, 0]), atol=1e-15)


def test_nearest_rotation_is_the_nearest():
    rng = np.random.default_rng(7)
    for M in rng.normal(size=(30, 3, 3)):
        R = so3.nearest(M)
        assert so3.is_rotation(R, 1e-14)
        best = np.linalg.norm(M - R)
        others = so3.exp(0.1 * rng.normal(size=(50, 3))) @ R
        assert (np.linalg.norm(M - others, axis=(-2, -1)) > best).all()
    for degenerate in (np.zeros((3, 3)), -np.eye(3), np.outer([1, 2, 3], [1, 0, 0])):
        with pytest.raises(errors.SingularityError):
            so3.nearest(degenerate)


def test_roll_pitch_yaw_are_about_fixed_axes():
    quarter = np.pi / 2
    np.testing.assert_allclose(so3.from_rpy([quarter, 0, 0]) @ [0, 1, 0], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(so3.from_rpy([0, quarter, 0]) @ [0, 0, 1], [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(so3.from_rpy([0, 0, quarter]) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    # roll first, then yaw about the fixed z axis
    np.testing.assert_allclose(so3.from_rpy([quarter, 0, quarter]) @ [0, 1, 0], [0, 0, 1], atol=1e-15)
    rng = np.random.default_rng(8)
    rpy = rng.uniform(-1, 1, size=(100, 3)) * [np.pi, np.pi / 2, np.pi]
    np.testing.assert_allclose(so3.to_rpy(so3.from_rpy(rpy)), rpy, atol=1e-13)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [1, -1])
def test_roll_pitch_yaw_at_the_singularity(gap, sign):
    rng = np.random.default_rng(9)
    for roll, yaw in rng.uniform(-np.pi, np.pi, size=(20, 2)):
        R = so3.from_rpy([roll, sign * (np.pi / 2 - gap), yaw])
        np.testing.assert_allclose(so3.from_rpy(so3.to_rpy(R)), R, atol=4e-16 * 4)
    exact = np.array([[0.0, 0, sign], [0, 1, 0], [-sign, 0, 0]])
    np.testing.assert_array_equal(so3.to_rpy(exact), [0, sign * np.pi / 2, 0])


def test_known_values():
    half = np.sqrt(0.5)
    np.testing.assert_allclose(so3.to_quaternion(so3.exp([np.pi / 2, 0, 0])), [half, 0, 0, half], atol=1e-16)
    np.testing.assert_array_equal(so3.hat([1, 2, 3]), [[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    T = se3.exp([0, 0, np.pi / 2, 1, 0, 0])  # a quarter of a circle of radius 2/pi
    np.testing.assert_allclose(T[:3, 3], [2 / np.pi, 2 / np.pi, 0], atol=1e-15)
    np.testing.assert_array_equal(se3.exp([0, 0, 0, 1, 2, 3])[:3, 3], [1, 2, 3])
    Ad = se3.Ad(se3.from_parts(np.eye(3), [0, 0, 2]))  # seen 2 m below, a turn about x moves the point along y
    np.testing.assert_array_equal(Ad @ [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 2, 0])
    shifted = se3.from_parts(np.eye(3), [1, 0, 0])
    np.testing.assert_array_equal(se3.transform_wrench(shifted, [0, 0, 0, 0, 0, 5]), [0, -5, 0, 0, 0, 5])
