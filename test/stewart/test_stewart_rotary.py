"""Platforms on rotary legs: angles by circles and spheres, all poses, velocities, torques, files, refusals."""

import re

import numpy as np
import pytest
from scipy.optimize import brentq, least_squares
from stewart_oracle import rotation
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import mechanism
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import (
    RotaryPlatform,
    StewartError,
    StewartPlatform,
    assembly_modes,
    holding_forces,
    horn_directions,
    leg_forces_for_wrench,
    semi_regular_rotary_platform,
    stiffness,
    weight_wrench,
)

DRAWING = (0.062, 0.05, 0.2269, 0.2, 0.02, 0.11)
PATTERNS = [("coplanar", "apart"), ("coplanar", "together"), ("tangential", "apart"), ("tangential", "together"),
            ("radial", "outward"), ("radial", "inward")]  # fmt: skip


def drawing(pattern="coplanar", facing=None, home=0.1):
    return semi_regular_rotary_platform(
        *DRAWING, pattern=pattern, facing=facing, home_angles=home, angle_limits=(-1.4, 1.4)
    )


def skew(rng):
    """No two legs alike, axes in any direction, zero directions not horizontal."""
    nominal = drawing("radial")
    while True:
        try:
            return RotaryPlatform(
                nominal.base_points + rng.normal(scale=0.006, size=(6, 3)),
                nominal.platform_points + rng.normal(scale=0.006, size=(6, 3)),
                nominal.axes + rng.normal(scale=0.3, size=(6, 3)),
                rng.uniform(0.015, 0.025, 6),
                rng.uniform(0.1, 0.12, 6),
                nominal.frames[..., 0] + rng.normal(scale=0.3, size=(6, 3)),
                rng.uniform(-0.3, 0.3, 6),
            )
        except StewartError:
            continue


def machines(rng):
    return [drawing(*words) for words in PATTERNS] + [skew(rng) for _ in range(3)]


def near_home(platform, rng, count, turn=0.1, shift=0.005):
    T = platform.home_pose @ np.asarray(se3.exp(rng.normal(size=(count, 6)) * np.repeat((turn, shift), 3)))
    return T[np.isfinite(platform.reached_angles(T)).all(axis=1)]


def crossings(platform, T, leg, grid=721):
    """Angles at which a horn's ball is a rod away from its platform point, by signs and brentq."""
    z, horn = platform.axes[leg], platform.horns[leg] * platform.frames[leg, :, 0]
    end = T[:3, :3] @ platform.platform_points[leg] + T[:3, 3] - platform.base_points[leg]

    def gap(t):  # Rodrigues
        turned = np.multiply.outer(np.cos(t), horn) + np.multiply.outer(np.sin(t), np.cross(z, horn))
        return np.linalg.norm(end - turned, axis=-1) - platform.rods[leg]

    at = np.linspace(-np.pi, np.pi, grid) + platform.home_angles[leg]
    values = gap(at)
    return [brentq(gap, at[k], at[k + 1], xtol=1e-14) for k in np.flatnonzero(values[1:] * values[:-1] < 0.0)]


def test_angles_are_crossings_of_circles_and_spheres(rng):
    for platform in machines(rng):
        (T,) = near_home(platform, rng, 20)[:1]
        both, angles = platform.leg_angles(T), platform.motor_positions(T)
        for leg in range(6):
            found = crossings(platform, T, leg)
            assert np.sort(both[:, leg]) == pytest.approx(found, abs=1e-11)
            assert np.abs(angles[leg] - platform.home_angles[leg]) < np.pi
        all_ways = platform.all_angles(T)
        assert len(np.unique(all_ways.round(9), axis=0)) == 64
        for way in all_ways:
            rods, lengths = platform.locked(way)
            assert rods.leg_lengths(T) == pytest.approx(lengths, abs=1e-13)
        assert np.abs(all_ways - angles).max(axis=1).min() < 1e-15


def test_home_has_the_home_angles(rng):
    for platform in machines(rng):
        assert platform.motor_positions(platform.home_pose) == pytest.approx(platform.home_angles, abs=1e-11)
        again = RotaryPlatform(
            platform.base_points, platform.platform_points, platform.axes, platform.horns, platform.rods,
            platform.frames[..., 0], home_pose=platform.home_pose,
        )  # fmt: skip
        assert again.home_angles == pytest.approx(platform.home_angles, abs=1e-11)


def test_patterns_stand_as_their_words_say():
    for pattern, facing in PATTERNS:
        platform = drawing(pattern, facing)
        points, x, up = platform.base_points, platform.frames[..., 0], platform.frames[..., 1]
        assert up == pytest.approx(np.tile([0.0, 0.0, 1.0], (6, 1)), abs=1e-15)
        out = points / np.linalg.norm(points, axis=1, keepdims=True)
        for i, j in ((0, 5), (1, 2), (3, 4)):
            for k, other in ((i, j), (j, i)):
                away = points[k] - points[other]
                if pattern == "radial":
                    assert x[k] @ out[k] == pytest.approx(1.0 if facing == "outward" else -1.0)
                    continue
                assert (x[k] @ away > 0.0) == (facing == "apart")
                if pattern == "tangential":
                    assert x[k] @ out[k] == pytest.approx(0.0, abs=1e-12)
                else:  # both motors and both horns in one upright plane
                    assert np.cross(x[k], away) == pytest.approx(np.zeros(3), abs=1e-12)


def test_pose_from_angles_is_exact_and_no_mode_is_missing(rng):
    for platform in (skew(rng),):
        T = near_home(platform, rng, 3)[0]
        angles = platform.motor_positions(T)
        modes = assembly_modes(platform, angles)
        assert modes.certain
        assert min(np.abs(pose - T).max() for pose in modes.poses) < 1e-12
        ends, tips = platform.platform_points.copy(), platform.tips(angles)

        def gaps(x, ends=ends, tips=tips, rods=platform.rods):
            return np.sqrt(((ends @ rotation(x[:3]).T + x[3:] - tips) ** 2).sum(axis=1)) - rods

        found = []
        for _ in range(50):
            start = np.r_[rng.uniform(-np.pi, np.pi, 3), rng.uniform(-0.15, 0.15, 3)]
            close = least_squares(gaps, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=140)
            if np.abs(close.fun).max() < 1e-11:
                found.append(se3.from_parts(rotation(close.x[:3]), close.x[3:]))
        assert len(found) > 10
        for pose in found:
            assert min(np.abs(pose - mode).max() for mode in modes.poses) < 1e-6


def moved(platform, T, twist, change, t, pieces=40):
    """Pose after a time, by midpoints."""
    for k in range(pieces):
        T = T @ np.asarray(se3.exp((twist + change * t * (k + 0.5) / pieces) * t / pieces))
    return platform.motor_positions(T)


def test_rates_and_accelerations_are_differences(rng):
    for platform in machines(rng):
        T = near_home(platform, rng, 20, 0.05, 0.003)[0]
        V, A = rng.normal(size=(2, 6)) * np.repeat((0.4, 0.02), 3)
        h = 2e-4
        after, here, before = (moved(platform, T, V, A, t) for t in (h, 0.0, -h))
        rates, accelerations = platform.motor_rates(T, V), platform.motor_accelerations(T, V, A)
        assert (after - before) / (2.0 * h) == pytest.approx(rates, abs=1e-6 * np.abs(rates).max())
        second = (after - 2.0 * here + before) / h**2
        assert second == pytest.approx(accelerations, abs=1e-4 * np.abs(accelerations).max())
        assert platform.motor_rates(T, V, "aligned") == pytest.approx(
            platform.jacobian(T) @ np.r_[T[:3, :3].T @ V[:3], T[:3, :3].T @ V[3:]], abs=1e-9
        )


def test_torques_do_the_work_of_the_weight(rng):
    """Virtual work with differences of the angles in place of a Jacobian."""
    for platform in machines(rng):
        T = near_home(platform, rng, 20, 0.05, 0.003)[0]
        torques = holding_forces(platform, T, weight_wrench(T, 0.4, [0.01, 0.0, 0.02]))
        for twist in np.eye(6):
            h = 1e-6
            ends = [T @ np.asarray(se3.exp(s * h * twist)) for s in (1.0, -1.0)]
            turned = platform.motor_positions(ends[0]) - platform.motor_positions(ends[1])
            lifted = [9.81 * 0.4 * (end[:3, :3] @ [0.01, 0.0, 0.02] + end[:3, 3])[2] for end in ends]
            assert torques @ turned == pytest.approx(lifted[0] - lifted[1], rel=1e-7, abs=1e-14)


def test_stiffness_is_that_of_springs(rng):
    """Angles give way by torque over stiffness, rods by their force over theirs."""
    platform = skew(rng)
    T = near_home(platform, rng, 20, 0.05, 0.003)[0]
    angles, springs, rods = platform.motor_positions(T), rng.uniform(1.0, 3.0, 6), rng.uniform(1e3, 1e4, 6)
    wrench = 1e-3 * rng.normal(size=6) * np.repeat((0.05, 1.0), 3)
    torques = leg_forces_for_wrench(platform, T, wrench)
    longer = torques / platform.levers(T) / rods

    def gaps(x):
        placed = T @ np.asarray(se3.exp(x * unit))
        ends = platform.platform_points @ placed[:3, :3].T + placed[:3, 3]
        return np.linalg.norm(ends - platform.tips(angles + torques / springs), axis=1) - platform.rods - longer

    unit = 1e-6 * np.repeat((1.0, 0.05), 3)
    given = unit * least_squares(lambda x: 1e8 * gaps(x), np.zeros(6), xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    assert stiffness(platform, T, springs, rods) @ given == pytest.approx(wrench, abs=1e-2 * np.abs(wrench).max())
    sliding = StewartPlatform(platform.base_points, platform.platform_points)
    J = sliding.jacobian(T)
    assert stiffness(sliding, T, 2.0) == pytest.approx(2.0 * J.T @ J)


def test_where_horn_and_rod_are_in_line_nothing_is_asked_of_the_motor():
    platform = drawing()
    T, angles = platform.home_pose, platform.home_angles
    level = T.copy()
    low, high = 0.0, 0.05
    for _ in range(80):  # up until legs are stretched out
        level[2, 3] = T[2, 3] + 0.5 * (low + high)
        inside = np.isfinite(platform.reached_angles(level)).all()
        low, high = (0.5 * (low + high), high) if inside else (low, 0.5 * (low + high))
    level[2, 3] = T[2, 3] + low
    assert platform.condition_number(level) > 1e5 > 100.0 > platform.condition_number(T)
    assert np.abs(platform.levers(level)).max() < 1e-6 < platform.levers(T, angles).min()
    level[2, 3] += 0.01
    with pytest.raises(StewartError, match=r"leg 1 does not reach its platform point in this pose: horn 0.02 m"):
        platform.motor_positions(level)
    assert np.isnan(platform.all_angles(level)).all()


def test_files(rng):
    for platform in machines(rng):
        again = RotaryPlatform.from_yaml(platform.to_yaml())
        T = near_home(platform, rng, 5)
        assert again.motor_positions(T) == pytest.approx(platform.motor_positions(T), abs=1e-12)
        assert again.to_yaml() == platform.to_yaml() or again.frames == pytest.approx(platform.frames, abs=1e-15)


FILE = """
unit: mm
angle_unit: deg
semi_regular: {base_radius: 62, platform_radius: 50, base_half_angle: 13.0, platform_half_angle: 11.46}
rotary_legs:
  pattern: coplanar
  horns: 20
  rods: 110
  home_angles: 5
  angle_limits: [-80, 80]
"""


def test_a_file_in_millimetres_and_degrees():
    platform = RotaryPlatform.from_yaml(FILE)
    same = semi_regular_rotary_platform(
        0.062, 0.05, np.radians(13.0), np.radians(11.46), 0.02, 0.11, home_angles=np.radians(5.0)
    )
    assert platform.home_pose == pytest.approx(same.home_pose, abs=1e-15)
    assert platform.angle_limits == pytest.approx(np.tile(np.radians([-80.0, 80.0]), (6, 1)))
    axes = "axes: " + str(same.axes.round(14).tolist())
    listed = RotaryPlatform.from_yaml(FILE.replace("pattern: coplanar", axes))
    assert listed.tips(np.full(6, 0.3)) == pytest.approx(same.tips(np.full(6, 0.3)), abs=1e-14)


@all_of(
    ("old", "new", "message"),
    [
        ("unit: mm", "unit: inch", "unit is 'inch', expected m or mm"),
        ("unit: mm", "unit: m", "joint centres lie up to|no nearly level pose"),
        ("pattern: coplanar", "pattern: square", "expected one of coplanar, tangential, radial"),
        ("pattern: coplanar", "pattern: radial\n  facing: apart", "expected outward or inward for radial"),
        ("pattern: coplanar", "", "has no axes"),
        ("pattern: coplanar", "facing: apart\n  axes: [1, 0, 0]", "facing is there without a pattern"),
        ("pattern: coplanar", "axes: [0, 0, 1]", "zero_directions of leg 1: an axis that is not upright"),
        ("pattern: coplanar", "pattern: coplanar\n  axes: [1, 0, 0]", "both a pattern and directions"),
        ("horns: 20", "horns: 0", "horns: one or six lengths above zero"),
        ("horns: 20", "horns: [20, 20]", "horns: one or six lengths above zero"),
        ("rods: 110", "rods: 20", "no nearly level pose has the home angles"),
        ("rods: 110", "rod: 20", "unknown keys"),
        ("[-80, 80]", "[80, -80]", "angle_limits: smallest and largest angle"),
        ("home_angles: 5", "home_angles: [5]", "home_angles: one or six angles"),
        ("rotary_legs:", "leg_limits: [0, 1]\nrotary_legs:", "leg_limits is there, and motors that turn"),
        ("rotary_legs:", "readings: []\nrotary_legs:", "sensors are described in metres"),
        ("rotary_legs:", "home_pose: {position: [0, 0, 300]}\nrotary_legs:", "home_pose: leg 1 does not reach"),
        (
            "rotary_legs:", "home_pose: {position: [0, 0, 100]}\nrotary_legs:",
            r"home_angles of leg \d is 0.08727 rad, and home_pose needs",
        ),
    ],
)  # fmt: skip
def test_bad_files(old, new, message):
    assert old in FILE
    with pytest.warns() if new == "unit: m" else pytest.raises(StewartError, match=message):
        RotaryPlatform.from_yaml(FILE.replace(old, new))


def test_files_of_other_legs_name_their_reader():
    with pytest.raises(StewartError, match=re.escape("rotary_legs are there, and what is requested has point joints")):
        StewartPlatform.from_yaml(FILE)
    with pytest.raises(StewartError, match="has no rotary_legs"):
        RotaryPlatform.from_yaml(StewartPlatform(*np.random.default_rng(0).normal(size=(2, 6, 3))).to_yaml())
    points = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(StewartError, match="no tangential direction"):
        horn_directions(np.vstack([points[:5], points[:5].mean(axis=0)]), "tangential")


@pytest.mark.parametrize("pattern", ["coplanar", "tangential", "radial"])
def test_the_named_mechanism_is_of_any_drawing(pattern, rng):
    platform = drawing(pattern)
    made = mechanism("6-RUS", geometry=platform)
    named = mechanism(
        "6-RUS", base_points=platform.base_points, platform_points=platform.platform_points, motor_axes=platform.axes,
        crank=np.full(6, 0.02), rod_length=0.11, angle=0.1,
    )  # fmt: skip
    T = near_home(platform, rng, 20)[0]
    angles = made.inverse_kinematics(T)
    assert angles == pytest.approx([min(crossings(platform, T, leg), key=abs) for leg in range(6)], abs=1e-11)
    assert named.inverse_kinematics(T) == pytest.approx(angles, abs=1e-12)
    modes = made.assembly_modes(angles)
    assert modes.complete and min(np.abs(pose - T).max() for pose in made.pose(modes.q)) < 1e-12
