"""A computed_torque node and a simulated robot in lock step, over DDS; trajectories as messages."""

import numpy as np
from builtin_interfaces.msg import Duration
from node_harness import stamp_of
from node_robots import ARM_JOINTS
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

MIDDLE = np.array([0.0, 0.0, 0.0, -1.5708, 0.0, 1.8675, 0.0])


def trajectory(joints, times, position, velocity=None, acceleration=None, effort=None, stamp=0):
    message = JointTrajectory(joint_names=list(joints))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    for k, t in enumerate(times):
        sec, nanosec = divmod(round(t * 1e9), 10**9)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec))
        for name, values in (
            ("positions", position), ("velocities", velocity), ("accelerations", acceleration), ("effort", effort)
        ):  # fmt: skip
            if values is not None:
                setattr(point, name, np.asarray(values[k], float).tolist())
        message.points.append(point)
    return message


class Loop:
    """A controller and a robot of some states per second, and what they say."""

    def __init__(self, bench, simulated=None, rate=125.0, **parameters):
        self.bench = bench
        # In lock step, so that nothing depends on how busy the machine is.
        options = {
            "mode": "dynamics", "rate": rate, "start": "initial_position", "initial_position": MIDDLE.tolist(),
            "publish_clock": True, "lock_step": True,
        }  # fmt: skip
        self.robot = bench.start("simulated_robot", **{**options, **(simulated or {})})
        arguments = ["-r", "~/commands:=simulated_robot/commands"]
        self.control = bench.start("computed_torque", arguments=arguments, use_sim_time=True, **parameters)
        self.errors = bench.listen(JointState, f"{self.control}/tracking_error")
        self.states = bench.listen(JointState, "joint_states")
        self.trajectories = bench.publisher(JointTrajectory, f"{self.control}/joint_trajectory")
        for _ in range(20):
            bench.together(self.states, self.errors)

    def send(self, joints, times, position, *args, **options):
        """Send a trajectory that starts when it is received, and wait for its end; returns all errors until then."""
        goal = {name: value for name, value in zip(joints, position[-1], strict=True) if name in ARM_JOINTS}
        first = len(self.errors)
        self.trajectories.publish(trajectory(joints, times, position, *args, **options))

        def ended():
            # What is desired is known from the state and the error that the controller tells of it.
            state, error = self.bench.together(self.states, self.errors)
            desired = dict(zip(state.name, np.add(state.position, error.position), strict=True))
            moving = np.abs(np.add(state.velocity, error.velocity)).max() > 1e-9
            there = all(abs(desired[name] - value) < 1e-9 for name, value in goal.items())
            return not moving and there and stamp_of(error)

        end = self.bench.wait(ended, "the end of the trajectory")
        self.bench.wait(lambda: stamp_of(self.bench.together(self.states, self.errors)[0]) > end + 10**8, "rest")
        return np.array([e.position for e in self.errors[first:]])

    def call(self, name):
        return self.bench.call(Trigger, name, Trigger.Request())

    def position(self):
        """Position in a state that is still to come."""
        return np.array(self.bench.together(self.states).position)
