"""Symmetries that the flat base and platform of a Stewart platform have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Symmetry:
    """A relabelling of legs that is a motion of both sides into themselves.

    Attributes
    ----------
    order : leg i moves to where leg ``order[i]`` is.
    mirrored : for base and platform, whether the motion is a reflection.
    angles : for base and platform, the angle of the rotation, or twice that of the mirror line, in (-pi, pi] [rad].
    """

    order: tuple[int, ...]
    mirrored: tuple[bool, bool]
    angles: tuple[float, float]

    @property
    def is_swap(self) -> bool:
        """Whether it exchanges legs in three pairs."""
        return all(self.order[j] == i != j for i, j in enumerate(self.order))

    @property
    def is_third_turn(self) -> bool:
        """Whether it turns both sides by a third of a turn, either way."""
        cycles = all(self.order[self.order[j]] == i != j for i, j in enumerate(self.order))
        return cycles and not any(self.mirrored) and all(np.cos(angle) < 0.0 for angle in self.angles)


@lru_cache(maxsize=1)
def leg_orders() -> Ints:
    """Return all orders of six legs, (720, 6)."""
    return np.array(list(permutations(range(6))), dtype=np.int64)


def common_symmetries(sides: list[Array], tolerances: list[float]) -> list[Symmetry]:
    """Return the symmetries that two sets of points (6, 2), centred, have in common, the identity among them.

    Points of each set may be off by its tolerance.
    """
    orders = leg_orders()
    for points, tolerance in zip(sides, tolerances, strict=True):
        gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
        for j in range(1, 6):  # column by column, as most orders fall out early
            moved = gaps[orders[:, :j], orders[:, j : j + 1]]
            orders = orders[(np.abs(moved - gaps[:j, j]) <= 4.0 * tolerance).all(axis=1)]
    found = []
    for order in orders:
        base, platform = (_motion(points.T @ points[order]) for points in sides)
        found.append(Symmetry(tuple(order.tolist()), (base[0], platform[0]), (base[1], platform[1])))
    return found


def _motion(moment: Array) -> tuple[bool, float]:
    """Return the plane motion that best moves points p to q, from the sum of p q^T: mirrored or not, its angle."""
    (xx, xy), (yx, yy) = moment.tolist()
    if np.hypot(xx + yy, xy - yx) >= np.hypot(xx - yy, xy + yx):
        return False, float(np.arctan2(xy - yx, xx + yy))
    return True, float(np.arctan2(xy + yx, xx - yy))
