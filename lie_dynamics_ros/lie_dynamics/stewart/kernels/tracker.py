"""Tracking the pose of a Stewart platform from one vector of motor positions to the next.

They are leg lengths [m], or for rotary legs angles [rad].
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array, Integers
from ...engine.compile import inline, kernel, outline
from ...tracking import LEG_LIMIT, NO_POSE, NOT_FINITE, NOT_POSITIVE, SINGULAR, TOO_FAR, TRACKED
from .newton import (
    AGE,
    ANCHORED,
    BALL,
    BEFORE,
    BOUNDED,
    CORRECTION,
    DIRECTION,
    DT,
    HALF_SQUARES,
    LIMITS,
    LIPSCHITZ,
    MARGIN,
    MAX_H,
    MAX_STEPS,
    MISFIT,
    MOMENT,
    PLATFORM,
    POSITION,
    QUATERNION,
    RADIUS,
    REPORT,
    ROW,
    SHIFT,
    TARGET,
    Vec,
    apply_inverse,
    approach_core,
    combine,
    cross,
    dot,
    misfit,
    proven_step,
    rotation,
    row,
    settle_core,
    write_pose,
)
from .reach_search import drop_anchor, only_pose_in_reach
from .turning import (
    ACROSS,
    ANGLES,
    ANGLES_BEFORE,
    GOAL,
    HORNS,
    ORIGIN,
    RODS,
    ROTARY,
    place_tips,
    settle_angles,
    turned_step,
)

#: What `follow_core` returns.
ARRIVED, AT_SINGULARITY, TOO_MANY_STEPS = 0, 1, 2

#: Share of the largest provable step that is taken, so that rounding does not spoil the proof.
_AIM = 0.9
#: The path ends at a singularity where no step that moves the platform by this share of its radius can be proven.
_SMALLEST_MOVE = 1e-6
#: It also ends where the corrections fail even for this fraction of the line: rounding errors have taken over.
_SHORTEST = 1e-12


@outline
def follow_core(m: Array, positions: Array) -> int:
    """Move the state along the line to `positions` (6,); it stays at the last point reached when it cannot go on.

    The line is straight in squared lengths, or in angles of rotary legs. The pose is a proven one of its branch all
    along. Returns ARRIVED, AT_SINGULARITY or TOO_MANY_STEPS and writes the memory's REPORT.
    """
    rotary = m[ROTARY] > 0.0
    for k in range(6):
        m[ORIGIN + k] = m[ANGLES + k] if rotary else m[HALF_SQUARES + k]
    done, stride = 0.0, 1.0
    steps, corrections = 0, 0
    worst = 0.0
    code = TOO_MANY_STEPS
    while steps < m[MAX_STEPS]:
        if stride > 1.0 - done:
            stride = 1.0 - done
        s = done + stride
        for k in range(6):
            if rotary:
                m[GOAL + k] = m[ORIGIN + k] + s * (positions[k] - m[ORIGIN + k])
            else:
                m[TARGET + k] = m[ORIGIN + k] + s * (0.5 * positions[k] * positions[k] - m[ORIGIN + k])
        q0, q1, q2, q3 = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
        p0, p1, p2 = m[POSITION], m[POSITION + 1], m[POSITION + 2]
        n = turned_step(m, False) if rotary else proven_step(m, False)
        stuck = (rotary or n == 0) and not (m[LIPSCHITZ] * _SMALLEST_MOVE * m[RADIUS] < MAX_H)
        if n > 0:
            steps += 1
            corrections += n
            worst = max(worst, m[MARGIN])
            done = s
            if done >= 1.0 or stuck:
                code = ARRIVED if done >= 1.0 else AT_SINGULARITY
                break
            stride *= 2.0
            continue
        shrink = 0.5
        if n < 0:
            m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3] = q0, q1, q2, q3
            m[POSITION], m[POSITION + 1], m[POSITION + 2] = p0, p1, p2
            if not rotary:
                settle_core(m)
        elif rotary:
            if m[MARGIN] > 2.0:
                shrink = max(0.1, 1.0 / m[MARGIN])
        else:
            # h and the first correction grow linearly with the stride, so this makes the next attempt succeed.
            h = m[MARGIN]
            shrink = _AIM * min(MAX_H / h, 0.5 * m[BALL] / (h / m[LIPSCHITZ]))
        stride *= shrink
        if not (stride > _SHORTEST) or (stuck and not rotary):
            code = AT_SINGULARITY
            break
    if rotary and code != ARRIVED:
        settle_angles(m)
    m[REPORT] = steps
    m[REPORT + 1] = corrections
    m[REPORT + 2] = done
    m[REPORT + 3] = worst
    return code


@kernel("int64(float64[::1], float64[::1])")
def follow(m: Array, positions: Array) -> int:
    """Run `follow_core`."""
    return follow_core(m, positions)


Rows = Integers

# One row of results.
POSE, TWIST, ACCELERATION, LENGTHS = 0, 16, 22, 28
STATUS, N_CORRECTIONS, N_STEPS, H, LEG, ERROR, COVERED = 34, 35, 36, 37, 38, 39, 40
PLACE, ORIENTATION = 41, 44  # of {B}, side by side; the quaternion is x, y, z, w
CONTINUED, CERTIFIED = 48, 49
SINCE, START = 50, 51  # time since the sample before [s], NaN without bound; BEFORE of the memory, 7
HELD, TURNED = 58, 64  # lengths of legs or rods [m], 6; angles of the pose [rad], 6, of rotary legs
WIDTH = 70

#: Lengths that no pose meets better than this share of the radius count as lengths that no pose has.
_NO_POSE = 1e-8


@inline
def refuse(m: Array, lengths: Array, out: Array, i: int) -> int:
    """Return the status that forbids these lengths, TRACKED when none does; LEG and ERROR say where and how much."""
    out[i, LEG] = 0
    out[i, ERROR] = 0.0
    for k in range(6):
        length = lengths[k]
        low, high = m[LIMITS + 2 * k], m[LIMITS + 2 * k + 1]
        if not (low <= length <= high and (length > 0.0 or m[ROTARY] > 0.0) and abs(length) < math.inf):
            out[i, LEG] = k
            out[i, ERROR] = length - low if length < low else length - high
            if not math.isfinite(length):
                return NOT_FINITE
            return LEG_LIMIT if length > 0.0 or m[ROTARY] > 0.0 else NOT_POSITIVE
    return TRACKED


@outline
def track_in_steps(m: Array, lengths: Array, out: Array, i: int) -> int:
    """Follow the line to `lengths` in several proven steps; on failure say why and go back to the last good pose."""
    rotary = m[ROTARY] > 0.0
    t0, t1, t2 = row(m, ANGLES, 0)
    t3, t4, t5 = row(m, ANGLES, 1)
    q0, q1, q2, q3 = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
    p0, p1, p2 = m[POSITION], m[POSITION + 1], m[POSITION + 2]
    code = follow_core(m, lengths)
    out[i, N_STEPS] = m[REPORT]
    out[i, N_CORRECTIONS] = m[REPORT + 1]
    out[i, COVERED] = m[REPORT + 2]
    out[i, H] = m[REPORT + 3]
    if code == ARRIVED:
        return TRACKED
    set_target(m, lengths)
    error = approach_core(m)
    out[i, ERROR] = error
    for k in range(6):
        if abs(m[MISFIT + k]) == error:
            out[i, LEG] = k
    status = TOO_FAR
    if error > _NO_POSE * m[RADIUS]:
        status = NO_POSE
    elif code == AT_SINGULARITY:
        status = SINGULAR
    m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3] = q0, q1, q2, q3
    m[POSITION], m[POSITION + 1], m[POSITION + 2] = p0, p1, p2
    if rotary:
        m[ANGLES], m[ANGLES + 1], m[ANGLES + 2] = t0, t1, t2
        m[ANGLES + 3], m[ANGLES + 4], m[ANGLES + 5] = t3, t4, t5
        settle_angles(m)
    else:
        settle_core(m)
    return status


@inline
def set_target(m: Array, positions: Array) -> None:
    """Let TARGET be what these motor positions want, and GOAL with the tips of rotary legs."""
    if m[ROTARY] > 0.0:
        for k in range(6):
            m[GOAL + k] = positions[k]
            m[TARGET + k] = 0.5 * m[RODS + k] * m[RODS + k]
        place_tips(m, GOAL)
    else:
        for k in range(6):
            m[TARGET + k] = 0.5 * positions[k] * positions[k]


@outline
def track(m: Array, lengths: Array, out: Array, i: int) -> int:
    """Track one vector of lengths and write row i, all but the twist; return the status.

    With a bound DT must be set. Where CERTIFIED stays 0, poses in reach have to be searched for, see `undecided`.
    """
    status = refuse(m, lengths, out, i)
    out[i, N_CORRECTIONS] = 0
    out[i, N_STEPS] = 0
    out[i, H] = 0.0
    out[i, COVERED] = 0.0
    out[i, CERTIFIED] = 0.0
    out[i, SINCE] = math.nan
    if m[BOUNDED] > 0.0:
        out[i, SINCE] = m[DT]
        m[AGE] += m[DT]
        m[DT] = math.nan
        for k in range(7):
            m[BEFORE + k] = m[QUATERNION + k]
            out[i, START + k] = m[QUATERNION + k]
        for k in range(6):
            m[ANGLES_BEFORE + k] = m[ANGLES + k]
    if status == TRACKED:
        q0, q1, q2, q3 = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
        p0, p1, p2 = m[POSITION], m[POSITION + 1], m[POSITION + 2]
        set_target(m, lengths)
        n = turned_step(m, True) if m[ROTARY] > 0.0 else proven_step(m, True)
        if n > 0:
            out[i, N_CORRECTIONS] = n
            out[i, N_STEPS] = 1
            out[i, H] = m[MARGIN]
            out[i, COVERED] = 1.0
        else:
            if n < 0:
                m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3] = q0, q1, q2, q3
                m[POSITION], m[POSITION + 1], m[POSITION + 2] = p0, p1, p2
                if m[ROTARY] == 0.0:
                    settle_core(m)
            status = track_in_steps(m, lengths, out, i)
    for k in range(6):
        out[i, LENGTHS + k] = lengths[k]
        out[i, HELD + k] = m[RODS + k] if m[ROTARY] > 0.0 else lengths[k]
    write_place(m, out, i, status)
    out[i, CONTINUED] = 1.0 if status == TRACKED else 0.0
    if m[ANCHORED] > 0.0 and status == TRACKED:
        blur = only_pose_in_reach(m, out, i, HELD, PLACE, ORIENTATION)
        if blur >= 0.0:
            drop_anchor(m, out, i, PLACE, ORIENTATION, blur)
            out[i, CERTIFIED] = 1.0
    return status


@inline
def write_place(m: Array, out: Array, i: int, status: int) -> None:
    """Write the status and all that depends on nothing but the pose."""
    out[i, STATUS] = status
    write_pose(m, out, i)
    for k in range(6):
        out[i, TURNED + k] = m[ANGLES + k]
    for k in range(4):
        out[i, ORIENTATION + k] = m[QUATERNION + k]
    for k in range(3):
        out[i, PLACE + k] = out[i, POSE + 4 * k + 3]


@inline
def undecided(m: Array, out: Array, i: int) -> bool:
    """Tell whether the poses in reach have to be searched for: the lengths may be right, and one proof did not do."""
    status = out[i, STATUS]
    refused = status == NOT_FINITE or status == NOT_POSITIVE or status == LEG_LIMIT
    return m[BOUNDED] > 0.0 and out[i, CERTIFIED] == 0.0 and not refused


@inline
def solve_rates(m: Array, start: int, out: Array, i: int, column: int) -> None:
    """Solve J x = right-hand side at `start` (6) and write x, a body twist of the centroid turned to that of {B}.

    The inverse at hand is that of a pose a hair away, so its solution is refined with the Jacobian of this pose.
    """
    for k in range(6):
        m[MISFIT + k] = m[start + k]
        out[i, column + k] = 0.0
    first = 0.0
    for _ in range(4):
        apply_inverse(m)
        size = 0.0
        for k in range(6):
            out[i, column + k] += m[CORRECTION + k]
            size = max(size, abs(m[CORRECTION + k]))
        first = max(first, size)
        if size <= 1e-15 * first:
            break
        w = (out[i, column], out[i, column + 1], out[i, column + 2])
        v = (out[i, column + 3], out[i, column + 4], out[i, column + 5])
        for k in range(6):
            m[MISFIT + k] = m[start + k] - dot(row(m, MOMENT, k), w) - dot(row(m, DIRECTION, k), v)


@outline
def write_rates(m: Array, positions: Array, rates: Array, accelerations: Array, out: Array, i: int) -> None:
    """Write the body twist for rates of the motors, and its derivative for their derivatives where given (size 6).

    With d the leg and e = v + w x b its rate, both in the platform frame: J (w, v) = L L', and
    J (w', v') = L'^2 + L L'' - |e|^2 - d . (w x e). Of rotary legs, with a' and a'' of the tips in the platform frame:
    J (w, v) = d . a', and J (w', v') = d . a'' - |e - a'|^2 - d . (w x e).
    """
    rotary = m[ROTARY] > 0.0
    misfit(m, True)
    if rotary:
        R = rotation(m)
        for k in range(6):
            m[TARGET + k] = rates[k] * dot(row(m, DIRECTION, k), tip_across(m, k, 1.0, R))
    else:
        for k in range(6):
            m[TARGET + k] = positions[k] * rates[k]
    solve_rates(m, TARGET, out, i, TWIST)
    w = (out[i, TWIST], out[i, TWIST + 1], out[i, TWIST + 2])
    v = (out[i, TWIST + 3], out[i, TWIST + 4], out[i, TWIST + 5])
    if accelerations.shape[0] == 6:
        if rotary:
            R = rotation(m)
            for k in range(6):
                d, x = row(m, DIRECTION, k), rates[k]
                across, along = tip_across(m, k, 1.0, R), tip_across(m, k, 0.0, R)
                e = end_velocity(m, k, w, v)
                gap = (e[0] - x * across[0], e[1] - x * across[1], e[2] - x * across[2])
                bent = accelerations[k] * dot(d, across) - x * x * dot(d, along)
                m[TARGET + k] = bent - dot(gap, gap) - dot(d, cross(w, e))
        else:
            for k in range(6):
                e = end_velocity(m, k, w, v)
                centripetal = dot(e, e) + dot(row(m, DIRECTION, k), cross(w, e))
                m[TARGET + k] = rates[k] * rates[k] + positions[k] * accelerations[k] - centripetal
        solve_rates(m, TARGET, out, i, ACCELERATION)
        shift_origin(m, out, i, ACCELERATION)
    else:
        for k in range(6):
            out[i, ACCELERATION + k] = math.nan
    shift_origin(m, out, i, TWIST)


@inline
def end_velocity(m: Array, k: int, w: Vec, v: Vec) -> Vec:
    """Return v + w x b of leg k, in the platform frame."""
    t = cross(w, row(m, PLATFORM, k))
    return (v[0] + t[0], v[1] + t[1], v[2] + t[2])


@inline
def tip_across(m: Array, i: int, derivative: float, R: tuple[float, ...]) -> Vec:
    """Return the arm from a motor to the tip of its horn, or its derivative with the angle, in the platform frame."""
    c, s = math.cos(m[ANGLES + i]), math.sin(m[ANGLES + i])
    x, y = row(m, HORNS, i), row(m, ACROSS, i)
    if derivative > 0.0:
        c, s = -s, c
    tip = (c * x[0] + s * y[0], c * x[1] + s * y[1], c * x[2] + s * y[2])
    return combine(tip, (R[0], R[1], R[2]), (R[3], R[4], R[5]), (R[6], R[7], R[8]))


@inline
def shift_origin(m: Array, out: Array, i: int, column: int) -> None:
    """Turn the linear part from the centroid's to that of the origin of {B}: v - w x s."""
    t = cross((out[i, column], out[i, column + 1], out[i, column + 2]), row(m, SHIFT, 0))
    out[i, column + 3] -= t[0]
    out[i, column + 4] -= t[1]
    out[i, column + 5] -= t[2]


@inline
def clear_rates(out: Array, i: int) -> None:
    """Mark twist and acceleration as unknown."""
    for k in range(12):
        out[i, TWIST + k] = math.nan


@inline
def next_row(m: Array, out: Array) -> int:
    """Return the row to write and move on."""
    i = int(m[ROW])
    m[ROW] = i + 1 if i + 1 < out.shape[0] else 0
    return i


@kernel("(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:, ::1])", quick=True)
def update(m: Array, known: Array, lengths: Array, rates: Array, accelerations: Array, out: Array) -> int:
    """Track `lengths` (6,) [m] and return the row of `out` with the result.

    To it the number of rows is added if the pose is not valid, twice this number if it is `undecided`. A wrong number
    of lengths, or a bound and no time since the last sample, gives -1.

    `known` (1,) is 0, or 1 to solve also for the twist of leg rates (6,) [m/s], or 2 to solve also for the
    acceleration of their derivatives (6,) [m/s^2]; what is not known is not read.
    """
    if lengths.shape[0] != 6 or (known[0] > 0.0 and rates.shape[0] != 6):
        return -1
    if known[0] > 1.0 and accelerations.shape[0] != 6:
        return -1
    if m[BOUNDED] > 0.0 and not 0.0 <= m[DT] < math.inf:
        return -1
    i = next_row(m, out)
    code = i
    if track(m, lengths, out, i) != TRACKED:
        code += out.shape[0]
        clear_rates(out, i)
    elif known[0] > 0.0:
        write_rates(m, lengths, rates, accelerations if known[0] > 1.0 else rates[:0], out, i)
    else:
        clear_rates(out, i)
    if undecided(m, out, i):
        code = i + 2 * out.shape[0]
    return code


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], int64[::1])"
)
def update_many(
    m: Array, lengths: Array, rates: Array, accelerations: Array, dt: Array, out: Array, start: Rows
) -> int:
    """Track the rows of `lengths` (n, 6) in turn; `rates` and `accelerations` have n rows, or none when unknown.

    Returns n, or the first row from `start` (1,) on that is `undecided`. `dt` (n,) is the time before each [s], where
    there is a bound.
    """
    nothing = np.empty(0)
    for i in range(start[0], lengths.shape[0]):
        if m[BOUNDED] > 0.0:
            m[DT] = dt[i]
        if track(m, lengths[i], out, i) == TRACKED and rates.shape[0] > 0:
            a = accelerations[i] if accelerations.shape[0] > 0 else nothing
            write_rates(m, lengths[i], rates[i], a, out, i)
        else:
            clear_rates(out, i)
        if undecided(m, out, i):
            return i
    n: int = lengths.shape[0]
    return n


@kernel("(float64[::1], float64[::1], float64[::1], float64[::1], float64[:, ::1], int64[::1])")
def rewrite(m: Array, lengths: Array, rates: Array, accelerations: Array, out: Array, where: Rows) -> None:
    """Write the row `where` (1,) again for the memory's pose: twist, too, where `rates` has 6 entries."""
    i = where[0]
    write_place(m, out, i, TRACKED)
    if rates.shape[0] == 6:
        write_rates(m, lengths, rates, accelerations, out, i)
    else:
        clear_rates(out, i)


@kernel("(float64[::1], float64[:, ::1], int64[::1])")
def go_back(m: Array, out: Array, what: Rows) -> None:
    """Return to the last good pose before this update; `what` (2,) is the row to write as not valid, and its status."""
    i, status = what[0], what[1]
    out[i, CONTINUED] = 0.0
    for k in range(7):
        m[QUATERNION + k] = m[BEFORE + k]
    settle_core(m)
    write_place(m, out, i, status)
    clear_rates(out, i)
