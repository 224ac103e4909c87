"""Derivatives, sensitivities, geometry and motions of trees in any world."""

import numpy as np

from lie_dynamics_ros import lie_dynamics as ld

from .table import case, given, parameters, reach, state


@case
def inverse_dynamics_derivatives(w):
    found = ld.inverse_dynamics_derivatives(*state(w), w.f_ext)
    return [w.back(x, "uu") for x in (found.dq, found.dqd, found.dqdd)]


@case
def bias_force_derivatives(w):
    return [w.back(x, "uu") for x in ld.bias_force_derivatives(w.model, w.q, w.qd)]


@case
def gravity_force_derivatives(w):
    return [w.back(ld.gravity_force_derivatives(w.model, w.q), "uu")]


@case
def forward_dynamics_derivatives(w):
    found = ld.forward_dynamics_derivatives(w.model, w.q, w.qd, w.tau, w.f_ext)
    return [w.back(found.dq, "vu", 0), w.back(found.dqd, "vu", 0), w.back(found.dtau, "vv", -2)]


@case
def hybrid_dynamics_derivatives(w):
    found = ld.hybrid_dynamics_derivatives(*state(w), w.tau, given(w), w.f_ext)
    mask = given(w)
    result = [w.back(x, "vu", 0) for x in (found.dqdd_dq, found.dqdd_dqd)]
    result += [w.back(x, "uu") for x in (found.dtau_dq, found.dtau_dqd)]
    result += [w.back(found.dqdd_dgiven, "vu", 0)[:, mask], w.back(found.dqdd_dgiven, "vv", -2)[:, ~mask]]
    return [*result, w.back(found.dtau_dgiven, "uu")[:, mask], w.back(found.dtau_dgiven, "uv", 0)[:, ~mask]]


@case
def center_of_mass_derivatives(w):
    found = ld.center_of_mass_derivatives(w.model, w.q, w.qd)
    return [w.back(np.vstack([np.zeros_like(x), x]), "fu", 1, turn=True)[3:] for x in found]


@case
def centroidal_momentum_derivatives(w):
    return [w.back(x, "fu", 1, turn=True) for x in ld.centroidal_momentum_derivatives(*state(w))]


HELD = ("body", "world", "aligned")


@case
def inverse_dynamics_sensitivity(w):
    result = []
    for held in HELD:
        for p, x in zip(
            parameters(w), ld.inverse_dynamics_sensitivity(*state(w), parameters(w), w.f_ext, f_ext_held=held),
            strict=True,
        ):  # fmt: skip
            result.append((w.back(x, "u"), reach(w, p)))
    return result


@case
def forward_dynamics_sensitivity(w):
    p = parameters(w)
    found = ld.forward_dynamics_sensitivity(w.model, w.q, w.qd, w.tau, p, w.f_ext)
    return [(w.back(x, "v", 0), reach(w, y)) for x, y in zip(found, p, strict=True)]


@case
def hybrid_dynamics_sensitivity(w):
    p = parameters(w)
    qdd, tau = ld.hybrid_dynamics_sensitivity(*state(w), w.tau, given(w), p, w.f_ext)
    return [
        x
        for a, f, y in zip(qdd, tau, p, strict=True)
        for x in ((w.back(a, "v", 0), reach(w, y)), (w.back(f, "u"), reach(w, y)))
    ]


@case
def inverse_dynamics_second_derivatives(w):
    found = ld.inverse_dynamics_second_derivatives(*state(w), f_ext=w.f_ext)
    return [w.back(getattr(found, k), "uuu") for k in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dqdd")]


@case
def forward_dynamics_second_derivatives(w):
    found = ld.forward_dynamics_second_derivatives(w.model, w.q, w.qd, w.tau, f_ext=w.f_ext)
    of_state = [w.back(getattr(found, k), "vuu", 0) for k in ("dq_dq", "dq_dqd", "dqd_dqd")]
    return [*of_state, w.back(found.dq_dtau, "vuv", -2)]


@case
def hybrid_dynamics_second_derivatives(w):
    mask = given(w)
    found = ld.hybrid_dynamics_second_derivatives(*state(w), w.tau, mask, f_ext=w.f_ext)
    whole = [getattr(found, k) for k in ("dq_dq", "dq_dqd", "dqd_dqd")]
    result = [w.back(x, "uuu")[mask] for x in whole] + [w.back(x, "vuu", 0)[~mask] for x in whole]
    x = found.dq_dgiven
    result += [w.back(x, "uuu")[mask][..., mask], w.back(x, "uuv", 0)[mask][..., ~mask]]
    return [*result, w.back(x, "vuu", 0)[~mask][..., mask], w.back(x, "vuv", -2)[~mask][..., ~mask]]


def _of_axes(w):
    return not any(j.kind in ("custom", "free", "spherical") for j in w.model.joints)


@case
def christoffel_symbols(w):
    return [w.back(ld.christoffel_symbols(w.model, w.q), "uuu")] if _of_axes(w) else []


@case
def christoffel_derivatives(w):
    return [w.back(ld.christoffel_derivatives(w.model, w.q), "uuuu")] if _of_axes(w) else []


@case
def mass_matrix_derivatives(w):
    return [w.back(ld.mass_matrix_derivatives(w.model, w.q), "uuu")]


def _no_users(w):
    return not any(j.kind == "custom" for j in w.model.joints)


@case
def curvature_tensor(w):
    return [w.back(ld.curvature_tensor(w.model, w.q), "uuuu")] if _no_users(w) else []


@case
def ricci_tensor(w):
    return [w.back(ld.ricci_tensor(w.model, w.q), "uu", 0)] if _no_users(w) else []


@case
def scalar_curvature(w):
    return [w.back(ld.scalar_curvature(w.model, w.q), "", -2)] if _no_users(w) else []


@case
def sectional_curvature(w):
    return [w.back(ld.sectional_curvature(w.model, w.q, w.qd, w.qdd), "", -2)] if _no_users(w) else []


@case
def is_flat(w):
    return [np.array(float(ld.is_flat(w.model, w.q).flat))] if _no_users(w) else []


@case
def torque_optimal_motion(w):
    """From a state to rest at the same place: the cost, since paths are known to the root of its digits."""
    if not _no_users(w) or w.model.nv > 12:  # asks a hundred times, and users' functions and many joints are slow
        return []
    found = ld.torque_optimal_motion(
        w.model, w.q, w.q, 0.5, start_velocity=w.qd, weights=(w.d / w.scale**2) ** 2, max_modes=1
    )
    return [np.array([found.cost, found.effort_scale @ (w.d / w.scale**2)])]
