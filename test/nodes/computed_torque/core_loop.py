"""A core of computed_torque and a simulated arm in lock step, without ROS."""


import numpy as np
from support.cores import options
from support.robots import panda

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import (
    gravity_force,
)
from lie_dynamics_ros.lie_dynamics.simulation import Simulator
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore

S = 10**9
MIDDLE = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
ZERO = np.zeros(7)
EVERY = np.arange(7)


class Loop:
    """A core and a simulated arm in lock step, efforts late by whole periods."""

    def __init__(self, q=MIDDLE, qd=ZERO, true=None, rate=500.0, delay=1, method="semi_implicit", **parameters):
        self.parameters = parameters
        self.core = ComputedTorqueCore(panda(), options(**parameters))
        self.core.start()
        self.period, self.k = 1.0 / rate, 0
        self.arm = Simulator(true or panda(), q, qd, step=0.25 * self.period, method=method)
        self.waiting = [gravity_force(panda(), q)] * delay
        self.answers = []

    def step(self):
        state = RobotState(S + round(self.k * self.period * S), self.arm.q.copy(), self.arm.qd.copy())
        answer = self.core.answer(state)
        assert (np.abs(answer.total) <= self.core.limit * (1 + 1e-12)).all()
        self.waiting.append(answer.total)
        self.arm.advance(self.waiting.pop(0), substeps=4)
        self.answers.append(answer)
        self.k += 1
        return answer

    def run(self, seconds):
        return [self.step() for _ in range(round(seconds / self.period))]

    def change(self, **parameters):
        self.parameters |= parameters
        self.core = self.core.with_options(options(**self.parameters))

    def follow(self, times, position, *others, start=0):
        others = [None if x is None else np.array(x, float) for x in others]
        self.core.follow(JointPoints(EVERY, np.array(times, float), np.array(position, float), *others), start)
