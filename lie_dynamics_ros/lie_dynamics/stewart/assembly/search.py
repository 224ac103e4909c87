"""All complex poses of a platform: paths tracked, collisions resolved, doubtful ends confirmed along other paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ...arrays import Complex, Mask
from ..geometry.architecture import architecture_report
from .classes import start_systems
from .endgame import ENOUGH, End, classify, family_kind, find_member, is_finite, is_lost, is_steady
from .kernels.paths import CONDITION
from .paths import Ends, Origin, Scale, Target, clashes, class_origin, same_poses, with_mirror_images

# The poses of one design for lengths chosen at random: where paths start when those of its class do not suffice.
#
# A design may be special in ways that no class of `assembly_classes` knows, such as four joints of a side on a line.
# For complex lengths at random its finite poses are regular and the others plainly at infinity, so that the two can be
# distinguished, once for all lengths: from there on no path is wasted, and every isolated pose is the end of one.

#: Complex scalings of a start system, each leading along other paths.
SCALINGS = (1.0 + 0.0j, 0.6 + 0.8j, -0.28 + 0.96j, 0.8 - 0.6j)
#: A design is architecturally singular, rounding errors aside, below the first number as its report's ratio, and so
#: nearly so below the second that poses may be far away for most lengths and near for some.
_SINGULAR, _NEARLY_SINGULAR = 1e-12, 1e-5


def own_origins(target: Target) -> tuple[Origin, ...]:
    """Return the target's design twice, with two sets of complex lengths, each with all poses (half of them when flat).

    Without poses when the design is architecturally singular; none when it is nearly so, which leaves poses too far
    away to be told from infinite ones, or when no two of four attempts agree on what the poses are.
    """
    return _own_origins(target.placement.start.name, target.packed[:5].tobytes(), target.scale)


@lru_cache(maxsize=64)
def _own_origins(name: str, geometry: bytes, scale: Scale) -> tuple[Origin, ...]:
    start = next(s for s in start_systems() if s.name == name)
    sides = np.zeros((2, 6, 3))
    sides[:, 1:] = np.frombuffer(geometry, dtype=np.complex128).real.reshape(5, 2, 3).swapaxes(0, 1)
    ratio = architecture_report(*sides).median_ratio / scale.ratio
    if _SINGULAR < ratio < _NEARLY_SINGULAR:
        return ()
    tried: list[Origin] = []
    for number, scaling in enumerate(SCALINGS):
        rng = np.random.default_rng(number)
        design = np.zeros((7, 6), dtype=np.complex128)
        design[:5] = np.frombuffer(geometry, dtype=np.complex128).reshape(5, 6)
        design[5, :5], design[6, 0] = rng.normal(size=(5, 2)) @ (1.0, 1j), rng.normal(size=2) @ (1.0, 1j)
        ends = class_origin(start, scaling).track(design, scale.careful, start)
        found = Origin(design, ends.charts, ends.points).of(_good(ends, scale, start.flat))
        if (len(found.points) == 0) != (ratio <= _SINGULAR):
            continue
        for other in tried:
            if len(found.points) == len(other.points) and _leads_to(other, found, scale, start.flat):
                return other, found
        tried.append(found)
    return ()


def _good(ends: Ends, scale: Scale, flat: bool) -> np.ndarray:
    """Return which ends are finite poses, each for the first time."""
    good = ends.regular & ends.finite & (ends.reports[:, CONDITION] < scale.doubtful)
    repeated, _ = clashes(ends.e[good], ends.p[good], flat)
    good[np.flatnonzero(good)[repeated]] = False
    return good


def _leads_to(origin: Origin, other: Origin, scale: Scale, flat: bool) -> bool:
    """Return whether the paths from one origin to the platform of another lead to all of its poses."""
    ends = origin.track(other.platform, scale.careful)
    if not _good(ends, scale, flat).all():
        return False
    there = Ends(other.charts, other.points, ends.codes, ends.reports)
    e, p = with_mirror_images(there.e, there.p) if flat else (there.e, there.p)
    return bool((same_poses(ends.e, ends.p, e, p).sum(axis=1) == 1).all())


#: Multiple poses are known to 1e-6 or so.
_SAME_MULTIPLE = 1e-4
#: A simple pose has a condition number below this share of the doubtful ones; found twice, a path has strayed.
_SIMPLE = 0.1
#: Searches of a design whose own poses are not known, of which nothing can be confirmed.
_TRIES_IN_VAIN = 2


@dataclass(frozen=True)
class FoundPoses:
    """Finite complex poses (quaternion, position), their condition numbers, and what else the paths led to.

    ``family`` and ``suspects`` are points (chart, r and v) in continuous families, and near such; ``plain`` tells that
    every path led to a regular finite pose of its own, ``every`` that this holds for all paths of the class.
    """

    e: Complex
    p: Complex
    conditions: np.ndarray
    family: list[tuple[int, Complex]]
    suspects: list[tuple[int, Complex]]
    infinite: int
    certain: bool
    plain: bool = False
    every: bool = False

    def agrees_with(self, other: FoundPoses, flat: bool) -> bool:
        """Return whether another search has found the same poses as often."""
        if len(self.e) != len(other.e) or bool(self.family) != bool(other.family):
            return False
        mine, theirs = ((f.e, f.p) if not flat else with_mirror_images(f.e, f.p) for f in (self, other))
        here = same_poses(*mine, *mine, _SAME_MULTIPLE).sum(axis=1)
        return bool((here == same_poses(*mine, *theirs, _SAME_MULTIPLE).sum(axis=1)).all())


def follow_paths(target: Target) -> FoundPoses:
    """Track all paths to the target and sort the ends; doubtful findings must be confirmed along other paths."""
    start, scale = target.placement.start, target.scale
    origin = class_origin(start)
    ends = origin.track(target.packed, scale.usual, start)
    strayed = _doubtful(ends, target)
    if strayed.any():
        ends.replace(strayed, origin.of(strayed).track(target.packed, scale.careful, start))
        strayed = _doubtful(ends, target)
    if not strayed.any():
        return _sorted(ends, [], origin, target, True)
    return _follow_again(target)


def _follow_again(target: Target) -> FoundPoses:
    """Track carefully from the design's own poses for other lengths; what is doubtful must be found twice."""
    start, careful = target.placement.start, target.scale.careful
    own = own_origins(target)
    wasted = len(start.points) - len(own[0].points) if own else 0
    if wasted == len(start.points):
        return _of_singular_design(target)
    tried: list[FoundPoses] = []
    others = SCALINGS if own else SCALINGS[:_TRIES_IN_VAIN]
    origins = [*((origin, None) for origin in own), *((class_origin(start, s), start) for s in others)]
    for origin, of_class in origins:
        ends = origin.track(target.packed, careful, of_class)
        plain = not _doubtful(ends, target).any()
        found = _sorted(ends, origin.route(target.packed, of_class), origin, target, plain)
        if of_class is None:
            found = replace(found, infinite=found.infinite + wasted, every=found.every and not wasted)
        if found.plain:
            return found
        if own and found.certain and any(f.certain and found.agrees_with(f, start.flat) for f in tried):
            return found
        tried.append(found)
    best = max(tried, key=lambda f: (f.certain, -len(f.suspects)))
    return replace(best, certain=False)


def _of_singular_design(target: Target) -> FoundPoses:
    """Return what an architecturally singular design has: no isolated pose, perhaps a family."""
    start = target.placement.start
    origin = class_origin(start)
    family = find_member(target, origin.route(target.packed, start), origin.charts, origin.points)
    none = origin.points[:0]
    return FoundPoses(none[:, :4], none[:, :3], np.zeros(0), family, [], len(start.points), True)


def _doubtful(ends: Ends, target: Target) -> Mask:
    """Return which ends are not plainly finite poses of their own with as many conjugates."""
    good = ends.regular & ends.finite
    far = good & (ends.reports[:, CONDITION] > target.scale.doubtful)
    for row in np.flatnonzero(far):
        chart, x = int(ends.charts[row]), ends.points[row]
        far[row] = not is_finite(x) and not is_steady(target, chart, x)
    doubtful = ~good | far
    rows = np.flatnonzero(~doubtful)
    repeated, unpaired = clashes(ends.e[rows], ends.p[rows], target.placement.start.flat)
    doubtful[rows] = repeated | (unpaired if len(rows) == len(doubtful) else False)
    return doubtful


def _sorted(ends: Ends, route: list[Complex], origin: Origin, target: Target, plain: bool) -> FoundPoses:
    """Sort ends into finite ones, infinite ones and members of families; ``plain``: none of them is doubtful."""
    good = ends.regular & ends.finite
    conditions = np.where(ends.regular, ends.reports[:, CONDITION], np.inf)
    infinite = int((ends.regular & ~ends.finite).sum())
    family: list[tuple[int, Complex]] = []
    suspects: list[tuple[int, Complex]] = []
    for row in np.flatnonzero(good & (conditions > target.scale.doubtful)):
        chart, x = int(ends.charts[row]), ends.points[row].copy()
        if not plain and not is_finite(x) and not is_steady(target, chart, x):
            good[row] = False
            infinite += 1
        elif len(suspects) < ENOUGH:
            kind = family_kind(target, chart, x)
            good[row] = kind is not End.FAMILY
            if kind is not None:
                (family if kind is End.FAMILY else suspects).append((chart, x))
    certain = True
    rows = np.flatnonzero(~ends.regular)
    if rows.size:
        kinds, where, charts = classify(target, route, origin.charts[rows], origin.points[rows])
        for row, kind, x, chart in zip(rows, kinds, where, charts, strict=True):
            if kind is End.UNKNOWN and is_lost(ends.points[row]):
                kind = End.INFINITE
            infinite += kind is End.INFINITE
            certain &= kind not in (End.UNKNOWN, End.NEAR_FAMILY)
            if kind is End.FAMILY:
                family.append((chart, x))
            elif kind is End.NEAR_FAMILY:
                suspects.append((chart, x))
            elif kind in (End.REGULAR, End.MULTIPLE):
                ends.charts[row], ends.points[row] = chart, x
                good[row] = True
        ends.look()
    e, p, conditions = ends.e[good], ends.p[good], conditions[good]
    if not plain:
        repeated, unpaired = clashes(e, p, target.placement.start.flat)
        certain &= not (repeated & (conditions < _SIMPLE * target.scale.doubtful)).any() and not unpaired.any()
    plain &= not family and not infinite
    return FoundPoses(e, p, conditions, family, suspects, infinite, certain, plain, plain)
