"""The wrench that explains torques of joints, and what these do not tell of it."""

from __future__ import annotations

import math

import numpy.typing as npt
from numpy import float64

from ...engine.compile import kernel, outline
from ...engine.symmetric import factorize

Array = npt.NDArray[float64]

#: What counts as orthogonal, and as nothing: of the product of two lengths, and of the longest, squared.
_ORTHOGONAL, _NOTHING = 1e-15, 1e-30
_SWEEPS = 30
#: Numbers that are written: directions that are felt, and the square of what no wrench explains.
RANK, REST, N_NUMBERS = range(3)


@outline
def orthogonalize(a: Array, v: Array) -> None:
    """Turn columns of a (n, k) in pairs until they are orthogonal, and those of v (k, k) alike (Hestenes, 1958)."""
    n, k = a.shape
    total = 0.0
    for i in range(k):
        for j in range(k):
            v[i, j] = 1.0 if i == j else 0.0
        for r in range(n):
            total += a[r, i] * a[r, i]
    for _ in range(_SWEEPS):
        turned = False
        for p in range(k - 1):
            for q in range(p + 1, k):
                one, other, both = 0.0, 0.0, 0.0
                for r in range(n):
                    one += a[r, p] * a[r, p]
                    other += a[r, q] * a[r, q]
                    both += a[r, p] * a[r, q]
                size = math.sqrt(one * other)
                if abs(both) <= _ORTHOGONAL * size or size <= _NOTHING * total:
                    continue
                turned = True
                half = 0.5 * (other - one) / both
                t = math.copysign(1.0, half) / (abs(half) + math.hypot(half, 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for r in range(n):
                    x, y = a[r, p], a[r, q]
                    a[r, p], a[r, q] = c * x - s * y, s * x + c * y
                for r in range(k):
                    x, y = v[r, p], v[r, q]
                    v[r, p], v[r, q] = c * x - s * y, s * x + c * y
        if not turned:
            return


@kernel(
    "(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1])",
    quick=True,
)
def felt_wrench(
    J: Array,
    cover: Array,
    torque: Array,
    scale: Array,
    a: Array,
    v: Array,
    numbers: Array,
    wrench: Array,
    covariance: Array,
    unfelt: Array,
) -> int:
    """Write what torques tell of a wrench; 0, or 1 where their covariance is not positive definite.

    Parameters
    ----------
    J, cover, torque : shape (6, n), (n, n), (n,); the last two are lost.
    scale : shape (k + 1,), units of the last k components of a wrench; the largest deviation that counts as felt.
    a, v : shape (n, k), (k, k), lost.
    numbers : shape (N_NUMBERS,), written.
    wrench, covariance, unfelt : shape (6,), (6, 6), (k, 6), written: the last in the first k less those felt rows.
    """
    n, k = a.shape
    if not factorize(cover):
        return 1
    for i in range(n):  # forward substitution
        for r in range(i):
            torque[i] -= cover[i, r] * torque[r]
        torque[i] /= cover[i, i]
        for c in range(k):
            value = J[6 - k + c, i] * scale[c]
            for r in range(i):
                value -= cover[i, r] * a[r, c]
            a[i, c] = value / cover[i, i]
    orthogonalize(a, v)
    rank, rest, left = 0, 0.0, 0
    for i in range(n):
        rest += torque[i] * torque[i]
    wrench[:] = 0.0
    covariance[:, :] = 0.0
    unfelt[:, :] = 0.0
    for c in range(k):
        square, along = 0.0, 0.0
        for r in range(n):
            square += a[r, c] * a[r, c]
            along += a[r, c] * torque[r]
        if not square * scale[k] * scale[k] > 1.0:
            for i in range(k):
                unfelt[left, 6 - k + i] = scale[i] * v[i, c]
            left += 1
            continue
        rank += 1
        rest -= along * along / square
        for i in range(k):
            x = scale[i] * v[i, c] / square
            wrench[6 - k + i] += x * along
            for j in range(k):
                covariance[6 - k + i, 6 - k + j] += x * scale[j] * v[j, c]
    numbers[RANK], numbers[REST] = rank, rest
    return 0
