"""All complex poses of a platform: paths tracked, collisions resolved, doubtful ends confirmed along other paths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .assembly_classes import Complex
from .assembly_endgame import End, classify, is_finite, is_member_of_family, is_steady
from .assembly_path_kernels import CONDITION
from .assembly_paths import (
    CAREFUL,
    DOUBTFUL,
    USUAL,
    Ends,
    Target,
    repeated,
    retrack,
    same_poses,
    scaled_start,
    stations,
    track_from,
    with_mirror_images,
)

#: Other paths to try when some went wrong: complex scalings of the start system.
_SCALINGS = (1.0 + 0.0j, 0.6 + 0.8j, -0.28 + 0.96j, 0.8 - 0.6j)
#: Complex poses nearer than this to conjugates of each other are; multiple ones are known to 1e-6 or so.
_SAME_CONJUGATE = 1e-4


@dataclass(frozen=True)
class Found:
    """Finite complex poses (quaternion, position), points (chart, r and v) in and near families, and the rest."""

    e: Complex
    p: Complex
    family: list[tuple[int, Complex]]
    suspects: list[tuple[int, Complex]]
    infinite: int
    certain: bool

    def confirmed_by(self, other: Found, flat: bool) -> Found:
        """Return this with only the poses that the other has found, too; the rest are at infinity."""
        e, p = with_mirror_images(other.e, other.p) if flat else (other.e, other.p)
        shared = same_poses(self.e, self.p, e, p, _SAME_CONJUGATE).any(axis=1)
        infinite = self.infinite + int((~shared).sum())
        return replace(self, e=self.e[shared], p=self.p[shared], infinite=infinite)


def follow_paths(target: Target) -> Found:
    """Track all paths to the target and sort the ends; doubtful findings must be confirmed along other paths."""
    start = target.placement.start
    before: list[Found] = []
    shared: list[Found] = []
    for scaling in _SCALINGS:
        platform, points = scaled_start(start, scaling)
        route = stations(start, platform, target.packed)
        charts = np.zeros(len(points), dtype=np.int64)
        ends = track_from(route, charts, points, CAREFUL if before else USUAL)
        double = repeated(ends, start.flat)
        doubtful = double | ~(ends.regular & ends.finite)
        if not before and doubtful.any():
            retrack(ends, doubtful, route, points)
            double = repeated(ends, start.flat)
        found = sorted_ends(ends, route, points)
        found = replace(found, certain=found.certain and not double.any())
        if found.certain and len(found.e) == len(points) and in_pairs(found, start.flat):
            return found
        for other in before:
            both = found.confirmed_by(other, start.flat)
            agreed = len(both.e) == len(found.e) == len(other.e) or any(len(both.e) == len(s.e) for s in shared)
            if agreed and found.certain and bool(found.family) == bool(other.family) and in_pairs(both, start.flat):
                return both
            shared.append(both)
        before.append(found)
    return replace(max([*before, *shared], key=lambda f: (in_pairs(f, start.flat), -len(f.e))), certain=False)


def in_pairs(found: Found, flat: bool) -> bool:
    """Tell whether every pose comes with its complex conjugate; if not, a path has strayed onto another."""
    e, p = with_mirror_images(found.e, found.p) if flat else (found.e, found.p)
    return bool(same_poses(e, p, e.conj(), p.conj(), _SAME_CONJUGATE).any(axis=1).all())


def sorted_ends(ends: Ends, route: list[Complex], points: Complex) -> Found:
    """Sort ends into finite ones, infinite ones and members of families."""
    good = ends.regular & ends.finite
    infinite = int((ends.regular & ~ends.finite).sum())
    family: list[tuple[int, Complex]] = []
    suspects: list[tuple[int, Complex]] = []
    ill = good & (ends.reports[:, CONDITION] > DOUBTFUL)
    for row in np.flatnonzero(ill):
        chart, x = int(ends.charts[row]), ends.points[row].copy()
        if not is_finite(x) and not is_steady(route[-1], chart, x):
            good[row] = False
            infinite += 1
        elif is_member_of_family(route[-1], chart, x):
            suspects.append((chart, x))
    rows = np.flatnonzero(~ends.regular)
    certain = True
    if rows.size:
        kinds, where, charts = classify(route, points[rows])
        for row, kind, x, chart in zip(rows, kinds, where, charts, strict=True):
            infinite += kind is End.INFINITE
            certain &= kind is not End.UNKNOWN
            if kind is End.FAMILY:
                family.append((chart, x))
            elif kind in (End.REGULAR, End.MULTIPLE):
                ends.charts[row], ends.points[row] = chart, x
                good[row] = True
        ends.look()
    if family:
        good &= ~ill  # members of the family, or so near to one that they are not points of their own
    return Found(ends.e[good], ends.p[good], family, suspects, infinite, certain)
