"""How far a mechanism can still go along and about each axis, before a motor's limit, its reach or a singularity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...lie import se3
from ...model.model import Model
from ..constraint_set import ConstraintSet
from ..quantities import constraint_jacobian

#: Furthest that is looked at [m, rad], samples on the way there, and halvings of the step that ends the way.
FURTHEST, SAMPLES, HALVINGS = (1.0, np.pi), 100, 40
#: Singular values of A of the joints without motor that are smaller, relative to the largest, end the way.
_SINGULAR = 1e-4


@dataclass(frozen=True, eq=False)
class TravelLeft:
    """Travel left at one configuration.

    Attributes
    ----------
    axes : tuple of str
        "x", "y", "z", and "about x", ... where the output is a pose; all through the platform's origin, parallel to
        the world's.
    backwards, forwards : ndarray, shape (n,)
        How far the mechanism can go along or about each alone [m, rad], at least zero.
    reasons : tuple of (str, str)
        What ends either way: a motor's name, "reach", "singularity", or "" where nothing does as far as was looked.
    """

    axes: tuple[str, ...]
    backwards: Array
    forwards: Array
    reasons: tuple[tuple[str, str], ...]


def travel_left(
    model: Model,
    constraints: ConstraintSet,
    motors: tuple[str, ...],
    configuration: Callable[[Array], Array],
    output: Array,
) -> TravelLeft:
    """Return the travel left from an output, of which `configuration` returns the closed q (nq,)."""
    joints = [model.joint(name) for name in motors]
    at = [joint.q_slice.start for joint in joints]
    lower, upper = model.limits.lower[at], model.limits.upper[at]
    passive = np.setdiff1d(np.arange(model.nv), [joint.v_slice.start for joint in joints])
    pose = output.shape == (4, 4)
    count = 6 if pose else len(output)

    def ends_at(axis: int, s: float) -> str:
        """Return what forbids a place on the way; nothing where it is free."""
        if pose:
            twist = np.zeros(6)
            twist[(axis + 3) % 6] = s
            there = output.copy()
            moved = np.asarray(se3.exp(twist))
            there[:3, :3], there[:3, 3] = moved[:3, :3] @ output[:3, :3], output[:3, 3] + moved[:3, 3]
        else:
            there = output + s * np.eye(count)[axis]
        try:
            q = configuration(there)
        except InputError:
            return "reach"
        y = q[at]
        over = np.maximum(lower - y, y - upper)
        if over.max(initial=-1.0) > 0.0:
            return motors[int(np.argmax(over))]
        values = np.linalg.svd(constraint_jacobian(model, constraints, q)[:, passive], compute_uv=False)
        return "singularity" if values[len(passive) - 1] < _SINGULAR * values[0] else ""

    def way(axis: int, side: float) -> tuple[float, str]:
        far = FURTHEST[int(axis >= 3)]
        good, reason = 0.0, ends_at(axis, 0.0)
        if reason:
            return 0.0, reason
        for s in far * np.arange(1, SAMPLES + 1) / SAMPLES:
            reason = ends_at(axis, side * s)
            if not reason:
                good = float(s)
                continue
            bad = float(s)
            for _ in range(HALVINGS):
                middle = 0.5 * (good + bad)
                found = ends_at(axis, side * middle)
                good, bad, reason = (good, middle, found) if found else (middle, bad, reason)
            return good, reason
        return far, ""

    ways = [(way(axis, -1.0), way(axis, 1.0)) for axis in range(count)]
    names = (*"xyz", *(f"about {x}" for x in "xyz"))[:count]
    back, ahead = (np.array([one[side][0] for one in ways]) for side in (0, 1))
    return TravelLeft(tuple(names), back, ahead, tuple((one[0][1], one[1][1]) for one in ways))
