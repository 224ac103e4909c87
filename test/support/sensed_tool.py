"""A tool behind a force-torque sensor at a Panda's flange, in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np

from lie_dynamics_ros.lie_dynamics import frame_pose

from .arms import load
from .mujoco_arm import _spec

FLANGE = "panda_link8"
MASS, COM, INERTIA = 1.3, np.array([0.02, -0.01, 0.08]), np.diag([0.004, 0.005, 0.002])
BIAS = np.array([0.3, -0.2, 0.1, 4.0, -7.0, 2.0])
NOISE = np.diag([0.005, 0.005, 0.005, 0.1, 0.1, 0.1]) ** 2
"""Of one reading, as wrist sensors have it [N m, N]."""


class Wrist:
    """The Panda with a tool; reads what the tool exerts on the flange."""

    def __init__(self):
        arm = load("panda_arm")
        self.model = arm.model
        spec = _spec(arm.text)
        tool = spec.body(FLANGE).add_body(name="tool", ipos=COM, mass=MASS, explicitinertial=True)
        tool.inertia = np.diag(INERTIA)
        tool.add_site(name="sensor")
        for kind in ("TORQUE", "FORCE"):
            spec.add_sensor(
                name=kind,
                type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname="sensor",
            )
        self.mj = spec.compile()
        self.data = mujoco.MjData(self.mj)
        self._tool = mujoco.mj_name2id(self.mj, mujoco.mjtObj.mjOBJ_BODY, "tool")
        self._sense = 1.0
        zero = np.zeros(7)
        weight = frame_pose(self.model, zero, FLANGE)[:3, :3].T @ [0.0, 0.0, -9.81]
        self._sense = np.sign(self.read(zero, zero, zero)[3:] @ weight)  # a tool at rest pulls the flange down

    def read(self, q, qd, qdd, push=None):
        """Reading at a motion; `push` is a wrench on the tool, at the sensor and in its axes."""
        data, pushed = self.data, np.zeros(7)
        data.qpos[:], data.qvel[:], data.xfrc_applied[:] = q, qd, 0.0
        mujoco.mj_kinematics(self.mj, data)
        mujoco.mj_comPos(self.mj, data)
        if push is not None:
            R, com = data.xmat[self._tool].reshape(3, 3), data.xipos[self._tool]
            force = R @ push[3:]
            moment = R @ push[:3] + np.cross(data.xpos[self._tool] - com, force)
            data.xfrc_applied[self._tool] = np.concatenate([force, moment])
            mujoco.mj_applyFT(self.mj, data, force, moment, com, self._tool, pushed)
        data.qacc[:] = qdd
        mujoco.mj_inverse(self.mj, data)
        data.qfrc_applied[:] = data.qfrc_inverse - pushed
        mujoco.mj_forward(self.mj, data)  # the sensors read what leads to these accelerations
        assert np.allclose(data.qacc, qdd, atol=1e-6)
        return self._sense * data.sensordata
