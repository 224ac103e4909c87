"""Geodesics against great circles, straight lines, integrated motions, and the energy of neighbours."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp, trapezoid
from support.compare import relative
from support.sample_trees import around, rods_in_a_row, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import (
    GeodesicError,
    ScrewTree,
    geodesic,
    inertial_regressor,
    jacobi_fields,
)
from lie_dynamics_ros.lie_dynamics.geometry import curvature_map
from lie_dynamics_ros.lie_dynamics.geometry.geodesics import path_energy
from lie_dynamics_ros.lie_dynamics.geometry.plots import plot_curvature_map, plot_geodesics, save_figure
from lie_dynamics_ros.lie_dynamics.reference.ploen import parameters


def pendulum(mass=1.7, length=0.6):
    bob = ld.SpatialInertia(mass, [0, 0, length], np.zeros((3, 3)))
    return ld.ModelBuilder().add("bob", joint=ld.joint_types.universal([1, 0, 0], [0, 1, 0]), inertia=bob).build()


def test_great_circle():
    """A point mass on a sphere: length, and every point of the path in the plane of the ends."""
    model = pendulum()
    path = geodesic(model, [-1.0, 0.3], [1.0, 0.5], duration=2.0)
    directions = ld.forward_kinematics(model, path.q)[:, 0, :3, 2]
    angle = np.arccos(directions[0] @ directions[-1])
    assert path.length == pytest.approx(0.6 * np.sqrt(1.7) * angle, rel=1e-9)
    assert path.energy == pytest.approx(0.5 * 1.7 * (0.6 * angle / 2.0) ** 2, rel=1e-9)
    assert np.abs(directions @ np.cross(directions[0], directions[-1])).max() < 1e-8  # the solver's tolerance
    assert path.is_minimal
    assert path.conjugate_time == np.inf


def test_conjugate_point():
    """Great circles from one point meet again after half a turn."""
    path = geodesic(pendulum(), [0.0, 0.0], [4.0, 0.0], duration=2.0, descent=False)
    assert path.conjugate_time == pytest.approx(np.pi / 2.0, rel=1e-7)
    assert not path.is_minimal


def test_double_conjugate_point():
    """A ball with three equal moments: all geodesics meet again at once, without a change of sign."""
    body = ld.SpatialInertia(1.0, np.zeros(3), 0.3 * np.eye(3))
    euler = ld.joint_types.composite(*(ld.joint_types.revolute(n) for n in np.eye(3)))
    model = ld.ModelBuilder().add("ball", joint=euler, inertia=body).build()
    path = geodesic(model, [0.0, 0.0, 0.0], [7.0, 0.0, 0.0], duration=1.0, descent=False)
    assert path.conjugate_time == pytest.approx(2.0 * np.pi / 7.0, rel=1e-5)  # a minimum, found to half the digits


def test_straight_lines(rng):
    """Flat: translations only, and a bead on a turning rod, whose geodesics are straight in the plane."""
    cart = ld.ModelBuilder()
    for k, axis in enumerate(np.eye(3)):
        cart.add(f"p{k}", f"p{k - 1}" if k else None, ld.joint_types.prismatic(axis),
                 inertia=ld.SpatialInertia(1.0, [1, 2, 3], np.eye(3)))  # fmt: skip
    a, b = rng.normal(size=(2, 3))
    path = geodesic(cart.build(), a, b)
    s = path.time[:, None]
    assert relative(path.q, (1.0 - s) * a + s * b) < 1e-12
    bead = ld.SpatialInertia(2.0, np.zeros(3), np.zeros((3, 3)))
    polar = ld.ModelBuilder().add("turn", joint=ld.joint_types.revolute())
    polar.add("slide", "turn", ld.joint_types.prismatic([1, 0, 0]), inertia=bead)
    path = geodesic(polar.build(), [0.0, 1.0], [1.2, 2.0], duration=3.0)
    where = path.q[:, 1, None] * np.stack([np.cos(path.q[:, 0]), np.sin(path.q[:, 0])], axis=-1)
    s = path.time[:, None] / 3.0
    assert relative(where, (1.0 - s) * where[0] + s * where[-1]) < 1e-8


@pytest.mark.parametrize("links", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_motion_without_forces(links):
    """The same motion by integrating the equations of motion from the start."""
    model = rods_in_a_row(links)
    path = geodesic(model, np.linspace(0.0, 0.5, links), np.linspace(2.0, -1.0, links), duration=1.5)
    free = model.with_gravity([0.0, 0.0, 0.0])

    def rate(_, x):
        return np.concatenate([x[links:], ld.forward_dynamics(free, x[:links], x[links:], np.zeros(links))])

    start = np.concatenate([path.q[0], path.qd[0]])
    end = solve_ivp(rate, (0.0, 1.5), start, rtol=1e-11, atol=1e-11).y[:, -1]
    assert np.abs(end[:links] - path.q[-1]).max() < 1e-6  # the solver's tolerance, amplified along the way
    assert path.energy_error < 1e-9
    q, qd = path.at(path.time)
    assert relative(q, path.q) < 1e-12
    assert relative(qd, path.qd) < 1e-12


def test_least_energy_among_neighbours(rng):
    model = rods_in_a_row(2)
    path = geodesic(model, [0.0, 0.6], [1.8, 0.9])
    assert path.is_minimal
    t = np.linspace(0.0, 1.0, 4001)
    q, qd = path.at(t)

    def energy(q, qd):
        return trapezoid(0.5 * np.einsum("ti,tij,tj->t", qd, ld.mass_matrix(model, q), qd), t)

    least = energy(q, qd)
    assert least == pytest.approx(path.energy, rel=1e-9)
    for k in range(1, 5):
        bump, slope = np.sin(k * np.pi * t)[:, None], k * np.pi * np.cos(k * np.pi * t)[:, None]
        for direction in rng.normal(size=(3, 2)):
            for size in (0.02, -0.02):
                assert energy(q + size * bump * direction, qd + size * slope * direction) > least


def test_past_a_conjugate_point_a_neighbour_needs_less():
    """The great circle the long way round: bending it aside shortens it."""
    model = pendulum()
    path = geodesic(model, [0.0, 0.0], [4.0, 0.0], descent=False)
    t = np.linspace(0.0, 1.0, 4001)
    q, qd = path.at(t)
    q[:, 1] += 0.05 * np.sin(np.pi * t)
    qd[:, 1] += 0.05 * np.pi * np.cos(np.pi * t)
    assert trapezoid(0.5 * np.einsum("ti,tij,tj->t", qd, ld.mass_matrix(model, q), qd), t) < path.energy


def test_jacobi_fields():
    """The spread of geodesics by Jacobi's equation against the flow, differentiated by differences."""
    model, h = rods_in_a_row(3), 1e-5
    free = model.with_gravity([0.0, 0.0, 0.0])
    path = geodesic(model, [0.0, 0.4, -0.3], [1.5, 0.8, 0.9])

    def rate(_, x):
        return np.concatenate([x[3:], ld.forward_dynamics(free, x[:3], x[3:], np.zeros(3))])

    def end(rates):
        return solve_ivp(rate, (0.0, 1.0), np.concatenate([path.q[0], rates]), rtol=1e-12, atol=1e-12).y[:3, -1]

    flow = np.array([(end(path.qd[0] + e) - end(path.qd[0] - e)) / (2 * h) for e in h * np.eye(3)]).T
    X = jacobi_fields(model, path.at, 1.0)(1.0)
    # Lengths in the mass metric do not depend on the frame that is carried along.
    M0, M1 = ld.mass_matrix(model, path.q[0]), ld.mass_matrix(model, path.q[-1])
    L0 = np.linalg.inv(np.linalg.cholesky(M0)).T
    assert relative(np.linalg.svd(np.linalg.cholesky(M1).T @ flow @ L0, compute_uv=False),
                    np.linalg.svd(X, compute_uv=False)) < 1e-6  # fmt: skip


def test_long_way():
    """A goal far away, and the same from a guess."""
    model = rods_in_a_row(2)
    path = geodesic(model, [0.0, 0.0], [3.0, -2.5])
    assert path.energy_error < 1e-8
    same = geodesic(model, path.q[0], path.q[-1], guess=path.at(np.linspace(0, 1, 60))[0], descent=False)
    assert same.energy == pytest.approx(path.energy, rel=1e-8)


def test_gradient_of_the_energy(rng):
    model, path, h = rods_in_a_row(3), rng.normal(size=(6, 3)), 1e-6
    energy, gradient = path_energy(model, path)
    step = rng.normal(size=(6, 3))
    slope = (path_energy(model, path + h * step)[0] - path_energy(model, path - h * step)[0]) / (2 * h)
    assert (gradient * step).sum() == pytest.approx(slope, rel=1e-7)  # differences
    assert energy > 0.0


def test_descent_finds_less():
    """From the straight line Newton's method meets a geodesic past its conjugate point; downhill lies another one."""
    model, ends = rods_in_a_row(3), ([0.0, -0.6, 1.2], [2.2, 1.2, -0.8])
    down, stuck = geodesic(model, *ends), geodesic(model, *ends, descent=False)
    assert down.is_minimal
    assert not stuck.is_minimal
    assert down.energy < 0.99 * stuck.energy


def test_no_motion():
    path = geodesic(rods_in_a_row(2), [0.3, 0.4], [0.3, 0.4])
    assert path.energy == pytest.approx(0.0, abs=1e-20)
    assert np.abs(path.q - [0.3, 0.4]).max() < 1e-12


def test_errors(rng):
    model = rods_in_a_row(2)
    with pytest.raises(ld.InputError, match="start"):
        geodesic(model, [0.0], [1.0, 1.0])
    with pytest.raises(ld.InputError, match="duration"):
        geodesic(model, [0.0, 0.0], [1.0, 1.0], duration=0.0)
    with pytest.raises(ld.InputError, match="guess"):
        geodesic(model, [0.0, 0.0], [1.0, 1.0], guess=[[0.0, 0.0]])
    with pytest.raises(ld.InputError, match="time"):
        geodesic(model, [0.0, 0.0], [0.1, 0.1]).at(2.0)
    with pytest.raises(GeodesicError, match="no geodesic found"):
        geodesic(model, [0.0, 0.0], [2.0, 2.0], max_nodes=22, tolerance=1e-12)
    with pytest.raises(ld.DescriptionError, match="spherical"):
        ball = to_model(around(rng, "spherical"))
        geodesic(ball, ball.neutral(), ball.neutral())


def test_pictures(tmp_path):
    model = rods_in_a_row(3)
    grid = np.linspace(0.1, 3.0, 5)
    data = curvature_map(model, "link 2", (1, grid), (2, grid[:4]), [0.5, 0.0, 0.0])
    assert data.curvature.shape == (5, 4)
    assert data.names == ("link 1", "link 2")
    figure = plot_curvature_map(data)
    assert save_figure(figure, tmp_path / "a" / "map.png").stat().st_size > 5000
    path = geodesic(model, [0.0, 0.5, 0.5], [1.0, 0.5, 0.5])
    figure = plot_geodesics(model, [path], "link 2", ["one"])
    assert [line.get_label() for line in figure.axes[0].get_lines()].count("one") == 1
    with pytest.raises(ld.InputError, match="plane"):
        plot_curvature_map(data, "yx")
    with pytest.raises(ld.InputError, match="coordinates"):
        curvature_map(model, "link 2", (1, grid), (1, grid))


@pytest.mark.parametrize("kind", ["revolute", "composite", "spherical", "free"])
def test_linear_in_the_inertial_parameters(kind, rng):
    tree = around(rng, kind)
    screws = ScrewTree.from_model(to_model(tree))
    q = np.array([tree.random(rng) for _ in range(2)])
    qd, qdd = rng.normal(size=(2, 2, tree.nv))
    Y = inertial_regressor(screws, q, qd, qdd)
    assert Y.shape == (2, tree.nv, 10 * len(tree.moving))
    for k in range(2):
        assert relative(Y[k] @ parameters(screws), tree.inverse_dynamics(q[k], qd[k], qdd[k])) < 1e-12
    assert relative(inertial_regressor(screws, q[1], qd[1], qdd[1]), Y[1]) < 1e-13


def test_user_defined_joint():
    """A body that slides by sinh q and, across, by q: flat, so that what slides does so steadily."""

    def transform(q):
        T = np.eye(4)
        T[:2, 3] = np.sinh(q[0]), q[1]
        return T

    def columns(x, y):
        S = np.zeros((6, 2))
        S[3, 0], S[4, 1] = x, y
        return S

    slide = ld.joint_types.custom(
        2, transform, lambda q: columns(np.cosh(q[0]), 1.0), lambda q, qd: columns(np.sinh(q[0]) * qd[0], 0.0)
    )
    model = ld.ModelBuilder().add("a", joint=slide, inertia=ld.SpatialInertia(2.0, np.zeros(3), np.eye(3))).build()
    found = geodesic(model, [0.0, 0.0], [1.0, 1.0])
    assert np.abs(np.sinh(found.q[:, 0]) - found.time * np.sinh(1.0)).max() < 1e-9
    assert found.energy == pytest.approx(np.sinh(1.0) ** 2 + 1.0, rel=1e-9)
    assert found.is_minimal
