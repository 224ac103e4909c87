"""The mobility of a frame, and its inverse that is damped near singularities."""

from __future__ import annotations

import math

from ...engine.compile import inline, outline
from ...engine.symmetric import eigen, factorize, solve_factorized
from .six import spread
from .task_rows import (
    CHOSEN,
    COLUMN,
    DAMPED,
    GIVEN_UP,
    INVERSE,
    LEVER,
    MOBILITY,
    SCALE,
    SHARP,
    SHARPNESS,
    SINGULAR,
    VALUES,
    A,
    B,
    X,
)

_LEAST, _MOST = 1e-4, 1e4
"""Parts of the threshold that what replaces an inverse is at least; largest weight of turns and moves."""


@outline
def weigh(J, factor, weighted, vectors, squares, joints):
    """Factorize M, and write W = M^-1 J^T and J W of the components chosen; return whether that was done."""
    if not factorize(factor):
        return False
    n, column, chosen, mobility = factor.shape[0], joints[COLUMN], vectors[CHOSEN], squares[MOBILITY]
    for k in range(6):
        for i in range(n):
            column[i] = chosen[k] * J[k, i]
        solve_factorized(factor, column)
        for i in range(n):
            weighted[i, k] = column[i]
    for j in range(6):
        for k in range(j + 1):
            x = 0.0
            for i in range(n):
                x += J[j, i] * weighted[i, k]
            mobility[j, k] = mobility[k, j] = chosen[j] * x
    return True


@inline
def _damped(x, threshold):
    """Return 1 / x, or by what it is replaced where x is small."""
    if x >= threshold:
        return 1.0 / x if x > 0.0 else 0.0
    y = max(x, 0.0) / threshold
    return y * (2.0 - y * y) / threshold


@outline
def _loosen(vectors, squares, lever):
    """Write the damped inverse S (S A S + r D R D)^-1 S of the mobility A, with R = `squares[A]`; S inverts `SCALE`.

    D is what a lever makes of turns and moves against their mobility; r keeps R its size.
    """
    mobility, left, inverse = squares[MOBILITY], squares[A], squares[INVERSE]
    scale, weight, own = vectors[SCALE], vectors[X], vectors[SCALE, 3] / (vectors[SCALE, 0] * lever)
    for i in range(6):
        weight[i] = min(max(1.0, own * own if i < 3 else 1.0 / (own * own)), _MOST)
    before, after = 0.0, 0.0
    for i in range(6):
        for j in range(6):
            before += left[i, j] * left[i, j]
            after += left[i, j] * left[i, j] * weight[i] * weight[j]
    size = before / after if after > 0.0 else 0.0
    for i in range(6):
        for j in range(6):
            left[i, j] = size * weight[i] * left[i, j] * weight[j] + mobility[i, j] / (scale[i] * scale[j])
            inverse[i, j] = vectors[CHOSEN, i] / scale[i] if i == j else 0.0
        left[i, i] += 1.0 - vectors[CHOSEN, i]
    if factorize(left):
        for i in range(6):
            solve_factorized(left, inverse[i])
            for j in range(6):
                inverse[i, j] /= scale[j]


@outline
def invert(vectors, squares, numbers):
    """Write the damped inverse of the mobility, and the one that is damped later; see `operational_space`."""
    chosen, scale, values = vectors[CHOSEN], vectors[SCALE], vectors[VALUES]
    mobility, a, v = squares[MOBILITY], squares[A], squares[B]
    for part in range(0, 6, 3):
        mean, count = 0.0, 0.0
        for k in range(part, part + 3):
            mean, count = mean + mobility[k, k], count + chosen[k]
        size = math.sqrt(mean / max(count, 1.0))
        for k in range(part, part + 3):
            scale[k] = size if size > 0.0 else 1.0
    for i in range(6):
        for j in range(6):
            a[i, j] = mobility[i, j] / (scale[i] * scale[j])
    eigen(a, v)
    largest = 0.0
    for k in range(6):
        largest = max(largest, a[k, k])
    threshold = numbers[SINGULAR] ** 2 * largest
    numbers[DAMPED], numbers[GIVEN_UP] = 0.0, 0.0
    for k in range(6):
        values[k] = _damped(a[k, k], threshold)
        if chosen[k] > 0.0 and a[k, k] < threshold:
            y = max(a[k, k], 0.0) / threshold
            numbers[DAMPED] += 1.0
            numbers[GIVEN_UP] = max(numbers[GIVEN_UP], (1.0 - y * y) ** 2)
        for i in range(6):
            v[i, k] /= scale[i]
    spread(v, values, squares[INVERSE])
    for k in range(6):
        values[k] = _damped(a[k, k], numbers[SHARPNESS] ** 2 * threshold)
    spread(v, values, squares[SHARP])
    if numbers[LEVER] > 0.0 and numbers[DAMPED] > 0.0:
        for k in range(6):
            x = a[k, k]
            values[k] = chosen[k] * max(0.0, 1.0 / max(_damped(x, threshold), _LEAST / threshold) - max(x, 0.0))
            for i in range(6):
                v[i, k] *= scale[i]
        spread(v, values, a)
        _loosen(vectors, squares, numbers[LEVER])
