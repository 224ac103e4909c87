"""Ready-made mechanisms: freedoms, kinematics in closed form, Newton-Euler of a platform on massless legs."""

import numpy as np
import pytest
from mechanisms_by_name import platform_at_home
from scipy.spatial.transform import Rotation
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import delta_robot, five_bar, four_bar, gough_stewart
from lie_dynamics_ros.lie_dynamics.simulation.simulator import simulate_constrained
from lie_dynamics_ros.lie_dynamics.stewart import solve_forward_kinematics

PLATE = ld.SpatialInertia(3.0, [0.02, -0.01, 0.05], [[0.1, 0.01, 0.0], [0.01, 0.12, 0.0], [0.0, 0.0, 0.2]])


def pose(rng, tilt=0.2):
    T = np.eye(4)
    T[:3, :3] = Rotation.from_rotvec(tilt * rng.normal(size=3)).as_matrix()
    T[:3, 3] = rng.uniform(-0.1, 0.1, 3) + np.array([0, 0, 0.9])
    return T


@pytest.mark.parametrize(
    ("make", "mobility"),
    [
        (four_bar, 1),
        (lambda: four_bar(spatial=True), 1),
        (five_bar, 2),
        (delta_robot, 3),
        (lambda: delta_robot(rod_mass=0.0), 3),
        (lambda: gough_stewart(*platform_at_home(), PLATE), 6),
    ],
)
def test_degrees_of_freedom(make, mobility):
    made = make()
    assert np.abs(ld.constraint_error(made.model, made.constraints, made.q)).max() < 1e-13
    found = ld.assemble(made.model, made.constraints, made.q)
    assert (found.mobility, found.converged) == (mobility, True)
    assert len(made.actuated) == mobility
    found = ld.constrained_forward_dynamics(
        made.model, made.constraints, made.q, np.zeros(made.model.nv), np.zeros(made.model.nv)
    )
    assert found.rank == made.model.nv - mobility


def test_stewart_on_massless_legs_is_newton_euler(rng):
    geometry, home = platform_at_home()
    made = gough_stewart(geometry, home, PLATE, cylinder_mass=0.0, piston_mass=0.0)
    model, constraints = made.model, made.constraints
    for _ in range(5):
        T, V, dV = pose(rng), *rng.normal(size=(2, 6))
        q = made.configuration(T)
        assert np.abs(ld.constraint_error(model, constraints, q)).max() < 1e-13
        assert np.abs(made.pose(q) - T).max() < 1e-13
        legs = [model.joint(name) for name in made.actuated]
        columns = [leg.v_slice.start for leg in legs]
        assert relative(q[[leg.q_slice.start for leg in legs]], geometry.leg_lengths(T)) < 1e-14
        where = model.joint("platform").v_slice
        wish = np.zeros((2, model.nv))
        wish[:, where] = V, dV
        qd = ld.consistent_velocity(model, constraints, q, wish[0], held=["platform"])
        qdd = ld.consistent_acceleration(model, constraints, q, qd, wish[1], held=["platform"])
        assert relative(qd[columns], geometry.leg_rates(T, V)) < 1e-12
        assert relative(qdd[columns], geometry.leg_accelerations(T, V, dV)) < 1e-11
        found = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=made.actuated)
        # Newton and Euler about the centre of mass, in the platform's axes.
        w, v, c, R = V[:3], V[3:], PLATE.com, T[:3, :3]
        center = dV[3:] + np.cross(w, v) + np.cross(dV[:3], c) + np.cross(w, np.cross(w, c))
        force = PLATE.mass * (center - R.T @ [0, 0, -9.81])
        moment = PLATE.inertia @ dV[:3] + np.cross(w, PLATE.inertia @ w) + np.cross(c, force)
        expected = np.linalg.solve(geometry.jacobian(T).T, np.concatenate([moment, force]))
        assert relative(found.tau[columns], expected) < 1e-11
        assert found.residual < 1e-13


@pytest.mark.slow  # in every run a parallelogram, in test_constrained_simulation
def test_stewart_simulation_agrees_with_its_kinematics(rng):
    geometry, home = platform_at_home()
    made = gough_stewart(geometry, home, PLATE)
    model, constraints = made.model, made.constraints
    q = made.configuration(pose(rng, 0.05))
    still = np.zeros(model.nv)
    hold = ld.constrained_inverse_dynamics(model, constraints, q, still, still, actuated=made.actuated).tau
    lengths = [model.joint(name) for name in made.actuated]

    def control(_t, x, v):
        tau = hold.copy()
        for leg in lengths:
            i, k = leg.q_slice.start, leg.v_slice.start
            tau[k] += -200.0 * (x[i] - q[i]) - 10.0 * v[k]
        return tau

    push = ld.consistent_velocity(model, constraints, q, 0.2 * rng.normal(size=model.nv))
    run = simulate_constrained(model, constraints, q, push, control, duration=2.0, step=1e-2)
    assert np.abs(run.q - q).max() > 1e-3
    guess = made.pose(q)
    for x in run.q[::10]:
        measured = x[[leg.q_slice.start for leg in lengths]]
        found = solve_forward_kinematics(geometry, measured, guess)
        assert found.converged
        assert np.abs(found.pose - made.pose(x)).max() < 1e-9
        guess = found.pose


def test_delta_stays_level():
    made = delta_robot()
    model, constraints = made.model, made.constraints
    q = made.q.copy()
    q[[model.joint(name).q_slice.start for name in made.actuated]] = 0.1, 0.4, 0.6
    found = ld.assemble(model, constraints, q, held=list(made.actuated))
    assert found.converged
    T = ld.frame_pose(model, found.q, "platform")
    assert np.abs(T[:3, :3] - np.eye(3)).max() < 1e-12
    # The platform's centre is where three spheres about the arms' ends, moved inwards by its radius, meet.
    for k, angle in enumerate((0.1, 0.4, 0.6)):
        turn = Rotation.from_euler("z", 120.0 * k, degrees=True).as_matrix()
        center = turn @ [0.2 + 0.3 * np.cos(angle) - 0.05, 0.0, -0.3 * np.sin(angle)]
        assert np.linalg.norm(T[:3, 3] - center) == pytest.approx(0.8, rel=1e-13)


def test_delta_with_light_rods_is_that_with_distances(rng):
    light, massless = delta_robot(rod_mass=1e-9), delta_robot(rod_mass=0.0)
    tau = {name: x for name, x in zip(light.actuated, rng.normal(size=3), strict=True)}
    results = []
    for made in (light, massless):
        force = np.zeros(made.model.nv)
        for name, x in tau.items():
            force[made.model.joint(name).v_slice] = x
        found = ld.constrained_forward_dynamics(made.model, made.constraints, made.q, np.zeros(made.model.nv), force)
        results.append([found.qdd[made.model.joint(name).v_slice][0] for name in light.actuated])
    assert relative(*results) < 1e-7  # a part of 1e-9 / 0.3 of the platform's mass, and its leverage


def test_what_does_not_reach():
    with pytest.raises(ld.DescriptionError, match="do not reach each other"):
        four_bar((3.0, 0.3, 0.9, 0.7))
    with pytest.raises(ld.DescriptionError, match="couplers"):
        five_bar((5.0, 0.3, 0.5, 0.5, 0.3))
    with pytest.raises(ld.DescriptionError, match="5 numbers above zero"):
        five_bar((1.0, 0.3))
    with pytest.raises(ld.DescriptionError, match=r"rods of 0\.1 m"):
        delta_robot(forearm=0.1)
