"""Dynamics and kinematics of trees in any world."""

import numpy as np

from lie_dynamics_ros import lie_dynamics as ld

from .table import case, given, state


@case
def inverse_dynamics(w):
    return [w.back(ld.inverse_dynamics(*state(w), w.f_ext), "u"), w.back(ld.inverse_dynamics(*state(w)), "u")]


@case
def forward_dynamics(w):
    return [w.back(ld.forward_dynamics(w.model, w.q, w.qd, w.tau, w.f_ext), "v", 0)]


@case
def hybrid_dynamics(w):
    qdd, tau = ld.hybrid_dynamics(*state(w), w.tau, given(w), w.f_ext)
    return [w.back(qdd, "v", 0), w.back(tau, "u")]


@case
def bias_force(w):
    return [w.back(ld.bias_force(w.model, w.q, w.qd), "u")]


@case
def gravity_force(w):
    return [w.back(ld.gravity_force(w.model, w.q), "u")]


@case
def mass_matrix(w):
    single, (batch, _) = ld.mass_matrix(w.model, w.q), ld.mass_matrix(w.model, [w.q, w.q])
    return [w.back(single, "uu"), w.back(batch, "uu")]


@case
def solve_mass_matrix(w):
    return [w.back(ld.solve_mass_matrix(w.model, w.q, w.tau), "v", 0)]


@case
def mass_matrix_rate(w):
    return [w.back(ld.mass_matrix_rate(w.model, w.q, w.qd), "uu")]


@case
def coriolis_matrix(w):
    return [w.back(ld.coriolis_matrix(w.model, w.q, w.qd, m), "uu") for m in ("christoffel", "ploen")]


@case
def coriolis_product(w):
    return [w.back(ld.coriolis_product(*state(w), m), "u") for m in ("christoffel", "ploen")]


@case
def kinetic_energy(w):
    return [w.back(ld.kinetic_energy(w.model, w.q, w.qd))]


@case
def momentum(w):
    found = [ld.momentum(w.model, w.q, w.qd, about) for about in ("com", "world")]
    # About the world's origin: what its definition adds far away is taken off again, so that only digits are compared.
    found[1][:3] -= np.cross(ld.center_of_mass(w.model, w.q), found[1][3:])
    far = np.abs(w.shift).max() / w.scale
    return [w.back(found[0], "f", 1, turn=True), (w.back(found[1], "f", 1, turn=True), far)]


@case
def center_of_mass(w):
    return [(w.place(ld.center_of_mass(w.model, w.q)), np.abs(w.shift).max() / w.scale)]


@case
def potential_energy(w):
    """Zero at the world's origin by definition."""
    lift = ld.total_mass(w.model) * w.model.gravity @ w.shift
    return [(w.back(ld.potential_energy(w.model, w.q) + lift), np.abs(w.shift).max() / w.scale)]


@case
def centroidal_momentum_matrix(w):
    return [w.back(ld.centroidal_momentum_matrix(w.model, w.q), "fu", 1, turn=True)]


@case
def body_velocities(w):
    return [w.back(ld.body_velocities(w.model, w.q, w.qd), "bt", 0)]


@case
def body_accelerations(w):
    return [w.back(ld.body_accelerations(*state(w)), "bt", 0)]


@case
def forward_kinematics(w):
    T = ld.forward_kinematics(w.model, w.q)
    return [w.R.T @ T[:, :3, :3], (w.place(T[:, :3, 3]), np.abs(w.shift).max() / w.scale)]


@case
def frame_pose(w):
    T = ld.frame_pose(w.model, w.q, w.model.body_names[-1])
    return [w.R.T @ T[:3, :3], (w.place(T[:3, 3]), np.abs(w.shift).max() / w.scale)]


def _jacobians(w, of):
    found = [w.back(of("body"), "tu", 0), w.back(of("aligned"), "tu", 0, turn=True)]
    world = of("world")  # about the world's origin by definition
    world[3:] += np.cross(w.shift, world[:3], axisb=0).T * -1.0
    return [*found, (w.back(world, "tu", 0, turn=True), np.abs(w.shift).max() / w.scale)]


@case
def jacobian(w):
    return _jacobians(w, lambda frame: ld.jacobian(w.model, w.q, w.model.n_bodies - 1, frame))


@case
def jacobian_rate(w):
    return _jacobians(w, lambda frame: ld.jacobian_rate(w.model, w.q, w.qd, w.model.n_bodies - 1, frame))


@case
def external_wrench(w):
    name, wrench = w.model.body_names[-1], w.f_ext[-1]
    turned = np.concatenate([w.R @ wrench[:3], w.R @ wrench[3:]])
    about = turned + np.concatenate([np.cross(w.shift, turned[3:]), np.zeros(3)])
    far = np.abs(w.shift).max() / w.scale
    return [
        w.back(ld.external_wrench(w.model, w.q, name, wrench, "body"), "bf", 1),
        w.back(ld.external_wrench(w.model, w.q, name, turned, "aligned"), "bf", 1),
        (w.back(ld.external_wrench(w.model, w.q, name, about, "world"), "bf", 1), far),
    ]


@case
def torque_regressor(w):
    return [w.back(ld.torque_regressor(*state(w)), "up")]
