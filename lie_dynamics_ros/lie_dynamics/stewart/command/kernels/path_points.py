"""Poses, twists and their change at points of a path."""

from __future__ import annotations

import math

from ....arrays import Array, Integers
from ....engine.compile import inline, kernel, outline
from ....lie.kernels.quaternions import Rows, Vec, coefficients, rotation_rows
from ...solvers.kernels.newton import combine, cross, dot

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
