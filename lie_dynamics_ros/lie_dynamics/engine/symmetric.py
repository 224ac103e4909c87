"""Symmetric matrices of a few rows: eigenvalues by Jacobi's rotations, Cholesky's factors and what they solve."""

from __future__ import annotations

import math

from .compile import inline, outline

#: What is off the diagonal, squared, over the squares of all, below which Jacobi's method has ended.
_NOTHING = 1e-36
_SWEEPS = 20


@inline
def _turn(a, v, p, q):
    """Make a[p, q] zero by a rotation in this plane."""
    if a[p, q] == 0.0:
        return
    half = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
    t = math.copysign(1.0, half) / (abs(half) + math.hypot(half, 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(a.shape[0]):
        x, y = a[k, p], a[k, q]
        a[k, p], a[k, q] = c * x - s * y, s * x + c * y
    for k in range(a.shape[0]):
        x, y = a[p, k], a[q, k]
        a[p, k], a[q, k] = c * x - s * y, s * x + c * y
    a[p, q] = a[q, p] = 0.0
    for k in range(a.shape[0]):
        x, y = v[k, p], v[k, q]
        v[k, p], v[k, q] = c * x - s * y, s * x + c * y


@outline
def eigen(a, v):
    """Find the eigenvectors (columns of v) of a symmetric matrix a, which keeps its eigenvalues on the diagonal."""
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        off, total = 0.0, 0.0
        for i in range(n):
            total += a[i, i] * a[i, i]
            for j in range(i):
                off += 2.0 * a[i, j] * a[i, j]
        if not off > _NOTHING * (off + total):
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                _turn(a, v, p, q)


@outline
def factorize(matrix):
    """Put Cholesky's factor into the lower triangle; return whether there is one."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            left = matrix[i, j]
            for k in range(j):
                left -= matrix[i, k] * matrix[j, k]
            if i != j:
                matrix[i, j] = left / matrix[j, j]
            elif left > 0.0:
                matrix[i, i] = math.sqrt(left)
            else:
                return False
    return True


@outline
def solve_factorized(factor, x):
    """Solve for x (n,) in place with a factor of `factorize`."""
    n = x.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]
