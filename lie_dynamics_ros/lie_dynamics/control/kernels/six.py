"""Matrices of six columns: twists and wrenches, angular first."""

from __future__ import annotations

from ...engine.compile import outline


@outline
def along(values, turn, out):
    """Write the matrix of numbers along and about axes: the rows of `turn`, as the frame sees them."""
    for i in range(6):
        for j in range(6):
            out[i, j] = 0.0
    for part in range(0, 6, 3):
        for i in range(3):
            for j in range(3):
                x = 0.0
                for k in range(3):
                    x += turn[k, i] * values[part + k] * turn[k, j]
                out[part + i, part + j] = x


@outline
def multiply(a, b, out):
    """Write a b."""
    for i in range(6):
        for j in range(6):
            x = 0.0
            for k in range(6):
                x += a[i, k] * b[k, j]
            out[i, j] = x


@outline
def spread(a, values, out):
    """Write a diag(values) a^T, exactly symmetric."""
    for i in range(6):
        for j in range(i + 1):
            x = 0.0
            for k in range(6):
                x += a[i, k] * values[k] * a[j, k]
            out[i, j] = out[j, i] = x


@outline
def add(factor, a, x, out):
    """Add factor a x to `out`."""
    for i in range(out.shape[0]):
        y = 0.0
        for k in range(6):
            y += a[i, k] * x[k]
        out[i] += factor * y
