"""An arm in MuJoCo that follows sines, is seen through noise, and is touched: physics without the library's code."""

from __future__ import annotations

import mujoco
import numpy as np
from support.arms import load

from lie_dynamics_ros.lie_dynamics.control import computed_torque

PERIOD = 1e-3
TOOL = "panda_link8"
VELOCITY_NOISE = 1e-3
"""Assumed: none is published [rad/s]."""
EFFORT_NOISE = 0.02
"""Resolution of the torque sensors by the data sheet of the arm, as a standard deviation [N m]."""


class TouchedArm:
    """A moving arm under computed torque, states 1 ms apart.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the motion, and the noise.
    name, tool : str
        Of the arm, and of the link that is touched.
    """

    def __init__(self, rng, name="panda_arm", tool=TOOL):
        arm = load(name)
        self.rng, self.model = rng, arm.model
        self.sim = arm.simulated(integrator="rk4")
        self._tool = mujoco.mj_name2id(self.sim.model, mujoco.mjtObj.mjOBJ_BODY, tool)
        n = self.n = arm.model.nv
        self._middle, self._size = arm.random_pose(rng, 0.25), rng.uniform(0.1, 0.35, n)
        self._rate, self._phase = rng.uniform(1.0, 3.0, n), rng.uniform(0.0, 6.0, n)
        self.sim.set(*self.desired(0.0)[:2])
        self.tau, self.ticks = self.sim.inverse_dynamics(*self.desired(0.0)), 0
        self.force = np.zeros(3)  # at the tool's origin, in the world's axes

    def desired(self, t):
        angle = self._rate * t + self._phase
        rate = self._size * self._rate
        return self._middle + self._size * np.sin(angle), rate * np.cos(angle), -rate * self._rate * np.sin(angle)

    def pose(self):
        """Place and axes of the tool, by MuJoCo."""
        return self.sim.data.xpos[self._tool].copy(), self.sim.data.xmat[self._tool].reshape(3, 3).copy()

    def measure(self):
        """Position, velocity and efforts, which acted over the last millisecond, with noise."""
        v, e = VELOCITY_NOISE * self.rng.normal(size=self.n), EFFORT_NOISE * self.rng.normal(size=self.n)
        return self.sim.q, self.sim.qd + v, self.tau + e

    def step(self):
        """Move on by a millisecond."""
        sim, data = self.sim, self.sim.data
        self.tau = computed_torque(self.model, sim.q, sim.qd, *self.desired(self.ticks * PERIOD), 400.0, 40.0)
        for _ in range(2):
            mujoco.mj_kinematics(sim.model, data)
            mujoco.mj_comPos(sim.model, data)
            pushed = np.zeros(sim.model.nv)
            mujoco.mj_applyFT(sim.model, data, self.force, np.zeros(3), data.xpos[self._tool], self._tool, pushed)
            data.qfrc_applied[:] = pushed
            data.qfrc_applied[sim._v] += self.tau
            mujoco.mj_step(sim.model, data)
        self.ticks += 1
