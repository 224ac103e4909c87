"""Platforms on universal joints whose axes do not meet: lengths as distances of circles, poses, files, refusals."""

import numpy as np
import pytest
import yaml
from scipy.optimize import brentq, minimize, root

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart import (
    OffsetPlatform,
    StewartError,
    StewartPlatform,
    calibrate,
    holding_forces,
    identifiability_report,
    leg_forces_for_wrench,
    poses_near,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.command import PlatformLoad, leg_forces
from lie_dynamics_ros.lie_dynamics.stewart.geometry.any_platform import any_platform

POINTS = reference_platform(leg_limits=(0.3, 0.9))


def skewed(rng):
    """Axes neither perpendicular to the legs nor parallel in pairs, offsets of all sizes, none at one end of a leg."""
    square = OffsetPlatform.square_at(POINTS, POINTS.home_pose, 0.0, 0.0)
    axes = (x + 0.3 * rng.normal(size=(6, 3)) for x in (square.base_axes, square.platform_axes))
    return OffsetPlatform(POINTS, *axes, rng.uniform(0.0, 0.06, 6), np.append(rng.uniform(0.0, 0.06, 5), 0.0))


def near_home(rng, count):
    return POINTS.home_pose @ np.asarray(se3.exp(rng.normal(size=(count, 6)) * np.repeat((0.2, 0.04), 3)))


def on_circle(point, axis, offset, angle):
    """Where the second axis passes: turned from one direction perpendicular to the first axis by an angle."""
    first = np.linalg.svd(axis[None])[2][1]
    return point + offset * (np.cos(angle) * first + np.sin(angle) * np.cross(axis, first))


def test_lengths_are_least_distances_of_circles(rng):
    platform, T = skewed(rng), near_home(rng, 1)[0]
    lengths = platform.leg_lengths(T)
    s, t = platform.base_axes, platform.platform_axes @ T[:3, :3].T
    B = POINTS.platform_points @ T[:3, :3].T + T[:3, 3]
    for k in range(6):

        def gap(x, k=k):
            C = on_circle(POINTS.base_points[k], s[k], platform.base_offsets[k], x[0])
            return np.linalg.norm(on_circle(B[k], t[k], platform.platform_offsets[k], x[1]) - C)

        least = min(minimize(gap, start, tol=1e-12).fun for start in ([0.0, 0.0], [2.0, 1.0], [1.0, 4.0], [4.0, 3.0]))
        assert lengths[k] == pytest.approx(least, abs=1e-11)


def test_without_offsets_it_is_the_platform_on_point_joints(rng):
    platform, T = OffsetPlatform(POINTS, [1.0, 0.2, 0.1], [0.1, 1.0, 0.0], 0.0, 0.0), near_home(rng, 4)
    assert np.array_equal(platform.leg_lengths(T), POINTS.leg_lengths(T))
    assert np.array_equal(platform.jacobian(T, "spatial"), POINTS.jacobian(T, "spatial"))


def test_rates_and_forces_are_derivatives_of_lengths(rng):
    platform, T, step = skewed(rng), near_home(rng, 3).reshape(3, 1, 4, 4), 1e-6
    for k, twist in enumerate(np.eye(6)):
        ahead, behind = (platform.leg_lengths(T @ np.asarray(se3.exp(sign * step * twist))) for sign in (1.0, -1.0))
        rates = (ahead - behind) / (2.0 * step)
        assert np.abs(platform.jacobian(T)[..., k] - rates).max() < 1e-9
        assert np.abs(platform.leg_rates(T, twist) - rates).max() < 1e-9
    here, wrench = T[0, 0], rng.normal(size=6)
    same = platform.at(here)
    assert np.abs(same.leg_lengths(here) - platform.leg_lengths(here)).max() < 1e-15
    forces = leg_forces_for_wrench(same, here, wrench)
    assert np.abs(platform.jacobian(here).T @ forces - wrench).max() < 1e-12


def test_poses_from_lengths(rng):
    platform, T = skewed(rng), near_home(rng, 20)
    found = poses_near(platform, platform.leg_lengths(T), POINTS.home_pose)
    assert np.abs(found - T).max() < 1e-10
    assert poses_near(platform, platform.leg_lengths(T[0]), T[:2].reshape(2, 1, 4, 4)).shape == (2, 1, 4, 4)
    with pytest.raises(StewartError, match="no pose with the lengths"):
        poses_near(platform, [0.5, 5.0, 0.5, 0.5, 0.5, 0.5], POINTS.home_pose)
    with pytest.raises(StewartError, match="leg 2 has length"):
        poses_near(platform, [0.5, np.nan, 0.5, 0.5, 0.5, 0.5], POINTS.home_pose)
    with pytest.raises(LieDynamicsError):
        poses_near(platform, np.full(6, 0.5), 2.0 * np.eye(4))


def test_calibration_with_known_offsets(rng):
    """From poses that a device measures in frames known to some hundredths; the drawing alone is off by millimetres."""
    drawn, poses = skewed(rng), near_home(rng, 30)
    moved = [x + 1e-3 * rng.normal(size=(6, 3)) for x in (POINTS.base_points, POINTS.platform_points)]
    built, shift = drawn.on(StewartPlatform(*moved)), 2e-3 * rng.normal(size=6)
    where, on_platform = (np.asarray(se3.exp(x)) for x in 0.03 * rng.normal(size=(2, 6)))
    seen, readings = where @ poses @ np.linalg.inv(on_platform), built.leg_lengths(poses) - shift
    rough = {"base_frame": where @ np.asarray(se3.exp(np.full(6, 0.01))), "platform_frame": on_platform}
    found = calibrate(drawn, seen, readings, **rough)
    assert found.converged and np.abs(found.offsets - shift).max() < 2e-4
    assert np.abs(found.joints.leg_lengths(seen) - found.offsets - readings - found.length_residuals).max() < 1e-14
    # Axes turn with the points, whose errors of 1 mm turn what fits them by some milliradians.
    assert np.abs(found.length_residuals).max() < 2e-5 < 0.01 * np.abs(drawn.leg_lengths(poses) - readings).max()
    fresh = near_home(rng, 10)
    told = found.joints.leg_lengths(where @ fresh @ np.linalg.inv(on_platform))
    wrong = told - found.offsets - built.leg_lengths(fresh) + shift
    assert np.sqrt((wrong**2).mean()) < 2e-5 < 0.01 * np.abs(drawn.leg_lengths(fresh) - built.leg_lengths(fresh)).max()
    naive = calibrate(POINTS, seen, readings, **rough)
    assert np.abs(naive.length_residuals).max() > 20.0 * np.abs(found.length_residuals).max()
    exact = calibrate(built, poses, readings)
    assert np.abs(exact.offsets - shift).max() < 1e-9
    assert np.abs(exact.in_design_frames().platform.base_points - moved[0]).max() < 1e-9


def test_what_calibration_can_tell_is_the_rank_of_differences(rng):
    platform, poses = skewed(rng), near_home(rng, 12)
    report = identifiability_report(platform, poses, length_sigma=1.0)
    rows, step = np.empty((72, 42)), 1e-6
    for column in range(36):
        lengths = []
        for sign in (1.0, -1.0):
            points = np.concatenate([POINTS.base_points, POINTS.platform_points])
            points[column // 3, column % 3] += sign * step
            lengths.append(platform.on(StewartPlatform(points[:6], points[6:])).leg_lengths(poses).ravel())
        rows[:, column] = (lengths[0] - lengths[1]) / (2.0 * step)
    rows[:, 36:] = -np.tile(np.eye(6), (12, 1))
    values = np.linalg.svd(rows, compute_uv=False)
    assert np.abs(report.singular_values - values).max() < 1e-8 * values[0]
    with pytest.raises(StewartError, match="whole poses are expected"):
        calibrate(platform, poses, platform.leg_lengths(poses), pose_sigma=[np.inf] * 3 + [1e-5] * 3)


def test_files(rng, tmp_path):
    platform, T = skewed(rng), near_home(rng, 3)
    path = tmp_path / "platform.yaml"
    path.write_text(platform.to_yaml())
    again = OffsetPlatform.from_yaml(path)
    assert np.abs(again.leg_lengths(T) - platform.leg_lengths(T)).max() < 1e-15
    assert np.array_equal(again.points.leg_limits, POINTS.leg_limits)
    with pytest.raises(StewartError, match=r"universal_joints .* point joints"):
        StewartPlatform.from_yaml(path)
    with pytest.raises(StewartError, match="no universal_joints"):
        OffsetPlatform.from_yaml(POINTS.to_yaml())
    with pytest.raises(StewartError, match="no platform_offsets"):
        OffsetPlatform.from_yaml(platform.to_yaml().replace("  platform_offsets", "  #"))


def test_what_takes_point_joints_refuses_others():
    platform, home, lengths = (
        OffsetPlatform.square_at(POINTS, POINTS.home_pose, 0.03, 0.03),
        POINTS.home_pose,
        np.ones(6),
    )
    for call in (
        lambda: ld.stewart.StewartTracker(platform, home),
        lambda: ld.stewart.StewartFusion(platform, home),
        lambda: ld.stewart.assembly_modes(platform, lengths),
        lambda: ld.stewart.solve_forward_kinematics(platform, lengths, home),
        lambda: ld.stewart.solve_from_home(platform, lengths),
        lambda: ld.stewart.level_home(platform, lengths),
        lambda: ld.stewart.leg_length_second_derivatives(platform, home),
        lambda: OffsetPlatform(platform, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.0, 0.0),
        lambda: OffsetPlatform.square_at(platform, home, 0.0, 0.0),
    ):
        with pytest.raises(StewartError, match=r"a StewartPlatform is expected, (or a RotaryPlatform, )?got"):
            call()
    for call in (
        lambda: poses_near(POINTS, lengths, home),
        lambda: poses_near(platform, np.ones((3, 6)), home[None][[0, 0]]),
    ):
        with pytest.raises(StewartError, match="expected"):
            call()
    for turn in (np.eye(2), 2.0 * np.eye(3), "x"):
        with pytest.raises(LieDynamicsError):
            platform.on(POINTS, turn)


@pytest.mark.filterwarnings("error")
def test_what_is_refused(rng):
    axes, good = [1.0, 0.0, 0.0], skewed(rng)
    for arguments, what in (
        ((3, axes, axes, 0.0, 0.0), "a StewartPlatform is expected"),
        ((POINTS, [0.0, 0.0, 0.0], axes, 0.0, 0.0), "base_axes of leg 1 has no direction"),
        ((POINTS, axes, np.full((6, 3), np.nan), 0.0, 0.0), "platform_axes: finite directions"),
        ((POINTS, axes, "x", 0.0, 0.0), "platform_axes: finite directions"),
        ((POINTS, np.eye(3), axes, 0.0, 0.0), "base_axes: finite directions"),
        ((POINTS, axes, axes, -0.01, 0.0), "base_offsets: one or six distances of 0 or more"),
        ((POINTS, axes, axes, 0.0, [0.1, 0.2]), "platform_offsets: one or six distances of 0 or more"),
        ((POINTS, axes, axes, np.inf, 0.0), "base_offsets: one or six distances of 0 or more"),
    ):
        with pytest.raises(StewartError, match=what):
            OffsetPlatform(*arguments)
    units = POINTS.leg_vectors(POINTS.home_pose) / POINTS.leg_lengths(POINTS.home_pose)[:, None]
    along = OffsetPlatform(POINTS, units, axes, 0.01, 0.01)
    with pytest.raises(StewartError, match="leg 1 points along the first axis"):
        along.leg_lengths(POINTS.home_pose)
    with pytest.raises(StewartError, match="too short for its offsets"):
        OffsetPlatform(POINTS, good.base_axes, good.platform_axes, 5.0, 5.0).leg_lengths(POINTS.home_pose)
    with pytest.raises(StewartError, match="or the pose is none"):
        good.leg_lengths(np.full((4, 4), np.nan))
    with pytest.raises(StewartError, match="expected"):
        good.at(near_home(rng, 2))
    assert good.leg_lengths(near_home(rng, 0)).shape == (0, 6)


def screwed(rng):
    """Leads of both hands and none, on skewed axes."""
    bare = skewed(rng)
    leads = [0.005, -0.01, 0.02, 0.0, -0.02, 0.004]
    return OffsetPlatform(
        bare.points, bare.base_axes, bare.platform_axes, bare.base_offsets, bare.platform_offsets, leads
    )


def half_turns(platform, T):
    """Lengths and twists: hinges found by a minimiser; the leg's upper half is turned until it fits its joint."""
    s, t = platform.base_axes, platform.platform_axes @ T[:3, :3].T
    B = POINTS.platform_points @ T[:3, :3].T + T[:3, 3]
    lengths, twists = np.zeros((2, 6))
    for k in range(6):

        def foot(x, k=k):
            return on_circle(POINTS.base_points[k], s[k], 1.0, x), on_circle(B[k], t[k], 1.0, x)

        def ends(x, k=k):
            (lower, _), (_, upper) = foot(x[0]), foot(x[1])
            A, a, b = POINTS.base_points[k], platform.base_offsets[k], platform.platform_offsets[k]
            return A + a * (lower - A), B[k] + b * (upper - B[k]), lower - A, upper - B[k]

        def conditions(x, k=k):
            C, D, n, m = ends(x)
            return [(D - C) @ np.cross(s[k], n), (D - C) @ np.cross(t[k], m)]

        def towards(point, axis, goal):
            zero, quarter = on_circle(point, axis, 1.0, 0.0) - point, on_circle(point, axis, 1.0, np.pi / 2) - point
            return np.arctan2((goal - point) @ quarter, (goal - point) @ zero)

        A = POINTS.base_points[k]
        x = root(conditions, [towards(A, s[k], B[k]), towards(B[k], t[k], A)], tol=1e-15).x
        C, D, n, m = ends(x)
        u = (D - C) / np.linalg.norm(D - C)
        lengths[k] = np.linalg.norm(D - C)
        e, f = np.cross(s[k], n), np.cross(t[k], m)

        def turned(angle, e=e, u=u, f=f):
            return so3.exp(angle * u) @ e @ np.cross(u, f)

        grid = np.linspace(0.0, 2.0 * np.pi, 60)
        signs = [turned(x) for x in grid]
        zeros = [brentq(turned, *grid[j : j + 2], xtol=1e-14) for j in range(59) if signs[j] * signs[j + 1] < 0.0]
        twists[k] = next(x for x in zeros if so3.exp(x * u) @ e @ f > 0.0)
    return lengths, twists


def test_screws_lengthen_legs_by_the_twist_of_their_joints(rng):
    platform = screwed(rng)
    _, start = half_turns(platform, POINTS.home_pose)
    bare = OffsetPlatform(
        POINTS, platform.base_axes, platform.platform_axes, platform.base_offsets, platform.platform_offsets
    )
    assert platform.leg_lengths(POINTS.home_pose) == pytest.approx(bare.leg_lengths(POINTS.home_pose), abs=1e-14)
    largest = 0.0
    for T in near_home(rng, 4):
        lengths, twists = half_turns(platform, T)
        twists = np.angle(np.exp(1j * (twists - start)))
        expected = lengths - platform.screw_leads * twists / (2.0 * np.pi)
        assert platform.leg_lengths(T) == pytest.approx(expected, abs=1e-10)
        largest = max(largest, np.abs(expected - lengths).max())
    assert largest > 1e-4


def test_poses_and_rates_with_screws(rng):
    platform, T = screwed(rng), near_home(rng, 8)
    found = poses_near(platform, platform.leg_lengths(T), POINTS.home_pose)
    assert np.abs(found - T).max() < 1e-10
    h, twist = 1e-6, rng.normal(size=6)
    for frame, moved in (
        ("body", lambda x: T @ se3.exp(x * twist)),
        ("spatial", lambda x: se3.exp(x * twist) @ T),
        ("aligned", lambda x: se3.from_parts(so3.exp(x * twist[:3]) @ T[:, :3, :3], T[:, :3, 3] + x * twist[3:])),
    ):
        rates = (platform.leg_lengths(moved(h)) - platform.leg_lengths(moved(-h))) / (2 * h)
        assert platform.leg_rates(T, twist, frame) == pytest.approx(rates, abs=1e-8)
    change, h = rng.normal(size=6), 1e-3
    ahead = lambda x: platform.leg_lengths(T @ se3.exp(x * twist + 0.5 * x * x * change))  # noqa: E731
    far, near, here = ([ahead(-k * h), ahead(k * h)] for k in (2, 1, 0))
    bent = (16.0 * sum(near) - sum(far) - 15.0 * sum(here)) / (12.0 * h * h)
    assert platform.motor_accelerations(T, twist, change) == pytest.approx(bent, abs=1e-7)


def test_the_mechanism_with_screws(rng, tmp_path):
    """Its slides are what the minimiser's twists make of the lengths; motors hold the platform by virtual work."""
    platform, T = screwed(rng), near_home(rng, 3)
    made = ld.mechanism("6-UCU", geometry=platform)
    q = made.configuration(T)
    assert np.abs(ld.constraint_error(made.model, made.constraints, q)).max() < 1e-14
    _, start = half_turns(platform, POINTS.home_pose)
    for pose, motors in zip(T, made.motors(q), strict=True):
        lengths, twists = half_turns(platform, pose)
        turned = np.angle(np.exp(1j * (twists - start)))
        assert motors == pytest.approx(lengths - platform.screw_leads * turned / (2.0 * np.pi), abs=1e-10)
    tracker = ld.ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated, max_steps=10_000)
    for pose in T:
        state = tracker.update(platform.leg_lengths(pose))
        assert state.valid and np.abs(made.pose(state.q) - pose).max() < 1e-12
    light = ld.mechanism("6-UCU", geometry=platform, cylinder_mass=0.0, piston_mass=0.0, knuckle_mass=1e-12)
    zero, places = np.zeros(light.model.nv), [light.model.joint(name).v_slice.start for name in light.actuated]
    held = ld.constrained_inverse_dynamics(light.model, light.constraints, light.configuration(T[0]), zero, zero,
                                        actuated=light.actuated)  # fmt: skip
    weight = np.append(np.zeros(3), T[0][:3, :3].T @ [0.0, 0.0, -9.81 * 3.0])  # of the disc of 3 kg
    assert np.abs(platform.jacobian(T[0]).T @ held.tau[places] + weight).max() < 1e-9
    assert holding_forces(platform, T[0], weight) == pytest.approx(held.tau[places], abs=1e-9)
    at = light.model, light.constraints, light.configuration(T[0])
    qd = ld.consistent_velocity(*at, zero + 3.0, held=["platform"])
    qdd = ld.consistent_acceleration(*at, qd, zero, held=["platform"])
    moving = ld.constrained_inverse_dynamics(*at, qd, qdd, actuated=light.actuated)
    load = PlatformLoad(light.model.inertia("platform"))
    forces = leg_forces(platform, T[0], np.full(6, 3.0), np.zeros(6), load)
    assert forces == pytest.approx(moving.tau[places], abs=1e-8)
    assert np.abs(forces - held.tau[places]).max() > 0.1
    urdf, loops, _ = made.write(tmp_path)  # screws are hinges and slides there
    robot = ld.Model.from_urdf(urdf)
    start = yaml.safe_load((tmp_path / "6_ucu.yaml").read_text())["/**"]["closed_loop"]["ros__parameters"]
    home, motors = start["start_positions"], start["measured_joints"]
    tracker = ld.ClosedLoopTracker(robot, ld.ConstraintSet.from_yaml(robot, loops), home, motors, max_steps=10_000)
    assert np.abs(tracker.update(platform.leg_lengths(T[0])).require().pose("platform") - T[0]).max() < 1e-12


def test_screws_in_files_and_where_there_are_none(rng):
    platform = screwed(rng)
    again = OffsetPlatform.from_yaml(platform.to_yaml())
    T = near_home(rng, 2)
    assert np.array_equal(again.screw_leads, platform.screw_leads)
    assert again.leg_lengths(T) == pytest.approx(platform.leg_lengths(T), abs=1e-14)
    assert np.array_equal(any_platform(platform.to_yaml()).screw_leads, platform.screw_leads)
    with pytest.raises(StewartError, match="screw_leads"):
        platform.at(POINTS.home_pose)
    with pytest.raises(StewartError, match="screw_leads"):
        calibrate(platform, T, platform.leg_lengths(T), length_sigma=1e-5)
    with pytest.raises(StewartError, match="screw_leads: one or six leads"):
        OffsetPlatform(POINTS, [1, 0, 0], [0, 1, 0], 0.0, 0.0, [0.1, np.nan, 0, 0, 0, 0])
    homeless = StewartPlatform(POINTS.base_points, POINTS.platform_points)
    with pytest.raises(StewartError, match="a home pose is expected"):
        OffsetPlatform(homeless, [1, 0, 0], [0, 1, 0], 0.0, 0.0, 0.005)
