"""A driver for node processes: an arm in MuJoCo that takes a step when its controllers have answered."""

from __future__ import annotations

import time

import numpy as np
from node_harness import Bench, stamp_of
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.arms import Arm
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

PERIOD = 2_000_000
"""Between states [ns]; four steps of the simulation."""
PAST = 100 * 10**9
"""How far time stamps lie in the past, so that a loop faster than real time never meets the future [ns]."""


class MujocoDriver:
    """An arm whose states several controllers answer; the first one's efforts move it.

    States come as drivers send them: joints in another order, one that the robot does not have, without a velocity.

    Parameters
    ----------
    bench : Bench
    arm : Arm
    controllers : int
        How many nodes computed_torque to start, with parameters as by default but for time stamps of the past.
    """

    def __init__(self, bench: Bench, arm: Arm, controllers: int, q: np.ndarray, **parameters) -> None:
        self.bench, self.arm, self.simulated = bench, arm, arm.simulated()
        self.simulated.set(q, np.zeros(len(q)))
        parameters = {"robot_description": arm.text, "state_timeout": 3600.0, **parameters}
        first = len(bench.processes)
        self.nodes = [bench.start("computed_torque", f"controller{k}", **parameters) for k in range(controllers)]
        self.processes = dict(zip(self.nodes, bench.processes[first:], strict=True))
        self.efforts = {node: bench.listen(JointState, f"{node}/joint_efforts") for node in self.nodes}
        self.commands = {node: bench.listen(Float64MultiArray, f"{node}/commands") for node in self.nodes}
        self.paths = {n: bench.publisher(JointTrajectory, f"{n}/joint_trajectory") for n in self.nodes}
        self._order = np.random.default_rng(0).permutation(len(q))
        self.stamp = bench.now() - PAST
        self.states: list[np.ndarray] = []  # positions of the states sent
        for node in self.nodes:
            bench.wait_state(node, "active")
        bench.wait(self._all_answer, "every controller to answer")

    def _all_answer(self) -> bool:
        if not self.states or time.monotonic() > self._sent + 0.5:  # the first ones may be lost
            self.send()
            self._sent = time.monotonic()
        return all(self._answered(node) for node in self.nodes)

    def send(self) -> None:
        """Send the present state, a period after the one before."""
        self.stamp += PERIOD
        q, qd = self.simulated.q, self.simulated.qd
        self.states.append(q)
        names = [*(self.arm.model.joint_names[k] for k in self._order), "gripper"]
        message = JointState(name=names, position=[*q[self._order], 0.04], velocity=[*qd[self._order], np.nan])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp, 10**9)
        self.bench.states.publish(message)

    def _answered(self, node: str) -> bool:
        efforts = self.efforts[node]
        return bool(efforts) and stamp_of(efforts[-1]) == self.stamp

    def step(self) -> None:
        """Send a state, wait for all answers, and let the arm move for a period."""
        self.send()
        self.bench.wait(lambda: all(self._answered(n) for n in self.nodes), "answers to a state")
        steps = round(PERIOD * 1e-9 / self.simulated.model.opt.timestep)
        self.simulated.advance(np.array(self.efforts[self.nodes[0]][-1].effort), steps)

    def follow(self, goal: np.ndarray, seconds: float) -> None:
        """Send all controllers a motion to a goal that starts in a tenth of a second."""
        message = JointTrajectory(joint_names=list(self.arm.model.joint_names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp + 10**8, 10**9)
        zero = [0.0] * len(goal)
        point = JointTrajectoryPoint(positions=goal.tolist(), velocities=zero, accelerations=zero)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(seconds * 1e9), 10**9)
        message.points.append(point)
        for node in self.nodes:
            self.paths[node].publish(message)

    def run(self, until, what: str) -> None:
        """Step until a condition holds, five thousand times at most."""
        for _ in range(5000):
            if until():
                return
            self.step()
        raise AssertionError(f"five thousand steps passed before {what}")

    def off_gravity(self, node: str, states: int = 1) -> float:
        """How far a node's last command is from what holds the arm in one of the last states sent [N m]."""
        command = np.array(self.commands[node][-1].data)
        return min(float(np.abs(command - self.simulated.gravity(q)).max()) for q in self.states[-states:])
