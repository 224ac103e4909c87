"""Constraints of a dense Tree from their definitions: errors as functions of two poses, differentiated in time exactly.

Poses along a motion are quadratic in time up to what matters, and errors are polynomials of their entries, so a mean
over roots of unity gives their Taylor coefficients to round-off.
"""

from __future__ import annotations

import numpy as np

_TIMES = np.exp(2j * np.pi * np.arange(16) / 16)


def errors(kind, T1, T2, axis, second_axis, length):
    """Components that vanish where the cut joint is closed; more than needed where a basis would be arbitrary."""
    R1 = T1[:3, :3].T
    p, Q = R1 @ (T2[:3, 3] - T1[:3, 3]), R1 @ T2[:3, :3]
    across = np.eye(3) - np.outer(axis, axis)
    line, parallel = across @ p, across @ Q @ second_axis
    locked = [Q[2, 1], Q[0, 2], Q[1, 0]]
    return np.concatenate(
        {
            "welded": lambda: [p, locked],
            "revolute": lambda: [p, parallel],
            "prismatic": lambda: [line, locked],
            "universal": lambda: [p, [axis @ Q @ second_axis]],
            "cylindrical": lambda: [line, parallel],
            "spherical": lambda: [p],
            "planar": lambda: [[axis @ p], parallel],
            "welded_in_plane": lambda: [p[:2], [Q[1, 0]]],  # for the axis z
            "point_on_line": lambda: [line],
            "point_in_plane": lambda: [[axis @ p]],
            "perpendicular": lambda: [[axis @ Q @ second_axis]],
            "distance": lambda: [[0.5 * (p @ p / length - length)]],
        }[kind]()
    )


def taylor(loop, tree, q, v):
    """Error of a loop, and its first and second time derivative, while q moves with constant rates v."""
    series = tree.series(q, v)
    still = (np.eye(4), np.zeros((4, 4)), np.zeros((4, 4)))
    (a, a1, a2), (b, b1, b2) = (series.get(name, still) for name in (loop.first, loop.second))
    samples = np.array(
        [
            errors(
                loop.kind,
                (a + a1 * t + 0.5 * a2 * t * t) @ loop.first_placement,
                (b + b1 * t + 0.5 * b2 * t * t) @ loop.second_placement,
                np.array([0.0, 0.0, 1.0]) if loop.axis is None else loop.axis,
                np.array([0.0, 0.0, 1.0]) if loop.second_axis is None else loop.second_axis,
                loop.length,
            )
            for t in _TIMES
        ]
    )
    return [(factor * np.mean(samples * _TIMES[:, None] ** -k, axis=0)).real for k, factor in enumerate((1, 1, 2))]


def loop_rows(loop, tree, q, v):
    """(error, A, dA/dt v) of a loop."""
    error, _, bias = taylor(loop, tree, q, v)
    A = np.array([taylor(loop, tree, q, e)[1] for e in np.eye(tree.nv)]).T
    return error, A, bias


def constrained_forward(M, b, tau, A, bias):
    """Solve M qdd + b = tau + A^T x, A qdd + bias = 0 as one system; the shortest solution where it is not unique."""
    m, n = A.shape
    matrix = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    scale = 1.0 / np.sqrt(np.abs(matrix).max(axis=1))  # symmetric scaling, so that the rank cut means something
    x = scale * (np.linalg.pinv(scale[:, None] * matrix * scale, 1e-11) @ (scale * np.concatenate([tau - b, -bias])))
    return x[:n], x[n:]
