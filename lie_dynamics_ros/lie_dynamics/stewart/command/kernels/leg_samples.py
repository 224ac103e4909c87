"""Legs at points of a path: lengths, their derivatives along it, angles at joints, and forces that carry a load."""

from __future__ import annotations

import math

from ....arrays import Array, Integers
from ....engine.compile import inline, kernel, outline
from ...solvers.kernels.newton import Vec, combine, cross, dot
from .path_points import CHANGE, POSE, TWIST, added, place, vector


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
# A row of results goes on after `path_points`: lengths, first and second derivatives along s; determinant of the leg
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
def solve(work: Array, columns: int) -> float:
    """Solve for columns beside a 6x6 matrix in place, with partial pivoting; return the determinant."""
    determinant = 1.0
    for j in range(6):
        best = j
        for i in range(j + 1, 6):
            if abs(work[i, j]) > abs(work[best, j]):
                best = i
        pivot = work[best, j]
        determinant *= pivot
        if pivot == 0.0:
            return 0.0
        if best != j:
            determinant = -determinant
            for k in range(j, columns):
                work[j, k], work[best, k] = work[best, k], work[j, k]
        for i in range(j + 1, 6):
            factor = work[i, j] / pivot
            for k in range(j + 1, columns):
                work[i, k] -= factor * work[j, k]
    for j in range(5, -1, -1):
        pivot = work[j, j]
        for k in range(6, columns):
            work[j, k] /= pivot
        for i in range(j):
            factor = work[i, j]
            for k in range(6, columns):
                work[i, k] -= factor * work[j, k]
    return determinant


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
    determinant = solve(work, N_WORK)
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
    """Write the wrenches of `wrenches` (k, 18) for rows of poses, twists and their changes, as of `path_points`."""
    for i in range(table.shape[0]):
        wrenches(load, table[i], out[6 * i : 6 * i + 6], 0)
    return 0
