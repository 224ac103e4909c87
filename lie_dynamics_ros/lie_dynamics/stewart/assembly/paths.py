"""All complex poses of a Stewart platform by tracking paths from the start system of its class; doubtful ends are open.

A class is a linear space of platforms: joints shared by legs, flat base and platform, a common symmetry. Each has a
start system, a random complex member with all its poses, so that paths to any member of the class lead to finite poses
and none is wasted. Flat classes are mirror images of themselves in their plane, so half of the poses do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np

from ...arrays import Array, Complex, Integers, Mask
from ...lie import so3
from ..kernels.paths import ARRIVED, CONDITION, track_all


@dataclass(frozen=True)
class Symmetry:
    """A relabelling of legs that is a motion of both sides into themselves.

    Attributes
    ----------
    order : leg i moves to where leg ``order[i]`` is.
    mirrored : for base and platform, whether the motion is a reflection.
    angles : for base and platform, the angle of the rotation, or twice that of the mirror line, in (-pi, pi] [rad].
    """

    order: tuple[int, ...]
    mirrored: tuple[bool, bool]
    angles: tuple[float, float]

    @property
    def is_swap(self) -> bool:
        """Whether it exchanges legs in three pairs."""
        return all(self.order[j] == i != j for i, j in enumerate(self.order))

    @property
    def is_third_turn(self) -> bool:
        """Whether it turns both sides by a third of a turn, either way."""
        cycles = all(self.order[self.order[j]] == i != j for i, j in enumerate(self.order))
        return cycles and not any(self.mirrored) and all(np.cos(angle) < 0.0 for angle in self.angles)


@lru_cache(maxsize=1)
def leg_orders() -> Integers:
    """Return all orders of six legs, (720, 6)."""
    return np.array(list(permutations(range(6))), dtype=np.int64)


def common_symmetries(sides: list[Array], tolerances: list[float]) -> list[Symmetry]:
    """Return the symmetries that two sets of points (6, 2), centred, have in common, the identity among them.

    Points of each set may be off by its tolerance.
    """
    orders = leg_orders()
    for points, tolerance in zip(sides, tolerances, strict=True):
        gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
        for j in range(1, 6):  # column by column, as most orders fall out early
            moved = gaps[orders[:, :j], orders[:, j : j + 1]]
            orders = orders[(np.abs(moved - gaps[:j, j]) <= 4.0 * tolerance).all(axis=1)]
    found = []
    for order in orders:
        base, platform = (_motion(points.T @ points[order]) for points in sides)
        found.append(Symmetry(tuple(order.tolist()), (base[0], platform[0]), (base[1], platform[1])))
    return found


def _motion(moment: Array) -> tuple[bool, float]:
    """Return the plane motion that best moves points p to q, from the sum of p q^T: mirrored or not, its angle."""
    (xx, xy), (yx, yy) = moment.tolist()
    if np.hypot(xx + yy, xy - yx) >= np.hypot(xx - yy, xy + yx):
        return False, float(np.arctan2(xy - yx, xx + yy))
    return True, float(np.arctan2(xy + yx, xx - yy))


#: Joint coordinates are taken to be as meant by a class when they are off by at most this share of the size: usually,
#: and where so little can matter.
TOLERANCE, EXACT = 1e-5, 1e-12

_DATA = Path(__file__).with_name("start_systems.npz")


@dataclass(frozen=True, eq=False)
class StartSystem:
    """A class of platforms and a complex member of it with all its poses.

    Attributes
    ----------
    name : what the class is called in results.
    count : finite complex poses of its generic members.
    flat : whether base and platform are flat; ``points`` then holds one pose of each pair of mirror images.
    symmetry : what base and platform have in common beside being flat: "mirror", "point" or "three-fold" symmetry,
        "affine" when the platform is an affine image of the base, as similar hexagons are; "" when nothing.
    base_labels, platform_labels : which legs share a joint, (6,), numbered by first appearance.
    platform : the member, (7, 6), as `kernels.equations.fill_table` takes it.
    points : its poses (r, v) in chart 0, (count or count / 2, 6).
    """

    name: str
    count: int
    flat: bool
    symmetry: str
    base_labels: tuple[int, ...]
    platform_labels: tuple[int, ...]
    platform: Complex
    points: Complex

    @cached_property
    def sharing(self) -> tuple[int, int]:
        """Number of ordered pairs of legs that share a joint on base and platform, in ascending order."""
        return _sharing(*(np.equal.outer(labels, labels) for labels in (self.base_labels, self.platform_labels)))


@dataclass(frozen=True, eq=False)
class Placement:
    """Match of a platform and a class: leg ``order[j]`` is leg j of the class, each side turned by a rotation (3, 3).

    With ``swapped``, base and platform have changed places, which inverts the pose.
    """

    start: StartSystem
    order: Integers
    swapped: bool
    base_rotation: Array
    platform_rotation: Array

    @cached_property
    def quaternions(self) -> Array:
        """Quaternions (x, y, z, w) of both rotations, (8,)."""
        return np.concatenate([so3.to_quaternion(self.base_rotation), so3.to_quaternion(self.platform_rotation)])


@lru_cache(maxsize=1)
def start_systems() -> tuple[StartSystem, ...]:
    """Return the start systems that come with the library, as made by ``tools/stewart_start_systems.py``."""
    with np.load(_DATA) as data:
        names, symmetries = data["names"].tolist(), data["symmetries"].tolist()
        labels, flats = data["labels"].tolist(), data["flats"].tolist()
        counts, platforms = data["counts"].tolist(), data["platforms"]
        points = np.split(data["points"], data["ends"][:-1])
    return tuple(
        StartSystem(n, c, f, s, tuple(pair[0]), tuple(pair[1]), p, x)
        for n, c, f, s, pair, p, x in zip(names, counts, flats, symmetries, labels, platforms, points, strict=True)
    )


def placement_of(base: Array, platform: Array, tolerance: float = TOLERANCE) -> Placement:
    """Return the class with the fewest poses to which a platform belongs, and how it fits."""
    return _placement(np.stack([base, platform]).tobytes(), tolerance)


@lru_cache(maxsize=256)
def _placement(points: bytes, tolerance: float) -> Placement:
    base, platform = np.frombuffer(points).reshape(2, 6, 3)
    sides = (base - base.mean(axis=0), platform - platform.mean(axis=0))
    tolerances = [tolerance * float(np.sqrt((s * s).sum(axis=1).max())) for s in sides]
    planes = [plane(points) for points in sides]
    flat = all(np.abs(s @ p[2]).max() <= t for s, p, t in zip(sides, planes, tolerances, strict=True))
    shared = [shares(s, t) for s, t in zip(sides, tolerances, strict=True)]
    sharing = _sharing(*shared)
    symmetries = common_symmetries(_flattened(sides, planes), tolerances) if flat else []
    for system in sorted(start_systems(), key=lambda s: (s.count, not s.flat)):
        if system.flat and not flat:
            continue
        best = None
        if system.symmetry == "affine":
            best = _place_affine(system, sides, planes, tolerances[1])
        elif system.symmetry:
            best = _place_symmetric(system, planes, symmetries)
        elif system.sharing == (6, 6) or system.sharing == sharing:
            turns = planes if system.flat else [np.eye(3), np.eye(3)]
            if system.sharing == (6, 6):
                best = Placement(system, np.arange(6), False, turns[0], turns[1])
            else:
                best = _place_shared(system, shared, turns)
        if best is not None:
            return best
    raise AssertionError("the general class takes every platform")


def plane(points: Array) -> Array:
    """Return the rotation (3, 3) that turns the best plane of centred points to z = 0."""
    rotation: Array = np.linalg.svd(points)[2]
    if np.linalg.det(rotation) < 0.0:
        rotation[2] *= -1.0
    return rotation


def _flattened(sides: tuple[Array, Array], planes: list[Array]) -> list[Array]:
    """Return the coordinates (6, 2) of both sides in their planes."""
    return [points @ rotation[:2].T for points, rotation in zip(sides, planes, strict=True)]


def shares(points: Array, tolerance: float) -> Mask:
    """Return which legs share a joint, (6, 6)."""
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return np.asarray(gaps <= tolerance)


def _sharing(base: Mask, platform: Mask) -> tuple[int, int]:
    first, second = sorted((int(base.sum()), int(platform.sum())))
    return first, second


def _place_shared(system: StartSystem, shared: list[Mask], turns: list[Array]) -> Placement | None:
    """Fit legs by the joints that they share."""
    wanted = [np.equal.outer(labels, labels) for labels in (system.base_labels, system.platform_labels)]
    for swapped in (False, True):
        found = shared[::-1] if swapped else shared
        orders = leg_orders()
        fits = np.ones(len(orders), dtype=bool)
        for f, w in zip(found, wanted, strict=True):
            fits &= (f[orders[:, :, None], orders[:, None, :]] == w).all(axis=(1, 2))
        if fits.any():
            first, second = turns[::-1] if swapped else turns
            return Placement(system, orders[np.argmax(fits)], swapped, first, second)
    return None


def _place_symmetric(system: StartSystem, planes: list[Array], symmetries: list[Symmetry]) -> Placement | None:
    """Fit legs by the symmetries that base and platform have in common."""
    swaps = [s for s in symmetries if s.is_swap]
    if system.symmetry == "point":
        for swap in swaps:
            if not any(swap.mirrored):
                first = [i for i in range(6) if i < swap.order[i]]
                order = np.array(first + [swap.order[i] for i in first])
                return Placement(system, order, False, planes[0], planes[1])
        return None
    for swap in swaps:
        if not all(swap.mirrored):
            continue
        axes = [0.5 * angle for angle in swap.angles]
        if system.symmetry == "mirror":
            first = [i for i in range(6) if i < swap.order[i]]
            order = np.array(first + [swap.order[i] for i in first[::-1]])
            turns = [_flat_frame(p, a, False) for p, a in zip(planes, axes, strict=True)]
            return Placement(system, order, False, turns[0], turns[1])
        for third in symmetries:
            if not third.is_third_turn:
                continue
            next_leg, last = third.order, swap.order[0]
            order = np.array([0, next_leg[last], next_leg[0], next_leg[next_leg[last]], next_leg[next_leg[0]], last])
            if len(set(order.tolist())) == 6:
                turns = [_flat_frame(p, a, t < 0.0) for p, a, t in zip(planes, axes, third.angles, strict=True)]
                return Placement(system, order, False, turns[0], turns[1])
    return None


def _place_affine(
    system: StartSystem, sides: tuple[Array, Array], planes: list[Array], tolerance: float
) -> Placement | None:
    """Fit a flat platform that is an affine image of its base."""
    base, platform = _flattened(sides, planes)
    image = base @ np.linalg.lstsq(base, platform, rcond=None)[0]
    if np.abs(image - platform).max() > tolerance:
        return None
    return Placement(system, np.arange(6), False, planes[0], planes[1])


def _flat_frame(rotation: Array, angle: float, flipped: bool) -> Array:
    """Return the rotation, into the same plane as ``rotation``, that turns its axis at ``angle`` to the x axis."""
    x = np.cos(angle) * rotation[0] + np.sin(angle) * rotation[1]
    z = -rotation[2] if flipped else rotation[2]
    y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]]
    return np.array([x, y, z])


Tolerances = tuple[float, float, float]
"""Tolerances of predictor and corrections, and the condition number above which an end is doubtful."""

#: Tolerances of the predictor and of its corrections: usual, and for paths that went wrong. They are for sides of like
#: size, and become smaller with the smaller side where that is below the third number.
_USUAL, _CAREFUL, _SMALL = (3e-5, 3e-4), (1e-8, 1e-6), 0.1
#: Condition numbers of ends: not plainly good, for sides of like size; telling nothing.
_DOUBTFUL, _HOPELESS = 1e6, 1e13
#: Joints so near a plane, in units, are in it.
_FLAT = 1e-12
#: Poses whose quaternion e has |e.e| / |e|^2 below this are at infinity: about 1e13 platform sizes away.
AT_INFINITY = 1e-13
_MAX_STEPS = 5000
#: Poses are the same below this angle [rad] and share of the size; multiple ones are known to the second or so.
_SAME, _SAME_CONJUGATE = 1e-6, 1e-4

# Matrices that multiply a quaternion by 1, i, j, k from the right.
_UNITS = np.array(
    [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]],
        [[0, 0, -1, 0], [0, 0, 0, -1], [1, 0, 0, 0], [0, 1, 0, 0]],
        [[0, 0, 0, -1], [0, 0, 1, 0], [0, -1, 0, 0], [1, 0, 0, 0]],
    ],
    dtype=np.complex128,
)
_MIRROR_E = np.array([1.0, -1.0, -1.0, 1.0])
_MIRROR_P = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True)
class Scale:
    """Threshold for small, by the radius of the smaller side over that of the larger one.

    What the smaller side does to the legs is such a share of what there is.
    """

    ratio: float

    @property
    def doubtful(self) -> float:
        """Above this condition number an end may be at infinity or part of a continuous family."""
        return _DOUBTFUL / self.ratio

    @property
    def usual(self) -> Tolerances:
        """Tolerances for paths of which nothing is known."""
        return self._tolerances(*_USUAL)

    @property
    def careful(self) -> Tolerances:
        """Tolerances for paths that went wrong."""
        return self._tolerances(*_CAREFUL)

    def _tolerances(self, predictor: float, correction: float) -> Tolerances:
        share = min(1.0, self.ratio / _SMALL)
        return predictor * share, correction * share, self.doubtful


@dataclass(frozen=True)
class Target:
    """A real platform as the kernels take it, its unit of length [m], and the way back to its own frames.

    ``frame`` (16,) is what `kernels.poses.refine` takes, ``flattened`` how far joints have been moved into the
    plane of a flat class, in units, rounding errors aside.
    """

    packed: Complex
    unit: float
    scale: Scale
    placement: Placement
    frame: Array
    flattened: float


def make_target(placement: Placement, base: Array, platform: Array, lengths: Array, ratio: float = 1.0) -> Target:
    """Bring a platform with its lengths (6,) into the legs' order, frames and scale of its class."""
    order = placement.order
    first, second = (platform, base) if placement.swapped else (base, platform)
    a = (first[order] - first[order[0]]) @ placement.base_rotation.T
    b = (second[order] - second[order[0]]) @ placement.platform_rotation.T
    flattened = float(max(np.abs(a[:, 2]).max(), np.abs(b[:, 2]).max())) if placement.start.flat else 0.0
    if placement.start.flat:
        a[:, 2] = b[:, 2] = 0.0
    squares = lengths[order] ** 2
    k = 0.5 * ((a * a).sum(axis=1) + (b * b).sum(axis=1) + squares[0] - squares)
    unit = float(np.sqrt(((a * a).sum() + (b * b).sum()) / 24.0))
    packed = np.zeros((7, 6), dtype=np.complex128)
    packed[:5, :3], packed[:5, 3:] = a[1:] / unit, b[1:] / unit
    packed[5, :5], packed[6, 0] = k[1:] / unit**2, squares[0] / (4.0 * unit**2)
    frame = np.empty(16)
    frame[:8] = placement.quaternions
    frame[8:11], frame[11:14] = first[order[0]], second[order[0]]
    frame[14], frame[15] = unit, placement.swapped
    flattened = flattened / unit if flattened > _FLAT * unit else 0.0
    return Target(packed, unit, Scale(ratio), placement, frame, flattened)


@dataclass
class Ends:
    """Ends of the paths from one platform to another: one entry for each path.

    ``e`` (n, 4) is the quaternion (w, x, y, z), scaled so that its largest entry is 1, ``p`` (n, 3) the position.
    """

    charts: Integers
    points: Complex
    codes: Integers
    reports: Array
    e: Complex = field(init=False)
    p: Complex = field(init=False)
    regular: Mask = field(init=False)
    finite: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Bring the derived entries up to date with the points."""
        r = self.points[:, :3]
        self.regular = (self.codes == ARRIVED) & (self.reports[:, CONDITION] < _HOPELESS)
        self.finite = np.abs(1.0 + (r * r).sum(axis=1)) > AT_INFINITY * (1.0 + (np.abs(r) ** 2).sum(axis=1))
        self.e, self.p = finite_poses(self.charts, self.points)

    def replace(self, rows: Mask, others: Ends) -> None:
        """Take the ends ``rows`` from others."""
        self.charts[rows], self.points[rows] = others.charts, others.points
        self.codes[rows], self.reports[rows] = others.codes, others.reports
        self.look()


def finite_poses(charts: Integers, points: Complex) -> tuple[Complex, Complex]:
    """Return quaternions (n, 4), their largest entries 1, and positions (n, 3) of points (r, v) of charts (n,)."""
    r, v = points[:, :3], points[:, 3:]
    local = np.empty((len(r), 4), dtype=np.complex128)
    local[:, 0], local[:, 1:] = 1.0, r
    e = (_UNITS[charts] @ local[..., None])[..., 0]
    largest = e[np.arange(len(e)), np.abs(e).argmax(axis=1)]
    norm = 1.0 + (r * r).sum(axis=1)
    norm[norm == 0.0] = 1e-300
    p = np.empty_like(v)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        p[:, i] = 2.0 * (v[:, i] + r[:, j] * v[:, k] - r[:, k] * v[:, j]) / norm
    return e / largest[:, None], p


def track_from(route: list[Complex], charts: Integers, points: Complex, tolerances: Tolerances) -> Ends:
    """Track points (n, 6) of charts (n,) along a route of platforms (7, 6) and return the ends."""
    charts, points, settings = charts.copy(), points.copy(), np.array([*tolerances, _MAX_STEPS], dtype=float)
    for start, end in pairwise(route):
        codes = np.zeros(len(points), dtype=np.int64)
        reports = np.zeros((len(points), 4))
        track_all(start, end, charts, points, settings, codes, reports)
    return Ends(charts, points, codes, reports)


@dataclass(frozen=True, eq=False)
class Origin:
    """A platform (7, 6) with all its poses, points (n, 6) of charts (n,), from which paths set out."""

    platform: Complex
    charts: Integers
    points: Complex

    def track(self, end: Complex, tolerances: Tolerances, start: StartSystem | None = None) -> Ends:
        """Track all points to the platform ``end``; as a member of the class ``start``, if given."""
        return track_from(self.route(end, start), self.charts, self.points, tolerances)

    def route(self, end: Complex, start: StartSystem | None = None) -> list[Complex]:
        """Return the platforms between which straight lines lead to ``end`` without leaving the class ``start``.

        Pairs of a base and its affine image are no linear space: first the map changes, then the base.
        """
        if start is None or start.symmetry != "affine":
            return [self.platform, end]
        base = self.platform[:5, :2]
        affine = np.linalg.lstsq(end[:5, :2], end[:5, 3:5], rcond=None)[0]
        between = self.platform.copy()
        between[:5, 3:5] = base @ affine
        return [self.platform, between, end]

    def of(self, rows: Mask) -> Origin:
        """Return the same with the points ``rows`` only."""
        return Origin(self.platform, self.charts[rows], self.points[rows])


def class_origin(start: StartSystem, factor: complex = 1.0) -> Origin:
    """Return a start system scaled by a complex factor: the same class, other paths."""
    platform, points = start.platform.copy(), start.points.copy()
    platform[:5] *= factor
    platform[5:] *= factor**2
    points[:, 3:] *= factor
    return Origin(platform, np.zeros(len(points), dtype=np.int64), points)


def clashes(e: Complex, p: Complex, flat: bool) -> tuple[Mask, Mask]:
    """Return which poses coincide with another, and which have not as many conjugates as there are of them, (n,) each.

    Poses of a real platform are real or come in conjugate pairs; where they do not, a path has strayed onto another.
    ``flat``: the mirror images of the poses are poses, too.
    """
    all_e, all_p = with_mirror_images(e, p) if flat else (e, p)
    others = np.concatenate([all_e, all_e.conj()]), np.concatenate([all_p, all_p.conj()])
    near = same_poses(e, p, *others, _SAME_CONJUGATE)
    numbers = near[:, : len(all_e)].sum(axis=1)
    unpaired = numbers != near[:, len(all_e) :].sum(axis=1)
    if (numbers > 1).any():
        numbers = same_poses(e, p, all_e, all_p).sum(axis=1)
    return numbers > 1, unpaired


def same_poses(e: Complex, p: Complex, f: Complex, q: Complex, gap: float = _SAME) -> Mask:
    """Return which poses (e, p) equal which (f, q), (n, m)."""
    overlap = np.abs(e @ np.conj(f).T) ** 2
    sizes = np.outer((np.abs(e) ** 2).sum(axis=1), (np.abs(f) ** 2).sum(axis=1))
    same: Mask = overlap > (1.0 - gap**2) * sizes
    i, j = np.nonzero(same)
    same[i, j] = np.abs(p[i] - q[j]).max(axis=1) <= gap * np.maximum(1.0, np.abs(p[i]).max(axis=1))
    return same


def with_mirror_images(e: Complex, p: Complex) -> tuple[Complex, Complex]:
    """Return poses and their mirror images in the plane of a flat platform."""
    return np.concatenate([e, e * _MIRROR_E]), np.concatenate([p, p * _MIRROR_P])
