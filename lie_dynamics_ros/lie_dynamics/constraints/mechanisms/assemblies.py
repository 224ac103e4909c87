"""All configurations of a mechanism whose motors are held: what was found, how, and whether any may be missing.

Closed forms come from intersections of circles and real roots of trigonometric polynomials.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Complex
from ...dynamics.kinematics import forward_kinematics, frame_pose
from ...model.model import Model
from ...stewart import StewartPlatform, StewartWarning, assembly_modes
from ..assembly import assemble
from ..constraint_set import ConstraintSet
from ..quantities import constraint_quantities


def circles(first: Any, first_radius: Any, second: Any, second_radius: Any, side: Any) -> Complex:
    """Return where two circles in the plane cross; points are complex numbers, NaN where they do not.

    `side` is 1 for the point to the left of the way from the first centre to the second, -1 for that to the right.
    """
    gap = np.asarray(second - first, dtype=complex)
    distance = np.abs(gap)
    with np.errstate(all="ignore"):
        along = (distance**2 + np.square(first_radius) - np.square(second_radius)) / (2.0 * distance)
        height = np.sqrt(np.square(first_radius) - along**2)
        return np.asarray(first + gap / distance * (along + 1j * side * height))


def side_of(first: complex, second: complex, point: complex) -> float:
    """Return the `side` of `circles` on which a point is."""
    return 1.0 if ((point - first) * np.conj(second - first)).imag >= 0.0 else -1.0


def cosine_angle(a: Any, b: Any, value: Any, side: Any) -> Array:
    """Return the angle x with a cos x + b sin x = value on one side of the maximum; NaN where there is none."""
    with np.errstate(all="ignore"):
        return np.asarray(np.arctan2(b, a) + side * np.arccos(value / np.hypot(a, b)))


def real_roots(function: Callable[[Array], Array], degree: int) -> Array | None:
    """Return the angles at which a trigonometric polynomial of a degree, real at real angles, is zero.

    It has 2 `degree` complex roots z = exp(i x), of which those on the unit circle are real angles. Roots within 1e-3
    of it are returned: whether they are real is to be verified. None where values are not finite.
    """
    count = 2 * degree + 1
    values = function(2.0 * np.pi * np.arange(count) / count)
    if not np.isfinite(values).all():
        return None
    roots = np.roots(np.fft.fftshift(np.fft.fft(values))[::-1])
    return np.asarray(np.angle(roots[np.abs(np.abs(roots) - 1.0) < 1e-3]))


#: Largest error of a constraint in what counts as closed, in sizes of the mechanism.
CLOSED = 1e-10
#: Configurations whose points are nearer than this are one, and candidates may be so far off, in sizes too.
_SAME, _NEAR = 1e-6, 1e-3
#: Singular values of A for the joints without motor that are smaller, relative to the largest, count as zero.
_SINGULAR = 1e-8
#: Starting points of a search, and seed of their random numbers.
STARTS, SEED = 200, 1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations (n, nq) that algebra found, how many there are over the complex numbers, and how."""

    q: Array
    complex_count: int
    method: str
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Assemblies:
    """Configurations of a closed mechanism that have the same positions of the motors.

    Attributes
    ----------
    q : ndarray, shape (n, nq)
        The configurations, each once.
    residuals : ndarray, shape (n,)
        Their largest error of a constraint [m, rad].
    complete : bool
        True when none is missing. False after a search from many starts, at singular configurations, and where
        a candidate could not be closed.
    complex_count : int
        Solutions over the complex numbers, which bound the number of real ones; 0 where it is not known.
    method : str
        How they were found.
    hits : ndarray, shape (n,)
        How many starts led to each; ones where there was no search. Where each was found many times, a further one
        is unlikely, which is no proof.
    """

    q: Array
    residuals: Array
    complete: bool
    complex_count: int
    method: str
    hits: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.q)

    @property
    def message(self) -> str:
        """The result, in a sentence."""
        text = f"{len(self)} configurations by {self.method}"
        if self.complex_count:
            text += f", {self.complex_count} over the complex numbers"
        return text + ("" if self.complete else "; others may be missing")


def verified(model: Model, constraints: ConstraintSet, held: Sequence[str], found: Candidates) -> Assemblies:
    """Return the candidates that close the loops, after Newton's method with the motors held; each once."""
    free = np.ones(model.nv, np.bool_)
    for name in held:
        free[model.joint(name).v_slice] = False
    kept: list[Array] = []
    places: list[Array] = []
    residuals: list[float] = []
    complete = found.complete
    for candidate in found.q:
        q = candidate
        for _ in range(4):
            state = constraint_quantities(model, constraints, q, model.zero_velocity)
            step = np.zeros(model.nv)
            step[free] = -np.linalg.lstsq(state.jacobian[:, free], state.error, rcond=1e-10)[0]
            q = model.integrate(q, step)
        error = constraint_quantities(model, constraints, q, model.zero_velocity).error
        residual = float(np.abs(error).max(initial=0.0))
        place = _seen(model, constraints, q)
        # Where passive joints can move, solutions are multiple, or there is a whole family of them.
        values = np.linalg.svd(state.jacobian[:, free], compute_uv=False)
        complete &= len(values) == free.sum() and bool(values[-1] > _SINGULAR * values[0])
        size = float(np.ptp(place, axis=0).max())
        if not residual <= CLOSED * size or _distance(_seen(model, constraints, candidate), place) > _NEAR * size:
            complete = False
        elif all(_distance(place, other) > _SAME * size for other in places):
            kept.append(q)
            places.append(place)
            residuals.append(residual)
    return Assemblies(
        np.array(kept).reshape(-1, model.nq), np.array(residuals), complete, found.complex_count, found.method,
        np.ones(len(kept), np.intp),
    )  # fmt: skip


def six_legs(base: Array, platform: Array, lengths: Array) -> tuple[Array, Candidates]:
    """Return all poses (n, 4, 4) of a platform on six legs of given lengths, and what is known of their number."""
    with warnings.catch_warnings():  # where motors stand, points may be almost singular
        warnings.simplefilter("ignore", StewartWarning)
        modes = assembly_modes(StewartPlatform(base, platform, allow_singular=True), lengths)
    method = f"paths from a start system, class {modes.platform_class}"
    if modes.self_motion:
        method += ", which can move though all motors are locked"
    return modes.poses, Candidates(np.empty(0), modes.complex_count, method, modes.certain)


def assemblies_from_starts(
    model: Model, constraints: ConstraintSet, held: Sequence[str], positions: ArrayLike, starts: int = STARTS
) -> Assemblies:
    """Return the configurations to which `assemble` leads from random starts, the joints `held` staying (k,).

    Some may be missing: `Assemblies.complete` is False, and `Assemblies.hits` says how often each was found.
    """
    rng = np.random.default_rng(SEED)
    kept: list[Array] = []
    seen: list[Array] = []
    hits: list[int] = []
    places = [model.joint(name).q_slice.start for name in held]
    for _ in range(starts):
        q = model.random(rng)
        q[places] = positions
        found = assemble(model, constraints, q, held=list(held), tolerance=CLOSED, iterations=60)
        if not found.converged:
            continue
        place = _seen(model, constraints, found.q)
        size = float(np.ptp(place, axis=0).max())
        same = next((k for k, other in enumerate(seen) if _distance(place, other) <= _SAME * size), None)
        if same is None:
            kept.append(_turned_back(model, found.q, held))
            seen.append(place)
            hits.append(1)
        else:
            hits[same] += 1
    method = f"{starts} random starts, of which {sum(hits)} closed"
    result = verified(model, constraints, held, Candidates(np.array(kept).reshape(-1, model.nq), 0, method, False))
    return Assemblies(result.q, result.residuals, False, 0, method, np.array(hits, np.intp)[: len(result)])


def _seen(model: Model, constraints: ConstraintSet, q: Array) -> Array:
    """Return origins and centres of mass of bodies, and both ends of loops: configurations that share them are one.

    So a rod that is turned about itself is the same one, as on a universal joint that is turned over.
    """
    poses = forward_kinematics(model, q)
    mass = np.array([model.inertia(name).com for name in model.body_names])
    points = [poses[:, :3, 3], (poses[:, :3, :3] @ mass[..., None])[..., 0] + poses[:, :3, 3]]
    for loop in constraints.loops:
        for name, end in ((loop.first, loop.first_placement), (loop.second, loop.second_placement)):
            points.append((frame_pose(model, q, name) @ end[:, 3])[None, :3])
    return np.concatenate(points)


def _distance(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max(initial=0.0))


def _turned_back(model: Model, q: Array, held: Sequence[str]) -> Array:
    """Return q with its angles, but those held, within half a turn."""
    turning = [j for j in model.joints if j.kind in ("revolute", "continuous") and j.name not in held]
    places, q = [j.q_slice.start for j in turning], q.copy()
    q[places] = np.angle(np.exp(1j * q[places]))
    return q
