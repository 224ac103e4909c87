"""All complex poses of a Stewart platform by tracking paths from a start system; no judgement on doubtful ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .assembly_classes import Array, Complex, Ints, Placement, StartSystem
from .assembly_path_kernels import ARRIVED, CONDITION, N_STEPS, track_all

Bools = npt.NDArray[np.bool_]

#: Tolerances of the predictor and of its corrections: usual, and for paths that went wrong.
USUAL, CAREFUL = (3e-5, 3e-4), (1e-8, 1e-6)
#: Above this condition number an end may be part of a continuous family; above the second, nothing can be told.
DOUBTFUL, _HOPELESS = 1e6, 1e13
#: Poses whose quaternion e has |e.e| / |e|^2 below this are at infinity: about 1e13 platform sizes away.
AT_INFINITY = 1e-13
_MAX_STEPS = 5000
#: Poses are the same below this angle [rad] and share of the size.
_SAME = 1e-6

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
class Target:
    """A real platform as the kernels take it, its unit of length [m], and the way back to the frames of the user.

    ``frame`` (16,) is what `assembly_pose_kernels.refine` takes.
    """

    packed: Complex
    unit: float
    placement: Placement
    frame: Array


def make_target(placement: Placement, base: Array, platform: Array, lengths: Array) -> Target:
    """Bring a platform with its lengths (6,) into the legs' order, frames and scale of its class."""
    order = placement.order
    first, second = (platform, base) if placement.swapped else (base, platform)
    a = (first[order] - first[order[0]]) @ placement.base_rotation.T
    b = (second[order] - second[order[0]]) @ placement.platform_rotation.T
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
    return Target(packed, unit, placement, frame)


@dataclass
class Ends:
    """Where paths from one platform to another have led: one entry for each path.

    ``e`` (n, 4) is the quaternion (w, x, y, z), scaled so that its largest entry is 1, ``p`` (n, 3) the position.
    """

    charts: Ints
    points: Complex
    codes: Ints
    reports: Array
    e: Complex = field(init=False)
    p: Complex = field(init=False)
    regular: Bools = field(init=False)
    finite: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Bring the derived entries up to date with the points."""
        r = self.points[:, :3]
        self.regular = (self.codes == ARRIVED) & (self.reports[:, CONDITION] < _HOPELESS)
        self.finite = np.abs(1.0 + (r * r).sum(axis=1)) > AT_INFINITY * (1.0 + (np.abs(r) ** 2).sum(axis=1))
        self.e, self.p = finite_poses(self.charts, self.points)

    @property
    def steps(self) -> int:
        """Steps of all paths together."""
        return int(self.reports[:, N_STEPS].sum())


def finite_poses(charts: Ints, points: Complex) -> tuple[Complex, Complex]:
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


def track_from(route: list[Complex], charts: Ints, points: Complex, tolerances: tuple[float, float]) -> Ends:
    """Track points (n, 6) of charts (n,) along a route of platforms (7, 6) and return the ends."""
    charts, points = charts.copy(), points.copy()
    for start, end in pairwise(route):
        codes = np.zeros(len(points), dtype=np.int64)
        reports = np.zeros((len(points), 4))
        track_all(start, end, charts, points, *tolerances, _MAX_STEPS, codes, reports)
    return Ends(charts, points, codes, reports)


def stations(start: StartSystem, platform: Complex, end: Complex) -> list[Complex]:
    """Return the platforms between which straight lines lead from a start to an end without leaving the class.

    Pairs of a base and its affine image are no linear space: first the map changes, then the base.
    """
    if start.symmetry != "affine":
        return [platform, end]
    base = platform[:5, :2]
    affine = np.linalg.lstsq(end[:5, :2], end[:5, 3:5], rcond=None)[0]
    between = platform.copy()
    between[:5, 3:5] = base @ affine
    return [platform, between, end]


def retrack(ends: Ends, rows: Bools, route: list[Complex], points: Complex) -> None:
    """Track the paths ``rows`` again, carefully, from the points they came from."""
    again = track_from(route, np.zeros(int(rows.sum()), dtype=np.int64), points[rows], CAREFUL)
    ends.charts[rows], ends.points[rows] = again.charts, again.points
    ends.codes[rows], ends.reports[rows] = again.codes, again.reports
    ends.look()


def scaled_start(start: StartSystem, factor: complex) -> tuple[Complex, Complex]:
    """Return platform and points of a start system scaled by a complex factor: the same class, another path."""
    platform, points = start.platform.copy(), start.points.copy()
    platform[:5] *= factor
    platform[5:] *= factor**2
    points[:, 3:] *= factor
    return platform, points


def repeated(ends: Ends, flat: bool) -> Bools:
    """Return which regular, finite ends coincide with another, or with the mirror image of one when ``flat``."""
    same = same_poses(ends.e, ends.p, ends.e, ends.p)
    np.fill_diagonal(same, False)
    if flat:
        same |= same_poses(ends.e, ends.p, ends.e * _MIRROR_E, ends.p * _MIRROR_P)
    rows = ends.regular & ends.finite
    same &= rows[:, None] & rows[None]
    return np.asarray(same.any(axis=1))


def same_poses(e: Complex, p: Complex, f: Complex, q: Complex, gap: float = _SAME) -> Bools:
    """Return which poses (e, p) equal which (f, q), (n, m)."""
    overlap = np.abs(e @ np.conj(f).T) ** 2
    sizes = np.outer((np.abs(e) ** 2).sum(axis=1), (np.abs(f) ** 2).sum(axis=1))
    same: Bools = overlap > (1.0 - gap**2) * sizes
    i, j = np.nonzero(same)
    same[i, j] = np.abs(p[i] - q[j]).max(axis=1) <= gap * np.maximum(1.0, np.abs(p[i]).max(axis=1))
    return same


def with_mirror_images(e: Complex, p: Complex) -> tuple[Complex, Complex]:
    """Return poses and their mirror images in the plane of a flat platform."""
    return np.concatenate([e, e * _MIRROR_E]), np.concatenate([p, p * _MIRROR_P])
