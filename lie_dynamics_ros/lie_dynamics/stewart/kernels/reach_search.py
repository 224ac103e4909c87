"""Every pose with given leg lengths that is near a pose, by branch and prune: boxes are emptied, resolved or halved.

Coordinates of a pose are (l w, h): its rotation, seen from the anchor, is the Cayley map of w, and h is the place of
the platform points' centroid, in the anchor's axes. Boxes lie along the singular directions of the anchor's Jacobian,
so that near a singularity one direction only has to be divided. The proofs are in doc/stewart_tracking.md, "Poses in
reach".

Before it the quick test: whether a tracked pose is the only one with its lengths that the platform could have
reached. It was at the anchor, the last certified pose, AGE ago, and has not been faster than MAX_SPEED since; the proof
is there under "What certified means".
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array, Integers
from ...engine.compile import inline, kernel, outline
from .covariance import invert_left_half
from .newton import (
    AGE,
    ANCHOR,
    ANCHORED,
    BALL,
    BLUR,
    GAIN,
    LENGTH_ERROR,
    LENGTH_ROUNDING,
    LIPSCHITZ,
    MAX_SPEED,
    RADIUS,
    SHIFT_SIZE,
    cross,
    dot,
    row,
)

#: Reach is lengthened by this share, and this share of the radius (rad), so that rounding does not shorten it.
ROUNDING, SMALLEST = 1e-9, 1e-12
#: Share of the proven distance to other poses that is used, so that rounding errors of it do no harm.
_SAFE = 0.95


@inline
def drop_anchor(m: Array, out: Array, i: int, place: int, quaternion: int, blur: float) -> None:
    """Make the pose of row i, whose numbers begin at these columns, the last certified one."""
    for k in range(3):
        m[ANCHOR + k] = out[i, place + k]
    for k in range(4):
        m[ANCHOR + 3 + k] = out[i, quaternion + k]
    m[BLUR] = blur
    m[AGE] = 0.0
    m[ANCHORED] = 1.0


@outline
def only_pose_in_reach(m: Array, out: Array, i: int, lengths: int, place: int, quaternion: int) -> float:
    """Return the radius in which the true pose lies [m], if the pose of row i is proven to be the only one in reach.

    Otherwise -1: then nothing is known yet. The row's numbers begin at the columns given.
    """
    radius, shift = m[RADIUS], m[SHIFT_SIZE]
    longest = 0.0
    for k in range(6):
        longest = max(longest, out[i, lengths + k])
    bound = m[LIPSCHITZ]
    error = m[LENGTH_ERROR] + LENGTH_ROUNDING * longest
    eta = m[GAIN] * error * (longest + 0.5 * error)
    root = 1.0 - 2.0 * bound * eta
    if not root > 0.04:
        return -1.0
    root = math.sqrt(root)
    blur = (1.0 - root) / bound
    # How far the pose is from the anchor: along, and by an angle of 2 asin(x).
    gone = 0.0
    for k in range(3):
        gap = out[i, place + k] - m[ANCHOR + k]
        gone += gap * gap
    gone = math.sqrt(gone)
    v, w = row(m, ANCHOR + 3, 0), m[ANCHOR + 6]
    v1, w1 = (out[i, quaternion], out[i, quaternion + 1], out[i, quaternion + 2]), out[i, quaternion + 3]
    t = cross(v, v1)
    s = (w * v1[0] - w1 * v[0] - t[0], w * v1[1] - w1 * v[1] - t[1], w * v1[2] - w1 * v[2] - t[2])
    x = math.sqrt(dot(s, s))
    if not x <= 0.5:
        return -1.0
    turned = 2.0 * x * (1.0 + 0.2 * x * x)  # an upper bound
    spread = 1.0 + shift / radius
    reach = m[MAX_SPEED] * m[AGE] * (1.0 + ROUNDING) + SMALLEST * radius + m[BLUR] * spread
    angle = m[MAX_SPEED + 1] * m[AGE] * (1.0 + ROUNDING) + SMALLEST + m[BLUR] / radius
    if not (gone <= reach + blur * spread and turned <= angle + blur / radius):
        return -1.0
    # How far any other pose in reach can be from this one, and how near it cannot be.
    angle = radius * (angle + turned)
    reach += gone + shift * angle / radius
    distance = math.sqrt(angle * angle + reach * reach)
    if distance <= m[BALL] and bound * distance <= _SAFE * (1.0 + root):
        result: float = blur
        return result
    return -1.0


#: Boxes are resolved when the inverse Jacobian times its variation is below this; 1 would do without rounding.
_UNIQUE = 0.8
#: A pose found belongs to a box that is longer by this share; so poses on the border of two boxes are resolved.
_MARGIN = 0.1
#: A box is worked on again, not halved, when it has shrunk to this share of its volume.
_SHRUNK = 0.5
#: Boxes below this share of the radius are given up; poses nearer than the second are one.
_SMALLEST, _SAME = 1e-8, 1e-9
_ROUNDING = 1e-14
_STACK = 400
MOST = 40  # poses there can be


@outline
def evaluate(joints: Array, xi: Array, radius: float, N: Array, f: Array, sizes: Array) -> None:
    """Write the Jacobian by xi (6, 6), what half the squared lengths lack (6,), and |D|, |D x B|, |d|, (6, 3).

    `joints` (6, 7) holds base joints, arms and wanted half squares.
    """
    w0, w1, w2 = xi[0] / radius, xi[1] / radius, xi[2] / radius
    kappa = 1.0 + 0.25 * (w0 * w0 + w1 * w1 + w2 * w2)
    for i in range(6):
        b0, b1, b2 = joints[i, 3], joints[i, 4], joints[i, 5]
        s0, s1, s2 = w1 * b2 - w2 * b1, w2 * b0 - w0 * b2, w0 * b1 - w1 * b0
        B0 = b0 + (s0 + 0.5 * (w1 * s2 - w2 * s1)) / kappa
        B1 = b1 + (s1 + 0.5 * (w2 * s0 - w0 * s2)) / kappa
        B2 = b2 + (s2 + 0.5 * (w0 * s1 - w1 * s0)) / kappa
        D0, D1, D2 = joints[i, 0] - xi[3], joints[i, 1] - xi[4], joints[i, 2] - xi[5]
        d0, d1, d2 = B0 - D0, B1 - D1, B2 - D2
        m0, m1, m2 = D1 * B2 - D2 * B1, D2 * B0 - D0 * B2, D0 * B1 - D1 * B0
        f[i] = joints[i, 6] - 0.5 * (d0 * d0 + d1 * d1 + d2 * d2)
        N[i, 0] = (m0 + 0.5 * (m1 * w2 - m2 * w1)) / (kappa * radius)
        N[i, 1] = (m1 + 0.5 * (m2 * w0 - m0 * w2)) / (kappa * radius)
        N[i, 2] = (m2 + 0.5 * (m0 * w1 - m1 * w0)) / (kappa * radius)
        N[i, 3], N[i, 4], N[i, 5] = d0, d1, d2
        sizes[i, 0] = math.sqrt(D0 * D0 + D1 * D1 + D2 * D2)
        sizes[i, 1] = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
        sizes[i, 2] = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)


@outline
def invert_into(source: Array, work: Array, out: Array) -> bool:
    """Write the inverse of a matrix (6, 6); False where it is singular."""
    for r in range(6):
        for c in range(6):
            work[r, c] = source[r, c]
            work[r, 6 + c] = 1.0 if r == c else 0.0
    regular = invert_left_half(work)
    for r in range(6):
        for c in range(6):
            out[r, c] = work[r, 6 + c]
    return regular


@outline
def solve(joints: Array, xi: Array, radius: float, N: Array, f: Array, sizes: Array, work: Array, A: Array) -> bool:
    """Bring xi to the pose by Newton's method; False where it does not converge."""
    before = math.inf
    for _ in range(20):
        evaluate(joints, xi, radius, N, f, sizes)
        if not invert_into(N, work, A):
            return False
        size = 0.0
        for r in range(6):
            step = 0.0
            for c in range(6):
                step += A[r, c] * f[c]
            xi[r] += step
            size += step * step
        size = math.sqrt(size)
        if not size < 10.0 * radius:
            return False
        if size <= 1e-15 * radius or (size <= 1e-9 * radius and size >= 0.5 * before):
            return True
        before = size
    return False


@outline
def sum_of_products(left: Array, right: Array, transposed: bool, out: Array) -> None:
    """Write left right, or left^T right, of matrices (6, 6)."""
    for r in range(6):
        for c in range(6):
            total = 0.0
            for k in range(6):
                total += (left[k, r] if transposed else left[r, k]) * right[k, c]
            out[r, c] = total


@outline
def spans(V: Array, h: Array, out: Array) -> None:
    """Write how far a box of half widths `h` along the columns of V reaches in l w and in h, (2,)."""
    turn, move, total = 0.0, 0.0, 0.0
    for k in range(6):
        turn += h[k] * math.sqrt(V[0, k] * V[0, k] + V[1, k] * V[1, k] + V[2, k] * V[2, k])
        move += h[k] * math.sqrt(V[3, k] * V[3, k] + V[4, k] * V[4, k] + V[5, k] * V[5, k])
        total += h[k] * h[k]
    total = math.sqrt(total)
    out[0], out[1] = min(turn, total), min(move, total)


@outline
def weighted(P: Array, U: Array, y: Array) -> float:
    """Return the largest |P U^T z| over all |z_i| <= y_i."""
    total = 0.0
    for k in range(6):
        size = 0.0
        for i in range(6):
            entry = 0.0
            for j in range(6):
                entry += P[k, j] * U[i, j]
            size += abs(entry) * y[i]
        total += size * size
    return math.sqrt(total)


@outline
def turn_in_box(xi: Array, span: float, radius: float) -> float:
    """Return a bound of 2 tan(angle / 2) of rotations from a box's centre; infinite where the box is too large."""
    w = math.sqrt(xi[0] * xi[0] + xi[1] * xi[1] + xi[2] * xi[2]) / radius
    kappa = 1.0 + 0.25 * w * w
    bent = 0.25 * span / radius * w / kappa
    return span / radius / (math.sqrt(kappa) * (1.0 - bent)) if bent < 0.5 else math.inf


@outline
def bound_errors(
    joints: Array, xi: Array, span: Array, omega: float, errors: Array, radius: float, sizes: Array, out: Array
) -> None:
    """Write how far the leg equations in a box may be from linear ones, (6,); `omega` is its `turn_in_box`."""
    w = math.sqrt(xi[0] * xi[0] + xi[1] * xi[1] + xi[2] * xi[2]) / radius
    bent = 0.25 * span[0] / radius * w / (1.0 + 0.25 * w * w)
    v = span[1] * math.sqrt(1.0 + 0.25 * omega * omega)
    for i in range(6):
        b = math.sqrt(joints[i, 3] * joints[i, 3] + joints[i, 4] * joints[i, 4] + joints[i, 5] * joints[i, 5])
        D, moment, d = sizes[i, 0], sizes[i, 1], sizes[i, 2]
        quadratic = 0.5 * (omega * b + v) * (omega * D + v)
        out[i] = quadratic + moment * omega * bent + 0.5 * d * omega * span[1] + errors[i]
        out[i] += _ROUNDING * (joints[i, 6] + d * d)


@outline
def contract(P: Array, U: Array, f: Array, error: Array, lack: float, h: Array, shift: Array) -> float:
    """Cut a box down to where poses can be; return the share of its volume that is left, 0 when there are none.

    `P` is the inverse of U^T N V with `lack` added to its last entry. Half widths `h` (6,) are overwritten, `shift`
    (6,) is where the new centre lies.
    """
    share = 1.0
    for k in range(6):
        value, spread = 0.0, 0.0
        for i in range(6):
            entry = 0.0
            for j in range(6):
                entry += P[k, j] * U[i, j]
            value += entry * f[i]
            spread += abs(entry) * error[i]
        if k < 5:
            spread += abs(lack * P[k, 5]) * h[5]
        else:
            factor = 1.0 - lack * P[5, 5]
            if abs(value) > spread + abs(factor) * h[5]:
                return 0.0
            if not abs(factor) > 1e-6:
                shift[5] = 0.0
                continue
            value /= factor
            spread /= abs(factor)
        low, high = max(-h[k], value - spread), min(h[k], value + spread)
        if low > high:
            return 0.0
        if not high - low >= 0.0:  # NaN
            low, high = -h[k], h[k]
        shift[k] = 0.5 * (low + high)
        if high - low < 2.0 * h[k]:
            share *= max(high - low, 0.0) / (2.0 * h[k])
        h[k] = min(h[k], 0.5 * (high - low) * (1.0 + 1e-12) + 1e-300)
    return max(share, 1e-300)


@outline
def unique(
    joints: Array, A: Array, U: Array, span: Array, omega: float, radius: float, sizes: Array, work: Array
) -> float:
    """Return a bound of |A (J - J0)| in a box, J0 that of its centre; below 1 at most one pose is in the box."""
    for i in range(6):
        b = math.sqrt(joints[i, 3] * joints[i, 3] + joints[i, 4] * joints[i, 4] + joints[i, 5] * joints[i, 5])
        work[i] = (omega * b + span[1]) * math.sqrt(1.0 + sizes[i, 0] * sizes[i, 0] / (radius * radius))
    return weighted(A, U, work)


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1])"
)
def search(joints: Array, errors: Array, limits: Array, U: Array, V: Array, found: Array, report: Integers) -> int:
    """Find every pose in reach; return 1 when the search is finished, 0 when poses may be missing.

    Parameters
    ----------
    joints : (6, 7): base joints and arms from the centroid at the anchor, in its axes; half the squared lengths.
    errors : (6,), how wrong the half squares may be [m^2].
    limits : (5,): largest |w|, largest |h| [m], characteristic length [m], smallest pivot that is not regularised,
        boxes that may be looked at.
    U, V : (6, 6), singular vectors of the anchor's Jacobian, by columns, the smallest last.
    found : (MOST, 7), written: coordinates of the poses, and the radius in which the true pose lies [m].
    report : (2,), written: poses found, boxes looked at.
    """
    furthest, longest, radius, floor = limits[0], limits[1], limits[2], limits[3]
    stack = np.empty((_STACK, 12))
    N, S1, S, P, A = np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6))
    work, sizes, f, error, shift, line = (
        np.empty((6, 12)), np.empty((6, 3)), np.empty(6), np.empty(6), np.empty(6), np.empty(6),
    )  # fmt: skip
    xi, h, old, span, wide = np.zeros(6), np.empty(6), np.empty(6), np.empty(2), np.empty(2)
    for k in range(6):
        h[k] = radius * furthest * math.sqrt(V[0, k] ** 2 + V[1, k] ** 2 + V[2, k] ** 2)
        h[k] += longest * math.sqrt(V[3, k] ** 2 + V[4, k] ** 2 + V[5, k] ** 2)
        stack[0, k] = 0.0
        stack[0, 6 + k] = h[k]
    # Where two poses meet, errors of the lengths blur them by the root of the error: smaller boxes show nothing more.
    worst = 0.0
    for k in range(errors.shape[0]):
        worst = max(worst, errors[k])
    smallest = max(_SMALLEST * radius, 0.1 * math.sqrt(worst))
    height, boxes, poses = 1, 0, 0
    report[0], report[1] = 0, 0
    while height > 0:
        if boxes >= limits[4] or height + 2 > _STACK:
            return 0
        boxes += 1
        report[1] = boxes
        height -= 1
        largest = 0.0
        for k in range(6):
            xi[k], h[k] = stack[height, k], stack[height, 6 + k]
            largest = max(largest, h[k])
        spans(V, h, span)
        if math.sqrt(xi[0] ** 2 + xi[1] ** 2 + xi[2] ** 2) - span[0] > furthest * radius:
            continue
        if math.sqrt(xi[3] ** 2 + xi[4] ** 2 + xi[5] ** 2) - span[1] > longest:
            continue
        evaluate(joints, xi, radius, N, f, sizes)
        omega = turn_in_box(xi, span[0], radius)
        share = 1.0
        for k in range(6):
            shift[k] = 0.0
        if omega < 1.0:
            bound_errors(joints, xi, span, omega, errors, radius, sizes, error)
            sum_of_products(N, V, False, S1)
            empty = False
            for i in range(6):
                reach = error[i]
                for k in range(6):
                    reach += abs(S1[i, k]) * h[k]
                empty = empty or abs(f[i]) > reach
            if empty:
                continue
            sum_of_products(U, S1, True, S)
            lack = 0.0
            if not abs(S[5, 5]) >= floor:
                lack = (floor if S[5, 5] >= 0.0 else -floor) - S[5, 5]
                S[5, 5] += lack
            regular = invert_into(S, work, P)
            for k in range(6):
                old[k] = h[k]
            if regular:
                share = contract(P, U, f, error, lack, h, shift)
                if share == 0.0:
                    continue
            if lack != 0.0:
                S[5, 5] -= lack
                regular = invert_into(S, work, P)
            blur = weighted(P, U, errors)
            wide[0] = span[0] * (1.0 + _MARGIN) + 4.0 * blur
            wide[1] = span[1] * (1.0 + _MARGIN) + 4.0 * blur
            omega = turn_in_box(xi, wide[0], radius)
            kept = unique(joints, P, U, wide, omega, radius, sizes, line) if regular else math.inf
            if kept < _UNIQUE:
                for k in range(6):
                    line[k] = xi[k]
                if solve(joints, line, radius, N, f, sizes, work, A):
                    inside = True
                    for k in range(6):
                        gap = 0.0
                        for j in range(6):
                            gap += V[j, k] * (line[j] - xi[j])
                        inside = inside and abs(gap) <= (1.0 + _MARGIN) * old[k] + 4.0 * blur + 1e-13 * radius
                    if inside:
                        known = False
                        for p in range(poses):
                            apart = 0.0
                            for j in range(6):
                                apart += (found[p, j] - line[j]) ** 2
                            known = known or apart < (_SAME * radius) ** 2
                        if not known:
                            if poses == MOST:
                                return 0
                            for j in range(6):
                                found[poses, j] = line[j]
                            found[poses, 6] = blur / (1.0 - kept)
                            poses += 1
                            report[0] = poses
                        continue
        if not largest > smallest:
            return 0
        # Halve the box, or go on with what is left of it.
        for k in range(6):
            for j in range(6):
                xi[k] += V[k, j] * shift[j]
        wide_one = 0
        for k in range(6):
            if h[k] > h[wide_one]:
                wide_one = k
        halves = 1 if share <= _SHRUNK else 2
        for part in range(halves):
            side = 0.0 if halves == 1 else (0.5 if part == 0 else -0.5)
            for k in range(6):
                stack[height, k] = xi[k] + side * V[k, wide_one] * h[wide_one]
                stack[height, 6 + k] = h[k]
            if halves == 2:
                stack[height, 6 + wide_one] = 0.5 * h[wide_one]
            height += 1
    return 1
