"""Capsules about the links of a robot, and how far those of links that are not neighbours are apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.kinematics import forward_kinematics
from ..errors import InputError
from ..lie._arrays import numbers
from ..model.model import Model


class Capsule(NamedTuple):
    """All points within a radius of a line from start to end (3,), in the axes of a link or frame [m]; or a sphere."""

    frame: str
    start: npt.ArrayLike
    end: npt.ArrayLike
    radius: float


class CapsulePairs:
    """Capsules of links, and all pairs whose links neither are one nor share a joint.

    Parameters
    ----------
    model : Model
    capsules : sequence of Capsule

    Raises
    ------
    InputError
        For invalid capsules, and frames that the robot does not have; names it.
    """

    def __init__(self, model: Model, capsules: Sequence[Any]) -> None:
        self._model = model
        checked = [_capsule(model, given) for given in capsules]
        self.names = [given.frame for given in checked]
        self._bodies = [model.frames[given.frame].body for given in checked]
        ends = [model.frames[c.frame].placement @ [*numbers(x), 1.0] for c in checked for x in (c.start, c.end)]
        self._ends = np.reshape(ends, (len(checked), 2, 4))[..., :3]
        joined = {(model.frames[j.body].body, model.frames[j.parent_body].body) for j in model.joints}
        joined |= {(b, a) for a, b in joined}
        body = self._bodies
        pairs = [(a, b) for a, b in combinations(range(len(body)), 2)
                 if body[a] != body[b] and (body[a], body[b]) not in joined]  # fmt: skip
        self.pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        radius = np.array([c.radius for c in checked])
        self._thick = radius[self.pairs].sum(axis=1)

    def gaps(self, q: Array) -> Array:
        """Return distances (k, pairs) at configurations (k, nq) [m]; negative where capsules overlap."""
        poses = np.asarray(forward_kinematics(self._model, q))
        poses = np.concatenate([poses, np.broadcast_to(np.eye(4), (len(q), 1, 4, 4))], axis=1)[:, self._bodies]
        ends = np.einsum("kcij,cej->kcei", poses[..., :3, :3], self._ends) + poses[..., None, :3, 3]
        one, other = ends[:, self.pairs[:, 0]], ends[:, self.pairs[:, 1]]
        found: Array = _distance(one[..., 0, :], one[..., 1, :], other[..., 0, :], other[..., 1, :]) - self._thick
        return found


def _capsule(model: Model, given: Any) -> Capsule:
    try:
        frame, start, end, radius = given
        one, other, radius = numbers(start), numbers(end), float(radius)
        good = isinstance(frame, str) and one.shape == other.shape == (3,) and 0.0 <= radius < np.inf
        good = good and bool(np.isfinite([one, other]).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InputError(f"capsules: (frame, start, end, radius) is expected, got {given!r}", name="capsules")
    if frame not in model.frames:
        raise InputError(f"capsules: the robot has no link or frame {frame!r}", name="capsules", value=frame)
    return Capsule(frame, one, other, radius)


def _distance(p: Array, p_end: Array, q: Array, q_end: Array) -> Array:
    """Return the distances of line segments (..., 3) from each other; their ends may be one point."""
    d, e, r = p_end - p, q_end - q, p - q
    a, b, c = (d * d).sum(-1), (d * e).sum(-1), (e * e).sum(-1)
    x, y = (d * r).sum(-1), (e * r).sum(-1)

    def part(over: Array, under: Array) -> Array:
        return np.clip(np.divide(over, under, out=np.zeros_like(over), where=under > 1e-12), 0.0, 1.0)

    # The nearest point of the one line to the other, then that of the other to it, and of the one to that again.
    s = part(b * y - c * x, a * c - b * b)
    t = part(b * s + y, c)
    s = part(b * t - x, a)
    return np.asarray(np.linalg.norm(r + s[..., None] * d - t[..., None] * e, axis=-1))
