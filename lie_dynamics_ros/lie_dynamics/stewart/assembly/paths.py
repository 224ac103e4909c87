"""All complex poses of a Stewart platform by tracking paths from a start system; doubtful ends are left open."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...arrays import Array, Complex, Integers, Mask
from .classes import Placement, StartSystem
from .kernels.paths import ARRIVED, CONDITION, track_all

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
    charts, points = charts.copy(), points.copy()
    for start, end in pairwise(route):
        codes = np.zeros(len(points), dtype=np.int64)
        reports = np.zeros((len(points), 4))
        track_all(start, end, charts, points, *tolerances, _MAX_STEPS, codes, reports)
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
