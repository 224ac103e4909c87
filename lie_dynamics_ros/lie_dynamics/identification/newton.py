"""Newton's method for a convex function with barriers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..errors import LieDynamicsError

_STEPS = 200
#: Times a step that must still be inside the barriers.
_BEYOND = 1.3


def minimize(
    value: Callable[[Array], float],
    slopes: Callable[[Array], tuple[Array, Array]],
    start: Array,
    enough: float = 0.0,
) -> tuple[Array, int]:
    """Return the minimum of a smooth convex function and the number of steps taken.

    Parameters
    ----------
    value : callable
        The function; infinite where it is not defined.
    slopes : callable
        Its gradient (n,) and positive definite Hessian (n, n).
    start : ndarray, shape (n,)
        A point where it is finite.
    enough : float
        Decrease that another step would bring, below which none is taken; round-off of the value in any case.

    Raises
    ------
    LieDynamicsError
        If 200 steps do not suffice.
    """
    x, now = start, value(start)
    for step in range(_STEPS):
        gradient, hessian = slopes(x)
        size = 1.0 / np.sqrt(np.diag(hessian))  # parameters differ by many orders of magnitude
        direction = -size * np.linalg.solve(hessian * size[:, None] * size, size * gradient)
        decrement = float(-gradient @ direction)
        if decrement <= max(enough, 1e-12 * max(1.0, abs(now))):
            return x, step
        length = 1.0
        while True:
            trial = value(x + length * direction)
            # Right beside a barrier Newton's method comes back by doubling distances: never leave less than a part.
            if trial <= now - 0.1 * length * decrement and value(x + _BEYOND * length * direction) < np.inf:
                break
            length *= 0.5
            if length < 1e-12:  # round-off: no smaller value is to be found
                return x, step
        x, now = x + length * direction, trial
    raise LieDynamicsError(f"identification: {_STEPS} Newton steps did not find the minimum")
