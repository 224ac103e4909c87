"""Stability of one sampled axis by the coefficients of its characteristic polynomial; doc/control.md derives it.

Eigenvalues give the same and take fifty times as long: a controller checks hundreds of loops when its period changes.
"""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import inline, kernel

#: Numbers: kp h^2, kd h, ki h^3, the delay in periods, the pole of the filter of velocities (NaN: none).
STIFFNESS, DAMPING, INTEGRAL, DELAY, POLE = range(5)
#: How many coefficients there are at most besides those of whole periods of delay.
ROOM = 9


@inline
def multiply(term: Array, degree: int, root: float) -> None:
    """Multiply a polynomial of this degree, its constant first, by z - root."""
    term[degree + 1] = term[degree]
    for i in range(degree, 0, -1):
        term[i] = term[i - 1] - root * term[i]
    term[0] = -root * term[0]


@inline
def add_term(
    work: Array, factor: float, c: tuple[float, float, float], ones: int, poles: int, pole: float, power: int
) -> None:
    """Add factor (c_0 + c_1 z + c_2 z^2) (z - 1)^ones (z - pole)^poles z^power to the first row; the second is lost."""
    term, degree = work[1], 2
    term[0], term[1], term[2] = c
    for _ in range(ones):
        multiply(term, degree, 1.0)
        degree += 1
    for _ in range(poles):
        multiply(term, degree, pole)
        degree += 1
    for i in range(degree + 1):
        if term[i] != 0.0:  # leading zeros would lie beyond the row
            work[0, i + power] += factor * term[i]


@inline
def roots_are_inside(work: Array, degree: int) -> int:
    """Return 1 where all roots of the first row lie inside the unit circle (Schur and Cohn); overwrites both rows."""
    a, b = work[0], work[1]
    while degree > 0:
        if not abs(a[0]) < abs(a[degree]):
            return 0
        ratio = a[0] / a[degree]
        for i in range(degree):
            b[i] = a[i + 1] - ratio * a[degree - 1 - i]
        for i in range(degree):
            a[i] = b[i]
        degree -= 1
    return 1


@kernel("(float64[::1], float64[:,::1])", quick=True)
def axis_is_stable(numbers: Array, work: Array) -> int:
    """Return 1 where the loop of `sampled_loop` with one axis is stable, but for its position where nothing pulls it.

    Parameters
    ----------
    numbers : ndarray, shape (5,)
        Some of them is not zero besides the delay and the pole.
    work : ndarray, shape (2, k)
        k is at least `ROOM` and the whole periods of delay. Overwritten.
    """
    if numbers.shape[0] != 5 or work.shape[0] != 2:
        return -1
    kp, kd, ki, delay, pole = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    whole = math.floor(delay)
    if work.shape[1] < ROOM + whole:
        return -1
    part = delay - whole
    # What a command does to the velocity, and to the position over (z - 1)^2, a period after it begins to act.
    early, late = part - 0.5 * part * part, 0.5 * (1.0 - part) * (1.0 - part)
    if part > 0.0:
        past = whole + 1
        v0, v1 = part, 1.0 - part
        p0, p1, p2 = part - early, 1.0 - part + early - late, late
    else:
        past = whole
        v0, v1 = 1.0, 0.0
        p0, p1, p2 = 0.5, 0.5, 0.0
    filtered = 0 if math.isnan(pole) else 2
    pulls = kp != 0.0 or ki != 0.0
    extra = 1 if ki != 0.0 else 0 if pulls else -1  # powers of z - 1 that all terms have besides
    work[0, :] = 0.0
    add_term(work, 1.0, (1.0, 0.0, 0.0), 2 + extra, filtered, pole, past)
    if pulls:
        add_term(work, kp + 0.5 * ki, (p0, p1, p2), extra, filtered, pole, 0)
    if filtered:
        add_term(work, kd * (1.0 - pole) * (1.0 - pole), (p0, p1, p2), 1 + extra, 0, pole, 1)
    else:
        add_term(work, kd, (v0, v1, 0.0), 1 + extra, 0, pole, 0)
    if ki != 0.0:
        add_term(work, ki, (p0, p1, p2), 0, filtered, pole, 0)
    return roots_are_inside(work, 2 + extra + filtered + past)
