"""Recordings of arms in MuJoCo, with what no drawing holds: rotors, friction, noise, coarse positions, delays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lie_dynamics_ros.lie_dynamics import JointFriction, SpatialInertia, inverse_dynamics

from .arms import Arm
from .mujoco_arm import MujocoArm, mujoco

RATE = 1000.0  # samples a second
ENCODER = 2.0 * np.pi / 4096  # 12 bits a turn


@dataclass(frozen=True)
class Recorded:
    """What a driver would have recorded: times, positions, efforts; and, of the simulation, efforts without noise."""

    time: np.ndarray
    q: np.ndarray
    effort: np.ndarray
    exact: np.ndarray


@dataclass(frozen=True)
class Drives:
    """What is in the joints of an arm besides bodies; all (n,), friction by the law of Stribeck."""

    armature: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    static_friction: np.ndarray
    stribeck_speed: np.ndarray

    @classmethod
    def of(cls, arm: Arm, rng: np.random.Generator) -> Drives:
        """Draw what suits the sizes of an arm: dry friction of 1 to 3 % of the effort limits, a half more at rest."""
        n, size = arm.model.nv, np.minimum(arm.limit, 100.0)
        dry = size * rng.uniform(0.01, 0.03, n)
        rotor = size * rng.uniform(0.002, 0.004, n)
        return cls(rotor, size * rng.uniform(0.01, 0.02, n), dry, 1.5 * dry, rng.uniform(0.03, 0.1, n))

    def law(self) -> JointFriction:
        """Return the friction as the library has it."""
        return JointFriction(self.damping, self.friction, self.static_friction, self.stribeck_speed)

    def level(self, qd) -> np.ndarray:
        """Dry friction at rates, without its sign."""
        return self.friction + (self.static_friction - self.friction) * np.exp(-((qd / self.stribeck_speed) ** 2))


def exciting_motion(arm: Arm, rng: np.random.Generator, seconds: float, base: float = 0.1):
    """Return times and a motion of five sines for each joint, from 15 % of its range away from the limits."""
    time = np.arange(round(seconds * RATE)) / RATE
    k = np.arange(1, 6)[:, None]
    rate = 2.0 * np.pi * base * k
    a, b = rng.normal(size=(2, 5, arm.model.nv)) / k**0.5
    angle = rate[:, None] * time[:, None, None].transpose(1, 0, 2)
    sin, cos = np.sin(angle), np.cos(angle)
    u = np.einsum("kj,ktu->tj", a, sin) + np.einsum("kj,ktu->tj", b, cos)
    ud = np.einsum("kj,ktu->tj", a * rate, cos) - np.einsum("kj,ktu->tj", b * rate, sin)
    udd = -np.einsum("kj,ktu->tj", a * rate**2, sin) - np.einsum("kj,ktu->tj", b * rate**2, cos)
    room = 0.35 * (arm.upper - arm.lower)
    size = np.minimum(room / np.abs(u).max(0), 0.6 * arm.speed / np.abs(ud).max(0))
    middle = 0.5 * (arm.lower + arm.upper)
    return time, middle + size * u, size * ud, size * udd


def record(
    arm: Arm,
    drives: Drives,
    motion,
    rng: np.random.Generator,
    *,
    delay=3e-3,
    noise=0.005,
    payload=None,
    encoder=ENCODER,
) -> Recorded:
    """Let MuJoCo follow a motion by computed torque and a servo; return what the driver records.

    Parameters
    ----------
    delay : float
        By which efforts are recorded later than positions [s].
    noise : float
        Standard deviation of efforts, over the effort limits (at most 100).
    encoder : float
        Step of positions [rad, m].
    """
    time, q, qd, qdd = motion
    simulated = DrivenArm(arm, drives, payload=payload)
    model = arm.model if payload is None else arm.model.with_payload(*payload, 0.4 * payload[1] * 0.05**2 * np.eye(3))
    ahead = inverse_dynamics(model, q, qd, qdd) + drives.armature * qdd
    mass = drives.armature + 0.02 + np.diagonal(simulated.mass_matrix(q[0]))
    simulated.set(q[0], qd[0])
    seen, efforts = np.empty_like(q), np.empty_like(q)
    wanted = ahead + drives.law().force(qd) + mass * (900.0 * q + 60.0 * qd)
    stiffness, damping = 900.0 * mass, 60.0 * mass
    physics, data, at_q, at_v = simulated.model, simulated.data, simulated._q, simulated._v
    place, rate, held, loss = data.qpos, data.qvel, data.qfrc_applied, physics.dof_frictionloss
    for k in range(len(time)):
        x, v = place[at_q], rate[at_v]
        seen[k] = x
        efforts[k] = np.minimum(np.maximum(wanted[k] - stiffness * x - damping * v, -arm.limit), arm.limit)
        loss[at_v], held[at_v] = drives.level(v), efforts[k]
        mujoco.mj_step(physics, data, 2)
    late = np.empty_like(efforts)
    for j in range(arm.model.nv):  # held for a period: in its middle on average
        late[:, j] = np.interp(time - delay - 0.5 / RATE, time, efforts[:, j])
    size = np.minimum(arm.limit, 100.0)
    positions = encoder * np.round(seen / encoder) if encoder else seen
    return Recorded(time, positions, late + noise * size * rng.normal(size=late.shape), efforts)


class DrivenArm(MujocoArm):
    """An arm in MuJoCo with such drives."""

    def __init__(self, arm: Arm, drives: Drives, **physics) -> None:
        values = {"armature": drives.armature, "damping": drives.damping, "friction": drives.friction}
        super().__init__(arm.text, arm.model.joint_names, integrator="implicitfast", **values, **physics)
        self._drives = drives
        self.model.dof_solref[:] = 2.0 * self.model.opt.timestep, 1.0  # as hard as its friction gets
        self.model.dof_solimp[:, :2] = 0.99

    def advance(self, tau, steps: int) -> None:
        """Hold efforts (n,) for some steps."""
        for _ in range(steps):
            self.model.dof_frictionloss[self._v] = self._drives.level(self.data.qvel[self._v])
            super().advance(tau, 1)


def wrong_inertias(model, rng: np.random.Generator, spread: float = 0.5) -> dict[str, SpatialInertia]:
    """Return inertias of a model's bodies that are off by up to a part, mass and size each, and shifted."""
    found = {}
    for body, name in enumerate(model.body_names):
        own = model.inertia(body)
        if own.mass:
            mass, size = 1.0 + spread * rng.uniform(-1.0, 1.0, 2)
            com = own.com * (1.0 + spread * rng.uniform(-1.0, 1.0))
            found[name] = SpatialInertia(mass * own.mass, com, mass * size * own.inertia)
    return found
