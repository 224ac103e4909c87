"""Odometry of a root link, without ROS: which message belongs to a state, and which is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.two_arms import LEANING

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.moving_base import Odometry
from lie_dynamics_ros.lie_dynamics import Model

S = 1_000_000_000
TWIST = np.array([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])
TURN = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])


@pytest.fixture
def odometry():
    found = Odometry(Model.from_urdf(LEANING, floating_base=True))
    found.timeout = 1.0
    return found


def tell(odometry, stamp, turn=TURN, twist=TWIST, frame="odom", child="stand", place=0.0):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn.as_matrix(), place
    odometry.take(frame, child, pose, twist, stamp)


@pytest.mark.parametrize("late", [0.0, 0.4, -0.3])
def test_the_orientation_is_turned_to_the_time_of_the_state(odometry, late):
    tell(odometry, 100 * S, place=1e308)
    position, twist, rate = odometry.at(100 * S + round(late * S), 100 * S)
    expected = TURN * Rotation.from_rotvec(late * TWIST[:3])
    assert (Rotation.from_quat(position[:4]) * expected.inv()).magnitude() < 1e-14
    np.testing.assert_array_equal(twist, TWIST)
    assert not rate.any() and not position[4:].any()


def test_a_state_without_odometry_of_its_time_has_no_answer(odometry):
    with pytest.raises(MessageError, match="no odometry could be used yet"):
        odometry.at(100 * S, 100 * S)
    tell(odometry, 100 * S)
    for stamp, word in ((102 * S, "older"), (98 * S, "newer")):
        with pytest.raises(MessageError, match=rf"odometry 2.000 s {word} than the state; base_timeout is 1 s"):
            odometry.at(stamp, 100 * S)
    odometry.timeout = 0
    odometry.at(102 * S, 100 * S)
    odometry.forget()
    with pytest.raises(MessageError, match="no odometry could be used yet"):
        odometry.at(100 * S, 100 * S)


def test_what_was_overtaken_is_refused_and_another_time_is_not(odometry):
    tell(odometry, 100 * S)
    with pytest.raises(MessageError, match=r"a message 0\.200000 s older than the one before"):
        tell(odometry, 100 * S - S // 5)
    odometry.at(100 * S, 100 * S)
    tell(odometry, 100 * S)  # twice the same is no harm
    tell(odometry, 10 * S)
    odometry.at(10 * S, 10 * S)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"twist": np.full(6, np.nan)}, "odometry with a twist that is not finite"),
        ({"twist": np.full(6, 1e7)}, "beyond 1e\\+06"),
        ({"child": ""}, "odometry of the frame ''; expected a link or frame of the robot"),
        ({"child": "torso"}, "of the frame 'torso', which moves"),
        ({"frame": "map"}, "a pose in the frame 'map'; odometry_frame is 'odom'"),
    ],
)
def test_what_cannot_be_odometry_is_refused_and_changes_nothing(odometry, wrong, why):
    odometry.frame = "odom"
    tell(odometry, 100 * S, frame="/odom")
    before = odometry.at(100 * S, 100 * S)
    with pytest.raises(MessageError, match=why):
        tell(odometry, 101 * S, **wrong)
    for now, then in zip(odometry.at(100 * S, 100 * S), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_accelerations_are_those_told_last_until_they_are_too_old(odometry):
    tell(odometry, 100 * S)
    odometry.accelerate("stand", np.arange(6.0), 100 * S)
    np.testing.assert_array_equal(odometry.at(100 * S, 100 * S)[2], np.arange(6.0))
    np.testing.assert_array_equal(odometry.at(100 * S, 101 * S + 1)[2], np.zeros(6))
    for wrong in (np.inf, 1e7):
        with pytest.raises(MessageError, match="an acceleration of the base that is not finite or beyond 1e\\+06"):
            odometry.accelerate("stand", np.full(6, wrong), 100 * S)
    np.testing.assert_array_equal(odometry.at(100 * S, 100 * S)[2], np.arange(6.0))
