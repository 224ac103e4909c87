"""Stewart platforms that belong to no class with a start system, are of very unequal sides, or nearly move."""

import sys
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.stewart import griffis_duffy_platform
from lie_dynamics_ros.lie_dynamics.stewart.geometry.yaml_files import semi_regular_points

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "stewart"))
from stewart_platforms import FAMILIES, Case, random_rotation


def on_lines(*groups, flat=False):
    """Return points (6, 3) of which each group lies on a line, at random."""

    def side(rng):
        points = rng.normal(size=(6, 3)) * ([1.0, 1.0, 0.0] if flat else 1.0)
        for group in groups:
            along = rng.normal(size=3) * ([1.0, 1.0, 0.0] if flat else 1.0)
            points[group] = points[group[0]] + np.outer(rng.normal(size=len(group)), along)
        return points

    return side


def anywhere(rng):
    return rng.normal(size=(6, 3))


def related(change):
    """Return a function that draws a base and the same, changed, as the platform."""

    def draw(rng):
        base = rng.normal(size=(6, 3))
        return base, change(base)

    return draw


def small(name, ratio):
    def draw(rng):
        base, platform = FAMILIES[name].draw(rng)
        return base, ratio * platform

    return draw


FOUR, FIVE = [0, 1, 2, 3], [0, 1, 2, 3, 4]
#: Finite complex poses and a function that draws base and platform.
SPECIAL = {
    "four collinear on both sides": (16, lambda rng: (on_lines(FOUR)(rng), on_lines(FOUR)(rng))),
    "four collinear on both sides, flat": (
        16,
        lambda rng: (on_lines(FOUR, flat=True)(rng), on_lines(FOUR, flat=True)(rng)),
    ),
    "four collinear on one side": (32, lambda rng: (on_lines(FOUR)(rng), anywhere(rng))),
    "five collinear on one side": (16, lambda rng: (on_lines(FIVE)(rng), anywhere(rng))),
    "twice three collinear on both sides": (
        24,
        lambda rng: (on_lines([0, 1, 2], [3, 4, 5])(rng), on_lines([0, 1, 2], [3, 4, 5])(rng)),
    ),
    "congruent": (24, related(lambda base: base)),
    "mirror images": (24, related(lambda base: -base)),
    "similar": (24, related(lambda base: 0.6 * base)),
}
UNEQUAL = {
    f"{name}, one side {round(1 / ratio)} times smaller": (FAMILIES[name].count, small(name, ratio))
    for name, ratio in (
        ("general", 1e-2),
        ("general", 1e-3),
        ("both flat", 1e-3),
        ("6-3", 1e-3),
        ("mirror-symmetric, flat", 1e-3),
        ("semi-regular", 1e-3),
    )
}
ALL = {**{name: (family.count, family.draw) for name, family in FAMILIES.items()}, **SPECIAL, **UNEQUAL}


def random_pose(rng, reach=1.0):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(rng), reach * rng.normal(size=3)
    return T


def lengths_of(base, platform, T):
    return np.linalg.norm(platform @ T[:3, :3].T + T[:3, 3] - base, axis=1)


def case_of(draw, rng):
    """Return a platform in a random pose, its legs in random order."""
    base, platform = draw(rng)
    order = rng.permutation(6)
    base, platform = base[order], platform[order]
    T = random_pose(rng)
    return Case(base, platform, T, lengths_of(base, platform, T))


def permuted(case, rng):
    order = rng.permutation(6)
    return Case(case.base[order], case.platform[order], case.pose, case.lengths[order])


def swapped(case, rng):
    return Case(case.platform, case.base, np.linalg.inv(case.pose), case.lengths)


def scaled(case, rng):
    factor = 10.0 ** rng.uniform(-3, 3)
    pose = case.pose.copy()
    pose[:3, 3] *= factor
    return Case(factor * case.base, factor * case.platform, pose, factor * case.lengths)


def turned(case, rng):
    """Frames of both sides moved."""
    size = np.abs(case.platform - case.platform.mean(axis=0)).max()
    first, second = random_pose(rng), random_pose(rng, size)
    base = case.base @ first[:3, :3].T + first[:3, 3]
    platform = case.platform @ second[:3, :3].T + second[:3, 3]
    return Case(base, platform, first @ case.pose @ np.linalg.inv(second), case.lengths)


CHANGES = {"permuted": permuted, "swapped": swapped, "scaled": scaled, "turned": turned}


def near_griffis_duffy(distance):
    platform, _ = griffis_duffy_platform()
    return lambda rng: tuple(
        side + distance * rng.normal(size=(6, 3)) for side in (platform.base_points, platform.platform_points)
    )


def similar_hexagons_on_circles(ratio, excess=0.0):
    """Return a function that draws a semi-regular design that is architecturally singular but for an angle [rad]."""

    def draw(rng):
        half = rng.uniform(0.1, 0.9)
        return semi_regular_points(1.0, ratio, half, np.pi / 3 - half + excess)

    return draw
