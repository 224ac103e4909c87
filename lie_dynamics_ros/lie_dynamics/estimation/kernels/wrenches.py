"""Contact wrenches at a frame: from external joint torques, and from the reading of a force-torque sensor."""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import kernel, outline
from ...engine.symmetric import factorize

#: What counts as orthogonal, and as nothing: of the product of two lengths, and of the longest, squared.
_ORTHOGONAL, _NOTHING = 1e-15, 1e-30
_SWEEPS = 30
#: Numbers that are written: directions that are felt, and the square of what no wrench explains.
RANK, REST, N_NUMBERS = range(3)
#: Status where torques or their covariance are not finite.
NOT_NUMBERS = 2


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
    "(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], float64[::1], float64[:, ::1])",
    quick=True,
)
def felt_wrench(J: Array, cover: Array, torque: Array, scale: Array, work: Array, numbers: Array, found: Array) -> int:
    """Write the wrench that torques show; 0, 1 where their covariance is not positive definite, or NOT_NUMBERS.

    Parameters
    ----------
    J, cover, torque : shape (6, n), (n, n), (n,); the last two are lost.
    scale : shape (k + 1,), units of the last k components of a wrench; the largest deviation that counts as felt.
    work : shape (n + k, k), lost.
    numbers : shape (N_NUMBERS,), written.
    found : shape (7 + k, 6), written: the wrench, its covariance, and directions not felt, k less those felt.
    """
    n, k = torque.shape[0], work.shape[1]
    a, v, wrench, covariance, unfelt = work[:n], work[n:], found[0], found[1:7], found[7:]
    total = 0.0
    for i in range(n):
        total += torque[i]
        for j in range(n):
            total += cover[i, j]
    if not math.isfinite(total):
        return NOT_NUMBERS
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
    found[:, :] = 0.0
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


#: Numbers of a calibration: sign of readings, bias (6,), mass, centre of mass (3,).
SIGN, BIAS, MASS, COM = 0, 1, 7, 8
N_WORK = 27


@outline
def add_cross(a: Array, b: Array, factor: float, out: Array) -> None:
    """Add a x b times a factor to `out` (3,)."""
    out[0] += factor * (a[1] * b[2] - a[2] * b[1])
    out[1] += factor * (a[2] * b[0] - a[0] * b[2])
    out[2] += factor * (a[0] * b[1] - a[1] * b[0])


@kernel(
    "(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1], float64[:, ::1])",
    quick=True,
)
def sensed_contact(
    jacobian: Array,
    jacobian_rate: Array,
    qd: Array,
    qdd: Array,
    pose: Array,
    gravity: Array,
    reading: Array,
    numbers: Array,
    known: Array,
    about: Array,
    wrench: Array,
    covariance: Array,
    work: Array,
    spread: Array,
) -> int:
    """Write the contact wrench (6,) of a reading (6,), and its covariance (6, 6); return 0, or -1 for bad shapes.

    Parameters
    ----------
    jacobian, jacobian_rate, qd, qdd, pose : shape (6, n), (6, n), (n,), (n,), (4, 4), of the sensor's frame.
    gravity : shape (3,), in the world's axes.
    numbers, known : see above; covariance (10, 10) of bias, mass, and mass times centre of mass.
    about : inertia (3, 3) of the tool about its centre of mass.
    work, spread : zeros (N_WORK,), and (6, 10), lost.
    """
    n = qd.shape[0]
    if jacobian.shape[0] != 6 or jacobian.shape[1] != n or jacobian_rate.shape[0] != 6 or jacobian_rate.shape[1] != n:
        return -1
    if qdd.shape[0] != n or pose.shape[0] != 4 or pose.shape[1] != 4 or gravity.shape[0] != 3 or reading.shape[0] != 6:
        return -1
    if numbers.shape[0] != 11 or known.shape[0] != 10 or known.shape[1] != 10:
        return -1
    if about.shape[0] != 3 or about.shape[1] != 3 or wrench.shape[0] != 6 or work.shape[0] != N_WORK:
        return -1
    if covariance.shape[0] != 6 or covariance.shape[1] != 6 or spread.shape[0] != 6 or spread.shape[1] != 10:
        return -1
    V, A, felt, push, lever, turned, inner = (
        work[0:6], work[6:12], work[12:15], work[15:18], work[18:21], work[21:24], work[24:27]
    )  # fmt: skip
    for i in range(6):
        for k in range(qd.shape[0]):
            V[i] += jacobian[i, k] * qd[k]
            A[i] += jacobian[i, k] * qdd[k] + jacobian_rate[i, k] * qd[k]
    com, mass = numbers[COM : COM + 3], numbers[MASS]
    for i in range(3):
        for k in range(3):
            felt[i] += pose[k, i] * gravity[k]
        felt[i] -= A[3 + i]
        lever[i] = mass * com[i]
    for i in range(6):
        wrench[i] = numbers[SIGN] * reading[i] - numbers[BIAS + i]
    moment, force = wrench[:3], wrench[3:]
    w, v, turn = V[:3], V[3:], A[:3]
    for i in range(3):
        force[i] -= mass * felt[i]
        push[i] = mass * v[i]
    add_cross(lever, felt, -1.0, moment)
    add_cross(w, lever, 1.0, push)
    # G A - ad_V^T G V, and A of the angular acceleration alone: that of the origin is in what is felt.
    square = lever[0] * com[0] + lever[1] * com[1] + lever[2] * com[2]
    for i in range(3):
        for k in range(3):
            inertia = about[i, k] - lever[i] * com[k] + (square if i == k else 0.0)
            moment[i] += inertia * turn[k]
            inner[i] += inertia * w[k]
    add_cross(lever, v, 1.0, inner)
    add_cross(w, inner, 1.0, moment)
    add_cross(v, push, 1.0, moment)
    add_cross(turn, lever, 1.0, force)
    add_cross(w, push, 1.0, force)
    # Rows of readings over bias, mass, mass times centre of mass: (1, 0, -[g]x) and (1, g, 0).
    for c in range(10):
        for i in range(3):
            spread[i, c] = known[i, c]
            spread[3 + i, c] = known[3 + i, c] + felt[i] * known[6, c]
            turned[i] = known[7 + i, c]
        add_cross(turned, felt, 1.0, spread[:3, c])
    for i in range(6):
        for k in range(3):
            covariance[i, k] = spread[i, k]
            covariance[i, 3 + k] = spread[i, 3 + k] + felt[k] * spread[i, 6]
        add_cross(spread[i, 7:], felt, 1.0, covariance[i, :3])
    return 0
