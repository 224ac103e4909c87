"""Arms as MuJoCo simulates them: physics that shares no code with the library."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco", reason="the simulator that judges, mujoco, is not installed")

STEP = 0.5e-3
"""Of the integrator, at most [s]."""


class MujocoArm:
    """A robot of a URDF: positions and velocities in MuJoCo, efforts in, no contacts, no losses but those asked for.

    Parameters
    ----------
    text : str
        URDF. What it says of meshes, damping and friction is left out.
    joints : sequence of str
        Order of all arrays; every joint that moves.
    gears : array-like (n,), optional
        Stiffness of elastic gears, whose rotors the joints and `armature` are then [N m/rad]; None for rigid ones.
    damping, friction, armature : float or array-like (n,)
        Of the joints: viscous [N m s/rad], dry [N m], rotors [kg m^2].
    payload : tuple, optional
        Link, mass [kg], centre of mass (3,) in the link [m]; a ball of 5 cm.
    stops : bool
        Stops at the position limits of the URDF.
    step : float
        Of the integrator [s].
    ball : tuple, optional
        Link, centre (3,) in the link, radius [m]: it touches the wall, a plate that stands far away until `put_wall`.
    capsules : sequence of tuple
        Link, start (3,) and end (3,) in it, radius [m], for `distance`.
    integrator : str
        "euler" (semi-implicit: of first order, velocities are late by half a step), "implicitfast" or "rk4".
    """

    def __init__(
        self,
        text: str,
        joints: Sequence[str],
        *,
        damping=0.0,
        friction=0.0,
        armature=0.0,
        gears=None,
        payload=None,
        ball=None,
        capsules=(),
        stops: bool = False,
        step: float = STEP,
        integrator: str = "euler",
    ) -> None:
        spec = _spec(text)
        if payload is not None:
            link, mass, com = payload
            load = spec.body(link).add_body(name="payload", ipos=com, mass=mass, explicitinertial=True)
            load.inertia = [0.4 * mass * 0.05**2] * 3
        if ball is not None:
            link, center, radius = ball
            geometry = mujoco.mjtGeom
            spec.body(link).add_geom(name="ball", type=geometry.mjGEOM_SPHERE, size=[radius, 0, 0], pos=center, mass=0)
            plate = spec.worldbody.add_body(name="wall", mocap=True, pos=[0.0, 0.0, -10.0])
            plate.add_geom(name="wall", type=geometry.mjGEOM_BOX, size=[0.5, 0.02, 0.5])
        for k, (link, start, end, radius) in enumerate(capsules):
            ends = np.array([start, end], dtype=float)
            kind, ends = ("CAPSULE", ends) if np.ptp(ends, axis=0).any() else ("SPHERE", np.array([]))
            place = {"fromto": ends.ravel()} if len(ends) else {"pos": start}
            body = spec.body(link) or spec.worldbody
            body.add_geom(
                name=f"capsule{k}", type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"), size=[radius, 0, 0], mass=0, **place
            )
        spec.option.timestep = step
        spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        if ball is None:
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        if gears is not None:  # a rotor turns first, the link hangs on it by a spring
            for name, stiffness in zip(joints, gears, strict=True):
                j = spec.joint(name)
                j.parent.add_joint(
                    name=name + "_gear", type=j.type, axis=np.array(j.axis), pos=np.array(j.pos), limited=0,
                    stiffness=stiffness, damping=2e-4 * stiffness,
                )  # fmt: skip
        self.model = spec.compile()
        self.data, self._scratch = mujoco.MjData(self.model), mujoco.MjData(self.model)
        degrees = len(joints) * (1 if gears is None else 2)
        assert self.model.nv == self.model.nq == degrees, "every joint has one coordinate and is named"
        ids = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in joints]
        self._q, self._v = self.model.jnt_qposadr[ids], self.model.jnt_dofadr[ids]
        self.joints = tuple(joints)
        for values, given in (("damping", damping), ("frictionloss", friction), ("armature", armature)):
            getattr(self.model, f"dof_{values}")[self._v] = given
        if not stops:
            self.model.jnt_limited[:] = 0

    def set(self, q, qd) -> None:
        """Put the robot into a state, forgetting what constraints were like."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._q], self.data.qvel[self._v] = q, qd
        mujoco.mj_forward(self.model, self.data)

    @property
    def q(self) -> np.ndarray:
        return self.data.qpos[self._q].copy()

    @property
    def qd(self) -> np.ndarray:
        return self.data.qvel[self._v].copy()

    def advance(self, tau, steps: int) -> None:
        """Hold efforts (n,) for some steps."""
        self.data.qfrc_applied[self._v] = tau
        mujoco.mj_step(self.model, self.data, steps)

    def put_wall(self, place) -> None:
        """Put the middle of the wall, 4 cm thick along y, 1 m wide and high, to a place (3,) [m]."""
        self.data.mocap_pos[0] = place

    def contact_force(self) -> np.ndarray:
        """Force of the wall on the ball, in the world's axes (3,) [N]."""
        total, part = np.zeros(3), np.zeros(6)
        if not self.data.ncon:  # looking through none takes as long as a step
            return total
        ball = self.model.geom("ball").id
        for k, contact in enumerate(self.data.contact):
            mujoco.mj_contactForce(self.model, self.data, k, part)
            sense = 1.0 if contact.geom2 == ball else -1.0  # it is that of the first on the second
            total += sense * contact.frame.reshape(3, 3).T @ part[:3]
        return total

    def distance(self, one: int, other: int) -> float:
        """Distance of two capsules [m], negative inside each other."""
        ids = [self.model.geom(f"capsule{k}").id for k in (one, other)]
        return mujoco.mj_geomDistance(self.model, self.data, *ids, 10.0, None)

    def inverse_dynamics(self, q, qd, qdd) -> np.ndarray:
        """Efforts of a motion, MuJoCo's own."""
        data = self._scratch
        data.qpos[self._q], data.qvel[self._v], data.qacc[self._v] = q, qd, qdd
        mujoco.mj_inverse(self.model, data)
        return data.qfrc_inverse[self._v].copy()

    def mass_matrix(self, q) -> np.ndarray:
        """Mass matrix, MuJoCo's own, shape (n, n)."""
        self.gravity(q)
        full = np.empty((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self._scratch, full)
        return full[np.ix_(self._v, self._v)]

    def gravity(self, q) -> np.ndarray:
        """Efforts that hold the robot at rest."""
        zero = np.zeros(len(self.joints))
        return self.inverse_dynamics(q, zero, zero)


def _spec(text: str):
    root = ElementTree.fromstring(text)
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for part in link.findall(tag):
                link.remove(part)
    for tag in ("transmission", "gazebo", "material"):
        for part in root.findall(tag):
            root.remove(part)
    for joint in root.findall("joint"):  # what a joint loses is set by hand
        for tag in ("dynamics", "mimic", "safety_controller"):
            for part in joint.findall(tag):
                joint.remove(part)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    spec.compiler.fusestatic = False
    spec.compiler.inertiafromgeom = 0
    return spec
