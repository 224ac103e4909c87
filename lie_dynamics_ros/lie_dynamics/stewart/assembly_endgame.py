"""Doubtful ends of paths: poses at infinity, multiple poses, or members of a continuous family (a self-motion)."""

from __future__ import annotations

from enum import Enum

import numpy as np

from .assembly_classes import Complex
from .assembly_path_kernels import ARRIVED, equations
from .assembly_paths import CAREFUL, track_from


class End(Enum):
    """What a doubtful end turned out to be."""

    INFINITE = "infinite"
    REGULAR = "regular"
    MULTIPLE = "multiple"
    FAMILY = "family"
    UNKNOWN = "unknown"


#: Distances 1 - t from the end of a path at which its trend is looked at.
_APPROACH = (1e-2, 1e-3, 1e-4)
#: A path goes to infinity when its position grows by this factor, or more, from each to the next.
_GROWTH = 1.3
#: Singular values below these shares of the largest are taken for zero: in corrections, and to find a kernel.
_CUT, _KERNEL = 1e-6, 1e-3
_MAX_CORRECTIONS = 60
#: Share of the largest singular value below which a computed end is singular.
_SINGULAR = 1e-7
#: A walk along a family: length of a step and number of steps, in units of r and of the size of v.
_STEP, _STEPS = 0.05, 3
#: How well ends must fulfil the leg equations, in units of the platform's size.
_SOLVED = 1e-9
#: Rounding errors of the leg equations.
_ROUNDING = 1e-15
#: How well members of a family must fulfil the leg equations, in units of the platform's size; data of six digits do.
_FAMILY_TOLERANCE = 1e-5
#: Families are looked for at points whose quaternion e has |e.e| / |e|^2 above this.
_FAR = 1e-3
#: Size of a shake, and how little |e.e| may change by it, in shares of |e.e|.
_SHAKE, _STEADY = 0.01, 0.05


def classify(route: list[Complex], points: Complex) -> tuple[list[End], Complex, list[int]]:
    """Find out where the paths of ``points`` (n, 6) along a route of platforms lead.

    Returns the kinds, points (n, 6) near or at the ends, and their charts. The paths are followed to a little before
    their ends, where they are still regular; from there Newton's method, blind to the directions in which the
    equations are flat, goes on to the end.
    """
    charts = np.zeros(len(points), dtype=np.int64)
    sizes, arrived = [], np.ones(len(points), dtype=bool)
    start, end = route[-2:]
    passed = route[:-1]
    for rest in _APPROACH:
        goal = start + (1.0 - rest) * (end - start)
        ends = track_from([*passed, goal], charts, points, CAREFUL)
        passed, charts, points = [goal], ends.charts, ends.points
        arrived &= ends.codes == ARRIVED
        sizes.append(np.abs(ends.p).max(axis=1))
    infinite = (sizes[2] > _GROWTH * sizes[1]) & (sizes[1] > _GROWTH * sizes[0])
    kinds = []
    for n in range(len(points)):
        if not arrived[n]:
            kinds.append(End.UNKNOWN)
        elif infinite[n]:
            kinds.append(End.INFINITE)
        else:
            kinds.append(_finite_kind(end, int(charts[n]), points[n]))
    return kinds, points, charts.tolist()


def _finite_kind(platform: Complex, chart: int, x: Complex) -> End:
    """Refine a point (6,) in place and tell what it is."""
    if is_member_of_family(platform, chart, x) and is_exactly_singular(platform, chart, x):
        return End.FAMILY
    y = x.copy()
    multiple = correct(platform, chart, y, _MAX_CORRECTIONS, _CUT) < _SOLVED and bool(kernel_of(platform, chart, y))
    for cut in (_CUT, 1e-10, 1e-14):
        # A smaller cut goes on where the last one stopped: ends that are multiple need it to become exact.
        if correct(platform, chart, y, _MAX_CORRECTIONS, cut) < _ROUNDING:
            break
    error = correct(platform, chart, y, 1, 1.0)
    if not error < _SOLVED:
        return End.UNKNOWN
    x[:] = y
    if not is_finite(y) and not is_steady(platform, chart, y):
        return End.INFINITE
    return End.MULTIPLE if multiple else End.REGULAR


def is_steady(platform: Complex, chart: int, x: Complex) -> bool:
    """Tell whether a point (6,) far away is a pose, and not the rounding error of one at infinity.

    Shaken by a hundredth of its |e.e|, which is zero at infinity, and corrected again, a pose comes back.
    """
    r = x[:3]
    before = 1.0 + r @ r
    shake = np.random.default_rng(0).normal(size=(6, 2)) @ np.array([1.0, 1j])
    y = x + _SHAKE * abs(before) * shake / np.linalg.norm(shake) * _weights(x)
    correct(platform, chart, y, _MAX_CORRECTIONS, 1e-15)
    after = 1.0 + y[:3] @ y[:3]
    return bool(abs(after - before) < _STEADY * abs(before))


def is_member_of_family(platform: Complex, chart: int, x: Complex) -> bool:
    """Tell whether a point (6,) near an end is near a member of a continuous family; if so, move it there.

    `is_exactly_singular` tells a true family from a pose that the platform can almost leave.
    """
    if not kernel_of(platform, chart, x):
        return False
    y = x.copy()
    error = correct(platform, chart, y, _MAX_CORRECTIONS, _CUT)
    if not (error < _FAMILY_TOLERANCE and is_finite(y) and kernel_of(platform, chart, y)):
        return False
    if not in_family(platform, chart, y):
        return False
    x[:] = y
    return True


def is_exactly_singular(platform: Complex, chart: int, x: Complex) -> bool:
    """Tell whether the Jacobian at a point (6,) is singular to the accuracy of computed ends."""
    s = np.linalg.svd(_scaled(platform, chart, x)[1], compute_uv=False)
    return bool(s[-1] < _SINGULAR * s[0])


def is_finite(x: Complex) -> bool:
    """Tell whether a point (6,) is well away from infinity, as members of a continuous family must be."""
    r = x[:3]
    return bool(abs(1.0 + r @ r) > _FAR * (1.0 + np.vdot(r, r).real))


def in_family(platform: Complex, chart: int, x: Complex) -> bool:
    """Tell whether one can walk away from a singular point x (6,) along solutions."""
    for direction in kernel_of(platform, chart, x):
        for sign in (1.0, -1.0):
            y, tangent = x.copy(), sign * direction
            for _ in range(_STEPS):
                z = y + _STEP * tangent
                if not correct(platform, chart, z, 8, _KERNEL) < _FAMILY_TOLERANCE:
                    break
                kernel = kernel_of(platform, chart, z)
                weights = _weights(z)
                if len(kernel) == 0 or np.linalg.norm((z - y) / weights) < 0.5 * _STEP:
                    break
                # Straight on: the part of the last step that lies in the kernel.
                step = (z - y) / weights
                along = sum(np.vdot(k / weights, step) * (k / weights) for k in kernel)
                y, tangent = z, along / np.linalg.norm(along) * weights
            else:
                return True
    return False


def correct(platform: Complex, chart: int, x: Complex, limit: int, cut: float) -> float:
    """Improve x (6,) in place by Newton's method without the nearly flat directions; return the largest misfit.

    Directions are left out whose singular value is below ``cut`` times the largest.
    """
    best, best_error = x.copy(), np.inf
    for _ in range(limit):
        f, jacobian, weights = _scaled(platform, chart, x)
        error = float(np.abs(f).max())
        if error < best_error:
            best[:], best_error = x, error
        if error < _ROUNDING:
            break
        u, s, v = np.linalg.svd(jacobian)
        keep = s > cut * s[0]
        step = (v[keep].conj().T / s[keep]) @ (u[:, keep].conj().T @ f)
        x -= weights * step
        if not np.linalg.norm(step) < 10.0:
            break
    x[:] = best
    return best_error


def kernel_of(platform: Complex, chart: int, x: Complex) -> list[Complex]:
    """Return directions (6,) in which the equations are flat at x."""
    _, jacobian, weights = _scaled(platform, chart, x)
    _, s, v = np.linalg.svd(jacobian)
    return [weights * direction.conj() for direction in v[s <= _KERNEL * s[0]]]


def _weights(x: Complex) -> Complex:
    weights = np.ones(6, dtype=np.complex128)
    weights[3:] = max(1.0, float(np.abs(x[3:]).max()))
    return weights


def _scaled(platform: Complex, chart: int, x: Complex) -> tuple[Complex, Complex, Complex]:
    """Return equations and Jacobian at x, scaled to unknowns of size one and rows of norm one, and that scale."""
    f, jacobian = np.empty(6, dtype=np.complex128), np.empty((6, 6), dtype=np.complex128)
    equations(platform, chart, x, f, jacobian)
    weights = _weights(x)
    jacobian *= weights
    rows = np.maximum(np.linalg.norm(jacobian, axis=1), 1e-12)
    return f / rows, jacobian / rows[:, None], weights
