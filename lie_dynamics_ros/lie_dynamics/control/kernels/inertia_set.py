"""One step of learning in the set of inertias that `inertia_set` describes, for bodies with four by four matrices."""

from __future__ import annotations

import math

from ...engine.compile import inline, kernel, outline
from ...engine.symmetric import eigen

#: Largest |z| of an eigenvalue: m stays between 8e-7 and 1 - 8e-7, so that no estimate is caught at the boundary.
FARTHEST = 14.0


@inline
def _compose(base, values, out, b):
    """Write base diag(values) base^T to out[b]."""
    for i in range(4):
        for j in range(i + 1):
            x = 0.0
            for k in range(4):
                x += base[i, k] * values[k] * base[j, k]
            out[b, i, j] = out[b, j, i] = x


@outline
def stiffness(coordinates, a, v, values, out):
    """Write G = dZ/dR of each body to `out` (10 k, 10 k), lower triangle, in the basis of `momentum_prediction`.

    Between eigenvectors i and j of Z it is the inverse of the divided difference of 1 / (1 + exp(-z)), which is
    4 cosh(z_i / 2) cosh(z_j / 2) d / sinh d with d = (z_i - z_j) / 2; `a`, `v`, `values` are room to work in.
    """
    out[:, :] = 0.0
    for b in range(coordinates.shape[0]):
        for i in range(4):
            for j in range(4):
                a[i, j] = coordinates[b, i, j]
        eigen(a, v)
        for i in range(4):
            values[i] = a[i, i]
        for i in range(4):
            for j in range(i + 1):
                x = 0.5 * (values[i] - values[j])
                weight = 4.0 * math.cosh(0.5 * values[i]) * math.cosh(0.5 * values[j])
                if abs(x) > 1e-9:
                    weight *= x / math.sinh(x)
                k = 0
                for p in range(4):  # the coordinates of (v_i v_j^T + v_j v_i^T) / 2, or / sqrt(2), go to a
                    for q in range(p + 1):
                        x = 0.5 * (v[p, i] * v[q, j] + v[q, i] * v[p, j])
                        a[k // 4, k % 4] = x * _between(p, q) * _between(i, j)
                        k += 1
                for k in range(10):
                    for m in range(k + 1):
                        out[10 * b + k, 10 * b + m] += weight * a[k // 4, k % 4] * a[m // 4, m % 4]


@inline
def _between(i, j):
    return 1.0 if i == j else math.sqrt(2.0)


@kernel(
    "(float64[:,:,::1], float64[::1], int64[::1], float64[::1], float64[:,:,::1], float64[:,::1], float64[:,:,::1],"
    " float64[:,:,::1])",
    quick=True,
)
def learn(
    coordinates,  # Z (k, 4, 4)
    slope,  # Y^T s, of all bodies of the robot (10 n_bodies,)
    bodies,  # which of them learn (k,)
    step,  # h, the period over gamma (1,)
    factor,  # W (k, 4, 4)
    dual,  # takes slopes over parameters to L (10, 16)
    room,  # to work in (3, 4, 4)
    out,  # (2 k, 4, 4)
):
    """Write Z - h W^T L W within its bounds to `out`, and the pseudo-inertias that it stands for.

    Return 1; 0 where a number is not finite.
    """
    a, v, values, moved, pseudo = room[0], room[1], room[2, 0], out[: bodies.shape[0]], out[bodies.shape[0] :]
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
        eigen(a, v)
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
