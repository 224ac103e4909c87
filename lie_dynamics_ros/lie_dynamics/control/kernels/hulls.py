"""Bounds of polynomials by their hulls, for thousands at once and without the interpreter's lock."""

from __future__ import annotations

from ...arrays import Array
from ...engine.compile import kernel


@kernel("(float64[:,:,::1], float64[::1], float64[:,::1], float64[:,::1], float64[:,::1])")
def mark_hulls(c: Array, spans: Array, bound: Array, bernstein: Array, over: Array) -> int:
    """Mark polynomials that may exceed their bounds, by 1 in `over`; return how many.

    Parameters
    ----------
    c : ndarray, shape (k, degree + 1, m)
        Coefficients of rising powers of time.
    spans : ndarray, shape (k,)
        How long each lasts [s].
    bound : ndarray, shape (k, m)
    bernstein : ndarray, shape (degree + 1, degree + 1)
        Takes coefficients of powers of time over its span to those of Bernstein's polynomials.
    over : ndarray, shape (k, m)
        Overwritten.
    """
    count, size, columns = c.shape
    if spans.shape[0] != count or bound.shape[0] != count or bound.shape[1] != columns:
        return -1
    if over.shape[0] != count or over.shape[1] != columns or bernstein.shape[0] != size or bernstein.shape[1] != size:
        return -1
    found = 0
    for k in range(count):
        for j in range(columns):
            over[k, j] = 0.0
        for row in range(size):
            for j in range(columns):
                value, scale = 0.0, 1.0
                for i in range(row + 1):
                    value += bernstein[row, i] * (c[k, i, j] * scale)
                    scale *= spans[k]
                if not value <= bound[k, j]:
                    over[k, j] = 1.0
        for j in range(columns):
            if over[k, j] > 0.0:
                found += 1
    return found
