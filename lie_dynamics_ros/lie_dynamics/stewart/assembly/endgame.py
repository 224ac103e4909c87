"""Doubtful ends of paths: poses at infinity, multiple poses, or members of a continuous family (a self-motion)."""

from __future__ import annotations

from enum import Enum

import numpy as np

from ...arrays import Complex, Integers
from .kernels.paths import ARRIVED, equations
from .paths import Target, track_from


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
_SINGULAR = 1e-11
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
    return End.FAMILY if flatness < _SINGULAR / target.scale.ratio else End.NEAR_FAMILY


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
    """Return the changes (6, 6) of x = (r, v), column by column, that count as one in judging what is flat.

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
