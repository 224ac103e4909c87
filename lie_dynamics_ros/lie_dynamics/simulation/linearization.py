"""Derivatives of one step of an integrator, for model predictive control and iterative LQR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..dynamics.derivatives.forward_derivatives import ForwardDynamicsDerivatives, forward_dynamics_derivatives
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.losses import orientations
from ..errors import InputError
from ..lie import se3, so3
from ..lie._arrays import as_numbers, number_of
from ..model import layout
from ..model.arguments import require_model
from ..model.configuration import checked, common_batch
from ..model.model import Model
from ..model.pack import copied
from ..shown import shown
from .joint_physics import JointPhysics, joint_forces

# Forces of damping and stops, and their slopes, as the steps of `linearize` want them.
#
# A stop is a spring and a damper that act on one side of a limit: the step has kinks, between which it is smooth.

#: Trials in which the simulator's step lets go of all stops at once that would pull; then of one at a time.
_AT_ONCE = 8


def explicit(physics: JointPhysics, model: Model, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
    """Return `joint_forces` (..., nv), their slopes along q and qd (..., nv, nv), and on which side stops push."""
    x, s = physics.depth(model, q), physics.friction_speed
    dry = physics.friction * s**2 / (qd * qd + s * s) ** 1.5
    rest = -physics.damping - np.where(x * qd > 0.0, physics.stop_damping, 0.0)
    unit = np.eye(model.nv)
    along_q = np.where(x != 0.0, -physics.stop_stiffness, 0.0)[..., None] * unit
    along_qd = (rest - dry)[..., None] * unit
    for at, R in orientations(physics.sliding(model), q):
        turn, back = slice(at.start - 3, at.start), np.swapaxes(R, -1, -2)
        v = (R @ qd[..., at, None])[..., 0]
        root, level = np.sqrt(v * v + s * s), physics.friction[at]
        force = -(back @ (level * v / root)[..., None])[..., 0]
        slope = back @ ((-level * s**2 / root**3)[..., None] * R)
        along_q[..., at, turn] = so3.hat(force) - slope @ so3.hat(qd[..., at])
        along_qd[..., at, at] = slope + rest[..., at, None] * np.eye(3)
    return joint_forces(physics, model, q, qd), along_q, along_qd, np.sign(x)


@dataclass(frozen=True, eq=False)
class ImplicitStops:
    """A semi-implicit step with stops: derivatives of its forward dynamics, and slopes of the forces given to it."""

    at: ForwardDynamicsDerivatives  # with what damping and stops add to the diagonal of the mass matrix
    along_q: Array  # slope of the joint forces (..., nv)
    along_qd: Array  # (..., nv)
    side: Array  # on which side a stop pushes: -1, 0 or 1 (..., nv)


def implicit(
    physics: JointPhysics, model: Model, q: Array, qd: Array, tau: Array, h: float, f_ext: Array | None
) -> ImplicitStops:
    """Return what `kernels.steps.semi_implicit` does about stops, without dry friction that sticks.

    A force -k (x + h qd + h^2 qdd) - c (qd + h qdd) is one more h^2 k + h c on the diagonal of the mass matrix. A stop
    whose joint would be beyond it after the step pushes; one that would have to pull is left out.
    """
    batch, n = q.shape[:-1], model.nv
    count = int(np.prod(batch))
    q, qd, tau = (a.reshape(count, a.shape[-1]) for a in (q, qd, tau))
    wrench = None
    if f_ext is not None:
        wrench = np.broadcast_to(f_ext, (*batch, *f_ext.shape[-2:])).reshape(count, *f_ext.shape[-2:])
    ahead = q.copy()
    ahead[:, model.vector_q] += h * qd[:, model.vector_v]
    x = physics.depth(model, ahead)
    pushes = x != 0.0
    trial = 0
    while True:
        k = np.where(pushes, physics.stop_stiffness, 0.0)
        c = physics.damping + np.where(pushes & (x * qd > 0.0), physics.stop_damping, 0.0)
        force, weight = tau - c * qd - k * x, h * (c + h * k)
        qdd = np.zeros_like(qd)
        for with_stops, some in _grouped(model, weight):
            qdd[some] = forward_dynamics(with_stops, q[some], qd[some], force[some], _part(wrench, some))
        push = k * (x + h * h * qdd) + (c - physics.damping) * (qd + h * qdd)
        pulls = pushes & (x * push < 0.0)
        if not pulls.any():
            break
        if trial >= _AT_ONCE:
            pulls &= np.cumsum(pulls, axis=-1) == 1
        pushes &= ~pulls
        trial += 1
    found = np.empty((3, len(q), n, n))
    for with_stops, some in _grouped(model, weight):
        part = forward_dynamics_derivatives(with_stops, q[some], qd[some], force[some], _part(wrench, some))
        for target, value in zip(found, (part.dq, part.dqd, part.dtau), strict=True):
            target[some] = value
    dq, dqd, dtau = found.reshape(3, *batch, n, n)
    derivatives = ForwardDynamicsDerivatives(dq, dqd, dtau, qdd.reshape(*batch, n))
    side = np.where(pushes, np.sign(x), 0.0)
    return ImplicitStops(derivatives, *(a.reshape(*batch, n) for a in (-k, -c - h * k, side)))


def _part(wrench: Array | None, some: Mask) -> Array | None:
    return None if wrench is None else wrench[some]


def _grouped(model: Model, weight: Array) -> list[tuple[Model, Mask]]:
    """Return models with each of the different rows of `weight` on the diagonal, and which states have it."""
    if not weight.shape[1]:
        return [(model, np.ones(len(weight), np.bool_))]
    rows, which = np.unique(weight, axis=0, return_inverse=True)
    found = []
    for k, row in enumerate(rows):
        table = copied(model.table)
        table[1 : model.rows.shape[0], layout.ARMATURE] += row
        found.append((model._changed(table, None), which.reshape(-1) == k))
    return found


_TINY = 1e-30
_STAGES = ((0.0, 1.0 / 6.0), (0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0))


@shown
@dataclass(frozen=True, eq=False)
class Linearization:
    """One step of an integrator and its derivative: d(next) = A d(now) + B dtau.

    Changes of states are tangent vectors (dq, dqd) of 2 nv entries, dq along `Model.integrate` at the configuration
    that they belong to: ``difference(next.q, q of the changed step) = A[:nv] d(now) + B[:nv] dtau`` to first order.

    Attributes
    ----------
    A : ndarray, shape (..., 2 nv, 2 nv)
        Derivative along the state.
    B : ndarray, shape (..., 2 nv, nv)
        Derivative along joint forces that are held over the step.
    q, qd : ndarray, shape (..., nq), (..., nv)
        State after the step.
    stops : ndarray, shape (..., nv)
        Which stop of each coordinate pushes during the step: -1 the lower one, 1 the upper one, 0 none.
    """

    A: Array
    B: Array
    q: Array
    qd: Array
    stops: Array


def linearize(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    dt: float,
    integrator: Literal["semi_implicit", "rkmk4"] = "semi_implicit",
    f_ext: ArrayLike | None = None,
    joints: JointPhysics | None = None,
) -> Linearization:
    """Return the exact derivative of one step of an integrator under forward dynamics.

    With stops the step has kinks: where one begins to push or lets go, and where a joint in a stop turns back, since
    its damper acts on the way in only. Between kinks the derivative is that of the step; exactly on one it is that of
    the formulas which the step takes there: a joint on its limit is free, one at rest in a stop feels no damper.

    Parameters
    ----------
    model : Model
        The robot. Losses that it counts (`with_joint_terms`) act as in `Simulator`: damping is implicit in
        "semi_implicit" steps, but where mimic joints are coupled, and explicit in "rkmk4". Joints slide: dry friction
        is constant, and none at rest.
    q, qd, tau : array-like, shape (..., nq), (..., nv), (..., nv)
        State, and joint forces held over the step.
    dt : float
        Step [s].
    integrator : {"semi_implicit", "rkmk4"}
        The step of `Simulator`, or of `semi_implicit_step` and `rkmk4_step`.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches on the bodies, constant in their frames.
    joints : JointPhysics, optional
        Damping, stops and friction as in `Simulator`, in addition to the losses that the model counts. Dry friction is
        taken where the simulator regularises it: in "rkmk4" steps, and for user-defined and coupled joints.

    Returns
    -------
    Linearization
        A, B, which stops push, and the state after the step.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`; also for an unknown integrator, a step that is not positive, or friction in `joints` that
        would have to stick.
    """
    require_model(model)
    dt = number_of("dt", dt, "a positive time", lambda step: 0.0 < step < np.inf)
    steps = {"semi_implicit": _semi_implicit, "rkmk4": _rkmk4}
    if integrator not in steps:
        raise InputError(f"integrator: one of {list(steps)} is expected, got {integrator!r}", name="integrator")
    q, qd = checked(q, model.nq, "q", model), checked(qd, model.nv, "qd", model)
    tau = checked(tau, model.nv, "tau", model)
    wrench = None if f_ext is None else as_numbers(f_ext, "f_ext")
    batch = common_batch(q=q, qd=qd, tau=tau, f_ext=tau if wrench is None else np.empty(wrench.shape[:-1]))
    q, qd, tau = (np.broadcast_to(a, (*batch, a.shape[-1])) for a in (q, qd, tau))
    _check_joints(model, joints, integrator)
    after_q, after_qd, change_q, change_qd, stops = steps[integrator](model, q, qd, tau, dt, wrench, joints)
    whole = np.concatenate([change_q, change_qd], axis=-2)
    n = 2 * model.nv
    return Linearization(whole[..., :n].copy(), whole[..., n:].copy(), after_q, after_qd, stops)


def _check_joints(model: Model, joints: JointPhysics | None, integrator: str) -> None:
    if joints is None:
        return
    if not isinstance(joints, JointPhysics) or joints.damping.size != model.nv:
        raise InputError(f"joints: a JointPhysics of {model.nv} coordinates is expected, got {joints!r}", name="joints")
    if joints.law is not None:
        raise InputError("joints: no law is expected, whose friction by load has no derivative", name="joints")
    if integrator == "semi_implicit" and _is_implicit(model, joints) and joints.friction.any():
        raise InputError(
            "joints: dry friction that sticks has no derivative where it begins to; none is expected in semi_implicit "
            "steps (joints.changed(friction=...)), or integrator 'rkmk4', where it is regularised",
            name="joints",
            value=joints.friction,
        )


def _is_implicit(model: Model, joints: JointPhysics | None) -> bool:
    """Return whether `Simulator` takes damping and stops implicitly in semi-implicit steps of this model."""
    terms = model.actuation_terms
    turned = bool(terms is not None and any(terms[2:]))
    turned |= joints is not None and bool(joints.sliding(model))
    return not model.custom_joints and model.coupling is None and not turned


_Step = tuple[Array, Array, Array, Array, Array]


def _units(model: Model, batch: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return dq, dqd and dtau (..., nv, 3 nv) as functions of themselves."""
    n = model.nv
    unit = np.broadcast_to(np.eye(3 * n), (*batch, 3 * n, 3 * n))
    return unit[..., :n, :], unit[..., n : 2 * n, :], unit[..., 2 * n :, :]


def _semi_implicit(
    model: Model, q: Array, qd: Array, tau: Array, dt: float, f_ext: Array | None, joints: JointPhysics | None
) -> _Step:
    dq, dqd, dtau = _units(model, q.shape[:-1])
    side = np.zeros_like(qd)
    if joints is not None and not _is_implicit(model, joints):
        force, along_q, along_qd, side = explicit(joints, model, q, qd)
        tau, dtau = tau + force, dtau + along_q @ dq + along_qd @ dqd
    elif joints is not None:
        if model.actuation_terms is not None:
            damping, friction = model.actuation_terms[:2]
            joints = joints.changed(damping=joints.damping + damping)
            model, tau = model._changed(copied(model.table), None), tau - friction * np.sign(qd)
        stop = implicit(joints, model, q, qd, tau, dt, f_ext)
        at, side = stop.at, stop.side
        dtau = dtau + stop.along_q[..., None] * dq + stop.along_qd[..., None] * dqd
    elif model.actuation_terms is not None and _is_implicit(model, joints):
        # As `Simulator` has it: a force -d (qd + h qdd) is one more h d on the diagonal of the mass matrix.
        damping, friction = model.actuation_terms[:2]
        table = copied(model.table)
        table[1 : model.rows.shape[0], layout.ARMATURE] += dt * damping
        model = model._changed(table, None)
        tau, dtau = tau - damping * qd - friction * np.sign(qd), dtau - damping[:, None] * dqd
    if joints is None or not _is_implicit(model, joints):
        at = forward_dynamics_derivatives(model, q, qd, tau, f_ext)
    after = qd + dt * at.qdd
    dafter = dqd + dt * (at.dq @ dq + at.dqd @ dqd + at.dtau @ dtau)
    back, right, _ = _manifold(model, dt * after)
    return model.integrate(q, dt * after), after, back @ dq + dt * right @ dafter, dafter, side


def _rkmk4(
    model: Model, q: Array, qd: Array, tau: Array, dt: float, f_ext: Array | None, joints: JointPhysics | None
) -> _Step:
    dq, dqd, dtau = _units(model, q.shape[:-1])
    ku, kv, dku, dkv = np.zeros_like(qd), np.zeros_like(qd), np.zeros_like(dq), np.zeros_like(dq)
    sum_u, sum_v, dsum_u, dsum_v = ku, kv, dku, dkv
    sides = np.zeros_like(qd)
    for part, weight in _STAGES:
        u, v, du, dv = part * dt * ku, qd + part * dt * kv, part * dt * dku, dqd + part * dt * dkv
        back, right, rate = _manifold(model, u)
        x, dx, total, dtotal = model.integrate(q, u), back @ dq + right @ du, tau, dtau
        if joints is not None:
            force, along_q, along_qd, side = explicit(joints, model, x, v)
            total, dtotal = tau + force, dtau + along_q @ dx + along_qd @ dv
            sides = np.where(sides == 0.0, side, sides)
        at = forward_dynamics_derivatives(model, x, v, total, f_ext)
        kv = at.qdd
        dkv = at.dq @ dx + at.dqd @ dv + at.dtau @ dtotal
        ku, dku = (rate @ v[..., None])[..., 0], rate @ dv + _rate_slope(model, u, v) @ du
        sum_u, sum_v = sum_u + weight * dt * ku, sum_v + weight * dt * kv
        dsum_u, dsum_v = dsum_u + weight * dt * dku, dsum_v + weight * dt * dkv
    back, right, _ = _manifold(model, sum_u)
    return model.integrate(q, sum_u), qd + sum_v, back @ dq + right @ dsum_u, dqd + dsum_v, sides


def _manifold(model: Model, u: Array) -> tuple[Array, Array, Array]:
    """Return Ad_exp(-u), the right Jacobian of exp at u, and its inverse, each (..., nv, nv); 1 for axis joints."""
    unit = np.broadcast_to(np.eye(model.nv), (*u.shape, model.nv))
    back, right, inverse = unit.copy(), unit.copy(), unit.copy()
    for joint in model.joints:
        at = (..., joint.v_slice, joint.v_slice)
        x = u[..., joint.v_slice]
        if joint.kind == "spherical":
            back[at], right[at] = so3.exp(-x), so3.right_jacobian(x)
            inverse[at] = so3.right_jacobian_inverse(x)
        elif joint.kind == "free":
            back[at], right[at] = se3.Ad(se3.exp(-x)), se3.right_jacobian(x)
            inverse[at] = se3.right_jacobian_inverse(x)
    return back, right, inverse


def _rate_slope(model: Model, u: Array, v: Array) -> Array:
    """Return the derivative along u of the inverse right Jacobian times v, (..., nv, nv), by complex steps."""
    slope = np.zeros((*u.shape, model.nv))
    for joint in model.joints:
        group = {"spherical": so3, "free": se3}.get(joint.kind)
        if group is None:
            continue
        x, y = u[..., joint.v_slice], v[..., joint.v_slice]
        for k, unit in enumerate(np.eye(joint.type.nv)):
            moved = group.right_jacobian_inverse(x + 1j * _TINY * unit) @ y[..., None]
            slope[..., joint.v_slice, joint.v_slice.start + k] = moved[..., 0].imag / _TINY
    return slope
