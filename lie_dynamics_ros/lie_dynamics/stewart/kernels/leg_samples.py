"""Points of a path: pose, twist and its change; lengths of legs and their derivatives, angles at joints, leg forces."""

from __future__ import annotations

import math

from ...arrays import Array, Integers
from ...engine.compile import inline, kernel, outline
from ...lie.kernels.quaternions import Rows, coefficients, rotation_rows
from .covariance import eliminate
from .newton import Vec, combine, cross, dot

# A row of segments: value of s at its begin, pose of the tool there (R row by row, p), c for rising powers of s.
BEGIN, START, COEFFICIENTS, N_SEGMENT = 0, 1, 13, 37
# Frame: pose of the tool in the platform frame and of the platform in the tool frame, and whether c is a screw.
TOOL, BACK, SCREW, N_FRAME = 0, 12, 24, 25
# A row of results: pose of the platform, its twist for s' = 1 and the change of that along s, both in its own axes, and
# the tool's speeds for s' = 1: of its origin, and angular.
POSE, TWIST, CHANGE, SPEEDS, N_POINT = 0, 16, 22, 28, 30


@inline
def vector(x: Array, i: int) -> Vec:
    """Return three entries."""
    return x[i], x[i + 1], x[i + 2]


@inline
def rows(x: Array, i: int) -> Rows:
    """Return the rows of a 3x3 matrix that begins there."""
    return vector(x, i), vector(x, i + 3), vector(x, i + 6)


@inline
def times(M: Rows, x: Vec) -> Vec:
    """Return M x."""
    return dot(M[0], x), dot(M[1], x), dot(M[2], x)


@inline
def product(A: Rows, B: Rows) -> Rows:
    """Return A B."""
    return combine(A[0], *B), combine(A[1], *B), combine(A[2], *B)


@inline
def added(x: Vec, y: Vec, f: float) -> Vec:
    """Return x + f y."""
    return x[0] + f * y[0], x[1] + f * y[1], x[2] + f * y[2]


@inline
def put(x: Array, i: int, v: Vec) -> None:
    """Write three entries."""
    x[i], x[i + 1], x[i + 2] = v


@inline
def cubic(x: Array, i: int, u: float) -> tuple[Vec, Vec, Vec]:
    """Return a cubic polynomial of three entries, whose coefficients begin there six apart, and two derivatives."""
    c0, c1, c2, c3 = vector(x, i), vector(x, i + 6), vector(x, i + 12), vector(x, i + 18)
    value = added(c0, added(c1, added(c2, c3, u), u), u)
    first = added(c1, added(added(c2, c2, 1.0), c3, 3.0 * u), u)
    return value, first, added(added(c2, c2, 1.0), c3, 6.0 * u)


@outline
def place(segment: Array, frame: Array, s: float, out: Array) -> None:
    """Write a row of results for s in a segment."""
    u = s - segment[BEGIN]
    phi, phi1, phi2 = cubic(segment, COEFFICIENTS, u)
    x, x1, x2 = cubic(segment, COEFFICIENTS + 3, u)
    a, b, c, db, dc = coefficients(dot(phi, phi))
    begin = rows(segment, START)
    R = product(begin, rotation_rows(a, b, phi))
    p = vector(segment, START + 9)
    if frame[SCREW] != 0.0:  # c is linear: the body twist is constant
        shift = times(begin, times(rotation_rows(b, c, phi), x))
        p = added(p, shift, 1.0)
        w, v, w1, v1 = phi1, x1, phi2, x2
    else:  # rotation vector and position apart
        p = added(p, x, 1.0)
        swing = cross(phi, phi1)
        twice = cross(phi, swing)
        along = dot(phi, phi1)
        w = added(added(phi1, swing, -b), twice, c)
        bent = cross(phi, phi2)
        w1 = added(added(phi2, bent, -b), cross(phi, bent), c)
        w1 = added(added(w1, swing, -along * db), twice, along * dc)
        w1 = added(w1, cross(phi1, swing), c)
        v = combine(x1, *R)
        v1 = added(combine(x2, *R), cross(w, v), -1.0)
    out[SPEEDS], out[SPEEDS + 1] = math.sqrt(dot(v, v)), math.sqrt(dot(w, w))
    p = added(p, times(R, vector(frame, BACK + 9)), 1.0)
    R = product(R, rows(frame, BACK))
    for i in range(3):
        k = POSE + 4 * i
        put(out, k, R[i])
        out[k + 3] = p[i]
    put(out, POSE + 12, (0.0, 0.0, 0.0))
    out[POSE + 15] = 1.0
    move(frame, w, v, out, TWIST)
    move(frame, w1, v1, out, CHANGE)


@inline
def move(frame: Array, w: Vec, v: Vec, out: Array, i: int) -> None:
    """Write a twist of the tool, in its axes, as that of the platform."""
    turn = times(rows(frame, TOOL), w)
    put(out, i, turn)
    put(out, i + 3, added(times(rows(frame, TOOL), v), cross(vector(frame, TOOL + 9), turn), 1.0))


@kernel("(float64[:,::1], float64[::1], float64[::1], int64[::1], float64[:,::1])")
def points(segments: Array, frame: Array, s: Array, segment: Integers, out: Array) -> int:
    """Write rows of results for parameters (k,) in segments (k,)."""
    for i in range(s.shape[0]):
        place(segments[segment[i]], frame, s[i], out[i])
    return 0


@inline
def angle(a: Vec, b: Vec) -> float:
    """Return the angle between vectors [rad]."""
    across = cross(a, b)
    return math.atan2(math.sqrt(dot(across, across)), dot(a, b))


@kernel("(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,:,::1])")
def joint_angles(points: Array, axes: Array, poses: Array, out: Array) -> int:
    """Write angles (2, k, 6) on base and platform.

    Joints and axes (12, 3) on the base, then on the platform, in its frame; poses (k, 16).
    """
    for i in range(poses.shape[0]):
        pose = poses[i]
        r0, r1, r2 = vector(pose, 0), vector(pose, 4), vector(pose, 8)
        p = pose[3], pose[7], pose[11]
        for k in range(6):
            arm = vector(points[6 + k], 0)
            leg = added(added(p, vector(points[k], 0), -1.0), (dot(r0, arm), dot(r1, arm), dot(r2, arm)), 1.0)
            out[0, i, k] = angle(leg, vector(axes[k], 0))
            out[1, i, k] = angle(combine(leg, r0, r1, r2), vector(axes[6 + k], 0))
    return 0


# Platform: joints on the base, then on the platform, 12 x 3 [m]; its characteristic length [m]; the determinant of the
# leg Jacobian below which forces are not looked at.
SIZE, LEAST, N_PLATFORM = 36, 37, 38
# Load: inertia in the platform frame row by row, centre of mass [m], weight [N] in the base frame, wrench that acts
# besides in the platform frame (moment, force).
INERTIA, CENTER, WEIGHT, WRENCH, N_LOAD = 0, 36, 39, 42, 48
# A row of results goes on behind a point's: lengths, first and second derivatives along s; determinant of the leg
# Jacobian, a number no smaller than its condition number, terms of leg forces with s'', with s'^2 and with neither.
LENGTHS, SLOPE, BEND, DETERMINANT, CONDITION, FORCES, N_SAMPLE = 30, 36, 42, 48, 49, 50, 68
# Columns of the workspace: the transposed leg Jacobian, three wrenches, the identity.
LOADS, IDENTITY, N_WORK = 6, 9, 15


@inline
def pose_column(row: Array, j: int) -> Vec:
    """Return a column of the rotation, or the position."""
    return row[POSE + j], row[POSE + 4 + j], row[POSE + 8 + j]


@inline
def pose_row(row: Array, i: int) -> Vec:
    """Return a row of the rotation."""
    return vector(row, POSE + 4 * i)


@outline
def legs(platform: Array, row: Array, work: Array) -> int:
    """Write lengths and derivatives, and the transposed leg Jacobian to `work`; return which leg is of length zero."""
    r0, r1, r2, p = pose_row(row, 0), pose_row(row, 1), pose_row(row, 2), pose_column(row, 3)
    w, v = vector(row, TWIST), vector(row, TWIST + 3)
    w1, v1 = vector(row, CHANGE), vector(row, CHANGE + 3)
    for k in range(6):
        at, arm = vector(platform, 3 * k), vector(platform, 18 + 3 * k)
        leg = added((dot(r0, arm), dot(r1, arm), dot(r2, arm)), added(p, at, -1.0), 1.0)
        length = math.sqrt(dot(leg, leg))
        if not length > 0.0:
            return k + 1
        unit = combine((leg[0] / length, leg[1] / length, leg[2] / length), r0, r1, r2)
        moment = cross(arm, unit)
        moving = added(v, cross(w, arm), 1.0)
        along = dot(moving, unit)
        row[LENGTHS + k] = length
        row[SLOPE + k] = dot(moment, w) + dot(unit, v)
        swing = dot(moving, moving) - along * along
        row[BEND + k] = dot(moment, w1) + dot(unit, v1) + swing / length - dot(cross(w, unit), moving)
        work[0, k], work[1, k], work[2, k] = moment
        work[3, k], work[4, k], work[5, k] = unit
    return 0


@outline
def wrenches(load: Array, row: Array, work: Array, column: int) -> None:
    """Write the wrenches that legs exert, terms with s'', with s'^2 and with neither, to three columns of `work`.

    Kim (28): the whole wrench on a body is G dV/dt - ad*_V G V; the legs exert what nobody else does.
    """
    for i in range(6):
        first, second = 0.0, 0.0
        for j in range(6):
            first += load[INERTIA + 6 * i + j] * row[TWIST + j]
            second += load[INERTIA + 6 * i + j] * row[CHANGE + j]
        work[i, column], work[i, column + 1] = first, second
    w, v = vector(row, TWIST), vector(row, TWIST + 3)
    m = work[0, column], work[1, column], work[2, column]
    f = work[3, column], work[4, column], work[5, column]
    moment, force = added(cross(w, m), cross(v, f), 1.0), cross(w, f)
    weight = combine(vector(load, WEIGHT), pose_row(row, 0), pose_row(row, 1), pose_row(row, 2))
    lever = cross(vector(load, CENTER), weight)
    for i in range(3):
        work[i, column + 1] += moment[i]
        work[3 + i, column + 1] += force[i]
        work[i, column + 2] = -(lever[i] + load[WRENCH + i])
        work[3 + i, column + 2] = -(weight[i] + load[WRENCH + 3 + i])


@outline
def forces(platform: Array, load: Array, row: Array, work: Array) -> None:
    """Write determinant, bound of the condition number, and leg forces, where the pose is not singular."""
    size = platform[SIZE]
    norm = 0.0
    for i in range(6):
        scale = 1.0 / size if i < 3 else 1.0
        for k in range(6):
            norm += (scale * work[i, k]) ** 2
            work[i, IDENTITY + k] = 1.0 if i == k else 0.0
    wrenches(load, row, work, LOADS)
    determinant = eliminate(work, N_WORK)
    row[DETERMINANT] = determinant
    inverse = 0.0
    for k in range(6):
        scale = size if k < 3 else 1.0
        for i in range(6):
            inverse += (scale * work[i, IDENTITY + k]) ** 2
    row[CONDITION] = math.sqrt(norm * inverse) if determinant != 0.0 else math.inf
    good = abs(determinant) > platform[LEAST]
    for i in range(6):
        for k in range(3):
            row[FORCES + 3 * i + k] = work[i, LOADS + k] if good else 0.0


_SAMPLES = (
    "(float64[:,::1], float64[::1], float64[::1], int64[::1], float64[::1], float64[::1], "
    "float64[:,::1], float64[:,::1])"
)


@kernel(_SAMPLES)
def samples(
    segments: Array, frame: Array, s: Array, segment: Integers, platform: Array, load: Array, work: Array, out: Array
) -> int:
    """Write rows of results for parameters (k,) in segments (k,); `work` is (6, N_WORK).

    Return which leg is of length zero in the last pose that was looked at, or zero.
    """
    for i in range(s.shape[0]):
        place(segments[segment[i]], frame, s[i], out[i])
        leg = legs(platform, out[i], work)
        if leg != 0:
            return leg
        forces(platform, load, out[i], work)
    return 0


@kernel("(float64[::1], float64[:,::1], float64[:,::1])")
def needed_wrenches(load: Array, table: Array, out: Array) -> int:
    """Write the wrenches of `wrenches` (k, 18) for rows of poses, twists and their changes, as of `points`."""
    for i in range(table.shape[0]):
        wrenches(load, table[i], out[6 * i : 6 * i + 6], 0)
    return 0


#: Equal parts of a step, at whose ends a motion is checked.
PARTS = 4


@inline
def largest_value(values: Array, squared: float) -> float:
    """Return the largest of values (5,) and, between them, of curves that bend like these, without a sign or with."""
    bent = 0.0
    for k in range(PARTS - 1):
        bent = max(bent, abs(values[k] - 2.0 * values[k + 1] + values[k + 2]))
    most = values[0] if squared > 0.0 else abs(values[0])
    for k in range(1, PARTS + 1):
        most = max(most, values[k] if squared > 0.0 else abs(values[k]))
    return float(most + 0.125 * bent)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:,::1],"
    " float64[::1])"
)
def limit_usage(
    table: Array, steps: Array, squares: Array, slopes: Array, rates: Array, most: Array, work: Array, out: Array
) -> int:
    """Write which part of accelerations, forces, rates and speeds each step (k,) uses at most.

    Samples (5 k, 68) of steps (k,) at their ends and three places between, squares (k + 1,) of s', and s'' (k,); limits
    of rates (8,), legs before speeds, and of accelerations and forces (12,); `work` (20, 5). Infinite where a number is
    none.
    """
    for i in range(steps.shape[0]):
        u, check = slopes[i], 0.0
        for k in range(PARTS + 1):
            row = table[(PARTS + 1) * i + k]
            x = max(squares[i] + 2.0 * u * steps[i] * k / PARTS, 0.0)
            for leg in range(6):
                slope, force = row[SLOPE + leg], FORCES + 3 * leg
                work[leg, k] = (slope * u + row[BEND + leg] * x) / most[leg]
                work[6 + leg, k] = (row[force] * u + row[force + 1] * x + row[force + 2]) / most[6 + leg]
                work[12 + leg, k] = slope * slope * x / (rates[leg] * rates[leg])
            for part in range(2):
                speed, limit = row[SPEEDS + part], rates[6 + part]
                work[18 + part, k] = speed * speed * x / (limit * limit)
            for c in range(20):
                check += 0.0 * work[c, k]
        usage, fast = 0.0, 0.0
        for c in range(20):
            if c < 12:
                usage = max(usage, largest_value(work[c], 0.0))
            else:
                fast = max(fast, largest_value(work[c], 1.0))
        out[i] = max(usage, math.sqrt(fast)) if check == 0.0 else math.inf  # a number that is not finite
    return 0
