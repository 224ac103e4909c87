"""Laws of a frame's pose against the group's functions, forward dynamics, closed forms of oscillators, and bounds."""

from itertools import pairwise

import numpy as np
import pytest
from support import arms
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import (
    GroupError,
    InputError,
    forward_dynamics,
    frame_pose,
    inverse_dynamics,
    jacobian,
    mass_matrix,
)
from lie_dynamics_ros.lie_dynamics.control import PoseReference, impedance, operational_space, posture_torque
from lie_dynamics_ros.lie_dynamics.control.kernels.pose_error import pose_error
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

TOOL = "panda_link7"
POSE = np.array([0.3, -0.5, 0.2, -1.9, 0.1, 1.6, 0.5])
STRAIGHT = np.zeros(7)


@pytest.fixture(name="model", scope="module")
def fixture_model():
    return arms.load("panda_arm").model


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.3, 1.7])
def test_the_error_is_that_of_the_group(size, rng):
    for _ in range(10):
        pose, e = se3.exp(rng.normal(size=6)), size * rng.uniform(-1.0, 1.0, 6)
        desired, (twist, rate, actual) = pose @ se3.exp(e), rng.normal(size=(3, 6))
        found, slope = np.empty(18), np.empty((6, 6))
        assert pose_error(pose, desired, np.concatenate([twist, rate, actual]), found, slope) == 0
        E = np.linalg.inv(pose) @ desired
        carried = se3.Ad(E) @ twist
        expected = [e, carried - actual, se3.Ad(E) @ rate + se3.ad(carried - actual) @ carried]
        np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)
        np.testing.assert_allclose(slope, se3.left_jacobian_inverse(e), atol=1e-11)


@pytest.mark.parametrize("axis", np.eye(3))
@pytest.mark.parametrize("angle", [3.0, np.pi - 1e-9, -3.0])
def test_the_error_near_half_a_turn(axis, angle):
    found = np.empty(18)
    assert pose_error(np.eye(4), se3.exp([*angle * axis, 0, 0, 0]), np.zeros(18), found, np.empty((6, 6))) == 0
    np.testing.assert_allclose(found[:3], angle * axis, atol=1e-8)


@pytest.mark.parametrize("axes", ["body", "world"])
def test_a_pushed_tool_yields_as_a_spring(model, axes, rng):
    """Static: a wrench at the tool is balanced where the axes asked for say, whatever the null space is given."""
    stiffness = np.array([20.0, 25.0, 30.0, 300.0, 400.0, 500.0])
    home = frame_pose(model, POSE, TOOL)
    away = 1e-5 * rng.normal(size=6)
    desired = home @ se3.exp(-away)
    task = impedance(
        model, POSE, STRAIGHT, TOOL, desired, stiffness=stiffness, axes=axes, null_torque=rng.normal(size=7)
    )
    J = jacobian(model, POSE, TOOL)
    torque = task.torque - inverse_dynamics(model, POSE, STRAIGHT, STRAIGHT)
    Lambda = np.linalg.inv(J @ np.linalg.solve(mass_matrix(model, POSE), J.T))
    wrench = Lambda @ J @ np.linalg.solve(mass_matrix(model, POSE), torque)  # what the tool feels of them
    turn = np.kron(np.eye(2), home[:3, :3]) if axes == "world" else np.eye(6)
    np.testing.assert_allclose(turn @ wrench, -stiffness * (turn @ away), rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("ratio", [0.3, 1.0])
@pytest.mark.parametrize("fastest", [np.inf, 25.0])
def test_an_impedance_oscillates_as_asked_in_every_direction(model, ratio, fastest, rng):
    """Every mode of M qdd = -J^T (K J q + D J qd) - null space is a damped oscillator of the ratio, none faster."""
    for _ in range(5):
        q = arms.load("panda_arm").random_pose(rng)
        desired = frame_pose(model, q, TOOL)
        task = impedance(model, q, STRAIGHT, TOOL, desired, stiffness=400.0, damping_ratio=ratio, fastest=fastest)
        M = mass_matrix(model, q)
        loop = np.block(
            [[np.zeros((7, 7)), np.eye(7)], [-np.linalg.solve(M, x) for x in (task.stiffness, task.damping)]]
        )
        found = np.linalg.eigvals(loop)
        found = found[np.abs(found) > 1e-3 * task.frequencies[-1]]
        wanted = np.minimum(task.frequencies, fastest)
        wanted = wanted[wanted > 1e-3 * task.frequencies[-1]]
        np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.repeat(wanted, 2)), rtol=1e-3)
        np.testing.assert_allclose(-found.real / np.abs(found), ratio, rtol=1e-3)
        assert task.share == pytest.approx(min(1.0, fastest / task.frequencies[-1]) ** 2)


@pytest.mark.parametrize("law", ["operational_space", "impedance"])
def test_the_null_space_accelerates_the_tool_by_nothing(model, law, rng):
    secondary = posture_torque(model, POSE, 0.1 * rng.normal(size=7), POSE + 0.3 * rng.normal(size=7), 4.0, 4.0)
    gains = {"kp": 90.0, "kd": 19.0} if law == "operational_space" else {"stiffness": 300.0}
    function = {"operational_space": operational_space, "impedance": impedance}[law]
    desired, qd = frame_pose(model, POSE, TOOL) @ se3.exp(0.1 * rng.normal(size=6)), rng.normal(size=7)
    both = [function(model, POSE, qd, TOOL, desired, null_torque=t, **gains).torque for t in (None, secondary)]
    change = np.subtract(*(forward_dynamics(model, POSE, qd, torque) for torque in both))
    assert np.abs(change).max() > 0.1
    np.testing.assert_allclose(jacobian(model, POSE, TOOL) @ change, 0.0, atol=1e-9)


@pytest.mark.parametrize("law", ["operational_space", "impedance"])
def test_a_spring_in_the_null_space_does_not_pull_the_tool_along_damped_directions(model, law, rng):
    """Down to a tenth of `singular`; below that it takes over, and is bounded by what it is without the task."""
    spring = posture_torque(model, POSE, STRAIGHT, POSE + 0.3 * rng.normal(size=7), 4.0, 0.0)
    gains = {"kp": 90.0, "kd": 19.0} if law == "operational_space" else {"stiffness": 300.0}
    function = {"operational_space": operational_space, "impedance": impedance}[law]
    desired, J, M = frame_pose(model, POSE, TOOL), jacobian(model, POSE, TOOL), mass_matrix(model, POSE)

    def pulled(singular, name):
        tasks = [
            function(model, POSE, STRAIGHT, TOOL, desired, singular=singular, **{name: t}, **gains)
            for t in (0.0 * spring, spring)
        ]
        change = np.subtract(*(forward_dynamics(model, POSE, STRAIGHT, task.torque) for task in tasks))
        torque = M @ change
        assert torque @ change <= (spring @ np.linalg.solve(M, spring)) * (1.0 + 1e-9)
        return np.abs(J @ change).max(), tasks[0]

    found, task = pulled(0.5, "null_spring")
    assert task.damped > 0 and found < 1e-9
    np.testing.assert_allclose(J @ np.linalg.solve(M, task.spring_space), 0.0, atol=1e-9)
    assert pulled(0.5, "null_torque")[0] > 0.01
    lost = 6 - np.linalg.matrix_rank(jacobian(model, STRAIGHT, TOOL), 1e-9)
    task = function(model, STRAIGHT, STRAIGHT, TOOL, frame_pose(model, STRAIGHT, TOOL), singular=0.05, **gains)
    assert lost > 0 and np.trace(task.spring_space) == pytest.approx(1 + lost, abs=1e-6)


def test_torques_are_bounded_at_and_near_singularities(model, rng):
    """tau^T M^-1 tau <= 1.04 |a|^2 / d of what is asked of the tool; for a spring <= w^2 e^T K e."""
    for size in (0.0, 1e-9, 1e-6, 1e-3, 1e-2, 0.1):
        q = size * rng.normal(size=7)
        desired, singular, M = (
            frame_pose(model, q, TOOL) @ se3.exp(0.1 * rng.normal(size=6)),
            0.05,
            mass_matrix(model, q),
        )
        task = operational_space(model, q, STRAIGHT, TOOL, desired, kp=100.0, kd=20.0, singular=singular)
        torque = task.torque - inverse_dynamics(model, q, STRAIGHT, STRAIGHT)
        J = jacobian(model, q, TOOL)
        A = J @ np.linalg.solve(M, J.T)
        scale = np.sqrt(np.repeat([np.trace(A[:3, :3]), np.trace(A[3:, 3:])], 3) / 3.0)
        a = 100.0 * (se3.left_jacobian_inverse(task.error).T @ task.error) / scale
        d = singular**2 * np.linalg.eigvalsh(A / np.outer(scale, scale))[-1]
        assert torque @ np.linalg.solve(M, torque) <= 1.0365 * (a @ a) / d * (1.0 + 1e-9)
        assert task.damped > 0 or size > 1e-3
        spring = impedance(model, q, STRAIGHT, TOOL, desired, stiffness=300.0, fastest=40.0)
        torque = spring.torque - inverse_dynamics(model, q, STRAIGHT, STRAIGHT)
        pull = se3.left_jacobian_inverse(spring.error).T @ spring.spring @ spring.error
        assert torque @ np.linalg.solve(M, torque) <= 40.0**2 * (pull @ np.linalg.solve(spring.spring, pull)) * 1.01


LEVER = 0.3


def test_what_a_singularity_leaves_is_nearest_by_the_lever(rng):
    """A straight elbow: of an acceleration asked for the part along P w, J^T w = 0, is given up, and no other."""
    arm, frame = arms.load("ur5").model, "wrist_3_link"
    q = np.array([0.4, -1.2, 0.0, 0.7, -1.5, 0.3])
    J, home = jacobian(arm, q, frame), frame_pose(arm, q, frame)
    w, P = np.linalg.svd(J)[0][:, -1], np.diag([LEVER**-2] * 3 + [1.0] * 3)
    assert np.abs(w @ J).max() < 1e-12
    for _ in range(5):
        desired = home @ se3.exp(1e-7 * rng.normal(size=6))
        task = operational_space(arm, q, 0.0 * q, frame, desired, kp=100.0, kd=20.0, singular=0.05, lever=LEVER)
        found = J @ forward_dynamics(arm, q, 0.0 * q, task.torque)
        expected = 100.0 * (task.error - P @ w * (w @ task.error) / (w @ P @ w))
        np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
        assert task.damped == 1


@pytest.mark.parametrize("lever", [0.01, LEVER, 3.0])
@pytest.mark.parametrize("name", ["panda_arm", "ur5", "xarm7"])
def test_a_lever_makes_no_direction_faster_and_torques_are_bounded(name, lever, rng):
    arm, singular = arms.load(name).model, 0.05
    for size in (0.0, 1e-9, 1e-4, 1e-2, 0.05, 0.2):
        q = size * rng.normal(size=arm.nv) + ([0.4, -1.2, 0.0, 0.7, -1.5, 0.3] if name == "ur5" else 0.0)
        frame = arm.body_names[-1]
        task = operational_space(
            arm, q, 0.0 * q, frame, frame_pose(arm, q, frame), kp=1.0, kd=2.0, singular=singular, lever=lever
        )
        A = task.jacobian @ np.linalg.solve(mass_matrix(arm, q), task.jacobian.T)
        np.testing.assert_allclose(task.inverse, task.inverse.T, atol=1e-9 * np.abs(task.inverse).max())
        shares = np.linalg.eigvals(A @ task.inverse)
        assert np.abs(shares.imag).max() < 1e-4 and shares.real.min() > -1e-6 and shares.real.max() < 1.0 + 1e-6
        scale = np.sqrt(np.repeat([np.trace(A[:3, :3]), np.trace(A[3:, 3:])], 3) / 3.0)
        d = singular**2 * np.linalg.eigvalsh(A / np.outer(scale, scale))[-1]
        m = max((scale[3] / scale[0] / lever) ** 2, (scale[0] * lever / scale[3]) ** 2)
        if task.damped <= 1:
            least = np.linalg.eigvalsh(task.inverse * np.outer(scale, scale))[-1]
            assert least <= (3.2 + 0.5 * (m - 1.0) ** 2 / m) / d


def test_joints_are_asked_for_no_more_than_their_speeds(model):
    q, speed = 1e-2 * np.ones(7), 0.5 * model.limits.velocity
    far = frame_pose(model, q, TOOL)
    far[2, 3] -= 0.3
    task = operational_space(model, q, STRAIGHT, TOOL, far, kp=400.0, kd=40.0, speed=speed)
    free = operational_space(model, q, STRAIGHT, TOOL, far, kp=400.0, kd=40.0)
    assert task.pace < 1.0 == free.pace
    asked = forward_dynamics(model, q, STRAIGHT, task.torque) / 40.0  # at rest: kd times the speed that is asked for
    assert (np.abs(asked) / speed).max() == pytest.approx(1.0, rel=1e-6)
    twist = [0, 0, 0, 0, 0, 5.0]
    assert impedance(model, q, STRAIGHT, TOOL, far, twist, stiffness=1.0, speed=speed).pace < 1.0


LIMITS = np.array([[1.0, 0.25], [8.0, 2.0]])


@pytest.mark.parametrize("period", [2e-3, 4e-3, 0.1])
def test_the_reference_goes_straight_to_a_target_within_its_limits(period, rng):
    for _ in range(2):
        start, end = se3.exp(rng.normal(size=6)), se3.exp(0.5 * rng.normal(size=6))
        reference = PoseReference(start, *LIMITS)
        reference.aim(end)
        poses, twists, rates = [], [], []
        for _ in range(round(14.0 / period)):
            reference.advance(period)
            poses.append(reference.pose.copy())
            twists.append(reference.twist)
            rates.append(reference.acceleration)
        way, whole = np.array(poses)[:, :3, 3] - start[:3, 3], end[:3, 3] - start[:3, 3]
        part = way @ whole / (whole @ whole)
        np.testing.assert_allclose(way, np.outer(part, whole), atol=1e-12)
        assert part.max() < 1.0 + 1e-9 and (np.diff(part) > -1e-12).all()
        np.testing.assert_allclose(poses[-1], end, atol=1e-6)
        np.testing.assert_allclose(poses[-1][:3, :3] @ poses[-1][:3, :3].T, np.eye(3), atol=1e-14)
        for k, part in enumerate((slice(0, 3), slice(3, 6))):
            assert np.linalg.norm(np.array(twists)[:, part], axis=1).max() < LIMITS[0, k] * (1.0 + 1e-9)
        assert np.linalg.norm(np.array(rates)[:, :3], axis=1).max() < LIMITS[1, 0] * (1.0 + 1e-9)
        if period < 0.1:  # what is told of it is what it does
            seen = [se3.log(np.linalg.inv(a) @ b) / period for a, b in list(pairwise(poses))[::100]]
            np.testing.assert_allclose(seen, (0.5 * (np.array(twists)[1:] + twists[:-1]))[::100], atol=2.0 * period)
        assert not reference.moving


def test_the_reference_follows_a_moving_target():
    """A lag of dA/dt / (49 k^3), as the filter's equation has it, to first order in the step; k = 4.5 here."""
    jerk, lags = 0.3, []
    for h in (1e-3, 5e-4):
        reference = PoseReference(np.eye(4), (1.0, 0.5), (8.0, 3.0))
        for k in range(1, round(1.5 / h)):
            t, target = k * h, np.eye(4)
            target[0, 3] = jerk * t**3 / 6.0
            reference.aim(target)
            reference.advance(h, [0, 0, 0, 0.5 * jerk * t * t, 0, 0], [0, 0, 0, jerk * t, 0, 0])
        lags.append(target[0, 3] - reference.pose[0, 3])
    assert 2.0 * lags[1] - lags[0] == pytest.approx(jerk / (49.0 * 4.5**3), rel=0.01)


def test_the_reference_is_driven_and_rests():
    reference = PoseReference(np.eye(4), *LIMITS)
    for _ in range(2000):
        reference.advance(1e-3, [0, 0, 0.4, 0.1, 0, 0])
    np.testing.assert_allclose(reference.twist[:3], [0, 0, 0.4], atol=1e-4)
    np.testing.assert_allclose(reference.pose[:3, :3] @ reference.twist[3:], [0.1, 0, 0], atol=1e-4)
    assert reference.moving
    for _ in range(3000):
        reference.advance(1e-3)
    assert not reference.moving
    before = reference.pose.copy()
    for _ in range(500):
        reference.advance(1e-3, [0, 0, 0, 9.0, 0, 0], pace=0.1)
    assert 0.02 < np.linalg.norm(reference.twist[3:]) < 0.025 * (1 + 1e-9) and reference.pose[0, 3] > before[0, 3]
    np.testing.assert_allclose(so3.log(reference.pose[:3, :3] @ before[:3, :3].T), 0.0, atol=1e-3)


BAD = (None, "a", [1.0, 2.0], np.nan, [np.inf] * 6, {})


@all_of(
    ("name", "values"),
    [
        ("pose", (*BAD, np.ones((4, 4)))),
        ("twist", BAD),
        ("acceleration", BAD),
        ("stiffness", (*BAD, -1.0, 0.0)),
        ("damping_ratio", (*BAD, -1.0)),
        ("fastest", ("a", None, np.nan, 0.0, -1.0)),
        ("null_torque", BAD[1:]),
        ("null_spring", BAD[1:]),
        ("axes", ("tool", None, 3)),
        ("speed", (*BAD[1:], np.zeros(7))),
        ("frame", ("nobody", 99, None)),
        ("q", (np.ones((2, 7)), [np.nan] * 7)),
        ("qd", (np.ones((2, 7)), [np.nan] * 7)),
        ("singular", ("a", None, np.nan, -1.0)),
    ],
)
def test_what_makes_no_sense_is_refused(model, name, values):
    given = {"q": POSE, "qd": STRAIGHT, "frame": TOOL, "pose": np.eye(4), "stiffness": 10.0}
    for value in values:
        with pytest.raises((InputError, GroupError)):
            impedance(model, **given | {name: value})
    shared = [x for x in values if name not in ("stiffness", "damping_ratio", "fastest")]
    given = {"q": POSE, "qd": STRAIGHT, "frame": TOOL, "pose": np.eye(4), "kp": 1.0, "kd": 1.0}
    for value in shared:
        with pytest.raises((InputError, GroupError)):
            operational_space(model, **given | {name: value})
    for value in ("a", None, np.nan, np.inf, -1.0):
        with pytest.raises(InputError, match="lever"):
            operational_space(model, **given, lever=value)


def test_what_is_no_reference_is_refused():
    for speed in (None, "a", np.nan, [np.inf] * 6, {}, 0.0, [1.0, -1.0]):
        with pytest.raises(InputError):
            PoseReference(np.eye(4), speed, [1.0, 1.0])
    reference = PoseReference(np.eye(4), [1.0, 1.0], [1.0, 1.0])
    for change in ({"period": -1.0}, {"period": np.nan}, {"period": 0.1, "rates": [1.0]}, {"period": 0.1, "pace": 2.0}):
        with pytest.raises(InputError):
            reference.advance(**change)
    with pytest.raises((InputError, GroupError)):
        reference.aim(np.ones((4, 4)))
