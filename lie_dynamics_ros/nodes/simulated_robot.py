"""Node that stands in for a robot's driver: joint states of a smooth motion, and the robot description.

See doc/nodes/simulated_robot.md for topics and parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

from ..ros import diagnostics, qos
from ..ros.diagnostics import Report
from ..ros.errors import ConfigurationError
from ..ros.managed_node import ManagedNode
from ..ros.model_loading import INERTIA_CHECK, load_model
from ..ros.parameters import Setting
from ..ros.robot_description import read_description
from ..ros.spinning import run
from .sine_motion import SineMotion

SETTINGS = (
    Setting(
        "robot_description",
        "package://lie_dynamics_ros/urdf/panda_arm.urdf",
        "The robot: URDF text, a file path, file:///path or package://name/path.",
        "while unconfigured",
    ),
    INERTIA_CHECK,
    Setting("rate", 500.0, "Joint states per second [Hz].", "while unconfigured", low=0.1, high=10_000.0),
    Setting("frequency", 0.2, "Frequency of the motion [Hz].", "while unconfigured", low=0.001, high=10.0),
)


class SimulatedRobot(ManagedNode):
    """Publishes joint states of a sine motion within the robot's limits."""

    def __init__(self, **kwargs: Any) -> None:
        self._motion: SineMotion | None = None
        self._published = 0
        self._reported = 0
        super().__init__("simulated_robot", SETTINGS, **kwargs)
        overridable = qos.overridable()
        self._states = self.create_lifecycle_publisher(
            JointState, "joint_states", qos.OUTPUT, qos_overriding_options=overridable
        )
        self._points = self.create_lifecycle_publisher(
            JointTrajectoryPoint, "~/joint_trajectory_point", qos.OUTPUT, qos_overriding_options=overridable
        )
        self._description = self.create_publisher(
            String, "robot_description", qos.DESCRIPTION, qos_overriding_options=overridable
        )
        self._timer = None

    def configure(self) -> None:
        """Read the robot and publish its description."""
        description = read_description(self.settings["robot_description"])
        model = load_model(description, self.settings["inertia_check"], self.get_logger())
        names = model.joint_names
        if not names:
            raise ConfigurationError("the robot has no joint that moves")
        if model.nq != len(names):
            raise ConfigurationError("the robot has joints with several coordinates, which a JointState cannot hold")
        self._motion = SineMotion(model, self.settings["frequency"])
        zeros = [0.0] * len(names)
        self._state = JointState(name=list(names), position=zeros, velocity=zeros)
        self._position, self._velocity = np.frombuffer(self._state.position), np.frombuffer(self._state.velocity)
        self._point = JointTrajectoryPoint(accelerations=zeros)
        self._acceleration = np.frombuffer(self._point.accelerations)
        self._description.publish(String(data=description))

    def activate(self) -> None:
        """Begin to move."""
        self._start = self.get_clock().now().nanoseconds
        self._timer = self.create_timer(
            1.0 / self.settings["rate"], self._step, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def deactivate(self) -> None:
        """Stop moving."""
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def cleanup(self) -> None:
        """Let go of the robot."""
        self._motion = None

    def _step(self) -> None:
        now = self.get_clock().now()
        t = (now.nanoseconds - self._start) * 1e-9
        self._position[:], self._velocity[:], self._acceleration[:] = self._motion.at(t)
        self._points.publish(self._point)
        self._state.header.stamp = now.to_msg()
        self._states.publish(self._state)
        self._published += 1

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        rate = (self._published - self._reported) / period
        self._reported = self._published
        report.values["states per second"] = f"{rate:.1f}"
        wanted = self.settings["rate"]
        if self.state == "active" and self._published and rate < 0.9 * wanted:
            report.add(diagnostics.WARN, f"slower than asked for: {rate:.0f} of {wanted:.0f} states per second")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatedRobot, args)


if __name__ == "__main__":
    sys.exit(main())
