"""Limits of positions, rates and joint forces along a motion, as penalties with multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..model.configuration import coordinate_name
from ..model.model import Model
from ..model.structure import JointLimits

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bound:
    """lower <= value <= upper for one kind of value of all coordinates, each (nv,), seen in units of `scale`."""

    lower: Array
    upper: Array
    scale: Array

    def excess(self, value: Array) -> Array:
        """Return how far values (k, nv) are above and below (2, k, nv), negative within the limits."""
        return np.stack([value - self.upper, self.lower - value]) / self.scale


#: Bounds by kind: "position", "velocity", "effort".
Bounds = Mapping[str, Bound]


def make_bounds(model: Model, limits: JointLimits | None, effort: Array) -> Bounds:
    """Return those of the limits that are finite; `effort` (nv,) is what joint forces are usual."""
    if limits is None:
        return {}
    if not isinstance(limits, JointLimits):
        raise InputError(f"limits: JointLimits are expected, got {limits!r}", name="limits", value=limits)
    for name, size in (("lower", model.nq), ("upper", model.nq), ("velocity", model.nv), ("effort", model.nv)):
        value = getattr(limits, name)
        if value.shape != (size,) or np.isnan(value).any():
            raise InputError(f"limits.{name}: {size} numbers are expected, got {value!r}", name=f"limits.{name}")
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    lower[model._vector_v], upper[model._vector_v] = limits.lower[model._vector_q], limits.upper[model._vector_q]
    width = upper - lower
    found = {
        "position": Bound(lower, upper, np.where(np.isfinite(width) & (width > 0.0), width, 1.0)),
        "velocity": Bound(-limits.velocity, limits.velocity, _finite_or_one(limits.velocity)),
        "effort": Bound(-limits.effort, limits.effort, effort),
    }
    for kind, bound in found.items():
        if (bound.lower > bound.upper).any():
            k = int(np.argmax(bound.lower > bound.upper))
            raise InputError(
                f"limits: joint {coordinate_name(model, k, False)!r} has a lower {kind} limit of {bound.lower[k]} and "
                f"an upper one of {bound.upper[k]}"
            )
    return {k: b for k, b in found.items() if np.isfinite(b.lower).any() or np.isfinite(b.upper).any()}


def _finite_or_one(x: Array) -> Array:
    return np.where(np.isfinite(x) & (x > 0.0), x, 1.0)


def require_within(model: Model, bounds: Bounds, what: str, values: Mapping[str, Array]) -> None:
    """Raise an InputError that names the joint where an end of the motion is outside the limits."""
    for kind in set(bounds) & set(values):
        bound, value = bounds[kind], values[kind]
        over = bound.excess(value[None])[:, 0].max(axis=0)
        if (over > 1e-9).any():
            k = int(over.argmax())
            name, allowed = coordinate_name(model, k, False), f"{bound.lower[k]} to {bound.upper[k]}"
            raise InputError(
                f"{what}: {kind} {value[k]} of joint {name!r} is outside its limits {allowed}",
                name=name, value=value[k], expected="an end within the limits",
            )  # fmt: skip


def largest_excess(bounds: Bounds, values: Mapping[str, Array]) -> tuple[float, str, tuple[int, int]]:
    """Return the largest excess of values (k, nv), at least 0, its kind, and its time and coordinate."""
    worst, kind, where = 0.0, "", (0, 0)
    for name, bound in bounds.items():
        over = bound.excess(values[name]).max(axis=0)
        if over.size and over.max() > worst:
            k, i = np.unravel_index(int(over.argmax()), over.shape)
            worst, kind, where = float(over.max()), name, (int(k), int(i))
    return worst, kind, where
