"""How far a mechanism can still go along and about each axis, before a motor's limit, its reach or a singularity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...model.model import Model
from ...stewart.geometry.travel import AXES, FURTHEST, REACH, SINGULARITY, TravelLeft, displaced
from ..constraint_set import ConstraintSet
from ..quantities import constraint_jacobian

#: Samples on the way, and halvings of the step that ends it.
SAMPLES, HALVINGS = 100, 40
#: Singular values of A of the joints without motor that are smaller, relative to the largest, end the way.
_SINGULAR = 1e-4


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
        there = displaced(output, axis, s) if pose else output + s * np.eye(count)[axis]
        try:
            q = configuration(there)
        except InputError:
            return REACH
        y = q[at]
        over = np.maximum(lower - y, y - upper)
        if over.max(initial=-1.0) > 0.0:
            return motors[int(np.argmax(over))]
        values = np.linalg.svd(constraint_jacobian(model, constraints, q)[:, passive], compute_uv=False)
        return SINGULARITY if values[len(passive) - 1] < _SINGULAR * values[0] else ""

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
    back, ahead = (np.array([one[side][0] for one in ways]) for side in (0, 1))
    return TravelLeft(AXES[:count], back, ahead, tuple((one[0][1], one[1][1]) for one in ways))
