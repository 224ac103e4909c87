"""What a node says of the gravity that an IMU measures."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from support import arms, cores

from lie_dynamics_ros.core.moving_base import GravitySensor
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.ros.inputs.base_input import ImuInput
from lie_dynamics_ros.ros.outputs.diagnostics import Report


@pytest.fixture
def node():
    model = Model.from_urdf(arms.OWN)
    core = cores.make_core(model)
    return SimpleNamespace(
        settings={"gravity_source": "imu", "imu_timeout": 0.5}, core=core, answering=core, take_in=lambda *_: None,
        inputs=SimpleNamespace(gravity=GravitySensor(model)), ros_time=lambda: 10**9,
    )  # fmt: skip


def said(node):
    report = Report()
    ImuInput(node).describe(report)
    return report.values["gravity [m/s^2]"], " ".join(report.reasons)


def test_the_gravity_that_is_used_is_the_one_that_is_told(node):
    assert said(node) == ("0, 0, -9.81", "no IMU message could be used yet: gravity is that of the parameter")
    sideways = node.inputs.gravity.measure("panda_link0", np.array([0.0, 1.0, 0.0, 0.0]), None, 10**9, 9.81, 0.0)
    node.core.measure_gravity(sideways)
    assert said(node) == ("-0, -0, 9.81", "")
    node.ros_time = lambda: 3 * 10**9
    assert "could be used for 2.0 s: gravity keeps its last direction" in said(node)[1]
    node.inputs.gravity.clear()  # time went back
    told = said(node)
    assert told == ("-0, -0, 9.81", "no IMU message could be used yet: gravity is as it was measured last")
