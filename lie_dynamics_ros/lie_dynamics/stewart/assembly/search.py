"""All complex poses of a platform: paths tracked, collisions resolved, doubtful ends confirmed along other paths.

Doubtful ends are poses at infinity, multiple poses, or members of a continuous family (a self-motion).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import numpy as np

from ...arrays import Complex, Integers, Mask
from ..geometry.checks import architecture_report
from ..kernels.paths import ARRIVED, CONDITION, equations
from .paths import (
    Ends,
    Origin,
    Scale,
    Target,
    clashes,
    class_origin,
    same_poses,
    start_systems,
    track_from,
    with_mirror_images,
)


class End(Enum):
    """Kind of a doubtful end."""

    INFINITE = "infinite"
    REGULAR = "regular"
    MULTIPLE = "multiple"
    FAMILY = "family"
    NEAR_FAMILY = "near a family"
    UNKNOWN = "unknown"


#: Distances 1 - t from the end of a path at which its trend is looked at.
_APPROACH = (1e-2, 1e-3, 1e-4)
#: A path goes to infinity when its position grows by this factor, or more, from each to the next.
_GROWTH = 1.3
#: Singular values below these shares of the largest are taken for zero: in corrections, and to find a kernel.
_CUT, _KERNEL = 1e-6, 1e-3
_MAX_CORRECTIONS = 60
#: Share of the largest singular value below which a member of a family is singular but for rounding errors.
_FLAT_FAMILY = 1e-11
#: A walk along a family: length of a step and number of steps, in radians and radii of the smaller side. A pose that
#: is singular to any finite order leaves the lengths on a walk as long as this.
_STEP, _STEPS = 0.05, 20
#: The same where the equations are fulfilled to rounding errors, and are required to be so on the walk.
_EXACT_STEPS, _EXACT = 4, 1e-10
#: How well ends must fulfil the leg equations, in radii of the smaller side.
_SOLVED = 1e-9
#: Rounding errors of the leg equations, in sizes of the platform.
_ROUNDING = 1e-15
#: How well members of a family must fulfil the leg equations, in radii of the smaller side; data of six digits do.
_FAMILY_TOLERANCE = 1e-5
#: So many points near a family are enough to search it for real ones; nothing is certain then.
ENOUGH = 3
#: |e.e| / |e|^2 of a point's quaternion: below, it may be at infinity; above, it may be in a family, and changes of it
#: are measured as those of real poses; below, and its path's end not known, it is as good as at infinity.
_FAR, _NEAR, _LOST = 1e-3, 0.03, 1e-6
#: Size of a shake, and how little |e.e| may change by it, in shares of |e.e|.
_SHAKE, _STEADY = 0.01, 0.05


def classify(
    target: Target, route: list[Complex], charts: Integers, points: Complex
) -> tuple[list[End], Complex, list[int]]:
    """Find out where the paths of ``points`` (n, 6) of ``charts`` (n,) along a route of platforms lead.

    Returns the kinds, points (n, 6) near or at the ends, and their charts. The paths are followed to a little before
    their ends, where they are still regular; from there Newton's method, blind to the directions in which the
    equations are flat, goes on to the end.
    """
    sizes, arrived = [], np.ones(len(points), dtype=bool)
    start, end = route[-2:]
    passed = route[:-1]
    for rest in _APPROACH:
        goal = start + (1.0 - rest) * (end - start)
        ends = track_from([*passed, goal], charts, points, target.scale.careful)
        passed, charts, points = [goal], ends.charts, ends.points
        arrived &= ends.codes == ARRIVED
        sizes.append(np.abs(ends.p).max(axis=1))
    infinite = (sizes[2] > _GROWTH * sizes[1]) & (sizes[1] > _GROWTH * sizes[0])
    kinds: list[End] = []
    for n in range(len(points)):
        if not arrived[n] or kinds.count(End.NEAR_FAMILY) >= ENOUGH:
            kinds.append(End.UNKNOWN)
        elif infinite[n]:
            kinds.append(End.INFINITE)
        else:
            kinds.append(_finite_kind(target, int(charts[n]), points[n]))
    return kinds, points, charts.tolist()


def find_member(target: Target, route: list[Complex], charts: Integers, points: Complex) -> list[tuple[int, Complex]]:
    """Return a point (chart, r and v) of a continuous family near which one of the paths comes, or nothing."""
    start, end = route[-2:]
    goal = start + (1.0 - _APPROACH[-1]) * (end - start)
    ends = track_from([*route[:-1], goal], charts, points, target.scale.careful)
    for code, chart, x in zip(ends.codes, ends.charts.tolist(), ends.points, strict=True):
        if code == ARRIVED and family_kind(target, chart, x) is not None:
            return [(chart, x)]
    return []


def _finite_kind(target: Target, chart: int, x: Complex) -> End:
    """Refine a point (6,) in place and return its kind."""
    kind = family_kind(target, chart, x)
    if kind is not None:
        return kind
    y = x.copy()
    multiple = correct(target, chart, y, _MAX_CORRECTIONS, _CUT) < _SOLVED and bool(kernel_of(target, chart, y)[0])
    for cut in (_CUT, 1e-10, 1e-14):
        # A smaller cut goes on where the last one stopped: ends that are multiple need it to become exact.
        if correct(target, chart, y, _MAX_CORRECTIONS, cut) < _ROUNDING / target.scale.ratio:
            break
    error = correct(target, chart, y, 1, 1.0)
    if not error < _SOLVED:
        return End.UNKNOWN
    x[:] = y
    if not is_finite(y) and not is_steady(target, chart, y):
        return End.INFINITE
    return End.MULTIPLE if multiple else End.REGULAR


def is_steady(target: Target, chart: int, x: Complex) -> bool:
    """Return whether a point (6,) far away is a pose, and not the rounding error of one at infinity.

    Shaken by a hundredth of its |e.e|, which is zero at infinity, and corrected again, a pose comes back.
    """
    r = x[:3]
    before = 1.0 + r @ r
    shake = np.random.default_rng(0).normal(size=(6, 2)) @ np.array([1.0, 1j])
    y = x + _SHAKE * abs(before) * (_units(target, x) @ (shake / np.linalg.norm(shake)))
    correct(target, chart, y, _MAX_CORRECTIONS, 1e-15)
    after = 1.0 + y[:3] @ y[:3]
    return bool(abs(after - before) < _STEADY * abs(before))


def family_kind(target: Target, chart: int, x: Complex) -> End | None:
    """Return whether a point (6,) near an end is in a continuous family, or near to one; if so, move it there.

    Near to one are poses that hardly change the lengths on the way from each to the next, as those of a platform whose
    data are a little off from one that moves.
    """
    if not kernel_of(target, chart, x)[0]:
        return None
    y = x.copy()
    error = correct(target, chart, y, _MAX_CORRECTIONS, _CUT)
    if not (error < _FAMILY_TOLERANCE and _nearness(y) > _NEAR and kernel_of(target, chart, y)[0]):
        return None
    exact = _EXACT / target.scale.ratio
    flatness = walk(target, chart, y, _EXACT_STEPS, exact) if error < 0.1 * exact else None
    if flatness is None:
        flatness = walk(target, chart, y, _STEPS, _FAMILY_TOLERANCE)
    if flatness is None:
        return None
    x[:] = y
    return End.FAMILY if flatness < _FLAT_FAMILY / target.scale.ratio else End.NEAR_FAMILY


def is_finite(x: Complex) -> bool:
    """Return whether a point (6,) is well away from infinity."""
    return _nearness(x) > _FAR


def is_lost(x: Complex) -> bool:
    """Return whether a point (6,) where a path breaks off is as good as at infinity, where no real pose is."""
    return _nearness(x) < _LOST


def _nearness(x: Complex) -> float:
    r = x[:3]
    return float(abs(1.0 + r @ r) / (1.0 + np.vdot(r, r).real))


def walk(target: Target, chart: int, x: Complex, steps: int, tolerance: float) -> float | None:
    """Walk away from a singular point x (6,) along solutions, known to a tolerance.

    Returns the largest share of the smallest singular value in the largest one on the walk, or None if there is none.
    """
    for direction in kernel_of(target, chart, x)[0]:
        for phase in (1.0, -1.0, 1j, -1j):
            y, tangent, flattest = x.copy(), phase * direction, 0.0
            for _ in range(steps):
                z = y + _STEP * tangent
                if not correct(target, chart, z, 8, _KERNEL) < tolerance:
                    break
                kernel, flatness = kernel_of(target, chart, z)
                flattest = max(flattest, flatness)
                units = _units(target, z)
                step = np.linalg.solve(units, z - y)
                if not kernel or np.linalg.norm(step) < 0.5 * _STEP:
                    break
                # Straight on: the part of the last step that lies in the kernel.
                free = np.linalg.solve(units, np.transpose(kernel))
                along = free @ (free.conj().T @ step)
                y, tangent = z, units @ (along / np.linalg.norm(along))
            else:
                return flattest
    return None


def correct(target: Target, chart: int, x: Complex, limit: int, cut: float) -> float:
    """Improve x (6,) in place by Newton's method without the nearly flat directions; return the largest misfit.

    Directions are left out whose singular value is below ``cut`` times the largest.
    """
    best, best_error = x.copy(), np.inf
    for _ in range(limit):
        f, jacobian, units = _scaled(target, chart, x)
        error = float(np.abs(f).max())
        if error < best_error:
            best[:], best_error = x, error
        if error < _ROUNDING / target.scale.ratio:
            break
        u, s, v = np.linalg.svd(jacobian)
        keep = s > cut * s[0]
        step = (v[keep].conj().T / s[keep]) @ (u[:, keep].conj().T @ f)
        x -= units @ step
        if not np.linalg.norm(step) < 10.0:
            break
    x[:] = best
    return best_error


def kernel_of(target: Target, chart: int, x: Complex) -> tuple[list[Complex], float]:
    """Return directions (6,) in which the equations are flat at x, and the smallest singular value over the largest."""
    _, jacobian, units = _scaled(target, chart, x)
    _, s, v = np.linalg.svd(jacobian)
    return [units @ direction.conj() for direction in v[s <= _KERNEL * s[0]]], float(s[-1] / s[0])


def _units(target: Target, x: Complex) -> Complex:
    """Return the changes (6, 6) of x = (r, v), column by column, that count as one in deciding what is flat.

    They are changes of r that leave joint 1 of the smaller side in place, and its displacements by the radius of that
    side: what the smaller side does to the legs is then not small. Far away they are those of r and v themselves.
    """
    units = np.eye(6, dtype=np.complex128)
    r, v = x[:3], x[3:]
    if not _nearness(x) > _NEAR:
        units[3:, 3:] *= max(1.0, float(np.abs(v).max()))
        return units
    u = 1.0 + r @ r
    to_p = np.eye(3) + _cross_matrix(r)  # u p = 2 to_p v
    to_v = (np.eye(3) - _cross_matrix(r) + np.outer(r, r)) / u  # its inverse
    p = 2.0 * (to_p @ v) / u
    rate = np.outer(p, r) + _cross_matrix(v)
    if target.placement.swapped:  # the smaller side is the base of the class: turn about its joint
        rate -= _cross_matrix(p) @ to_p
    units[3:, :3] = to_v @ rate
    units[3:, 3:] = 0.5 * u * target.scale.ratio * to_v
    return units


def _cross_matrix(a: Complex) -> Complex:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _scaled(target: Target, chart: int, x: Complex) -> tuple[Complex, Complex, Complex]:
    """Return equations and Jacobian at x, scaled to unknowns of size one and rows of norm one, and `_units`."""
    f, jacobian = np.empty(6, dtype=np.complex128), np.empty((6, 6), dtype=np.complex128)
    equations(target.packed, chart, x, f, jacobian)
    units = _units(target, x)
    jacobian = jacobian @ units
    rows = np.maximum(np.linalg.norm(jacobian, axis=1), 1e-12)
    return f / rows, jacobian / rows[:, None], units


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
    away to be distinguished from infinite ones, or when no two of four attempts agree on what the poses are.
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

    ``family`` and ``suspects`` are points (chart, r and v) in continuous families, and near such; ``plain`` means that
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
