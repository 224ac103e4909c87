"""Closed mechanisms as MuJoCo simulates them, from their URDF: bodies on joints, loops as equality constraints."""

from __future__ import annotations

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import SpatialInertia, quaternion
from support.mujoco_arm import mujoco

#: Of massless crosses, in which MuJoCo does not believe [kg, kg m^2].
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-10
#: Of crosses at cuts, which would be soft if they were as light.
CROSS = 1e-3, 1e-5


def believed(model):
    """A model with bodies at least as heavy as MuJoCo takes them for, crosses at cuts apart."""
    for name in model.body_names:
        known = model.inertia(name)
        moments, axes = np.linalg.eigh(known.inertia)
        inertia = axes * np.maximum(moments, LEAST_INERTIA) @ axes.T
        model = model.with_inertia(name, SpatialInertia(max(known.mass, LEAST_MASS), known.com, inertia))
    return model


class MujocoMechanism:
    """A mechanism in MuJoCo: motors pushed, everything else follows; joints at the cuts give way a little.

    Parameters
    ----------
    made : Mechanism
        Its URDF, its loops (closed in points, in welds, or in universal joints about y of the first and z of the second
        frame) and its home configuration are read.
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
        self._ends, crosses = [], []
        for loop in made.constraints.loops:
            sites = []
            for side in ("first", "second"):
                place = getattr(loop, f"{side}_placement")
                turn = np.roll(quaternion.from_matrix(place[:3, :3]), 1)
                sites.append(f"{loop.name}_{side}")
                body, at = spec.body(getattr(loop, side)), {"pos": place[:3, 3], "quat": turn}
                if loop.kind == "universal" and side == "second":
                    body, at = self._on_cross(body, loop, at), {}
                    crosses.append((loop.name, loop.second))
                body.add_site(name=sites[-1], **at)
            welded = loop.kind.startswith("welded") or loop.kind == "universal"
            kind = getattr(mujoco.mjtEq, "mjEQ_WELD" if welded else "mjEQ_CONNECT")
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
        for (first, _), (name, body) in zip(self._ends, crosses, strict=False):
            turned = self.data.body(body).xmat.reshape(3, 3).T @ self.data.site(first).xmat.reshape(3, 3)
            angle = np.arctan2(-turned[0, 1], turned[1, 1])
            about_y = np.arctan2(np.cos(angle) * turned[0, 2] + np.sin(angle) * turned[1, 2], turned[2, 2])
            self._place(f"{name}_z", [angle])
            self._place(f"{name}_y", [about_y])
        mujoco.mj_forward(self.model, self.data)

    @staticmethod
    def _on_cross(body, loop, at):
        """A massless body that a universal joint at the cut carries: turned about z, then about y."""
        assert loop.axis.tolist() == [0.0, 1.0, 0.0] and loop.second_axis.tolist() == [0.0, 0.0, 1.0]
        for letter, axis in (("z", loop.second_axis), ("y", loop.axis)):
            body = body.add_body(name=f"{loop.name}_{letter}", **at)
            body.mass, body.inertia, body.explicitinertial = CROSS[0], np.full(3, CROSS[1]), 1
            body.add_joint(name=f"{loop.name}_{letter}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
            at = {}
        return body

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

    @property
    def twist_of_ends(self) -> float:
        """Largest difference of the directions of two ends, welded or on a universal joint."""
        return max(np.abs(self.data.site(a).xmat - self.data.site(b).xmat).max() for a, b in self._ends)

    def push(self, efforts) -> None:
        """Give the motors efforts, and find accelerations."""
        self.data.qfrc_applied[self.model.jnt_dofadr[self._motors]] = efforts
        mujoco.mj_forward(self.model, self.data)

    def advance(self) -> None:
        """Go one step on."""
        mujoco.mj_step(self.model, self.data)
