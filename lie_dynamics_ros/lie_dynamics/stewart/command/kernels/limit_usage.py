"""How much of its limits a motion takes, between the points of its grid too."""

from __future__ import annotations

import math

from ....arrays import Array
from ....engine.compile import inline, kernel
from .leg_samples import BEND, FORCES, SLOPE
from .path_points import SPEEDS

#: Equal parts of a step, at whose ends a motion is judged.
PARTS = 4


@inline
def largest_value(values: Array, squared: float) -> float:
    """Return the largest of values (5,) and, between them, of curves that bend like these, without a sign or with."""
    bent = 0.0
    for k in range(PARTS - 1):
        bent = max(bent, abs(values[k] - 2.0 * values[k + 1] + values[k + 2]))
    most = values[0] if squared > 0.0 else abs(values[0])
    for k in range(1, PARTS + 1):
        most = max(most, values[k] if squared > 0.0 else abs(values[k]))
    return float(most + 0.125 * bent)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:,::1],"
    " float64[::1])"
)
def limit_usage(
    table: Array, steps: Array, squares: Array, slopes: Array, rates: Array, most: Array, work: Array, out: Array
) -> int:
    """Write which part of accelerations, forces, rates and speeds each step (k,) uses at most.

    Samples (5 k, 68) of steps (k,) at their ends and three places between, squares (k + 1,) of s', and s'' (k,); limits
    of rates (8,), legs before speeds, and of accelerations and forces (12,); `work` (20, 5). Infinite where a number is
    none.
    """
    for i in range(steps.shape[0]):
        u, check = slopes[i], 0.0
        for k in range(PARTS + 1):
            row = table[(PARTS + 1) * i + k]
            x = max(squares[i] + 2.0 * u * steps[i] * k / PARTS, 0.0)
            for leg in range(6):
                slope, force = row[SLOPE + leg], FORCES + 3 * leg
                work[leg, k] = (slope * u + row[BEND + leg] * x) / most[leg]
                work[6 + leg, k] = (row[force] * u + row[force + 1] * x + row[force + 2]) / most[6 + leg]
                work[12 + leg, k] = slope * slope * x / (rates[leg] * rates[leg])
            for part in range(2):
                speed, limit = row[SPEEDS + part], rates[6 + part]
                work[18 + part, k] = speed * speed * x / (limit * limit)
            for c in range(20):
                check += 0.0 * work[c, k]
        usage, fast = 0.0, 0.0
        for c in range(20):
            if c < 12:
                usage = max(usage, largest_value(work[c], 0.0))
            else:
                fast = max(fast, largest_value(work[c], 1.0))
        out[i] = max(usage, math.sqrt(fast)) if check == 0.0 else math.inf  # a number that is not finite
    return 0
