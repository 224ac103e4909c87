"""One step of learning in the set of inertias that `inertia_set` describes, for bodies with four by four matrices."""

from __future__ import annotations

import math

from ...engine.compile import inline, kernel, outline

#: Largest |z| of an eigenvalue: m stays between 8e-7 and 1 - 8e-7, so that no estimate is caught at the boundary.
FARTHEST = 14.0
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
    for k in range(4):
        x, y = a[k, p], a[k, q]
        a[k, p], a[k, q] = c * x - s * y, s * x + c * y
    for k in range(4):
        x, y = a[p, k], a[q, k]
        a[p, k], a[q, k] = c * x - s * y, s * x + c * y
    a[p, q] = a[q, p] = 0.0
    for k in range(4):
        x, y = v[k, p], v[k, q]
        v[k, p], v[k, q] = c * x - s * y, s * x + c * y


@outline
def _eigen(a, v):
    """Find the eigenvectors (columns of v) of a symmetric matrix a, which keeps its eigenvalues on the diagonal."""
    for i in range(4):
        for j in range(4):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        off, total = 0.0, 0.0
        for i in range(4):
            total += a[i, i] * a[i, i]
            for j in range(i):
                off += 2.0 * a[i, j] * a[i, j]
        if not off > _NOTHING * (off + total):
            return
        for p in range(3):
            for q in range(p + 1, 4):
                _turn(a, v, p, q)


@inline
def _compose(base, values, out, b):
    """Write base diag(values) base^T to out[b]."""
    for i in range(4):
        for j in range(i + 1):
            x = 0.0
            for k in range(4):
                x += base[i, k] * values[k] * base[j, k]
            out[b, i, j] = out[b, j, i] = x


@kernel(
    "(float64[:,:,::1], float64[::1], int64[::1], float64[::1], float64[:,:,::1], float64[:,::1], float64[:,::1],"
    " float64[:,::1], float64[::1], float64[:,:,::1], float64[:,:,::1])",
    quick=True,
)
def learn(coordinates, slope, bodies, step, factor, dual, a, v, values, moved, pseudo):
    """Write Z - h W^T L W within its bounds to `moved`, and the pseudo-inertias that it stands for.

    Parameters
    ----------
    coordinates, moved, pseudo : ndarray, shape (k, 4, 4)
    slope : ndarray, shape (10 n_bodies,)
        Y^T s, of all bodies of the robot.
    bodies : ndarray of int, shape (k,)
        Which of them learn.
    step : ndarray, shape (1,)
        h, the period over gamma.
    factor : ndarray, shape (k, 4, 4)
        W.
    dual : ndarray, shape (10, 16)
        Takes slopes over parameters to L.
    a, v, values : ndarray, shape (4, 4), (4, 4), (4,)
        Room to work in.

    Returns
    -------
    int
        1; 0 where a number is not finite.
    """
    for b in range(bodies.shape[0]):
        first = 10 * bodies[b]
        for i in range(4):
            for j in range(4):
                x = 0.0
                for k in range(10):
                    x += slope[first + k] * dual[k, 4 * i + j]
                a[i, j] = x
        for i in range(4):  # v = L W
            for j in range(4):
                x = 0.0
                for k in range(4):
                    x += a[i, k] * factor[b, k, j]
                v[i, j] = x
        for i in range(4):
            for j in range(i + 1):
                x = 0.0
                for k in range(4):
                    x += factor[b, k, i] * v[k, j]
                x = coordinates[b, i, j] - step[0] * x
                if not math.isfinite(x * x):
                    return 0
                a[i, j] = a[j, i] = x
                moved[b, i, j] = moved[b, j, i] = x
        _eigen(a, v)
        beyond = False
        for k in range(4):
            values[k] = min(max(a[k, k], -FARTHEST), FARTHEST)
            beyond |= values[k] != a[k, k]
        if beyond:
            _compose(v, values, moved, b)
        for k in range(4):
            values[k] = 1.0 / (1.0 + math.exp(-values[k]))
        for i in range(4):  # a = W V
            for j in range(4):
                x = 0.0
                for k in range(4):
                    x += factor[b, i, k] * v[k, j]
                a[i, j] = x
        _compose(a, values, pseudo, b)
    return 1
