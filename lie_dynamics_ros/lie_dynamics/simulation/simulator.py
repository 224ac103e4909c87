"""Simulation of a tree: many steps at once, or one call for each period of a controller; and of closed loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..constraints.assembly import project_to_constraints
from ..constraints.constraint_set import ConstraintSet
from ..constraints.dynamics import constrained_forward_dynamics
from ..dynamics.forward_dynamics import _mask, forward_dynamics, hybrid_dynamics
from ..dynamics.inputs import _check_quaternions
from ..errors import InputError, SimulationError
from ..lie import se3, so3
from ..model import layout
from ..model.arguments import require_model
from ..model.configuration import by_name, checked, rates, require_finite
from ..model.model import Model
from ..model.pack import copied
from ..shown import Plotted, shared_options, shown
from .joint_physics import JointPhysics, drive_forces, joint_forces
from .kernels import simulation as kernels

if TYPE_CHECKING:
    from typing import Unpack

# Integrators on the configuration manifold for any acceleration, such as that of a robot with closed loops.

Acceleration = Callable[[float, Array, Array], ArrayLike]


@shown
@dataclass(frozen=True, eq=False)
class Motion(Plotted):
    """States of a motion: `time` (n + 1) [s], `q` (n + 1, nq), `qd` (n + 1, nv)."""

    time: Array
    q: Array
    qd: Array


def semi_implicit_step(
    model: Model, acceleration: Acceleration, time: float, q: Array, qd: Array, step: float
) -> tuple[Array, Array]:
    """Return the state after a step of semi-implicit Euler: qd first, then q exp(h qd) with the new qd. Order 1."""
    require_model(model)
    after = qd + step * np.asarray(acceleration(time, q, qd))
    return model.integrate(q, step * after), after


def rkmk4_step(
    model: Model, acceleration: Acceleration, time: float, q: Array, qd: Array, step: float
) -> tuple[Array, Array]:
    """Return the state after a step of the Runge-Kutta-Munthe-Kaas method of order four.

    With q = q0 exp(u) it is the classical Runge-Kutta method for (u, qd), where du/dt is qd times the inverse of the
    right Jacobian of exp at u; on axis joints it is the classical method for (q, qd).
    """
    require_model(model)
    u = np.zeros(model.nv)
    ku, kv = u, u
    sum_u, sum_v = np.zeros(model.nv), np.zeros(model.nv)
    for part, weight in ((0.0, 1.0 / 6.0), (0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0)):
        u, v = part * step * ku, qd + part * step * kv
        kv = np.asarray(acceleration(time + part * step, model.integrate(q, u), v))
        ku = _tangent_rate(model, u, v)
        sum_u, sum_v = sum_u + weight * step * ku, sum_v + weight * step * kv
    return model.integrate(q, sum_u), qd + sum_v


def _tangent_rate(model: Model, u: Array, qd: Array) -> Array:
    rate = qd.copy()
    for joint in model.joints:
        at = joint.v_slice
        if joint.kind == "spherical":
            rate[at] = so3.right_jacobian_inverse(u[at]) @ qd[at]
        elif joint.kind == "free":
            rate[at] = se3.right_jacobian_inverse(u[at]) @ qd[at]
    return rate


_STEPS = {"semi_implicit": semi_implicit_step, "rkmk4": rkmk4_step}


def integrate_motion(
    model: Model,
    acceleration: Acceleration,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    step: float,
    steps: int,
    method: Literal["semi_implicit", "rkmk4"] = "rkmk4",
    start: float = 0.0,
    correct: Callable[[Array, Array], tuple[Array, Array]] | None = None,
) -> Motion:
    """Integrate a motion whose acceleration is a function of time and state.

    Parameters
    ----------
    model : Model
        The robot; its joints say how configurations move.
    acceleration : callable
        ``acceleration(time, q, qd)`` returns qdd (nv,): forward dynamics with any torques, of a tree or of a robot with
        constraints.
    q, qd : array-like, shape (nq,), (nv,)
        State at the start.
    step : float
        Step [s].
    steps : int
        Number of steps.
    method : {"semi_implicit", "rkmk4"}
        Integrator, of order 1 or 4.
    start : float
        Time of the start [s].
    correct : callable, optional
        ``correct(q, qd)`` returns the state to go on with after each step, such as a projection onto constraints.

    Raises
    ------
    InputError
        For bad input; names the joint.
    """
    require_model(model)
    if method not in _STEPS:
        raise InputError(f"method: one of {list(_STEPS)} is expected, got {method!r}", name="method", value=method)
    advance = _STEPS[method]
    q, qd = checked(q, model.nq, "q", model), checked(qd, model.nv, "qd", model)
    states_q, states_qd = np.empty((steps + 1, model.nq)), np.empty((steps + 1, model.nv))
    states_q[0], states_qd[0] = q, qd
    for k in range(steps):
        q, qd = advance(model, acceleration, start + k * step, q, qd, step)
        if correct is not None:
            q, qd = correct(q, qd)
        states_q[k + 1], states_qd[k + 1] = q, qd
    return Motion(np.asarray(start + step * np.arange(steps + 1)), states_q, states_qd)


Method = Literal["semi_implicit", "rkmk4", "variational"]
Control = Callable[[float, Array, Array], ArrayLike]

_METHODS = {"semi_implicit": kernels.SEMI_IMPLICIT, "rkmk4": kernels.RKMK4, "variational": kernels.VARIATIONAL}


@shown
@dataclass(frozen=True, eq=False)
class Simulation(Plotted):
    """A simulated motion.

    Attributes
    ----------
    time : ndarray, shape (n + 1,)
        Times of the states [s], the first one 0 or what was requested.
    q, qd : ndarray, shape (n + 1, nq), (n + 1, nv)
        States, the given one first.
    qdd, tau : ndarray, shape (n, nv)
        Accelerations and joint forces at the beginning of each interval, or of its last substep; where an acceleration
        was prescribed, `tau` is what the actuator must exert for it, losses of the joint included.
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array


class Simulator:
    """A robot that moves: its state, and steps of it.

    Parameters
    ----------
    model : Model
        The robot. Joint terms of the model itself (`with_joint_terms`) count too; armature is part of the model.
    q, qd : array-like, shape (nq,), (nv,), optional
        State at the start; neutral and at rest when left out.
    step : float
        Step [s] of the integrator.
    method : {"semi_implicit", "rkmk4", "variational"}
        Integrator; see ``doc/simulation.md`` for how to choose.
    joints : JointPhysics, optional
        Damping, dry friction and stops; none when left out.

    Attributes
    ----------
    time : float
        Simulated time [s].
    q, qd : ndarray
        The state; assign with `reset`.
    """

    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        *,
        step: float = 1e-3,
        method: Method = "semi_implicit",
        joints: JointPhysics | None = None,
    ) -> None:
        require_model(model)
        if method not in _METHODS:
            raise InputError(f"method: one of {list(_METHODS)} is expected, got {method!r}", name="method")
        if not (np.isfinite(step) and step > 0.0):
            raise InputError(f"step: a positive time is expected, got {step}", name="step", value=step)
        self.step_size, self.method = float(step), method
        self.model, self.joints = model, JointPhysics.none(model)
        self.q, self.qd, self.time = model.neutral(), np.zeros(model.nv), 0.0
        self._table = self._scratch = self._weightless = self.joints.table
        self.set_model(model, joints)
        self.reset(q, qd)

    def set_model(self, model: Model, joints: JointPhysics | None = None) -> None:
        """Go on with another model of as many coordinates, e.g. with a payload picked up."""
        if (model.nq, model.nv) != (self.model.nq, self.model.nv):
            raise InputError(f"model: {self.model.nv} coordinates are expected, got {model.nv}")
        self.model = model
        self.joints = JointPhysics.none(model) if joints is None else joints
        if self.joints.damping.size != model.nv:
            raise InputError(f"joints: {model.nv} coordinates are expected, got {self.joints.damping.size}")
        if model.actuation_terms is not None:  # one way of losing energy, not two
            damping, friction = model.actuation_terms[:2]
            self.joints = self.joints.changed(
                damping=self.joints.damping + damping, friction=self.joints.friction + friction
            )
            held = bool(model.actuation_terms.springs)
            self.model = model.with_joint_terms(bool(model.rows[1:, layout.ARMATURE].any()), springs=held)
            if model.actuation_terms.body_springs:
                self.model = self.model.with_body_springs(model.actuation_terms.body_springs)
        self._table = self.joints.table
        self._scratch = copied(self.model.table)
        self._weightless = copied(self.model.with_gravity((0.0, 0.0, 0.0)).table)

    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None, time: float = 0.0) -> None:
        """Start again from a state."""
        self.q = self.model.neutral() if q is None else checked(q, self.model.nq, "q", self.model).copy()
        self.qd = np.zeros(self.model.nv) if qd is None else checked(qd, self.model.nv, "qd", self.model).copy()
        _check_quaternions(self.model, self.q)
        self.time = float(time)

    def advance(
        self,
        tau: ArrayLike | None = None,
        *,
        substeps: int = 1,
        qdd: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Move on by `substeps` steps with forces held, and return (qdd, tau), as in `Simulation`."""
        result = self.run(1, tau, substeps=substeps, qdd=qdd, prescribed=prescribed, f_ext=f_ext)
        return result.qdd[0], result.tau[0]

    def run(
        self,
        count: int,
        tau: ArrayLike | Control | None = None,
        *,
        substeps: int = 1,
        qdd: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
    ) -> Simulation:
        """Move on by `count` intervals of `substeps` steps each.

        Parameters
        ----------
        count : int
            Number of intervals.
        tau : array-like, shape (nv,) or (count, nv), or callable, optional
            Joint forces [N m, N]: constant, one row for each interval, or a function of (time, q, qd) that is asked at
            the beginning of each interval. Zero when left out.
        substeps : int
            Steps in an interval, over which forces are held.
        qdd : array-like, shape (nv,) or (count, nv), optional
            Accelerations of the coordinates that `prescribed` marks.
        prescribed : array-like of bool, shape (nv,), optional
            True where the acceleration is given and not the force.
        f_ext : array-like, shape (n_bodies, 6), optional
            Wrenches (moment, force) on the bodies, constant in their frames [N m, N].

        Raises
        ------
        InputError, GroupError
            For bad input; names the joint.
        SimulationError
            If the state goes beyond all bounds, or a variational step has no solution: a smaller step is expected.
        """
        if count < 0 or substeps < 1:
            raise InputError(f"count and substeps: positive numbers are expected, got {count} and {substeps}")
        if callable(tau):
            return self._run_controlled(count, tau, substeps, qdd, prescribed, f_ext)
        given = np.zeros(self.model.nv, np.bool_) if prescribed is None else _mask(self.model, prescribed)
        forces, accelerations = self._rows("tau", tau, count, ~given), self._rows("qdd", qdd, count, given)
        wrench: Array = np.zeros(0)
        if f_ext is not None:
            wrench = np.ascontiguousarray(f_ext, np.float64)
            if wrench.shape != (self.model.n_bodies, 6) or not np.isfinite(wrench).all():
                raise InputError(f"f_ext: {self.model.n_bodies} finite wrenches are expected, got {wrench.shape}")
            wrench = wrench.reshape(-1)
        if self.model.plain and not self.joints.sliding(self.model):
            return self._compiled(count, substeps, forces, accelerations, given, wrench)
        return self._interpreted(count, substeps, forces, accelerations, given, f_ext)

    def _compiled(self, count: int, substeps: int, tau: Array, qdd: Array, given: Mask, wrench: Array) -> Simulation:
        model, n = self.model, self.model.nv
        q, qd = np.empty((count + 1, model.nq)), np.empty((count + 1, n))
        q[0], qd[0] = self.q, self.qd
        acceleration, force = np.empty((count, n)), np.empty((count, n))
        settings = np.zeros(kernels.SETTINGS)
        settings[kernels.STEP], settings[kernels.SUBSTEPS] = self.step_size, substeps
        settings[kernels.METHOD] = _METHODS[self.method]
        status = kernels.simulate(
            model.table,
            self._scratch,
            self._weightless,
            self._table,
            tau,
            qdd,
            given,
            wrench,
            settings,
            q,
            qd,
            acceleration,
            force,
        )
        if status != layout.OK:
            at, code = divmod(status, layout.STATUS_STEP)
            self._refuse(code, self.time + at * substeps * self.step_size)
        return self._finish(count, substeps, q, qd, acceleration, force)

    def _interpreted(
        self,
        count: int,
        substeps: int,
        tau: Array,
        qdd: Array,
        given: Mask,
        f_ext: ArrayLike | None,
    ) -> Simulation:
        """Step a model with user-defined or coupled joints or springs, which no kernel has; friction regularised."""
        method = self.method
        if method == "variational":
            raise InputError(
                "method: semi_implicit or rkmk4 is expected for user-defined and coupled joints, springs, free joints "
                "with armature or dry friction along their position, not 'variational': its step is one kernel, which "
                "neither calls users' functions at the poses it tries nor couples joints nor knows the world's axes",
                name="method",
            )
        q, qd = [self.q], [self.qd]
        acceleration, force = np.empty((count, self.model.nv)), np.empty((count, self.model.nv))
        for k in range(count):
            t, a = tau[min(k, len(tau) - 1)], qdd[min(k, len(qdd) - 1)]

            def motion(_time: float, x: Array, xd: Array, t: Array = t, a: Array = a) -> Array:
                total = t + np.where(given, 0.0, joint_forces(self.joints, self.model, x, xd, t))
                return hybrid_dynamics(self.model, x, xd, a, total, given, f_ext)[0]

            total = t + np.where(given, 0.0, joint_forces(self.joints, self.model, q[-1], qd[-1], t))
            acceleration[k], exerted = hybrid_dynamics(self.model, q[-1], qd[-1], a, total, given, f_ext)
            force[k] = np.where(given, drive_forces(self.joints, self.model, q[-1], qd[-1], exerted), t)
            end = integrate_motion(
                self.model, motion, q[-1], qd[-1], step=self.step_size, steps=substeps, method=method
            )
            q.append(end.q[-1])
            qd.append(end.qd[-1])
        return self._finish(count, substeps, np.array(q), np.array(qd), acceleration, force)

    def _run_controlled(self, count: int, control: Control, substeps: int, *others: Any) -> Simulation:
        qdd, prescribed, f_ext = others
        given = np.zeros(self.model.nv, np.bool_) if prescribed is None else _mask(self.model, prescribed)
        accelerations = self._rows("qdd", qdd, count, given)
        parts = []
        for k in range(count):
            tau = control(self.time, self.q, self.qd)
            row = accelerations[min(k, len(accelerations) - 1)]
            parts.append(self.run(1, tau, substeps=substeps, qdd=row, prescribed=prescribed, f_ext=f_ext))
        if not parts:
            return self.run(0)
        first = parts[0]
        return Simulation(
            np.concatenate([first.time[:1], *(p.time[1:] for p in parts)]),
            np.concatenate([first.q[:1], *(p.q[1:] for p in parts)]),
            np.concatenate([first.qd[:1], *(p.qd[1:] for p in parts)]),
            np.concatenate([p.qdd for p in parts]),
            np.concatenate([p.tau for p in parts]),
        )

    def _rows(self, name: str, value: ArrayLike | None, count: int, read: Mask) -> Array:
        """Return forces or accelerations as one row, or one for each interval; zero where they are not read."""
        n = self.model.nv
        own = None if value is None else by_name(value, n, name, self.model)
        rows = np.zeros((1, n)) if own is None else np.array(own, np.float64, ndmin=2, order="C")
        if rows.ndim != 2 or rows.shape[1] != n or rows.shape[0] not in (1, count):
            raise InputError(
                f"{name}: shape ({n},) or ({count}, {n}) is expected, got {np.shape(value)}",  # type: ignore[arg-type]
                name=name,
                expected=f"({n},) or ({count}, {n})",
            )
        rows[:, ~read] = 0.0
        require_finite(rows, name, self.model)
        return rows

    def _refuse(self, code: int, time: float) -> None:
        if code == kernels.NOT_SOLVED:
            raise SimulationError(
                f"model {self.model.name!r}: the variational step at {time:g} s has no solution near the state; "
                f"a step below {self.step_size:g} s is expected",
                value=self.step_size,
            )
        still = self.model.zero_velocity
        forward_dynamics(self.model, self.q, self.qd, still)  # refuses a massless link with its joint's name
        raise SimulationError(
            f"model {self.model.name!r}: the motion goes beyond all bounds at {time:g} s; smaller forces or a step "
            f"below {self.step_size:g} s are expected",
            value=self.step_size,
        )

    def _finish(self, count: int, substeps: int, q: Array, qd: Array, qdd: Array, tau: Array) -> Simulation:
        time: Array = np.asarray(self.time + self.step_size * substeps * np.arange(count + 1))
        self.q, self.qd, self.time = q[-1].copy(), qd[-1].copy(), float(time[-1])
        return Simulation(time, q, qd, qdd, tau)


class SimulationOptions(TypedDict, total=False):
    """Keywords of `simulation_options`."""

    step: float
    joints: JointPhysics | None
    f_ext: ArrayLike | None


def simulation_options(
    *, step: float = 1e-3, joints: JointPhysics | None = None, f_ext: ArrayLike | None = None
) -> tuple[float, JointPhysics | None, ArrayLike | None]:
    """Return the step [s], what joints do by themselves, and wrenches on the bodies."""
    return step, joints, f_ext


@shared_options(simulation_options)
def simulate(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike | Control | None = None,
    *,
    duration: float,
    method: Method = "semi_implicit",
    qdd: ArrayLike | None = None,
    prescribed: ArrayLike | None = None,
    **options: Unpack[SimulationOptions],
) -> Simulation:
    """Simulate a motion from a state; `duration` [s] is rounded to whole steps. See `Simulator` and `Simulator.run`."""
    step, joints, f_ext = simulation_options(**options)
    simulator = Simulator(model, q, qd, step=step, method=method, joints=joints)
    return simulator.run(round(duration / step), tau, qdd=qdd, prescribed=prescribed, f_ext=f_ext)


@shared_options(simulation_options)
def simulate_constrained(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike | Control | None = None,
    *,
    duration: float,
    tolerance: float = 1e-12,
    **options: Unpack[SimulationOptions],
) -> Simulation:
    """Simulate a motion under constraints by RKMK4, each step followed by a projection onto the constraints.

    The projection is `project_to_constraints`: errors of the loops do not grow, whatever the duration, and its
    corrections are of the order of the method's error. A start that does not satisfy the constraints is projected too.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q, qd : array-like, shape (nq,), (nv,)
        State at the start, close to closed.
    tau : array-like, shape (nv,), or callable, optional
        Joint forces [N m, N], constant, or a function of (time, q, qd) that is asked at the beginning of each step and
        held over it. Zero when left out.
    duration, step : float
        [s]; rounded to whole steps.
    joints : JointPhysics, optional
        Damping, regularised friction and stops of the joints; none when left out.
    f_ext : array-like, shape (n_bodies, 6), optional
        Wrenches (moment, force) on the bodies, constant in their frames [N m, N].
    tolerance : float
        Errors of the constraints that need no correction [m, rad].

    Raises
    ------
    InputError, GroupError
        For bad input; names the joint.
    SingularityError
        If the start is far from closed, or a step leaves it far from closed: a smaller step is expected.
    """
    require_model(model)
    step, joints, f_ext = simulation_options(**options)
    if not (np.isfinite(step) and step > 0.0):
        raise InputError(f"step: a positive time is expected, got {step}", name="step", value=step)
    count = round(duration / step)
    states_q, states_qd = np.empty((count + 1, model.nq)), np.empty((count + 1, model.nv))
    accelerations, forces = np.empty((count, model.nv)), np.empty((count, model.nv))
    x, v = project_to_constraints(model, constraints, q, qd, tolerance=tolerance)
    states_q[0], states_qd[0] = x, v
    constant = np.zeros(model.nv)
    if tau is not None and not callable(tau):
        constant = np.broadcast_to(rates(tau, "tau", model), (model.nv,))
    for k in range(count):
        held = np.asarray(tau(k * step, x, v), np.float64) if callable(tau) else constant

        def acceleration(_time: float, a: Array, b: Array, held: Array = held) -> Array:
            total = held if joints is None else held + joint_forces(joints, model, a, b, held)
            return constrained_forward_dynamics(model, constraints, a, b, total, f_ext).qdd

        accelerations[k], forces[k] = acceleration(k * step, x, v), held
        end = integrate_motion(model, acceleration, x, v, step=step, steps=1)
        x, v = project_to_constraints(model, constraints, end.q[-1], end.qd[-1], tolerance=tolerance)
        states_q[k + 1], states_qd[k + 1] = x, v
    return Simulation(np.asarray(step * np.arange(count + 1)), states_q, states_qd, accelerations, forces)
