"""The solvers: derivatives of every chart, A1 and A2 against the reference, known poses, failures told."""

from itertools import product

import numpy as np
import pytest
from stewart_oracle import STATES, lengths, pose_of, random_pose, rotation
from support.grids import all_of, every_run

from lie_dynamics_ros.lie_dynamics.errors import GroupError
from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.lie_dynamics.reference import stewart_solvers as written
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    dietmaier_platform,
    reference_platform,
    solve_forward_kinematics,
)
from lie_dynamics_ros.lie_dynamics.stewart.geometry.platform import why_unreachable
from lie_dynamics_ros.lie_dynamics.stewart.solvers.charts import LegEquations, PoseSE3, Quaternion, RollPitchYaw
from lie_dynamics_ros.lie_dynamics.stewart.solvers.forward_kinematics import METHODS

PLATFORM = reference_platform()
TRUE_POSE = pose_of((0, 0, 50), (20, 0, -30))
TRUE_LENGTHS = PLATFORM.leg_lengths(TRUE_POSE)
CHARTS = {
    "body": PoseSE3("body"),
    "spatial": PoseSE3("spatial"),
    "rpy": RollPitchYaw(),
    "quat": Quaternion(),
    "quat homogeneous": Quaternion("homogeneous", weight=3.0),
    "quat rescaled": Quaternion("homogeneous", weight=1e3, rescale=True),
}


@pytest.mark.parametrize("form", ["squared", "length"])
@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_jacobian_of_a_chart_is_the_complex_step_derivative(chart, form):
    rng = np.random.default_rng(0)
    poses = np.stack([random_pose(rng) for _ in range(4)])
    equations = LegEquations(PLATFORM.base_points, PLATFORM.platform_points, rng.uniform(0.4, 0.6, (4, 6)), form)
    x = chart.from_pose(poses)
    if isinstance(chart, Quaternion) and not chart.rescale:
        x[:, 3:] *= 1.1  # off the unit sphere, where the forms of the rotation differ
    residual, jacobian = chart.linearise(equations, x)
    np.testing.assert_array_equal(residual, chart.residual(equations, x))
    for column in range(jacobian.shape[2]):
        step = np.zeros((4, jacobian.shape[2]), dtype=complex)
        step[:, column] = 1e-40j
        moved = chart.move(x.astype(complex), step) if not getattr(chart, "rescale", False) else x + step
        derivative = chart.residual(equations, moved).imag / 1e-40
        np.testing.assert_allclose(jacobian[:, :, column], derivative, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_charts_hold_the_pose_and_measure_its_legs(chart):
    rng = np.random.default_rng(1)
    poses = np.stack([random_pose(rng, angle=3.0) for _ in range(5)])
    targets = rng.uniform(0.4, 0.6, (5, 6))
    equations = LegEquations(PLATFORM.base_points, PLATFORM.platform_points, targets)
    x = chart.from_pose(poses)
    np.testing.assert_allclose(chart.to_pose(x), poses, atol=1e-15)
    found = chart.residual(equations, x)
    for T, L, r in zip(poses, targets, found, strict=True):
        expected = lengths(PLATFORM.base_points, PLATFORM.platform_points, T[:3, :3], T[:3, 3]) ** 2 - L**2
        np.testing.assert_allclose(r[:6], expected, atol=1e-14)
        np.testing.assert_allclose(r[6:], 0.0, atol=1e-12)


def as_written(method, pose, value):
    """Iterates of A1 or A2 in the reference, in cm, as poses in m."""
    cm = pose.copy()
    cm[:3, 3] *= 100.0
    legs = (100.0 * PLATFORM.base_points, 100.0 * PLATFORM.platform_points, 100.0 * TRUE_LENGTHS)
    if method.endswith("se3"):
        problem, x = written.on_se3(*legs, "body" if method.startswith("gn") else "spatial"), cm
    elif method.endswith("r6"):
        problem, x = written.on_r6(*legs), np.r_[cm[:3, 3], so3.to_rpy(cm[:3, :3])]
    else:
        problem, x = written.on_r7(*legs), np.r_[cm[:3, 3], so3.to_quaternion(cm[:3, :3])]
    path = (written.gauss_newton if method.startswith("gn") else written.levenberg_marquardt)(problem, x, value, 4)
    poses = []
    for x in path:
        T = x.copy() if x.ndim == 2 else np.eye(4)
        if x.ndim == 1:
            T[:3, 3] = x[:3]
            T[:3, :3] = rotation(x[3:]) if len(x) == 6 else so3.from_quaternion(x[3:] / np.linalg.norm(x[3:]))
        T[:3, 3] /= 100.0
        poses.append(T)
    return poses


@pytest.mark.parametrize(
    ("method", "state"),
    every_run([*zip(METHODS[1:], STATES * 2, strict=False)], product(METHODS[1:], STATES)),
)
def test_iterates_are_those_of_the_algorithm_as_written(state, method):
    """Four iterations only: later ones of a chaotic start amplify rounding."""
    option, values = ("alpha", (0.99, 0.6)) if method.startswith("gn") else ("tau", (1e-3, 1e-8))
    for value in values:
        expected = as_written(method, pose_of(*state), value)
        found = solve_forward_kinematics(
            PLATFORM, TRUE_LENGTHS, pose_of(*state), method, k_max=4, record_path=True, **{option: value}
        )
        assert len(found.path) == len(expected)
        np.testing.assert_allclose(found.path, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("state", STATES[1:3])
def test_gauss_newton_on_the_group_does_not_depend_on_the_side_of_the_screw(state):
    """exp(Ad S) T = T exp(S): with the same factors the two sides walk the same poses."""
    options = {"alpha": 0.8, "k_max": 6, "record_path": True}
    paths = [
        solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, pose_of(*state), "gn-se3", screw=screw, **options).path
        for screw in ("body", "spatial")
    ]
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-8)


SQUARED = [*product(METHODS, ["squared"]), *product(("auto", "lm-se3", "lm-r6", "lm-quat"), ["length"])]


@pytest.mark.parametrize(("method", "residual"), every_run(SQUARED, product(METHODS, ("squared", "length"))))
def test_every_solver_finds_the_pose_from_nearby(method, residual):
    rng = np.random.default_rng(8)
    poses = np.stack([random_pose(rng) for _ in range(20)])
    guesses = poses.copy()
    guesses[:, :3, 3] += rng.uniform(-0.02, 0.02, (20, 3))
    for T in guesses:
        T[:3, :3] = T[:3, :3] @ rotation(rng.uniform(-0.05, 0.05, 3))
    found = solve_forward_kinematics(PLATFORM, PLATFORM.leg_lengths(poses), guesses, method, residual=residual)
    assert found.converged.all() and found.residual.max() < 1e-10 and (found.iterations > 0).all()
    np.testing.assert_allclose(found.pose, poses, atol=1e-9)
    assert set(found.reason) == {""}
    np.testing.assert_allclose(
        np.swapaxes(found.pose, 1, 2)[:, :3, :3] @ found.pose[:, :3, :3], [np.eye(3)] * 20, atol=1e-14
    )


def test_branch_pose_of_the_paper_is_found_from_its_five_digits():
    guess = np.eye(4)
    guess[:3, :3] = [[-0.2975, 0.7374, -0.6064], [-0.2324, 0.5602, 0.7951], [0.9260, 0.3775, 0.0047]]
    guess[:3, 3] = [0.1758, 0.1034, 0.3671]
    found = solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, guess)
    assert found.converged
    np.testing.assert_allclose(found.pose[:3, :3], guess[:3, :3], atol=2e-4)
    np.testing.assert_allclose(found.pose[:3, 3], [0.1757582, 0.1033935, 0.3671191], atol=6e-8)


def test_misprinted_length_is_not_solved_by_the_printed_pose():
    """(29) prints 55.9910 for the sixth leg; q_C is 4 cm off there."""
    printed = np.array([55.8558, 62.5313, 52.7436, 55.1457, 44.7972, 55.9910]) / 100.0
    assert np.abs(PLATFORM.leg_lengths(TRUE_POSE) - printed).max() > 0.039
    found = solve_forward_kinematics(PLATFORM, printed, TRUE_POSE)
    assert found.converged and np.linalg.norm(found.pose[:3, 3] - TRUE_POSE[:3, 3]) > 0.01


def test_default_is_independent_of_the_size_of_the_platform():
    rng = np.random.default_rng(3)
    guess, pose = random_pose(rng), random_pose(rng)
    results = []
    for scale in (1e-3, 1.0, 20.0):
        platform = StewartPlatform(scale * PLATFORM.base_points, scale * PLATFORM.platform_points)
        scaled = np.diag([1.0, 1.0, 1.0, 1.0]) @ guess
        scaled[:3, 3] *= scale
        found = solve_forward_kinematics(platform, scale * PLATFORM.leg_lengths(pose), scaled)
        assert found.converged
        found.pose[:3, 3] /= scale
        results.append(found.pose)
    np.testing.assert_allclose(results, [pose] * 3, atol=1e-10)


def test_shapes_of_single_problems_and_batches():
    rng = np.random.default_rng(2)
    poses = np.stack([[random_pose(rng, 0.05, 0.2) for _ in range(3)] for _ in range(2)])
    guess = np.eye(4)
    guess[2, 3] = 0.5
    found = solve_forward_kinematics(PLATFORM, PLATFORM.leg_lengths(poses), guess, "lm-quat", record_path=True)
    assert found.pose.shape == (2, 3, 4, 4) and found.converged.shape == (2, 3) and found.reason.shape == (2, 3)
    assert found.path.shape[1:] == (2, 3, 4, 4)
    np.testing.assert_allclose(found.path[0], np.broadcast_to(guess, (2, 3, 4, 4)), atol=1e-15)
    np.testing.assert_allclose(found.path[-1], found.pose, atol=1e-12)
    single = solve_forward_kinematics(PLATFORM, PLATFORM.leg_lengths(poses[1, 2]), guess, "lm-quat")
    assert isinstance(single.converged, bool) and isinstance(single.iterations, int) and single.path is None
    assert single.iterations == found.iterations[1, 2]
    np.testing.assert_allclose(single.pose, found.pose[1, 2], atol=1e-13)


def test_each_problem_of_a_batch_has_its_own_setting():
    tau = np.array([1e-9, 1e-6, 1e-3])
    guess = pose_of(*STATES[2])
    together = solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, np.stack([guess] * 3), "lm-se3", tau=tau)
    alone = [solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, guess, "lm-se3", tau=value) for value in tau]
    assert together.iterations.tolist() == [result.iterations for result in alone]
    assert len(set(together.iterations.tolist())) > 1


@pytest.mark.parametrize("method", every_run(("auto", "lm-quat"), METHODS))
def test_lengths_that_no_pose_has_are_told_not_solved(method):
    unreachable = np.full(6, 0.5)
    unreachable[5] = 1.1  # joints 1 and 6 are 0.155 m apart on the base and 0.283 m on the platform
    found = solve_forward_kinematics(PLATFORM, unreachable, PLATFORM.home_pose, method)
    assert not found.converged
    assert found.reason.startswith("no pose has these lengths: legs 1 and 6 of 0.5 m and 1.1 m do not close")
    # Alternating lengths pass every pair of legs, but no pose has them: the solver ends in a local minimum.
    hidden = np.array([0.65, 0.4] * 3)
    assert why_unreachable(PLATFORM, hidden) == ""
    found = solve_forward_kinematics(PLATFORM, hidden, PLATFORM.home_pose, method)
    assert not found.converged and found.residual > 0.01
    assert found.reason.startswith("no pose with these lengths found: the iteration ended (")
    assert np.isfinite(found.pose).all()


@all_of("seed", range(10))
def test_real_poses_pass_the_test_of_reachability(seed):
    rng = np.random.default_rng(seed)
    for platform in (PLATFORM, dietmaier_platform()[0]):
        assert why_unreachable(platform, platform.leg_lengths(random_pose(rng, 1.0, 3.0))) == ""


def test_a_singular_pose_is_not_called_converged():
    """Yaw of 90 degrees is singular (Fichter): the pose fits, but the lengths do not determine it."""
    pose = pose_of((0, 0, 45), (0, 0, 90))
    design = StewartPlatform(*(np.round(points, 12) for points in _symmetric()))
    found = solve_forward_kinematics(design, design.leg_lengths(pose), pose)
    assert not found.converged and "singular" in found.reason


def _symmetric():
    angles = np.deg2rad([15, 105, 135, 225, 255, 345]), np.deg2rad([45, 75, 165, 195, 285, 315])
    return [
        radius * np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1) for radius, a in zip((0.3, 0.2), angles, strict=True)
    ]


@pytest.mark.parametrize(
    ("lengths_", "message"),
    [
        ([0.5, 0.5, np.nan, 0.5, 0.5, 0.5], "leg 3 has length nan m, expected a finite positive length"),
        ([0.5, -0.5, 0.5, 0.5, 0.5, 0.5], r"leg 2 has length -0\.5 m"),
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.0], "leg 6 has length 0"),
        ([0.5, 0.5, 0.5, 0.5, np.inf, 0.5], "leg 5 has length inf"),
        ([0.5] * 5, r"lengths has shape \(5,\)"),
    ],
)
def test_bad_lengths(lengths_, message):
    with pytest.raises(StewartError, match=message):
        solve_forward_kinematics(PLATFORM, lengths_, PLATFORM.home_pose)


@all_of(
    ("method", "options", "message"),
    [
        ("newton", {}, "method is 'newton', expected one of auto, gn-se3, lm-se3, gn-r6, lm-r6, gn-quat, lm-quat"),
        ("lm-se3", {"alpha": 0.5}, "method 'lm-se3' has no option alpha; its options are screw, tau"),
        ("gn-r6", {"screw": "body"}, "has no option screw"),
        ("gn-se3", {"alpha": 1.0}, "option alpha is 1.0"),
        ("lm-se3", {"tau": 0.0}, "option tau is 0.0"),
        ("lm-se3", {"screw": "left"}, "option screw is 'left', expected one of 'body', 'spatial'"),
        ("gn-se3", {"accept": "any"}, "option accept is 'any'"),
        ("auto", {"residual": "cubed"}, "option residual is 'cubed'"),
        ("auto", {"length_unit": 0.0}, "length_unit is 0.0"),
    ],
)
def test_bad_methods_and_options(method, options, message):
    with pytest.raises(StewartError, match=message):
        solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, PLATFORM.home_pose, method, **options)


def test_bad_guesses():
    with pytest.raises(GroupError, match="guess"):
        solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, np.diag([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(StewartError, match="do not broadcast"):
        solve_forward_kinematics(PLATFORM, [TRUE_LENGTHS] * 2, [PLATFORM.home_pose] * 3)
    far = PLATFORM.home_pose.copy()
    for distance, words in ((1e308, "beyond 1e\\+50 m"), (1e50, "millimetres"), (1e6, "millimetres")):
        far[1, 3] = distance
        with pytest.raises(StewartError, match=words):
            solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, far)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", [2.0, 5.0])
def test_whatever_comes_of_a_far_guess_is_a_pose(method, distance):
    far = PLATFORM.home_pose.copy()
    far[:3, 3] *= distance
    found = solve_forward_kinematics(PLATFORM, [TRUE_LENGTHS] * 2, far, method)
    assert np.isfinite(found.pose).all() and np.isfinite(found.residual).all()
    assert found.converged.all() or all(found.reason)


@pytest.mark.parametrize(
    "options", [{"accept": "decrease"}, {"accept": "strict"}, {"shrink": "power"}, {"keep_alpha": True}]
)
def test_other_readings_of_a1_converge_from_a_good_guess(options):
    found = solve_forward_kinematics(PLATFORM, TRUE_LENGTHS, PLATFORM.home_pose, "gn-se3", alpha=0.9, **options)
    assert found.residual < 1e-9
    np.testing.assert_allclose(found.pose, TRUE_POSE, atol=1e-8)


def test_full_factor_without_test_converges_quadratically():
    found = solve_forward_kinematics(
        PLATFORM, TRUE_LENGTHS, PLATFORM.home_pose, "gn-se3", accept="always", alpha=1.0, record_path=True, k_max=8
    )
    errors = np.abs(found.path - TRUE_POSE).max(axis=(1, 2))
    assert found.converged
    late = (errors[1:] > 1e-14) & (errors[:-1] < 1e-2)
    assert late.any() and np.all(errors[1:][late] < 100.0 * errors[:-1][late] ** 2)


@pytest.mark.parametrize("limits", [None, (0.2, 2.0)])
def test_millimetres_are_refused_with_the_leg(limits):
    angles = np.radians([0.0, 20.0, 120.0, 140.0, 240.0, 260.0])
    base = np.c_[np.cos(angles), np.sin(angles), 0.0 * angles]
    platform = StewartPlatform(base, 0.5 * np.roll(base, 1, axis=0) @ np.diag([1.0, -1.0, 1.0]), limits)
    home = np.eye(4)
    home[2, 3] = 1.0
    found = platform.leg_lengths(home)
    found[3] *= 1000.0
    with pytest.raises(StewartError, match=r"leg 4 has length .* expected at most .*millimetres"):
        solve_forward_kinematics(platform, found, home)
