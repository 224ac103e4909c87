"""One form of a Stewart platform, whatever its frames, units and order of legs, and whichever side is the platform.

Assembly modes are sought and judged in this form, so that they do not depend on how a platform was written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..geometry.platform import StewartPlatform
from .classes import Array, Ints

#: Differences below this share of the size are rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CanonicalPlatform:
    """A platform with centred sides, the smaller one on top, the radius of the larger one as the unit of length.

    Attributes
    ----------
    platform : the platform in this form.
    order : leg ``order[j]`` of the user is leg j here.
    swapped : whether base and platform have changed places, which inverts the pose.
    unit : radius of the larger side [m].
    ratio : radius of the platform in units.
    centres, turns : centroid (3,) [m] of each side here in the frame of the user, and the rotation (3, 3) from there.
    """

    platform: StewartPlatform
    order: Ints
    swapped: bool
    unit: float
    ratio: float
    centres: tuple[Array, Array]
    turns: tuple[Array, Array]

    def poses(self, poses: Array) -> Array:
        """Return poses (k, 4, 4) of this form as those of {B} in {N} of the user."""
        (first, second), (a, b) = self.turns, self.centres
        found = np.empty_like(poses)
        found[:] = np.eye(4)
        found[:, :3, :3] = first.T @ poses[:, :3, :3] @ second
        found[:, :3, 3] = a + self.unit * poses[:, :3, 3] @ first - found[:, :3, :3] @ b
        if self.swapped:
            found[:, :3, :3] = np.swapaxes(found[:, :3, :3], 1, 2)
            found[:, :3, 3] = -(found[:, :3, :3] @ found[:, :3, 3, None])[..., 0]
        return found


@lru_cache(maxsize=256)
def _canonical(points: bytes) -> CanonicalPlatform:
    base, platform = np.frombuffer(points).reshape(2, 6, 3)
    return _bring(base, platform)


def canonical(base: Array, platform: Array) -> CanonicalPlatform:
    """Return the canonical form of a platform (6, 3), (6, 3)."""
    return _canonical(np.stack([base, platform]).tobytes())


def _bring(base: Array, platform: Array) -> CanonicalPlatform:
    sides = (base, platform)
    gaps = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in sides]
    radii = [float(np.sqrt(np.sort((g * g).ravel()).sum() / 72.0)) for g in gaps]
    unit = max(radii) or 1.0
    # How far the other joints of its side are from that of a leg: the same number in any order of the legs.
    spreads = [np.round(np.sort(g, axis=1).sum(axis=1) / (_ROUNDING * unit)) for g in gaps]
    pointed = min(radii) < _ROUNDING * unit  # a side that is a point has no rotation to speak of: it is the base
    swapped = radii[0] > radii[1] if pointed else _is_larger(radii, spreads, unit)
    i, j = (1, 0) if swapped else (0, 1)
    order = np.lexsort((spreads[j], spreads[i]))
    first, second = sides[i][order], sides[j][order]
    centres = first.mean(axis=0), second.mean(axis=0)
    first, second = first - centres[0], second - centres[1]
    turns = _axes(first), _axes(second)
    form = StewartPlatform(first @ turns[0].T / unit, second @ turns[1].T / unit, allow_singular=True)
    return CanonicalPlatform(form, order, swapped, unit, 1.0 if pointed else min(radii) / unit, centres, turns)


def _is_larger(radii: list[float], spreads: list[Array], unit: float) -> bool:
    """Tell whether the platform is larger than the base; of equal ones, whether it comes first in some fixed order."""
    if abs(radii[1] - radii[0]) > _ROUNDING * unit:
        return radii[1] > radii[0]
    keys = []
    for i, j in ((0, 1), (1, 0)):
        order = np.lexsort((spreads[j], spreads[i]))
        keys.append(np.concatenate([spreads[i][order], spreads[j][order]]))
    differ = np.flatnonzero(np.abs(keys[1] - keys[0]) > 2.0)
    return bool(differ.size and keys[1][differ[0]] > keys[0][differ[0]])


def _axes(points: Array) -> Array:
    """Return the rotation (3, 3) to axes that turn with centred points (6, 3).

    z is normal to the best plane, x points to the joint that is farthest away along it, and of the joints off the x
    axis the farthest has a positive y.
    """
    normal = np.linalg.svd(points)[2][2]
    flat = points - np.outer(points @ normal, normal)
    x = flat[_first_largest(np.linalg.norm(flat, axis=1))]
    size = np.linalg.norm(x)
    if not size > 0.0:
        return np.eye(3)
    x = x / size
    y = np.cross(normal, x)
    heights = flat @ y
    sign = 1.0 if heights[_first_largest(np.abs(heights))] >= 0.0 else -1.0
    return np.array([x, sign * y, sign * normal])


def _first_largest(values: Array) -> int:
    """Return the first of the largest entries, rounding errors aside."""
    return int(np.argmax(values >= (1.0 - _ROUNDING) * values.max()))
