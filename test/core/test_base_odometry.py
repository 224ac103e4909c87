"""What tells how a base moves, without ROS: odometry of a root link, and gravity from an IMU."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.two_arms import LEANING

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.moving_base import GravitySensor, Odometry
from lie_dynamics_ros.lie_dynamics import Model

S = 10**9
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

G, RPY = 9.81, (0.3, -0.5, 1.1)
URDF = f"""
<robot name="tilted">
  <link name="base"/><link name="imu"/>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="imu"/>
    <origin xyz="0.1 0.2 0.3" rpy="{RPY[0]} {RPY[1]} {RPY[2]}"/></joint>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>
"""
MOUNT = Rotation.from_euler("xyz", RPY)



@pytest.fixture
def sensor():
    return GravitySensor(Model.from_urdf(URDF))


def measure(sensor, frame="imu", orientation=None, force=None, now=S, filter_time=0.5):
    return sensor.measure(frame, orientation, force, now, G, filter_time)


def test_orientation_and_accelerometer_say_the_same_as_the_base_is_tilted(sensor):
    rng = np.random.default_rng(0)
    for k, base in enumerate(Rotation.random(20, random_state=1)):
        down = base.inv().apply([0, 0, -G])  # in the axes of the root link
        imu = base * MOUNT
        for frame, pose in (("imu", imu), ("/base", base)):
            quaternion = pose.as_quat() * rng.uniform(0.995, 1.005)
            np.testing.assert_allclose(measure(sensor, frame, quaternion), down, atol=1e-12)
            upwards = pose.inv().apply([0, 0, G])
            np.testing.assert_allclose(measure(sensor, frame, None, upwards, k, 0.0), down, atol=1e-12)


def test_upright_and_hanging(sensor):
    for turn, z in ((0.0, -G), (np.pi, G)):
        found = measure(sensor, "base", Rotation.from_euler("x", turn).as_quat())
        np.testing.assert_allclose(found, [0, 0, z], atol=1e-12)


def test_accelerations_are_low_passed_and_begin_anew_with_another_imu(sensor):
    """First order: after a step the mean force has gone 1 - exp(-t / T) of the way, however t is divided."""
    a, b = np.array([0, 0, G]), G * np.array([np.sin(0.2), 0, np.cos(0.2)])
    for times in ([0.7], [0.1, 0.15, 0.5, 0.7]):
        sensor.clear()
        measure(sensor, "base", None, a, now=S)
        for t in times:
            found = measure(sensor, "base", None, b, now=S + round(t * S))
        mean = b + np.exp(-0.7 / 0.5) * (a - b)
        np.testing.assert_allclose(found, -G * mean / np.linalg.norm(mean), atol=1e-9)
    other = MOUNT.inv().apply(b)
    np.testing.assert_allclose(measure(sensor, "imu", None, other, now=2 * S), -b, atol=1e-12)


def test_what_cannot_be_is_refused_and_changes_nothing(sensor):
    measure(sensor, "base", None, np.array([0, 0, G]))
    up, level = np.array([0, 0, G]), np.array([0, 0, 0, 1.0])
    for frame, orientation, force, why in (
        ("camera", level, None, "'camera'; expected a link"), ("", level, None, "''; expected a link"),
        ("arm", level, None, "'arm', which moves"), ("base", None, None, "both covariances"),
        ("base", 0.0 * level, up, "length 0 instead"), ("base", np.nan * level, up, "length nan"),
        ("base", None, 0.5 * up, "4.905 m/s.2; expected 9.81"), ("base", None, 2.0 * up, "19.62"),
        ("base", None, np.array([np.nan, 0, 0]), "nan m/s"),
    ):  # fmt: skip
        with pytest.raises(MessageError, match=why):
            measure(sensor, frame, orientation, force, now=2 * S)
        assert sensor.received == S


@pytest.mark.filterwarnings("error")
def test_whatever_is_measured_gravity_is_finite_and_as_strong_or_refused(sensor):
    rng, taken = np.random.default_rng(2), 0
    special = (0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, G)
    for k in range(2000):
        orientation, force = (
            np.where(rng.random(n) < 0.2, rng.choice(special, n), scale * rng.normal(size=n))
            if rng.random() < 0.7
            else None
            for n, scale in ((4, 0.5), (3, 6.0))
        )
        try:
            found = measure(sensor, "imu", orientation, force, now=int(rng.integers(10 * S)), filter_time=k % 3)
        except MessageError:
            continue
        taken += 1
        assert np.linalg.norm(found) == pytest.approx(G, rel=1e-9)
    assert taken > 50
