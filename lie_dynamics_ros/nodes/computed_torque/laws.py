"""The control laws of the node computed_torque: a state and a desired motion in, wanted efforts out; and its answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...lie_dynamics import JointFriction, Model
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import (
    AdaptiveController,
    ComputedTorquePID,
    SoftLimits,
    limited_damping,
    sliding_reference,
    slotine_li_force,
)
from ...lie_dynamics.control.robots import Robot, gravity_force, inverse_dynamics, mass_matrix
from .drive_estimate import BEHIND, DriveEstimate
from .gains import LATE_FILTER, Gains
from .stopping import StopMotion
from .trajectories.trajectory_piece import Desired


@dataclass(eq=False, slots=True)
class ControllerAnswer:
    """The answer to one state; arrays (n,) in model order."""

    stamp: int  # of the state [ns]
    mode: str
    phase: str  # of `core.commands`
    reason: str  # why it is in that phase
    position: Array  # of the state [rad, m]
    velocity: Array  # of the state [rad/s, m/s]
    desired: Desired  # at the stamp, in a stop that of the stop; `effort` is the trajectory's feed-forward
    ahead: Desired  # the motion desired when the effort acts, of which the law is; in a stop that at the stamp
    error: Array  # desired minus actual, at the stamp [rad, m]
    error_rate: Array  # likewise [rad/s, m/s]
    law: LawEffort  # efforts of the control law, and their parts
    wrench: Array  # by which known external wrenches and the base push the joints [N m, N]
    wanted: Array  # law.effort + ahead.effort - wrench: without limits and blending
    blend: Array  # what was added so that a change of mode, gains or model does not step
    total: Array  # what is exerted, gravity included: wanted + blend within the limits
    effort: Array  # what is published: the total, without gravity where the driver adds it
    scale: float  # what part of the efforts beyond their base was exerted; 1 unless limits were met


#: Modes that find what the model does not know of the drives.
LEARNING_MODES = ("computed_torque", "passivity_based", "adaptive")
#: For how many states what mode adaptive carries is taken as it was, as a model of it takes a while to make.
CARRYING_USES = 8
#: Inertia of a joint that a stop counts on at most where a payload is told, over that without it. It may not be there,
#: and a light wrist would be shaken. What is felt besides is added.
SURELY_TOLD = 3.0
FREE_SPEED = 0.8  # part of its velocity limit beyond which a joint that is guided by hand is slowed down

#: Steps of positions by which errors may be larger than `BEHIND` before the model is taken to be wrong, and by what
#: factor in mode adaptive, which learns loads by itself: of pushes beside that joints swing at rest.
FAR_STEPS, FAR_CARRYING = 2.0, 3.0
#: For how long joints may be off, as efforts came late, after another delay was found, and by what [s; rad, m].
UNSETTLED, UNSETTLED_OFF = 0.3, 5e-3
RUN_AHEAD = 2e-3  # lead of a joint over its motion that shows that the known friction is too large [rad, m]
DOUBT, TRUST = 50.0, 0.5  # rates at which less of it is compensated then, and at which all of it again [1/s]


class LawEffort(NamedTuple):
    """Output of a law, each of shape (n,), in model order."""

    effort: Array  # gravity and friction included, feed-forward and external wrenches not [N m, N]
    velocity: Array  # of the reference motion whose dynamics are part of it [rad/s, m/s]
    acceleration: Array  # likewise [rad/s^2, m/s^2]
    damping: Array  # the part of `effort` that is not the dynamics of the reference motion, friction included
    friction: Array | None = None  # the part of it that compensates known friction of the drives


class Laws:
    """All laws for one robot under the same options.

    The model has all that the options include, `bare` is it without a payload that is told. Friction is compensated at
    desired velocities, under the efforts of the desired motion: a function of time alone, which no gain has a part in.
    Velocity limits `fastest` (n,) are infinite for none [rad/s, m/s].
    """

    def __init__(
        self,
        model: Robot,
        learner: AdaptiveController | None,
        pid: ComputedTorquePID,
        soft: SoftLimits,
        friction: JointFriction | None,
        fastest: Array | float = np.inf,
        bare: Model | None = None,
    ) -> None:
        self._bare = bare
        self.model, self.learner, self.pid, self.soft, self._friction = model, learner, pid, soft, friction
        self._zero, self._trust = np.zeros(model.nv), np.ones(model.nv)  # in known friction
        self._free_speed = FREE_SPEED * fastest
        self.gains: Gains
        self._lagging = False  # whether some feedback is lowered, and acts behind low-passes
        self.drives: DriveEstimate | None = None  # what was found of the drives; none for robots with loops
        self.finds = False  # whether joints that do not follow are taken for ones that the model does not know
        self.steps: Array | float = 0.0  # of positions that velocities are found in [rad, m]
        self.timed: Array | float = 0.0  # errors (n,) that efforts which act sooner or later may leave [rad, m]
        self.unsettled = 0.0  # for how long joints may be off as efforts came late until just now [s]
        self._carrying: Model | None = None  # the robot with what mode adaptive has learned that it carries
        self._uses = 0  # for how many states that has been taken
        self._nowhere = np.full(model.nv, np.inf)
        self._far = self._behind = self._nowhere  # errors that a joint's model is taken for wrong from
        self._late = np.zeros((2, model.nv))  # errors of velocities behind each low-pass, while gains are lowered
        self._brake: Array | float = 0.0  # rate at which mode computed_torque brakes before limits [1/s]

    def set_gains(self, gains: Gains) -> None:
        """Take over gains; what the integral exerts stays as it is."""
        pid = self.pid
        with np.errstate(divide="ignore", invalid="ignore"):
            pid.integral = np.where(gains.ki > 0.0, pid.integral * pid.ki / gains.ki, pid.integral)
        pid.kp, pid.kd, pid.ki = gains.kp, gains.kd, gains.ki
        self._behind = np.full(self.model.nv, BEHIND * gains.period / gains.usual)  # long periods throw off, too
        self._far = np.where(np.asarray(gains.kp) > 0.0, self._behind, self._nowhere)  # else none is to be near
        self._lagging = bool(np.any(gains.late))
        if not self._lagging:
            self._late[:] = 0.0
        self.gains = gains
        self._brake = gains.quick * float(gains.kd.max())

    def turn_gravity(self, model: Robot) -> None:
        """Go on with the same model under another gravity; what was learned and integrated stays."""
        self.model = self.pid.model = model
        if self._carrying is not None:
            self._carrying = self._carrying.with_gravity(model.gravity)
        if self.learner is not None and isinstance(model, Model):
            self.learner.turn_gravity(model)

    def wanted(self, mode: str, q: Array, qd: Array, desired: Desired, period: float, learn: bool) -> LawEffort:
        """Return the output of a mode, ``period`` [s] after the state before."""
        if mode == "gravity_compensation":
            return self._guiding(q, qd)
        if mode == "computed_torque":
            law = self._computed_torque(q, qd, desired, period)
        else:
            law = self._sliding(mode == "adaptive", q, qd, desired, period if learn else 0.0)
        if self._friction is None:
            return law
        self._doubt_friction(desired.velocity, q - desired.position, period)
        return self._with_friction(law, *desired[:3])

    def _doubt_friction(self, velocity: Array, ahead: Array, period: float) -> None:
        """Compensate less of known friction where a joint runs ahead of its motion, as where it is known too large."""
        runs = np.sign(velocity) * ahead > RUN_AHEAD
        if self.drives is not None:
            runs &= self.drives.state.found
        step = np.where(runs, -DOUBT * self._trust, TRUST * (1.0 - self._trust))
        self._trust = np.clip(self._trust + min(period, 0.01) * step, 0.0, 1.0)

    def standing(self, mode: str, q: Array) -> Array:
        """Return the efforts of a mode at rest without errors: gravity and load as it knows them, and its integral."""
        if mode == "adaptive" and self.learner is not None:
            zero = self._zero
            reference = sliding_reference(self.learner.model, q, zero, q, zero, zero, self.gains.converge)
            return self.learner.force(q, zero, reference, 0.0)
        effort, pid = gravity_force(self.model, q), self.pid
        if mode in LEARNING_MODES and self.drives is not None:
            effort = effort + self.drives.compensation(self._zero)
        if mode == "computed_torque" and pid.integral.any():
            effort = effort + mass_matrix(self.model, q) @ (pid.ki * pid.integral)
        return effort

    def _with_friction(self, law: LawEffort, q: Array, qd: Array, qdd: Array) -> LawEffort:
        assert self._friction is not None
        friction = self._trust * self._friction.force(qd, inverse_dynamics(self.model, q, qd, qdd))
        return law._replace(effort=law.effort + friction, damping=law.damping + friction, friction=friction)

    def _computed_torque(self, q: Array, qd: Array, desired: Desired, period: float) -> LawEffort:
        drives, g, v = self.drives, self.gains, qd
        if self._lagging:
            late, share, rate = self._late, -math.expm1(-LATE_FILTER * period), desired.velocity - qd
            late[0] += share * (rate - late[0])
            late[1] += share * (late[0] - late[1])
            v = desired.velocity - g.quick * rate - g.late * late[1]
        acceleration = self.pid.acceleration(q, v, desired.position, desired.velocity, desired.acceleration, period)
        brake = self.soft.acceleration(q, qd, self._brake, desired.velocity)
        if brake is not None:
            acceleration = acceleration + brake
        effort, calm = inverse_dynamics(self.model, q, v, acceleration), self._zero
        if self._lagging:  # what swings is in no compensation
            calm = effort - inverse_dynamics(self.model, q, qd, acceleration)
        if drives is None:
            return LawEffort(effort, qd, acceleration, calm)
        error, rate = desired.position - q, desired.velocity - qd
        M = self.inertia(q)
        loose = drives.loosen(error, rate, period, M, self._off(self._far), desired.velocity, g.haste)
        if drives.idle:
            return LawEffort(effort, qd, acceleration, calm)
        slid = (rate if g.haste is None else desired.velocity - v) + g.spring * error
        more = loose + limited_damping(M, self._floor(), g.floor_cap, slid)
        more = more + drives.compensation(desired.velocity, g.converge * error)
        more = more + drives.felt * acceleration + (drives.rotors - drives.felt) * desired.acceleration
        return LawEffort(effort + more, qd, acceleration, more + calm)

    def _off(self, far: Array) -> Array:
        """Return errors (n,) from which on the model of a joint is taken to be wrong, by the usual ones."""
        if not self.finds:
            return self._nowhere
        off = far + self.timed
        return np.maximum(off, UNSETTLED_OFF if self.unsettled > 0.0 else 0.0) + FAR_STEPS * self.steps

    def known(self, mode: str) -> Robot:
        """Return the model beside which drives are found in a mode: in adaptive, that with what is carried."""
        learner = self.learner
        if mode != "adaptive" or learner is None:
            return self.model
        if self._carrying is None or self._uses >= CARRYING_USES:
            self._carrying, self._uses = learner.estimated_model(), 0
        self._uses += 1
        return self._carrying

    @property
    def rotors(self) -> Array:
        """Inertias (n,) of rotors that were learned and that feedback counts on [kg m^2, kg]."""
        return self._zero if self.drives is None else self.drives.felt

    def _floor(self) -> Array:
        g = self.gains
        used = self._zero if self.drives is None else self.drives.state.used
        return used * np.minimum(g.floor, g.floor_cap * (g.floor_rotors + self.rotors))

    def damping(self, q: Array) -> Array:
        """Return about what each joint is damped by in mode computed_torque (n,) [N m s/rad, N s/m]."""
        bodies = np.diagonal(self.inertia(q))
        g = self.gains
        return g.quick * (g.kd * bodies + np.minimum(self._floor(), g.floor_cap * bodies))

    def inertia(self, q: Array) -> Array:
        """Return the mass matrix (n, n) that feedback counts on [kg m^2, kg]."""
        M = mass_matrix(self.model, q)
        return M if self.drives is None or self.drives.idle else M + np.diag(self.drives.felt)

    def sure_inertia(self, q: Array) -> Array:
        """Return the mass matrix (n, n) that a stop counts on [kg m^2, kg]: no more than `SURELY_TOLD` of a payload."""
        M: Array = mass_matrix(self.model, q)
        if self._bare is None:
            return M
        most = SURELY_TOLD * np.diagonal(mass_matrix(self._bare, q))
        part = np.sqrt(np.minimum(most / np.maximum(np.diagonal(M), np.finfo(float).tiny), 1.0))
        return M * part * part[:, None]

    def _guiding(self, q: Array, qd: Array) -> LawEffort:
        g, M = self.gains, mass_matrix(self.model, q)
        damping = -limited_damping(M, g.guide, 0.5 * g.guide_cap, qd)
        brake = self.soft.acceleration(q, qd, g.guide_brake)
        if brake is not None:
            damping = damping + M @ brake
        excess = np.abs(qd) - self._free_speed
        if (excess > 0.0).any():
            damping = damping - M @ (g.slow * np.maximum(excess, 0.0) * np.sign(qd))
        return LawEffort(gravity_force(self.model, q) + damping, self._zero, self._zero, damping)

    def _sliding(self, adaptive: bool, q: Array, qd: Array, desired: Desired, period: float) -> LawEffort:
        model, g = self.model, self.gains
        M = self.inertia(q)
        r = sliding_reference(model, q, qd, desired.position, desired.velocity, desired.acceleration, g.converge)
        damping = -limited_damping(M, g.extra + g.extra_rates * np.diagonal(M), g.cap, r.sliding)
        brake = self.soft.acceleration(q, qd, g.slide, desired.velocity)
        push = -g.slide * r.sliding if brake is None else brake - g.slide * r.sliding
        damping = damping + M @ push
        if adaptive:
            force = self.learner.force(q, qd, r, 0.0 if brake is not None else period)
            damping = damping + self.learner.friction(desired.velocity)
        else:
            force = slotine_li_force(model, q, qd, r.velocity, r.acceleration)
        drives = self.drives
        if drives is not None:
            error, rate = desired.position - q, desired.velocity - qd
            far = self._off(FAR_CARRYING * self._behind if adaptive else self._behind)
            damping = damping + drives.loosen(error, rate, period, M, far, desired.velocity)
            damping = damping + drives.felt * r.acceleration
            damping = damping + (drives.rotors - drives.felt) * desired.acceleration
            if not adaptive:
                damping = damping + drives.compensation(desired.velocity)
        return LawEffort(force + damping, r.velocity, r.acceleration, damping)

    def stopping(self, q: Array, qd: Array, wanted: StopMotion) -> LawEffort:
        """Return the output that brings the robot to rest in a stop.

        Known friction is compensated at velocities of the plan, which is to be a function of time then. By how much
        the dynamics without what oscillates differ from those of the state is part of the damping.
        """
        plan = wanted.motion
        mass = self.sure_inertia(q) + np.diag(self.rotors) + np.diag(wanted.heavier)
        damping = wanted.gains.force(mass, wanted.rate, wanted.slow) + wanted.offset
        damping = damping + self.rotors * plan[2]
        force = inverse_dynamics(self.model, wanted.position, *plan[1:]) + damping
        law = LawEffort(force, qd, plan[2], force - inverse_dynamics(self.model, q, qd, plan[2]))
        return law if self._friction is None or wanted.gives_way else self._with_friction(law, *plan)
