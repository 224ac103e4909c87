"""A mechanism as its motors feel it: by energies and their derivatives, and by the dynamics of all its joints."""

import numpy as np
import pytest

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS

H = 1e-5


def made(name):
    one = ld.mechanism(name)
    return one, ld.MotorDynamics(one.model, one.constraints, one.q, one.actuated)


def rates(model, robot, y, yd):
    """Of all coordinates, by differences of closed configurations."""
    return model.difference(robot.configuration(y - H * yd), robot.configuration(y + H * yd)) / (2.0 * H)


def energy(model, robot, y, yd):
    q = robot.configuration(y)
    return ld.kinetic_energy(model, q, rates(model, robot, y, yd)) + ld.potential_energy(model, q)


@pytest.mark.parametrize("name", MECHANISMS)
def test_forces_are_those_that_energies_tell(name, rng):
    one, robot = made(name)
    model, y = one.model, robot.neutral() + 0.01 * rng.normal(size=robot.nv)
    yd, ydd = rng.normal(size=(2, robot.nv))
    q = robot.configuration(y)
    assert np.abs(ld.constraint_error(model, one.constraints, q)).max() < 1e-10
    assert [q[model.joint(motor).q_slice.start] for motor in one.actuated] == y.tolist()
    np.testing.assert_allclose(robot.rates(y, yd), rates(model, robot, y, yd), atol=1e-7)
    heights = [
        (
            ld.potential_energy(model, robot.configuration(y + e))
            - ld.potential_energy(model, robot.configuration(y - e))
        )
        / (2.0 * H)
        for e in H * np.eye(robot.nv)
    ]
    effort = robot.inverse_dynamics(y, yd, ydd)
    size = np.abs(effort).max()
    np.testing.assert_allclose(robot.gravity_force(y), heights, atol=1e-7 * size + 1e-9)
    M = robot.mass_matrix(y)
    np.testing.assert_allclose(0.5 * yd @ M @ yd, ld.kinetic_energy(model, q, rates(model, robot, y, yd)), rtol=1e-6)
    np.testing.assert_allclose(M, M.T, atol=1e-12 * np.abs(M).max())
    after, before = (energy(model, robot, y + t * yd + 0.5 * t * t * ydd, yd + t * ydd) for t in (1e-4, -1e-4))
    assert abs(effort @ yd - (after - before) / 2e-4) < 1e-4 * size * np.abs(yd).sum()
    np.testing.assert_allclose(robot.forward_dynamics(y, yd, effort), ydd, atol=1e-9)
    # The whole mechanism's: the same efforts close it.
    whole = ld.constrained_inverse_dynamics(
        model, one.constraints, q, robot.rates(y, yd), robot.accelerations(y, yd, ydd), actuated=list(one.actuated)
    )
    places = [model.joint(motor).v_slice.start for motor in one.actuated]
    np.testing.assert_allclose(effort, whole.tau[places], atol=1e-10 * size)


@pytest.mark.parametrize("name", ["five-bar", "delta", "6-UPS"])
def test_wrenches_at_the_platform(name, rng):
    """By virtual work: the platform's displacement times the wrench."""
    one, robot = made(name)
    y, wrench = robot.neutral(), rng.normal(size=6)
    rest = np.zeros(robot.nv)
    f_ext = ld.external_wrench(one.model, robot.configuration(y), one.platform, wrench, "aligned")
    felt = robot.inverse_dynamics(y, rest, rest) - robot.inverse_dynamics(y, rest, rest, f_ext)
    J = robot.jacobian(y, one.platform, "aligned")
    np.testing.assert_allclose(felt, J.T @ wrench, atol=1e-9)
    for k, e in enumerate(H * np.eye(robot.nv)):
        before, after = (ld.frame_pose(one.model, robot.configuration(y + s * e), one.platform) for s in (-1.0, 1.0))
        np.testing.assert_allclose(J[3:, k], (after - before)[:3, 3] / (2.0 * H), atol=1e-7)


def test_batches_are_their_rows_and_losses_of_all_joints_count(rng):
    one, robot = made("five-bar")
    y = robot.neutral() + np.linspace(0.0, 0.3, 7)[:, None] * [1.0, -1.0]
    yd, ydd = rng.normal(size=(2, 7, 2))
    for function in (robot.inverse_dynamics, robot.forward_dynamics):
        together = function(y, yd, ydd)
        np.testing.assert_allclose(together, [function(*row) for row in zip(y, yd, ydd, strict=True)], atol=1e-12)
    assert robot.mass_matrix(y).shape == (7, 2, 2)
    robot.stand(one.assembly_modes(robot.neutral()).q[1])  # the same batch from elsewhere is another one
    other = robot.mass_matrix(y)
    np.testing.assert_allclose(other, [robot.mass_matrix(row) for row in y], atol=1e-12)
    robot.stand(one.q)
    np.testing.assert_allclose(robot.mass_matrix(y), [robot.mass_matrix(row) for row in y], atol=1e-12)
    heavy = robot.with_payload(one.platform, 2.0, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    assert np.abs(heavy.gravity_force(y[0]) - robot.gravity_force(y[0])).max() > 1.0
    free = robot.with_gravity([0.0, 0.0, 0.0])
    assert not free.gravity_force(y[0]).any() and robot.gravity_force(y[0]).any()


def test_where_it_stands_tells_the_configuration():
    one, robot = made("five-bar")
    modes = one.assembly_modes(robot.neutral()).q
    assert len(modes) == 2
    for q in modes:
        robot.stand(q)
        np.testing.assert_allclose(robot.configuration(robot.neutral()), q, atol=1e-9)
        near = robot.configuration(robot.neutral() + 0.02)
        assert np.abs(one.model.difference(q, near)).max() < 0.2
        np.testing.assert_allclose(robot.along(robot.neutral()[None] + 0.02).q[0], near, atol=1e-12)
    kept = robot.gravity_force(robot.neutral())
    robot.stand(modes[1], lost=True)
    np.testing.assert_array_equal(robot.gravity_force(robot.neutral() + 3.0), kept)
    robot.stand(modes[1])
    apart = np.array([np.pi, 0.0])  # the couplers do not reach
    for far in (apart, apart[None]):
        with pytest.raises(ld.SingularityError, match="motors at"):
            robot.mass_matrix(far)


def test_a_batch_may_begin_far_away_and_motors_are_where_it_stands():
    """Proven steps of a delta are a tenth of a milliradian."""
    one, robot = made("delta")
    far = robot.neutral() + np.array([0.3, 0.2, 0.1])
    q = robot.along(far[None])[0].require().q
    np.testing.assert_allclose(ld.constraint_error(one.model, one.constraints, q), 0.0, atol=1e-10)
    robot.stand(q)
    np.testing.assert_allclose(robot.neutral(), far, atol=1e-12)


def test_what_makes_no_sense_is_refused():
    one, robot = made("delta")
    passive = next(j.name for j in one.model.joints if j.kind == "revolute" and j.name not in one.actuated)
    for motors, words in ((one.actuated[:2], "2 joints"), ((*one.actuated, passive), "motors: 3 joints are expected")):
        with pytest.raises(ld.InputError, match=words):
            ld.MotorDynamics(one.model, one.constraints, one.q, motors)
    with pytest.raises(ld.InputError, match="same tree"):
        robot.with_model(ld.Model.from_urdf(ld.mechanism("five-bar").model.to_urdf()))
    for bad in ([np.nan] * 3, [0.0] * 2, [np.inf, 0.0, 0.0]):
        with pytest.raises(ld.InputError):
            robot.inverse_dynamics(bad, np.zeros(3), np.zeros(3))
