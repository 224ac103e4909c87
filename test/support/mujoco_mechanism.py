"""Closed mechanisms as MuJoCo simulates them, from their URDF: bodies on joints, loops as equality constraints."""

from __future__ import annotations

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import quaternion

from .mujoco_arm import mujoco

#: Of massless crosses, in which MuJoCo does not believe [kg, kg m^2].
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-10


class MujocoMechanism:
    """A mechanism in MuJoCo: motors pushed, everything else follows; joints at the cuts give way a little.

    Parameters
    ----------
    made : Mechanism
        Its URDF, its loops (all closed in points) and its home configuration are read.
    step : float
        Of the integrator [s].
    """

    def __init__(self, made, step: float = 1e-4) -> None:
        spec = mujoco.MjSpec.from_string(made.model.to_urdf())
        spec.compiler.fusestatic, spec.compiler.inertiafromgeom = False, 0
        spec.compiler.boundmass, spec.compiler.boundinertia = LEAST_MASS, LEAST_INERTIA
        spec.option.timestep, spec.option.gravity = step, made.model.gravity
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self._ends = []
        for loop in made.constraints.loops:
            sites = []
            for side in ("first", "second"):
                place = getattr(loop, f"{side}_placement")
                turn = np.roll(quaternion.from_matrix(place[:3, :3]), 1)
                sites.append(f"{loop.name}_{side}")
                spec.body(getattr(loop, side)).add_site(name=sites[-1], pos=place[:3, 3], quat=turn)
            kind = getattr(mujoco.mjtEq, "mjEQ_WELD" if loop.kind.startswith("welded") else "mjEQ_CONNECT")
            spec.add_equality(
                type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=sites[0], name2=sites[1],
                solref=[2.0 * step, 1.0], solimp=[0.9999, 0.9999, 1e-3, 0.5, 2.0],
            )  # fmt: skip
            self._ends.append(sites)
        self.model = spec.compile()
        self.model.jnt_limited[:] = 0
        self.data = mujoco.MjData(self.model)
        for joint in made.model.joints:
            self._place(joint.name, made.q[joint.q_slice])
        self._motors = [self.model.joint(name).id for name in made.actuated]
        self.platform = made.platform
        mujoco.mj_forward(self.model, self.data)

    def _place(self, name, values) -> None:
        at = self.model.jnt_qposadr[self.model.joint(name).id]
        if len(values) == 7:  # x, y, z, w, then the place; MuJoCo has w first, after the place
            values = np.concatenate([values[4:], values[[3, 0, 1, 2]]])
        self.data.qpos[at : at + len(values)] = values

    @property
    def positions(self) -> np.ndarray:
        """Of the motors."""
        return self.data.qpos[self.model.jnt_qposadr[self._motors]].copy()

    @property
    def rates(self) -> np.ndarray:
        return self.data.qvel[self.model.jnt_dofadr[self._motors]].copy()

    @property
    def accelerations(self) -> np.ndarray:
        return self.data.qacc[self.model.jnt_dofadr[self._motors]].copy()

    @property
    def pose(self) -> np.ndarray:
        """Of the platform (4, 4)."""
        T, body = np.eye(4), self.data.body(self.platform)
        T[:3, :3], T[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return T

    @property
    def gap(self) -> float:
        """Largest distance of two ends that should be one [m]."""
        return max(np.linalg.norm(self.data.site(a).xpos - self.data.site(b).xpos) for a, b in self._ends)

    def push(self, efforts) -> None:
        """Give the motors efforts, and find accelerations."""
        self.data.qfrc_applied[self.model.jnt_dofadr[self._motors]] = efforts
        mujoco.mj_forward(self.model, self.data)

    def advance(self) -> None:
        """Go one step on."""
        mujoco.mj_step(self.model, self.data)
