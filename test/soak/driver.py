"""A driver of arm and platform that does as a file says: a simulated arm, and leg lengths at the same rate."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.nodes.simulated_robot.node import SimulatedRobot
from lie_dynamics_ros.ros.node.spinning import run
from lie_dynamics_ros.ros.wire import qos
from soak.robots import OTHER, leg_lengths

FIRST = "first state "
"""What the driver prints before the stamp [ns] of its first state."""
EVERY = 3.0
"""Between two trajectories [s]."""
SWING = 0.3
"""Of the trajectories, to both sides of where the robot starts [rad]."""
DURATION = 2.8
"""Of each trajectory [s]."""


class Driver(SimulatedRobot):
    """The simulated robot, whose clock can jump, and who is its own planner."""

    def __init__(self, **kwargs: Any) -> None:
        self._told = self._stopped = False
        self._offset = self._count = 0
        self._legs: Any = None
        self._file = Path(os.environ["SOAK_COMMAND"])
        signal.signal(signal.SIGUSR1, self._on_signal)
        super().__init__(**kwargs)
        self._lengths = leg_lengths()
        self._plans = self.create_publisher(JointTrajectory, "computed_torque/joint_trajectory", qos.SETPOINT_INPUT)
        self.create_subscription(String, "computed_torque/phase", self._on_phase, qos.DESCRIPTION)
        self._hold = self.create_client(Trigger, "computed_torque/hold")
        self._legs = self.create_publisher(JointState, "/legs/joint_states", qos.OUTPUT)

    def _on_signal(self, *_: Any) -> None:
        self._told = True

    def _on_phase(self, message: String) -> None:
        self._stopped = message.data.startswith("stopped")

    def _publish(self, stamp: int) -> None:
        if self._told:
            self._told = False
            self._obey(self._file.read_text().split())
        stamp += self._offset
        super()._publish(stamp)
        if self._legs is None:
            return
        assert self._messages is not None
        self._lengths.header.stamp = self._messages.state.header.stamp
        self._legs.publish(self._lengths)
        if self._count == 0:
            print(f"{FIRST}{stamp}", flush=True)
        self._count += 1
        every = round(EVERY * self.settings["rate"])
        if self._count % every == every // 2:
            self._plan(self._count // every)

    def _obey(self, words: list[str]) -> None:
        if words[0] == "offset":
            self._offset = round(float(words[1]) * 1e9)
        elif words[0] == "describe":
            text = OTHER if words[1] == "other" else self._own_description()
            self._description.publish(String(data=text))

    def _own_description(self) -> str:
        from lie_dynamics_ros.ros.inputs.model_loading import read_description

        return read_description(self.settings["robot_description"])

    def _plan(self, number: int) -> None:
        """Send a trajectory, to one side or the other; after a stop, resume control first."""
        if self._stopped and self._hold.service_is_ready():
            self._hold.call_async(Trigger.Request())
        side = SWING if number % 2 else -SWING
        point = JointTrajectoryPoint(positions=(self._simulation.start + side).tolist())
        point.velocities = [0.0] * len(point.positions)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(DURATION * 1e9), 10**9)
        assert self._messages is not None
        self._plans.publish(JointTrajectory(joint_names=list(self._messages.state.name), points=[point]))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(Driver, args)


if __name__ == "__main__":
    sys.exit(main())
