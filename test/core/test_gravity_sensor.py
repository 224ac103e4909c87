"""Gravity from an IMU against rotations of another library: signs, frames, the low pass, what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.moving_base import GravitySensor
from lie_dynamics_ros.lie_dynamics import Model

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
S = 10**9


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
