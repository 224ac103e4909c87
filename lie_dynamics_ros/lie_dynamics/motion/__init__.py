"""The fastest motion along a path under limits: one time law for legs, joints and motors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .kernels import time_law
from .kernels.time_law import LARGEST as LARGEST
from .kernels.time_law import LEAST as LEAST

__all__ = ["LARGEST", "LEAST", "Rows", "TimeLaw"]

Rows = tuple[Array, Array, Array]
"""Limits a s'' + b s'^2 <= c at points of a path, each (k, r)."""
TINY = 1e-12
"""Part of the largest coefficient of s'' below which one counts as none."""


@dataclass(frozen=True, eq=False)
class TimeLaw:
    """Limits along a path with parameter s, on a grid; s'' is constant in each of its steps (Pham and Pham, 2018).

    Attributes
    ----------
    a, b, c : ndarray, shape (k, r)
        Rows a s'' + b s'^2 <= c of each step, s'^2 being that at its begin.
    steps : ndarray, shape (k,)
        Of the grid.
    limits : ndarray, shape (2, k + 1)
        Least and largest s'^2 at its points.
    """

    a: Array
    b: Array
    c: Array
    steps: Array
    limits: Array

    @classmethod
    def of_steps(
        cls, begin: Rows, end: Rows, steps: Array, before: Array, after: Array, largest: float = np.inf
    ) -> TimeLaw:
        """Return the law of limits at both ends of each step, where s'^2 is at most ``before`` and ``after`` (k,).

        At the end of a step s'^2 has grown by 2 s'' times the step; it is at most ``largest`` anywhere.
        """
        (a0, b0, c0), (a1, b1, c1) = begin, end
        a, b, c = np.hstack([a0, a1 + 2.0 * steps[:, None] * b1]), np.hstack([b0, b1]), np.hstack([c0, c1])
        a[np.abs(a) < TINY * np.abs(a).max(initial=0.0)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(a == 0.0, c / b, np.nan)
        limits = np.zeros((2, len(steps) + 1))
        limits[LEAST, :-1] = np.fmax.reduce(np.where((b < 0.0) & (c < 0.0), alone, 0.0), axis=1, initial=0.0)
        most = limits[LARGEST]
        most[:] = largest
        most[:-1] = np.minimum(np.fmin.reduce(np.where(b > 0.0, alone, largest), axis=1, initial=largest), before)
        most[1:] = np.minimum(most[1:], after)
        most[:-1][((a == 0.0) & (b == 0.0) & (c < 0.0)).any(axis=1)] = -1.0  # no square keeps that
        a, b, c = (np.ascontiguousarray(x) for x in (a, b, c))
        return cls(a, b, c, steps, limits)

    def reachable(self) -> Array | None:
        """Return the least and largest s'^2 (2, k + 1) from which the end can be reached, or None for none."""
        reach = np.empty_like(self.limits)
        none = time_law.reachable(self.a, self.b, self.c, self.steps, self.limits, reach, np.empty(6))
        return None if none else reach

    def fastest(self, first: float, reach: Array) -> tuple[Array, Array]:
        """Return s'^2 (k + 1,) from the ``first`` on, which can be reached from, and s'' (k,): the fastest motion."""
        return self._along(time_law.fastest, first, reach)[:2]

    def slowest(self, first: float, planned: Array) -> tuple[Array, Array, int]:
        """Return the same, of the motion that rests soonest, and how many steps it takes; for limits that rest keeps.

        It is nowhere faster than ``planned``, squares (k + 1,).
        """
        return self._along(time_law.slowest, first, np.stack([np.zeros_like(planned), planned]))

    def _along(self, kernel: Callable[..., int], first: float, reach: Array) -> tuple[Array, Array, int]:
        squares, slopes = np.full(len(self.steps) + 1, first), np.zeros(len(self.steps))
        taken = kernel(self.a, self.b, self.c, self.steps, reach, squares, slopes, np.empty(6))
        return squares, slopes, taken
