"""What makes a platform, what is refused, designs and files."""

import dataclasses
import inspect
import warnings

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import stewart
from lie_dynamics_ros.lie_dynamics.stewart import (
    ArchitecturalSingularityError,
    StewartError,
    StewartPlatform,
    StewartWarning,
    architecture_report,
    dietmaier_platform,
    griffis_duffy_platform,
    reference_platform,
    semi_regular_platform,
)

RNG = np.random.default_rng(11)
BASE, TOP = RNG.normal(size=(2, 6, 3))
CIRCLE_ANGLES = np.deg2rad([10, 50, 130, 170, 250, 290])
CIRCLE = np.stack([np.cos(CIRCLE_ANGLES), np.sin(CIRCLE_ANGLES), np.zeros(6)], axis=1)


def edited(points, row, value):
    points = points.copy()
    points[row] = value
    return points


@all_of(
    ("base", "top", "message"),
    [
        (BASE[:5], TOP, "base_points has 5 points, expected 6: with fewer than six legs"),
        (BASE, np.vstack([TOP, TOP[:1]]), "platform_points has 7 points, expected 6"),
        (BASE[:, :2], TOP, r"base_points has shape \(6, 2\), expected \(6, 3\)"),
        (BASE.ravel(), TOP, r"base_points has shape \(18,\)"),
        ("six", TOP, "base_points is not a table of numbers"),
        (BASE, edited(TOP, 2, [0.0, np.nan, 0.0]), "platform_points of leg 3 is .*nan.*, expected finite"),
        (edited(BASE, 5, np.inf), TOP, "base_points of leg 6"),
        (edited(BASE, 4, BASE[1]), edited(TOP, 4, TOP[1]), "legs 2 and 5 coincide"),
    ],
)
def test_impossible_points(base, top, message):
    with pytest.raises(StewartError, match=message):
        StewartPlatform(base, top)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((0.6, 0.4), r"leg_limits of leg 1 are \(0\.6, 0\.4\), expected 0 <= min < max"),
        ((-0.1, 0.4), "leg_limits of leg 1"),
        ([[0.1, 0.2]] * 5 + [[0.1, np.nan]], "leg_limits of leg 6"),
        ([0.1, 0.2, 0.3], r"leg_limits has shape \(3,\)"),
    ],
)
def test_impossible_limits(limits, message):
    with pytest.raises(StewartError, match=message):
        StewartPlatform(BASE, TOP, limits)


@pytest.mark.parametrize("pose", [np.diag([1.0, 1.0, -1.0, 1.0]), 2.0 * np.eye(4), np.full((4, 4), np.nan)])
def test_impossible_home_pose(pose):
    with pytest.raises(StewartError, match="home_pose is no pose"):
        StewartPlatform(BASE, TOP, home_pose=pose)


CONIC = np.stack([np.cos(CIRCLE_ANGLES) * 2.0, np.sin(CIRCLE_ANGLES), np.zeros(6)], axis=1)
LINE = np.linspace(-1.0, 1.0, 6)[:, None] ** 3 * [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("base", "top", "name"),
    [
        (CIRCLE, 0.6 * CIRCLE, "similar"),
        (CONIC + 3.0, 0.6 * CONIC, "similar"),
        (CIRCLE, CIRCLE @ [[0.6, 0.3, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 1.0]], "similar \\(or affine\\)"),
        (BASE, LINE, "the six platform points are collinear"),
        (LINE, TOP, "the six base points are collinear"),
        (edited(BASE, slice(1, 5), BASE[1]), TOP, "legs 2, 3, 4, 5 share one base point"),
        (griffis_duffy_platform()[0].base_points, griffis_duffy_platform()[0].platform_points, "Griffis-Duffy"),
    ],
)
def test_architecturally_singular_designs_are_named_and_can_be_had_on_request(base, top, name):
    with pytest.raises(ArchitecturalSingularityError, match=name) as caught:
        StewartPlatform(base, top)
    assert "rank" in str(caught.value) and "allow_singular=True" in str(caught.value)
    platform = StewartPlatform(base, top, allow_singular=True)
    assert platform.architecture.singular and platform.architecture.rank <= 5
    # An independent look: the determinant vanishes at poses that the report did not use.
    rng = np.random.default_rng(77)
    for _ in range(5):
        pose = np.eye(4)
        pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        pose[:3, :3] *= np.linalg.det(pose[:3, :3])
        pose[:3, 3] = rng.normal(size=3)
        values = np.linalg.svd(platform.jacobian(pose), compute_uv=False)
        assert values[-1] < 1e-12 * values[0]


@pytest.mark.parametrize("seed", range(20))
def test_sound_special_designs_pass(seed):
    """Similar hexagons off any conic, mirror symmetry, shared joints: special, but they hold the platform."""
    rng = np.random.default_rng(seed)
    base, top = rng.normal(size=(2, 6, 3))
    flat = np.hstack([rng.normal(size=(6, 2)), np.zeros((6, 1))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StewartWarning)
        assert not StewartPlatform(flat, 0.6 * flat).architecture.singular
    top_double, base_double = top[[0, 0, 1, 1, 2, 2]], base[[5, 0, 0, 1, 1, 2]]
    for a, b in (
        (base, top_double),
        (base_double, top),
        (base[[0, 1, 1, 2, 2, 0]], top_double),
        (base, top[[0, 0, 0, 1, 2, 3]]),
    ):
        assert not StewartPlatform(a, b).architecture.singular


def test_rounded_singular_design_is_refused_or_warned_about():
    base = 0.5 * CIRCLE
    with pytest.raises(ArchitecturalSingularityError, match="similar"):
        StewartPlatform(base, np.round(0.6 * base, 7))
    with pytest.warns(StewartWarning, match=r"nearly architecturally singular.*similar"):
        platform = StewartPlatform(base, np.round(0.6 * base, 3))
    assert platform.architecture.nearly_singular and not platform.architecture.singular


def test_millimetres_are_suspected():
    with pytest.warns(StewartWarning, match="coordinates are expected in metres"):
        StewartPlatform(1000.0 * reference_platform().base_points, 1000.0 * reference_platform().platform_points)


def test_a_platform_is_immutable_and_copies_its_input():
    base = BASE.copy()
    platform = StewartPlatform(base, TOP, (0.1, 2.0), home_pose=np.eye(4))
    base[0] = 9.0
    np.testing.assert_array_equal(platform.base_points, BASE)
    for array in (platform.base_points, platform.platform_points, platform.leg_limits, platform.home_pose):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        platform.base_points = BASE
    assert platform.leg_limits.shape == (6, 2)
    np.testing.assert_array_equal(StewartPlatform(BASE, TOP).leg_limits, [[0.0, np.inf]] * 6)


def test_reference_platform_is_the_semi_regular_one_to_the_digits_of_table_1():
    reference, design = (
        reference_platform(),
        semi_regular_platform(0.3, 0.2, np.deg2rad(15), np.deg2rad(15), height=0.5),
    )
    np.testing.assert_allclose(design.base_points, reference.base_points, atol=5e-7)
    np.testing.assert_allclose(design.platform_points, reference.platform_points, atol=5e-7)
    np.testing.assert_array_equal(design.home_pose, reference.home_pose)


def test_semi_regular_legs_are_equal_at_home_and_three_fold_symmetric():
    platform = semi_regular_platform(1.2, 0.8, 0.15, 0.1, height=0.9)
    lengths = platform.leg_lengths(platform.home_pose)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-14)
    turn = np.eye(4)
    turn[:2, :2] = [[-0.5, -np.sqrt(0.75)], [np.sqrt(0.75), -0.5]]
    pose = np.eye(4)
    pose[:3, :3] = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    pose[:3, 3] = [0.1, 0.2, 1.0]
    turned = platform.leg_lengths(turn @ pose @ turn.T)
    np.testing.assert_allclose(turned, np.roll(platform.leg_lengths(pose), 2), rtol=1e-12)


def test_semi_regular_platform_refuses_bad_numbers():
    with pytest.raises(StewartError, match="base_radius is -1"):
        semi_regular_platform(-1.0, 1.0, 0.1, 0.2)
    with pytest.raises(StewartError, match="platform_half_angle is 2"):
        semi_regular_platform(1.0, 1.0, 0.1, 2.0)
    with pytest.raises(ArchitecturalSingularityError, match="similar"):
        semi_regular_platform(1.0, 0.7, 0.3, np.pi / 3 - 0.3)


def test_known_platforms():
    platform, lengths = dietmaier_platform()
    assert platform.architecture.rank == 6 and lengths.shape == (6,)
    platform, lengths = griffis_duffy_platform()
    assert platform.architecture.singular and platform.allow_singular and lengths.shape == (6,)


def test_report_says_what_was_tested():
    report = architecture_report(CIRCLE, 0.6 * CIRCLE)
    assert str(report).startswith("leg Jacobian has rank 5 at 48 random poses")
    assert architecture_report(CIRCLE, 0.6 * CIRCLE, samples=7).samples == 7


def test_yaml_round_trip_is_exact(tmp_path):
    home = np.eye(4)
    home[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    home[:3, 3] = RNG.normal(size=3)
    lengths = StewartPlatform(BASE, TOP).leg_lengths(home)[:, None]
    limits = lengths * [0.8, 1.1] * RNG.uniform(0.9, 1.1, (6, 2))
    limits[2, 1] = np.inf
    platform = StewartPlatform(BASE, TOP, limits, home_pose=home)
    path = tmp_path / "platform.yaml"
    path.write_text(platform.to_yaml(), encoding="utf-8")
    for source in (platform.to_yaml(), path, str(path)):
        again = StewartPlatform.from_yaml(source)
        for name in ("base_points", "platform_points", "leg_limits", "home_pose"):
            np.testing.assert_array_equal(getattr(again, name), getattr(platform, name))
    singular = griffis_duffy_platform()[0]
    assert StewartPlatform.from_yaml(singular.to_yaml()).allow_singular
    assert StewartPlatform.from_yaml(StewartPlatform(BASE, TOP).to_yaml()).home_pose is None


def test_yaml_of_a_design_with_home_quaternion():
    text = """
    semi_regular: {base_radius: 1.0, platform_radius: 0.7, base_half_angle: 0.2, platform_half_angle: 0.15}
    leg_limits: [0.5, 2.5]
    home_pose: {position: [0, 0, 1], quaternion: [0, 0, 0.7071067811865476, 0.7071067811865476]}
    """
    platform = StewartPlatform.from_yaml(text)
    np.testing.assert_allclose(platform.home_pose[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert platform.leg_limits[3].tolist() == [0.5, 2.5]


@all_of(
    ("text", "message"),
    [
        ("base_points: [[0, 0, 0]]\n", "has no platform_points|base_points has 1 points"),
        ("base_point: [[0, 0, 0]]\n", "unknown keys 'base_point'; known are base_points"),
        ("- 1\n- 2\n", "holds a list"),
        ("base_points: [1, 2\n", "is not valid YAML"),
        ("semi_regular: {base_radius: 1.0}\n", "has no platform_radius, base_half_angle, platform_half_angle"),
        ("semi_regular: 3\nleg_limits: [0, 1]\n", "expected the keys base_radius"),
        ("no/such/file.yaml", "cannot be read"),
        (reference_platform().to_yaml() + "semi_regular: {}\n", "both semi_regular and joint points"),
        (StewartPlatform(BASE, TOP).to_yaml() + "home_pose: {position: [0, 1]}\n", "home_pose in"),
        (StewartPlatform(BASE, TOP).to_yaml() + "home_pose: [0, 1]\n", "expected the keys position"),
        (
            StewartPlatform(BASE, TOP).to_yaml() + "home_pose: {position: [0, 0, 1], quaternion: [0, 0, 0, 0]}\n",
            "its quaternion has no direction",
        ),
    ],
)
def test_bad_yaml(text, message):
    with pytest.raises(StewartError, match=message):
        StewartPlatform.from_yaml(text)


LEVEL = reference_platform().home_pose
UNLIMITED = StewartPlatform(reference_platform().base_points, reference_platform().platform_points, home_pose=LEVEL)
LIMITED = reference_platform(leg_limits=(0.3, 0.9))


def offset_of(platform):
    return stewart.OffsetPlatform.square_at(platform, LEVEL, 0.03, 0.03)


def updated(platform, lengths, many=False):
    """What a tracker says of lengths, raised where it takes none."""
    tracker = stewart.StewartTracker(platform, LEVEL)
    if not many:
        return tracker.update(lengths).require()
    path = tracker.update_many(lengths[None])
    return path[0].require()


TAKERS = {
    "solve_forward_kinematics": lambda p, x: stewart.solve_forward_kinematics(p, x, LEVEL),
    "assembly_modes": stewart.assembly_modes,
    "solve_from_home": stewart.solve_from_home,
    "update": updated,
    "update_many": lambda p, x: updated(p, x, many=True),
    "level_home": stewart.level_home,
    "calibrate": lambda p, x: stewart.calibrate(p, np.array([LEVEL] * 3), np.array([x] * 3)),
    "poses_near": lambda p, x: stewart.poses_near(offset_of(p), x, LEVEL),
}


@all_of("platform", [UNLIMITED, LIMITED])
@all_of("taker", TAKERS)
def test_lengths_in_millimetres_are_refused_by_all_that_take_lengths(taker, platform):
    lengths = (offset_of(platform) if taker == "poses_near" else platform).leg_lengths(LEVEL)
    TAKERS[taker](platform, lengths)
    with pytest.raises(StewartError, match=r"leg [1-6].*(limits|millimetres)"):
        TAKERS[taker](platform, 1e3 * lengths)
    one = lengths.copy()
    one[3] *= 1e3
    with pytest.raises(StewartError, match="leg 4"):
        TAKERS[taker](platform, one)


#: Takers of lengths that only compare them, and say themselves how far beyond they are; and those of a driver.
COMPARING = {"check_leg_limits", "leg_margins", "motor_margins", "apply"}


def test_the_list_of_all_that_take_lengths_is_complete():
    """A function or method that is new has to be in the list."""
    found = set()
    for name in dir(stewart):
        thing = getattr(stewart, name)
        inner = inspect.getmembers(thing, callable) if inspect.isclass(thing) else [(name, thing)]
        for key, function in inner:
            own = inspect.isfunction(function) and not key.startswith("_")
            if own and "lengths" in inspect.signature(function).parameters:
                found.add(key)
    assert found == set(TAKERS) - {"calibrate"} | COMPARING


@pytest.mark.parametrize("platform", [UNLIMITED, LIMITED], ids=["unlimited", "limited"])
def test_poses_in_millimetres_are_refused_by_estimators(platform):
    far = LEVEL.copy()
    far[:3, 3] *= 1e3
    tracker, fusion = stewart.StewartTracker(platform, LEVEL), stewart.StewartFusion(platform, LEVEL)
    for take in (lambda x: stewart.StewartTracker(platform, x), lambda x: stewart.StewartFusion(platform, x),
                 tracker.reset, fusion.reset):  # fmt: skip
        take(LEVEL)
        with pytest.raises(StewartError, match=r"pose: leg . has length .*millimetres"):
            take(far)


def file_of(kind, home, limits):
    """A platform's file, home and limits as they are given."""
    text = "".join(f"{key}: {getattr(UNLIMITED, key).tolist()}\n" for key in ("base_points", "platform_points"))
    if kind is stewart.OffsetPlatform:
        text += offset_of(UNLIMITED).to_yaml()[offset_of(UNLIMITED).to_yaml().index("universal_joints") :]
    return text + f"home_pose: {home}\n" + (f"leg_limits: {limits}\n" if limits else "")


@pytest.mark.parametrize("kind", [StewartPlatform, stewart.OffsetPlatform])
@pytest.mark.parametrize(("home", "limits", "words"), [
    ("{position: [0, 0, 500.0]}", "[0.3, 0.9]", "leg 1 has length (500|499).* 0.3 to 0.9 m.*millimetres"),
    ("{position: [0, 0, 500.0]}", None, "leg 1 has length (500|499).*millimetres"),
    ("{position: [0, 0, 0.5]}", "[300, 900]", "leg 1 has length .* 300 to 900 m|leg 1 .*expected 300 to .*"),
    ("{position: [0, 0, 0.5]}", "[0.1, 0.3]", "leg 1 has length .* 0.1 to 0.3 m.*contradict"),
    ("{position: [0, 0, 0.5], quaternion: [1, 0, 0, 0]}", None, "x, y, z, w expected"),
    ("{position: [0, 0, 0.5], quaternion: [0.99, 0.02, 0, 0.1]}", None, "x, y, z, w expected"),
])  # fmt: skip
def test_files_at_odds_with_themselves_are_refused(kind, home, limits, words):
    kind.from_yaml(file_of(kind, "{position: [0, 0, 0.5], quaternion: [0, 0, 0.1, 0.99]}", "[0.3, 0.9]"))
    with pytest.raises(StewartError, match=words):
        kind.from_yaml(file_of(kind, home, limits))


def test_a_platform_that_hangs_and_one_at_its_limit_are_read():
    """Upside down, with joint centres that suit, no legs cross."""
    turned = UNLIMITED.platform_points * [1.0, -1.0, -1.0]
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[2, 3] = -0.5
    hanging = StewartPlatform(UNLIMITED.base_points, turned, home_pose=pose)
    assert np.array_equal(StewartPlatform.from_yaml(hanging.to_yaml()).home_pose, pose)
    lengths = UNLIMITED.leg_lengths(LEVEL)
    parked = reference_platform(leg_limits=np.column_stack([lengths + 1e-6, lengths + 0.3]))
    assert StewartPlatform.from_yaml(parked.to_yaml()).home_pose is not None
