"""Leg equations of a Stewart platform, proven Newton steps on them, and the nearest pose to lengths that no pose has.

All functions work on one array, the memory, whose entries are named below; nothing is allocated. Inside, the platform
frame has its origin at the centroid of the platform points, which makes the bounds of the proofs smallest.

Unknowns are (w, u): T = T0 (exp(w), u), and leg equations f_i = g_i - |d_i|^2 / 2 with d_i = b_i + R^T (p - a_i) the
leg in the platform frame and g_i = L_i^2 / 2. The Jacobian row is (b_i x d_i, d_i), Stewart (24) over 2.
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array
from ...engine.compile import inline, kernel, outline

Vec = tuple[float, float, float]

# Geometry, constant.
BASE = 0  # a_i, 6 x 3 [m]
PLATFORM = 18  # b_i less their centroid, 6 x 3 [m]
LIMITS = 36  # shortest and longest length of each leg, 6 x 2 [m]
SHIFT = 48  # centroid of the platform points in {B}, 3 [m]
RADIUS = 51  # characteristic length l of the norm sqrt(l^2 |w|^2 + |u|^2) [m]
REACH = 52  # largest |b_i| [m]
BALL = 53  # radius of the ball in which the Lipschitz bound holds [m]
# State: the last good pose and what belongs to it.
QUATERNION = 54  # x, y, z, w
POSITION = 58  # of the centroid of the platform points, in {N}, 3 [m]
INVERSE = 61  # inverse Jacobian, 6 x 6
HALF_SQUARES = 97  # g of the pose, 6 [m^2]
SURPLUS = 103  # what the last step needed beyond its first Newton correction, 6: a second-order prediction
LIPSCHITZ = 109  # K: bound of |A D^2 f| in the ball, A the inverse [1/m]
ORDER = 110  # three legs with independent directions, then the other three, 6
ROW = 116  # where the next result goes
MAX_STEPS = 117  # proven steps that one line may take
# Workspace of a step.
TARGET = 120  # g to reach, 6 [m^2]
MISFIT = 126  # f, 6 [m^2]
CORRECTION = 132  # (w, u), 6
DIRECTION = 138  # d_i, 6 x 3 [m]
MOMENT = 156  # b_i x d_i, 6 x 3 [m^2]
MARGIN = 174  # h of the last step; h <= 1/2 proves
REPORT = 175  # of `follow`: steps, corrections, fraction of the line covered, largest h of the steps taken
PREDICTION = 179  # first correction of a step, 6
# What was within reach, see `tracking.kernels.reach`.
BOUNDED = 185  # 1 when a largest speed is given
MAX_SPEED = 186  # linear, of the origin of {B} [m/s], and angular [rad/s], 2
LENGTH_ERROR = 188  # largest error of a length [m]
DT = 189  # time since the last sample, for one update [s]; NaN when not given
AGE = 190  # time since the anchor [s]
ANCHORED = 191  # 1 when the platform was at the anchor AGE ago, for certain; 0 when there were several candidates
ANCHOR = 192  # last certified pose: origin of {B} in {N} 3 [m], quaternion 4
BLUR = 199  # how far the true pose may have been from the anchor, in the norm [m]
GAIN = 200  # bound of |A f| over the largest |f_i| [1/m]
SHIFT_SIZE = 201  # |SHIFT| [m]
BEFORE = 202  # last good pose before this update: quaternion 4, centroid 3
SIZE = 209

#: Rounding errors of lengths, as a share of lengths and of coordinates; near a singular pose they move it far.
LENGTH_ROUNDING = 1e-15


@inline
def row(m: Array, start: int, i: int) -> Vec:
    """Return row i of the three-column block at `start`."""
    return m[start + 3 * i], m[start + 3 * i + 1], m[start + 3 * i + 2]


@inline
def dot(a: Vec, b: Vec) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a: Vec, b: Vec) -> Vec:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def combine(v: Vec, r0: Vec, r1: Vec, r2: Vec) -> Vec:
    """Return the row vector v times the matrix with rows r0, r1, r2."""
    return (
        v[0] * r0[0] + v[1] * r1[0] + v[2] * r2[0],
        v[0] * r0[1] + v[1] * r1[1] + v[2] * r2[1],
        v[0] * r0[2] + v[1] * r1[2] + v[2] * r2[2],
    )


@inline
def inverse3(r0: Vec, r1: Vec, r2: Vec) -> tuple[Vec, Vec, Vec]:
    """Return the rows of the inverse of the matrix with rows r0, r1, r2."""
    c0 = cross(r1, r2)
    c1 = cross(r2, r0)
    c2 = cross(r0, r1)
    s = 1.0 / dot(r0, c0)
    return (
        (c0[0] * s, c1[0] * s, c2[0] * s),
        (c0[1] * s, c1[1] * s, c2[1] * s),
        (c0[2] * s, c1[2] * s, c2[2] * s),
    )


@inline
def rotation(m: Array) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the rotation of the state's unit quaternion, by rows."""
    x, y, z, w = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@inline
def write_pose(m: Array, out: Array, i: int) -> None:
    """Write the pose of {B} in {N} into the first 16 columns of row i, by rows."""
    R = rotation(m)
    s = row(m, SHIFT, 0)
    for k in range(3):
        out[i, 4 * k] = R[3 * k]
        out[i, 4 * k + 1] = R[3 * k + 1]
        out[i, 4 * k + 2] = R[3 * k + 2]
        out[i, 4 * k + 3] = m[POSITION + k] - (R[3 * k] * s[0] + R[3 * k + 1] * s[1] + R[3 * k + 2] * s[2])
        out[i, 12 + k] = 0.0
    out[i, 15] = 1.0


@inline
def misfit(m: Array, with_jacobian: bool) -> None:
    """Evaluate f = TARGET - |d|^2 / 2 at the state's pose, and the Jacobian rows if wanted."""
    R = rotation(m)
    p = row(m, POSITION, 0)
    for i in range(6):
        a = row(m, BASE, i)
        b = row(m, PLATFORM, i)
        c0, c1, c2 = p[0] - a[0], p[1] - a[1], p[2] - a[2]
        d0 = b[0] + (R[0] * c0 + R[3] * c1 + R[6] * c2)
        d1 = b[1] + (R[1] * c0 + R[4] * c1 + R[7] * c2)
        d2 = b[2] + (R[2] * c0 + R[5] * c1 + R[8] * c2)
        m[MISFIT + i] = m[TARGET + i] - 0.5 * (d0 * d0 + d1 * d1 + d2 * d2)
        if with_jacobian:
            m[DIRECTION + 3 * i] = d0
            m[DIRECTION + 3 * i + 1] = d1
            m[DIRECTION + 3 * i + 2] = d2
            m[MOMENT + 3 * i] = b[1] * d2 - b[2] * d1
            m[MOMENT + 3 * i + 1] = b[2] * d0 - b[0] * d2
            m[MOMENT + 3 * i + 2] = b[0] * d1 - b[1] * d0


@outline
def choose_order(m: Array) -> None:
    """Put the three legs whose directions are furthest from a plane first; the inverse is built on them."""
    best = -1.0
    for i in range(4):
        for j in range(i + 1, 5):
            for k in range(j + 1, 6):
                a = row(m, DIRECTION, i)
                b = row(m, DIRECTION, j)
                c = row(m, DIRECTION, k)
                volume = dot(a, cross(b, c))
                size = volume * volume / (dot(a, a) * dot(b, b) * dot(c, c))
                if size > best:
                    best = size
                    m[ORDER] = i
                    m[ORDER + 1] = j
                    m[ORDER + 2] = k
    n = 3
    for i in range(6):
        if i != m[ORDER] and i != m[ORDER + 1] and i != m[ORDER + 2]:
            m[ORDER + n] = i
            n += 1


@inline
def first_legs_nearly_coplanar(m: Array) -> bool:
    """Tell whether the block that the inverse is built on has become a poor choice."""
    a, b, c = (
        row(m, DIRECTION, int(m[ORDER])),
        row(m, DIRECTION, int(m[ORDER + 1])),
        row(m, DIRECTION, int(m[ORDER + 2])),
    )
    volume = dot(a, cross(b, c))
    return volume * volume < 0.01 * dot(a, a) * dot(b, b) * dot(c, c)


@inline
def spread(m: Array, line: int, columns: int, a: Vec, sign: float) -> None:
    """Store a vector in row `line` of the inverse, at the columns of three legs of the order."""
    start = INVERSE + 6 * line
    m[start + int(m[ORDER + columns])] = sign * a[0]
    m[start + int(m[ORDER + columns + 1])] = sign * a[1]
    m[start + int(m[ORDER + columns + 2])] = sign * a[2]


@inline
def invert(m: Array) -> None:
    """Invert the Jacobian [M, D] by blocks, on three legs with independent directions.

    With rows split in the first three legs (1) and the others (2):
    P = D1^-1, G = D2 P, H = (M2 - G M1)^-1; then w = H (f2 - G f1) and u = P (f1 - M1 w).
    """
    if first_legs_nearly_coplanar(m):
        choose_order(m)
    i, j, k = int(m[ORDER]), int(m[ORDER + 1]), int(m[ORDER + 2])
    m0, m1, m2 = row(m, MOMENT, i), row(m, MOMENT, j), row(m, MOMENT, k)
    p0, p1, p2 = inverse3(row(m, DIRECTION, i), row(m, DIRECTION, j), row(m, DIRECTION, k))
    i, j, k = int(m[ORDER + 3]), int(m[ORDER + 4]), int(m[ORDER + 5])
    g0 = combine(row(m, DIRECTION, i), p0, p1, p2)
    g1 = combine(row(m, DIRECTION, j), p0, p1, p2)
    g2 = combine(row(m, DIRECTION, k), p0, p1, p2)
    n0, n1, n2 = row(m, MOMENT, i), row(m, MOMENT, j), row(m, MOMENT, k)
    e0 = combine(g0, m0, m1, m2)
    e1 = combine(g1, m0, m1, m2)
    e2 = combine(g2, m0, m1, m2)
    h0, h1, h2 = inverse3(
        (n0[0] - e0[0], n0[1] - e0[1], n0[2] - e0[2]),
        (n1[0] - e1[0], n1[1] - e1[1], n1[2] - e1[2]),
        (n2[0] - e2[0], n2[1] - e2[1], n2[2] - e2[2]),
    )
    f0 = combine(h0, g0, g1, g2)
    f1 = combine(h1, g0, g1, g2)
    f2 = combine(h2, g0, g1, g2)
    spread(m, 0, 3, h0, 1.0)
    spread(m, 1, 3, h1, 1.0)
    spread(m, 2, 3, h2, 1.0)
    spread(m, 0, 0, f0, -1.0)
    spread(m, 1, 0, f1, -1.0)
    spread(m, 2, 0, f2, -1.0)
    for line in range(3):
        p = p0 if line == 0 else (p1 if line == 1 else p2)
        q = combine(p, m0, m1, m2)
        spread(m, 3 + line, 3, combine(q, h0, h1, h2), -1.0)
        z = combine(q, f0, f1, f2)
        spread(m, 3 + line, 0, (p[0] + z[0], p[1] + z[1], p[2] + z[2]), 1.0)


@inline
def apply_inverse(m: Array) -> None:
    """Write CORRECTION = A MISFIT."""
    f0, f1, f2 = row(m, MISFIT, 0)
    f3, f4, f5 = row(m, MISFIT, 1)
    for i in range(6):
        a = INVERSE + 6 * i
        m[CORRECTION + i] = m[a] * f0 + m[a + 1] * f1 + m[a + 2] * f2 + m[a + 3] * f3 + m[a + 4] * f4 + m[a + 5] * f5


@inline
def norm(m: Array, start: int) -> float:
    """Return sqrt(l^2 |w|^2 + |u|^2) of the six numbers at `start` [m]."""
    w = row(m, start, 0)
    u = row(m, start, 1)
    return math.sqrt(m[RADIUS] * m[RADIUS] * dot(w, w) + dot(u, u))


@inline
def move(m: Array) -> None:
    """Apply CORRECTION to the pose: p += R u, and R turned by the Cayley map of w, an angle of at most |w|."""
    R = rotation(m)
    u = row(m, CORRECTION, 1)
    m[POSITION] += R[0] * u[0] + R[1] * u[1] + R[2] * u[2]
    m[POSITION + 1] += R[3] * u[0] + R[4] * u[1] + R[5] * u[2]
    m[POSITION + 2] += R[6] * u[0] + R[7] * u[1] + R[8] * u[2]
    a, b, c = 0.5 * m[CORRECTION], 0.5 * m[CORRECTION + 1], 0.5 * m[CORRECTION + 2]
    x, y, z, w = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
    x1 = x + w * a + y * c - z * b
    y1 = y + w * b + z * a - x * c
    z1 = z + w * c + x * b - y * a
    w1 = w - x * a - y * b - z * c
    s = 1.0 / math.sqrt(x1 * x1 + y1 * y1 + z1 * z1 + w1 * w1)
    m[QUATERNION] = x1 * s
    m[QUATERNION + 1] = y1 * s
    m[QUATERNION + 2] = z1 * s
    m[QUATERNION + 3] = w1 * s


# A proven step starts at a pose T0 whose squared half lengths are known, and ends at the pose for new ones. It is taken
# only when the Newton-Kantorovich theorem proves that every point of the straight line between the two has exactly one
# pose near T0: then the new pose lies on the same branch (doc/stewart_tracking.md, "What continued means").

#: Largest h that counts as proof: 1/2 by the theorem, less for the rounding errors of h itself.
MAX_H = 0.45
#: The ball of the proof, as a share of the characteristic length.
BALL_SHARE = 0.25
#: A step has converged when the next correction is provably below this share of the characteristic length.
CONVERGED = 1e-14
#: Corrections of one step; three are enough for one in Newton's quadratic basin.
MAX_CORRECTIONS = 10


@inline
def bound_second_derivative(m: Array, moved: float) -> None:
    """Write LIPSCHITZ and GAIN for the state's pose, `moved` being how far it went since the inverse was built [m].

    D^2 f_i on a unit vector is at most the larger eigenvalue of [[|c_i| |b_i| / l^2, |b_i| / l], [., 1]], c_i from the
    platform's centroid to the base joint, lengthened by the ball's radius. The inverse is A, not that of this very
    pose: with e = K moved the bounds of the theorem grow by 1 / (1 - e) each.
    """
    squares_w = 0.0
    squares_u = 0.0
    for i in range(18):
        squares_w += m[INVERSE + i] * m[INVERSE + i]
        squares_u += m[INVERSE + 18 + i] * m[INVERSE + 18 + i]
    furthest = 0.0
    p = row(m, POSITION, 0)
    for i in range(6):
        a = row(m, BASE, i)
        c = (p[0] - a[0], p[1] - a[1], p[2] - a[2])
        furthest = max(furthest, dot(c, c))
    ratio = m[REACH] / m[RADIUS]
    beta = (math.sqrt(furthest) + m[BALL]) * ratio / m[RADIUS]
    eigenvalue = 0.5 * (beta + 1.0 + math.sqrt((beta - 1.0) * (beta - 1.0) + 4.0 * ratio * ratio))
    gain = math.sqrt(6.0 * (m[RADIUS] * m[RADIUS] * squares_w + squares_u))
    e = min(gain * eigenvalue * moved, 0.5)
    m[GAIN] = gain / ((1.0 - e) * (1.0 - e))
    m[LIPSCHITZ] = m[GAIN] * eigenvalue


@outline
def settle_core(m: Array) -> None:
    """Make the state belong to its pose: half squares, inverse and bound, with no history."""
    for i in range(6):
        m[TARGET + i] = 0.0
        m[SURPLUS + i] = 0.0
    misfit(m, True)
    for i in range(6):
        m[HALF_SQUARES + i] = -m[MISFIT + i]
    choose_order(m)
    invert(m)
    bound_second_derivative(m, 0.0)


@kernel("(float64[::1],)")
def settle(m: Array) -> None:
    """Run `settle_core`."""
    settle_core(m)


@outline
def proven_step(m: Array, use_history: bool) -> int:
    """Go to the pose for TARGET if the line from HALF_SQUARES to it is proven to stay on the branch.

    Returns the number of corrections; 0 when the proof fails, the pose being untouched (MARGIN holds by how
    much); -1 when the corrections do not converge or leave the ball, the pose being spoilt.
    """
    for i in range(6):
        m[MISFIT + i] = m[TARGET + i] - m[HALF_SQUARES + i]
    apply_inverse(m)
    bound = m[LIPSCHITZ]
    eta = norm(m, CORRECTION)
    h = eta * bound
    m[MARGIN] = h
    if not (h <= MAX_H and 2.0 * eta <= m[BALL]):
        return 0
    total = eta
    for i in range(6):
        m[PREDICTION + i] = m[CORRECTION + i]
    if use_history and norm(m, SURPLUS) <= 0.2 * eta:
        for i in range(6):
            m[CORRECTION + i] += m[SURPLUS + i]
        total = norm(m, CORRECTION)
    for i in range(6):
        m[SURPLUS + i] = m[CORRECTION + i] - m[PREDICTION + i]
    move(m)
    goal = CONVERGED * m[RADIUS]
    corrections = 1
    moved = np.inf  # since the inverse was built, for this step's purposes
    remaining = np.inf
    while remaining > goal and corrections < MAX_CORRECTIONS:
        renew = bound * moved > 0.01
        misfit(m, renew)
        if renew:
            invert(m)
            moved = 0.0
        apply_inverse(m)
        last = norm(m, CORRECTION)
        total += last
        if corrections == 1:
            for i in range(6):
                m[SURPLUS + i] += m[CORRECTION + i]
        move(m)
        corrections += 1
        moved += last
        remaining = bound * moved * last
    if not (remaining <= goal and bound * total <= 1.0 and total <= m[BALL]):
        return -1
    bound_second_derivative(m, moved)
    for i in range(6):
        m[HALF_SQUARES + i] = m[TARGET + i]
    return corrections


_MAX_ITERATIONS = 200
_MATRIX = INVERSE  # the normal matrix takes the place of the inverse, which `settle_core` restores afterwards


@inline
def length_errors(m: Array) -> float:
    """Turn MISFIT into errors of the lengths and Jacobian rows into theirs; return the sum of squares."""
    total = 0.0
    for i in range(6):
        d = row(m, DIRECTION, i)
        length = math.sqrt(dot(d, d))
        s = 1.0 / max(length, 1e-9 * m[RADIUS])
        error = math.sqrt(2.0 * m[TARGET + i]) - length
        m[MISFIT + i] = error
        total += error * error
        for k in range(3):
            m[DIRECTION + 3 * i + k] *= s
            m[MOMENT + 3 * i + k] *= s
    return total


@inline
def damped_correction(m: Array, damping: float) -> None:
    """Write CORRECTION = (J^T J + damping W)^-1 J^T MISFIT, W the weights of the norm, by Cholesky."""
    for i in range(6):
        o = MOMENT + i if i < 3 else DIRECTION + i - 3
        m[CORRECTION + i] = 0.0
        for k in range(6):
            m[CORRECTION + i] += m[o + 3 * k] * m[MISFIT + k]
        for j in range(i + 1):
            n = MOMENT + j if j < 3 else DIRECTION + j - 3
            total = 0.0
            for k in range(6):
                total += m[o + 3 * k] * m[n + 3 * k]
            m[_MATRIX + 6 * i + j] = total
        m[_MATRIX + 7 * i] += damping * (m[RADIUS] * m[RADIUS] if i < 3 else 1.0)
    for i in range(6):
        for j in range(i + 1):
            total = m[_MATRIX + 6 * i + j]
            for k in range(j):
                total -= m[_MATRIX + 6 * i + k] * m[_MATRIX + 6 * j + k]
            m[_MATRIX + 6 * i + j] = math.sqrt(max(total, 1e-300)) if i == j else total / m[_MATRIX + 7 * j]
    for i in range(6):
        for k in range(i):
            m[CORRECTION + i] -= m[_MATRIX + 6 * i + k] * m[CORRECTION + k]
        m[CORRECTION + i] /= m[_MATRIX + 7 * i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            m[CORRECTION + i] -= m[_MATRIX + 6 * k + i] * m[CORRECTION + k]
        m[CORRECTION + i] /= m[_MATRIX + 7 * i]


@outline
def approach_core(m: Array) -> float:
    """Move the state to a least-squares pose for TARGET (Levenberg-Marquardt); return the largest length error [m].

    The errors (wanted less found) stay in MISFIT. Spoils the inverse: call `settle_core` afterwards.
    """
    damping = 1e-3
    misfit(m, True)
    cost = length_errors(m)
    for _ in range(_MAX_ITERATIONS):
        q0, q1, q2, q3 = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
        p0, p1, p2 = m[POSITION], m[POSITION + 1], m[POSITION + 2]
        damped_correction(m, damping)
        w, u = row(m, CORRECTION, 0), row(m, CORRECTION, 1)
        size = math.sqrt(m[RADIUS] * m[RADIUS] * dot(w, w) + dot(u, u))
        move(m)
        misfit(m, True)
        trial = length_errors(m)
        if trial < cost:
            converged = cost - trial <= 1e-15 * cost and size < 1e-9 * m[RADIUS]
            cost = trial
            damping = max(0.1 * damping, 1e-15)
        else:
            m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3] = q0, q1, q2, q3
            m[POSITION], m[POSITION + 1], m[POSITION + 2] = p0, p1, p2
            misfit(m, True)
            length_errors(m)
            converged = size < 1e-14 * m[RADIUS]
            damping *= 10.0
        if converged or not (damping < 1e12) or cost < 1e-30 * m[RADIUS] * m[RADIUS]:
            break
    worst = 0.0
    for i in range(6):
        worst = max(worst, abs(m[MISFIT + i]))
    return worst


@kernel("float64(float64[::1])")
def approach(m: Array) -> float:
    """Run `approach_core`."""
    return approach_core(m)
