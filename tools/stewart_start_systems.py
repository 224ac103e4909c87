"""Find the start systems of `assembly_modes`: for each class of platforms a random complex member with all its poses.

Monodromy: one pose of a random complex platform is made by choosing the pose first and the lengths after it. Carried
around random loops in the class, it turns into other poses, until no loop brings a new one. A trace of 40 general
poses carried to each member, those that stay finite, must find the same number. Of several members, the one from which
random real platforms are solved in the fewest steps is kept. Takes some minutes:

    python tools/stewart_start_systems.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import pairwise, permutations
from pathlib import Path
from string import ascii_lowercase

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from lie_dynamics_ros.lie_dynamics.stewart.assembly import paths as assembly_classes
from lie_dynamics_ros.lie_dynamics.stewart.kernels.paths import ARRIVED, CONDITION, N_STEPS, track_all

Sample = Callable[[np.random.Generator, bool], tuple[np.ndarray, np.ndarray]]
_SAME = 1e-6
_FINITE = 1e-6
_REGULAR = 1e9
_QUIET_LOOPS = 12


def normal(rng: np.random.Generator, shape: tuple[int, ...], real: bool) -> np.ndarray:
    """Return random numbers of unit variance, complex unless ``real``."""
    return rng.normal(size=shape) + (0j if real else 1j * rng.normal(size=shape))


def sharing_sample(base: tuple[int, ...], platform: tuple[int, ...], flat: bool) -> Sample:
    """Return a function that draws members of the class in which legs with equal labels share a joint."""

    def sample(rng: np.random.Generator, real: bool) -> tuple[np.ndarray, np.ndarray]:
        sides = []
        for labels in (base, platform):
            points = normal(rng, (max(labels) + 1, 3), real)
            if flat:
                points[:, 2] = 0.0
            sides.append(points[list(labels)])
        return sides[0], sides[1]

    return sample


def symmetric_sample(symmetry: str) -> Sample:
    """Return a function that draws flat members with a common symmetry, legs in the order of `assembly_classes`."""

    def affine_pair(rng: np.random.Generator, real: bool) -> tuple[np.ndarray, np.ndarray]:
        base, image = normal(rng, (6, 3), real), np.zeros((3, 3), dtype=np.complex128)
        base[:, 2] = 0.0
        image[:2, :2] = normal(rng, (2, 2), real)
        return base, base @ image

    if symmetry == "affine":
        return affine_pair

    def side(rng: np.random.Generator, real: bool) -> np.ndarray:
        z = normal(rng, (3, 3), real) * [1.0, 1.0, 0.0]
        if symmetry == "point":
            return np.concatenate([z, -z])
        mirror = np.array([1.0, -1.0, 1.0])
        if symmetry == "mirror":
            return np.concatenate([z, z[::-1] * mirror])
        c, s = -0.5, np.sqrt(0.75)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        first, last = z[0], z[0] * mirror
        return np.array([first, turn @ last, turn @ first, turn @ turn @ last, turn @ turn @ first, last])

    return lambda rng, real: (side(rng, real), side(rng, real))


def pack(base: np.ndarray, platform: np.ndarray, k: np.ndarray, quarter: complex) -> np.ndarray:
    """Return a platform (7, 6) as the kernels take it, leg 1 moved to the origin and ``quarter`` its L^2 / 4."""
    packed = np.zeros((7, 6), dtype=np.complex128)
    packed[:5, :3] = base[1:] - base[0]
    packed[:5, 3:] = platform[1:] - platform[0]
    packed[5, :5] = k
    packed[6, 0] = quarter
    return packed


def with_pose(base: np.ndarray, platform: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the platform whose lengths are those of the pose x = (r, v)."""
    r, v = x[:3], x[3:]
    a, b = base[1:] - base[0], platform[1:] - platform[0]
    rho = r @ r
    turned = ((1.0 - rho) * b + 2.0 * np.outer(b @ r, r) + 2.0 * np.cross(r, b)) / (1.0 + rho)
    p = 2.0 * (v + np.cross(r, v)) / (1.0 + rho)
    return pack(base, platform, (a * turned).sum(axis=1) - (turned - a) @ p, p @ p / 4.0)


def carry(start, end, charts, points, tolerance=1e-6, acceptance=1e-5, affine=False):
    """Track points from one platform to another and return charts, points and the rows that arrived."""
    if affine:
        between = start.copy()
        between[:5, 3:5] = start[:5, :2] @ np.linalg.lstsq(end[:5, :2], end[:5, 3:5], rcond=None)[0]
        charts, points, _, _ = carry(start, between, charts, points, tolerance, acceptance)
        start = between
    charts, points = charts.copy(), np.array(points, dtype=np.complex128, order="C")
    codes, reports = np.zeros(len(points), dtype=np.int64), np.zeros((len(points), 4))
    track_all(start, end, charts, points, np.array([tolerance, acceptance, 0.0, 5000.0]), codes, reports)
    return charts, points, codes == ARRIVED, reports


def study_points(charts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return normalised Study coordinates (n, 8) with e.g = 0, the same for the same pose."""
    units = np.array(
        [
            np.eye(4),
            [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]],
            [[0, 0, -1, 0], [0, 0, 0, -1], [1, 0, 0, 0], [0, 1, 0, 0]],
            [[0, 0, 0, -1], [0, 0, 1, 0], [0, -1, 0, 0], [1, 0, 0, 0]],
        ]
    )[charts]
    one, zero = np.ones((len(points), 1)), np.zeros((len(points), 1))
    e = (units @ np.hstack([one, points[:, :3]])[..., None])[..., 0]
    g = (units @ np.hstack([zero, points[:, 3:]])[..., None])[..., 0]
    g = g - ((e * g).sum(axis=1) / (e * e).sum(axis=1))[:, None] * e
    largest = np.take_along_axis(e, np.abs(e).argmax(axis=1)[:, None], axis=1)
    return np.hstack([e, g]) / largest


def distinct(charts: np.ndarray, points: np.ndarray) -> list[int]:
    """Return the rows of distinct poses."""
    study = study_points(charts, points)
    kept: list[int] = []
    for i, z in enumerate(study):
        if all(np.abs(z - study[j]).max() > _SAME * max(1.0, np.abs(z).max()) for j in kept):
            kept.append(i)
    return kept


def monodromy(sample: Sample, rng: np.random.Generator, affine: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a random complex member of a class and all its poses (charts, points)."""

    def member() -> np.ndarray:
        return pack(*sample(rng, False), normal(rng, (5,), False), complex(normal(rng, (1,), False)[0]))

    base, platform = sample(rng, False)
    x = 0.7 * normal(rng, (6,), False)
    home = with_pose(base, platform, x)
    charts, points = np.zeros(1, dtype=np.int64), x[None]
    quiet = 0
    while quiet < _QUIET_LOOPS:
        c, y = charts, points
        for start, end in pairwise([home, member(), member(), home]):
            c, y, arrived, reports = carry(start, end, c, y, affine=affine)
            kept = arrived & (reports[:, CONDITION] < _REGULAR) & is_finite(y)
            c, y = c[kept], y[kept]
        all_c, all_y = np.concatenate([charts, c]), np.concatenate([points, y])
        rows = distinct(all_c, all_y)
        quiet = quiet + 1 if len(rows) == len(points) else 0
        charts, points = all_c[rows], all_y[rows]
    return home, charts, points


def is_finite(points: np.ndarray) -> np.ndarray:
    """Return which points (r, v) are finite poses."""
    r = points[:, :3]
    return np.abs(1.0 + (r**2).sum(axis=1)) > _FINITE * (1.0 + (np.abs(r) ** 2).sum(axis=1))


def in_chart_zero(charts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points (r, v) of chart 0."""
    study = study_points(charts, points)
    e, g = study[:, :4] / study[:, :1], study[:, 4:] / study[:, :1]
    return np.hstack([e[:, 1:], g[:, 1:] - g[:, :1] * e[:, 1:]])


def mirrored(points: np.ndarray) -> np.ndarray:
    """Return the mirror images in the plane z = 0 of points of chart 0."""
    return points * [-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]


def halve(points: np.ndarray) -> np.ndarray:
    """Return one point of each pair of mirror images."""
    kept: list[int] = []
    for i, x in enumerate(points):
        if all(np.abs(mirrored(x) - points[j]).max() > _SAME * max(1.0, np.abs(x).max()) for j in kept):
            kept.append(i)
    assert 2 * len(kept) == len(points)
    return points[kept]


def finite_count(general: tuple[np.ndarray, np.ndarray], sample: Sample, rng: np.random.Generator) -> int:
    """Return how many of the 40 general poses stay finite and regular on the way to a random member."""
    start, points = general
    end = pack(*sample(rng, False), normal(rng, (5,), False), complex(normal(rng, (1,), False)[0]))
    c, y, arrived, reports = carry(start, end, np.zeros(len(points), dtype=np.int64), points)
    kept = arrived & (reports[:, CONDITION] < _REGULAR) & is_finite(y)
    return len(distinct(c[kept], y[kept]))


def effort(home: np.ndarray, points: np.ndarray, sample: Sample, rng: np.random.Generator, affine: bool) -> float:
    """Return the mean number of steps of a path to random real platforms of the class."""
    steps = []
    for _ in range(12):
        base, platform = sample(rng, True)
        pose = rng.normal(size=6)
        end = with_pose(base.real, platform.real, pose)
        _, _, _, reports = carry(home, end, np.zeros(len(points), dtype=np.int64), points, 1e-4, 1e-3, affine)
        steps.append(reports[:, N_STEPS].mean())
    return float(np.mean(steps))


def sharing_patterns() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the 35 ways in which six different legs can share joints, at most three a joint, at least three joints."""
    patterns: dict[tuple, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    orders = np.array(list(permutations(range(6))))
    upper = np.triu_indices(6, 1)

    def strings(prefix: tuple[int, ...]) -> list[tuple[int, ...]]:
        if len(prefix) == 6:
            return [prefix]
        last = max(prefix, default=-1)
        return [s for k in range(last + 2) for s in strings((*prefix, k))]

    usable = [s for s in strings(()) if max(s) >= 2 and np.bincount(s).max() <= 3]
    sorted_ones = [s for s in usable if s == tuple(sorted(s)) and (np.diff(np.bincount(s)) <= 0).all()]
    for base in sorted_ones:
        for platform in usable:
            if len(set(zip(base, platform, strict=True))) < 6:
                continue
            codes = []
            for labels in (base, platform):
                same = np.equal.outer(labels, labels)
                relabelled = same[orders[:, :, None], orders[:, None, :]][:, upper[0], upper[1]]
                codes.append(relabelled @ (1 << np.arange(15)))
            key = min(*zip(*codes, strict=True), *zip(*codes[::-1], strict=True))
            patterns.setdefault(key, (base, platform))
    return list(patterns.values())


def class_list(general: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> list[tuple]:
    """Return name, labels, flatness, symmetry and sampling function of every class with fewer than 40 poses."""
    distinct_labels = tuple(range(6))
    classes = []
    taken: dict[str, int] = {}
    for base, platform in sharing_patterns():
        count = finite_count(general, sharing_sample(base, platform, False), rng)
        if count in (0, 40):  # architecturally singular, or no special class
            continue
        sides = sorted((np.bincount(labels) for labels in (base, platform)), key=len, reverse=True)
        numbers = [len(side) for side in sides]
        shared = ["+".join(str(n) for n in sorted(side, reverse=True) if n > 1) for side in sides]
        name = f"{numbers[0]}-{numbers[1]} ({' / '.join(s for s in shared if s)})"
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            name += f" {ascii_lowercase[taken[name] - 1]}"
        for flat in (False, True):
            if flat or numbers != [3, 3]:
                label = f"{name}, flat" if flat else name
                classes.append((label, base, platform, flat, "", sharing_sample(base, platform, flat)))
    names = {
        "mirror": "mirror-symmetric, flat",
        "point": "point-symmetric, flat",
        "three-fold": "semi-regular, flat",
        "affine": "affinely related, flat",
    }
    for symmetry, name in names.items():
        sample = symmetric_sample(symmetry)
        classes.append((name, distinct_labels, distinct_labels, True, symmetry, sample))
    return classes


def best_member(sample: Sample, candidates: int, flat: bool, symmetry: str, rng: np.random.Generator):
    """Return count, member and start points (halved when flat) of the candidate with the least effort."""
    best = None
    counts = []
    for _ in range(candidates):
        home, charts, found = monodromy(sample, rng, symmetry == "affine")
        counts.append(len(found))
        points = in_chart_zero(charts, found)
        points = halve(points) if flat else points
        cost = effort(home, points, sample, np.random.default_rng(1), symmetry == "affine")
        if best is None or cost < best[0]:
            best = (cost, home, points)
    assert len(set(counts)) == 1, counts
    return counts[0], *best


def main() -> None:
    """Find all start systems and write the file of the library."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=12, help="members to choose from in each class")
    parser.add_argument("--output", type=Path, default=assembly_classes._DATA)
    arguments = parser.parse_args()
    rng = np.random.default_rng(20)
    six = tuple(range(6))
    anything = sharing_sample(six, six, False)
    count, _, home, points = best_member(anything, 2, False, "", rng)
    assert count == 40
    general = (home, points)
    classes = [
        ("general", six, six, False, "", anything),
        ("general, flat", six, six, True, "", sharing_sample(six, six, True)),
        *class_list(general, rng),
    ]
    rows = []
    for name, base, platform, flat, symmetry, sample in classes:
        count, cost, home, points = best_member(sample, arguments.candidates, flat, symmetry, rng)
        trace = {finite_count(general, sample, rng) for _ in range(3)}
        assert trace == {count}, (name, count, trace)
        print(f"{name:28s} {count:3d} poses, {cost:5.1f} steps a path", flush=True)
        rows.append((name, base, platform, flat, symmetry, count, home, points))
    np.savez_compressed(
        arguments.output,
        names=np.array([r[0] for r in rows]),
        labels=np.array([r[1:3] for r in rows], dtype=np.int8),
        flats=np.array([r[3] for r in rows]),
        symmetries=np.array([r[4] for r in rows]),
        counts=np.array([r[5] for r in rows]),
        platforms=np.array([r[6] for r in rows]),
        points=np.concatenate([r[7] for r in rows]),
        ends=np.cumsum([len(r[7]) for r in rows]),
    )


if __name__ == "__main__":
    main()
