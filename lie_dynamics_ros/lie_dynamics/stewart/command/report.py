"""Why a path cannot be followed: which leg, what value, where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.inverse_kinematics import Array
from .path import PosePath
from .samples import PathSamples

SLACK = 1e-9
"""Part of a limit, and length [m], by which round-off may exceed it."""
UNITS = {"stroke": "m", "base joint": "rad", "platform joint": "rad", "force": "N", "speed at the start": ""}


@dataclass(frozen=True)
class PathFault:
    """The first limit on a path that no slower motion keeps.

    Attributes
    ----------
    kind : str
        "stroke", "base joint", "platform joint", "condition" (also beyond a singular pose), "force" (which the legs
        need at rest), or "speed at the start".
    leg : int
        1 to 6; 0 where it is not about a single one.
    value, limit : float
        [m, rad, N or 1].
    fraction : float
        Of the path, 0 to 1.
    parameter : float
        Of the path there; a time for a path with times [s].
    """

    kind: str
    leg: int
    value: float
    limit: float
    fraction: float
    parameter: float
    timed: bool

    def __str__(self) -> str:
        where = f"at {100.0 * self.fraction:.3g} % of the path"
        if self.timed:
            where += f", {self.parameter:.4g} s after its beginning"
        if self.kind == "condition":
            if np.isinf(self.value):
                return f"{where} a singular pose is passed"
            return f"{where} the condition number of the leg Jacobian is {self.value:.4g}, limit {self.limit:.4g}"
        if self.kind == "speed at the start":
            return f"the motion at the start is {self.value:.3g} times as fast as limits allow on this path"
        unit = UNITS[self.kind]
        said = {
            "stroke": "is {0:.6g} {2} long, limit {1:.6g} {2}",
            "force": "needs {0:.4g} {2} at rest, limit {1:.4g} {2}",
        }.get(self.kind, f"is {{0:.4g}} {{2}} off the axis of its {self.kind}, limit {{1:.4g}} {{2}}")
        return f"{where} leg {self.leg} " + said.format(self.value, self.limit, unit)


def first_fault(found: PathSamples, path: PosePath) -> PathFault | None:
    """Return the first place where samples exceed a limit that no time scaling keeps, or None.

    Where lengths between neighbours bend beyond both, that counts at the second one.
    """
    limits, begin = found.limits, float(path.knots[0])
    stroke, low, high = limits.stroke, *_extremes(found)
    base, platform = limits.joint_angles(found.pose)
    held = found.forces[..., 2]
    crossed = np.concatenate([[False], np.sign(found.determinant[1:]) != np.sign(found.determinant[:-1])])
    condition = np.where(crossed, np.inf, found.condition)
    tables: list[tuple[str, Array, Array, Array | float]] = [
        ("stroke", found.lengths, stroke[:, 0], -1.0),
        ("stroke", found.lengths, stroke[:, 1], 1.0),
        ("stroke", low, stroke[:, 0], -1.0),
        ("stroke", high, stroke[:, 1], 1.0),
        ("base joint", base, limits.base_cone, 1.0),
        ("platform joint", platform, limits.platform_cone, 1.0),
        ("force", held, np.copysign(limits.force, held), np.where(np.signbit(held), -1.0, 1.0)),
        ("condition", condition[:, None], np.array([limits.condition]), 1.0),
    ]
    first: PathFault | None = None
    for kind, value, limit, sign in tables:
        with np.errstate(invalid="ignore"):
            excess = sign * (value - limit) - SLACK * np.maximum(1.0, np.abs(np.nan_to_num(limit, posinf=1.0)))
        if excess.max(initial=-np.inf) <= 0.0:
            continue
        over = ~(excess <= 0.0)
        k, leg = (int(x) for x in np.argwhere(over)[0])
        if first is None or found.s[k] - begin < first.parameter:
            way, number = float(found.s[k]) - begin, 0 if kind == "condition" else leg + 1
            numbers = float(value[k, leg]), float(np.broadcast_to(limit, value.shape)[k, leg]), way / path.length, way
            first = PathFault(kind, number, *numbers, path.timed)
    return first


def _extremes(found: PathSamples) -> tuple[Array, Array]:
    """Bounds (k, 6) of lengths in the step before each sample: a chord and a parabola of the second derivative.

    With e an eighth of that times the square of the step, a parabola of height e on a chord that rises by d exceeds its
    upper end by e (1 - d / 4e)^2, and only where d < 4e.
    """
    lengths, second = found.lengths, np.abs(found.bend)
    low, high = lengths.copy(), lengths.copy()
    rise = np.abs(np.diff(lengths, axis=0))
    bent = 0.125 * np.maximum(second[1:], second[:-1]) * np.diff(found.s)[:, None] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(rise < 4.0 * bent, bent * (1.0 - rise / (4.0 * bent)) ** 2, 0.0)
    low[1:] = np.minimum(lengths[1:], lengths[:-1]) - beyond
    high[1:] = np.maximum(lengths[1:], lengths[:-1]) + beyond
    return low, high
