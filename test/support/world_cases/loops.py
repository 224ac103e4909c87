"""Closed loops in any world: places in it are data of the loop, of as many digits as they have."""

import numpy as np

from lie_dynamics_ros import lie_dynamics as ld

from .table import case, parameters, reach


def closed(w):
    return w.model, w.constraints, w.q, w.qd


@case
def constraint_quantities(w):
    found = ld.constraint_quantities(*closed(w))
    return [
        w.back(found.jacobian, "su", 1), w.back(found.error, "s", 1), w.back(found.rate, "s", 1),
        w.back(found.bias, "s", 1),
    ]  # fmt: skip


@case
def constraint_jacobian(w):
    return [w.back(ld.constraint_jacobian(*closed(w)[:3]), "su", 1)]


@case
def constraint_bias(w):
    return [w.back(ld.constraint_bias(*closed(w)), "s", 1)]


@case
def constraint_error(w):
    return [w.back(x, "s", 1) for x in ld.constraint_error(*closed(w))]


def _found(w, found):
    wrenches = w.back(found.wrenches, "bf", 1)
    return [w.back(found.qdd, "v", 0), w.back(found.tau, "u"), w.back(found.multipliers, "s", 1), wrenches]


@case
def constrained_forward_dynamics(w):
    gains = ld.Baumgarte(5.0, 0.7)
    found = ld.constrained_forward_dynamics(*closed(w), w.tau, w.f_ext, stabilization=gains)
    return _found(w, found)


@case
def constrained_hybrid_dynamics(w):
    mask = np.arange(len(w.d)) == 0
    return _found(w, ld.constrained_hybrid_dynamics(*closed(w), w.qdd, w.tau, mask, w.f_ext))


@case
def constrained_inverse_dynamics(w):
    qdd = w.constraints and ld.constrained_forward_dynamics(*closed(w), w.tau).qdd
    return _found(w, ld.constrained_inverse_dynamics(*closed(w), qdd, w.f_ext))


@case
def loop_wrenches(w):
    found = ld.loop_wrenches(*closed(w)[:3], np.arange(1.0, 5.0) * w.scale)
    return [w.back(x, "f", 1) for x in found.values()]


def _derivatives(w, found):
    return [
        w.back(found.qdd.dq, "vu", 0), w.back(found.qdd.dqd, "vu", 0), w.back(found.tau.dq, "uu"),
        w.back(found.tau.dqd, "uu"), w.back(found.multipliers.dq, "su", 1),
    ]  # fmt: skip


@case
def constrained_forward_derivatives(w):
    return _derivatives(w, ld.constrained_forward_derivatives(*closed(w), w.tau, w.f_ext))


@case
def constrained_hybrid_derivatives(w):
    mask = np.arange(len(w.d)) == 0
    return _derivatives(w, ld.constrained_hybrid_derivatives(*closed(w), w.qdd, w.tau, mask, w.f_ext))


@case
def constrained_inverse_derivatives(w):
    qdd = ld.constrained_forward_dynamics(*closed(w), w.tau).qdd
    return _derivatives(w, ld.constrained_inverse_derivatives(*closed(w), qdd, w.f_ext))


def _along(w, found):
    return [
        (x, reach(w, p))
        for k, p in enumerate(parameters(w))
        for x in (w.back(found.qdd[k], "v", 0), w.back(found.tau[k], "u"), w.back(found.multipliers[k], "s", 1))
    ]


@case
def constrained_forward_sensitivity(w):
    return _along(w, ld.constrained_forward_sensitivity(*closed(w), w.tau, parameters(w), w.f_ext))


@case
def constrained_hybrid_sensitivity(w):
    mask = np.arange(len(w.d)) == 0
    return _along(w, ld.constrained_hybrid_sensitivity(*closed(w), w.qdd, w.tau, mask, parameters(w), w.f_ext))


@case
def constrained_inverse_sensitivity(w):
    qdd = ld.constrained_forward_dynamics(*closed(w), w.tau).qdd
    return _along(w, ld.constrained_inverse_sensitivity(*closed(w), qdd, parameters(w), w.f_ext))


@case
def consistent_velocity(w):
    if w.scale != 1.0:  # nearest among numbers of different units
        return []
    return [ld.consistent_velocity(*closed(w))]


@case
def consistent_acceleration(w):
    return [] if w.scale != 1.0 else [ld.consistent_acceleration(*closed(w), w.qdd)]


@case
def project_to_constraints(w):
    _, qd = ld.project_to_constraints(*closed(w), iterations=0, tolerance=np.inf)
    return [w.back(qd, "v", 0)]


@case
def assemble(w):
    if w.scale != 1.0 or np.abs(w.shift).max() > 10.0:  # its tolerance is a length, which q must resolve
        return []
    return [np.array(float(ld.assemble(*closed(w)[:3]).converged))]
