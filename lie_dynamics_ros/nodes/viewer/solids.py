"""Surfaces of simple solids as triangles, about their centres, in metres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array

SIDES = 24
"""Corners of what is drawn for a circle."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, seen from the side from which their corners go round to the left.

    Attributes
    ----------
    vertices : ndarray, shape (n, 3)
        [m]
    faces : ndarray of int, shape (m, 3)
        Corners of each triangle, among the vertices.
    color : tuple of int, optional
        Red, green and blue of its own material, 0 to 255.
    """

    vertices: Array
    faces: NDArray[np.int64]
    color: tuple[int, int, int] | None = None

    def moved(self, pose: Array) -> Surface:
        """Return the surface where a homogeneous matrix (4, 4) takes it; a mirror turns the triangles back."""
        faces = self.faces if np.linalg.det(pose[:3, :3]) >= 0.0 else self.faces[:, ::-1]
        return Surface(self.vertices @ pose[:3, :3].T + pose[:3, 3], faces, self.color)


def box(size: Array) -> Surface:
    """Return a box of these lengths along x, y and z."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    squares = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return Surface(corners * size, np.array([[a, *pair] for a, b, c, d in squares for pair in ((b, c), (c, d))]))


def cylinder(radius: float, length: float) -> Surface:
    """Return a cylinder about z."""
    half = 0.5 * length
    return _turned([(0.0, -half), (radius, -half), (radius, half), (0.0, half)])


def sphere(radius: float) -> Surface:
    """Return a sphere."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Surface:
    """Return a cylinder of this length about z with half a sphere on either end."""
    angles = np.linspace(-0.5 * np.pi, 0.0, SIDES // 4 + 1)
    lower = [(radius * np.cos(a), radius * np.sin(a) - 0.5 * length) for a in angles]
    lower[0] = (0.0, lower[0][1])
    upper = [(r, -z) for r, z in reversed(lower)]
    return _turned(lower + (upper if length else upper[1:]))


def _turned(outline: list[tuple[float, float]]) -> Surface:
    """Return what an outline of (distance from z, z) sweeps about z; it rises, and begins and ends on the axis."""
    around = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    rings = [[(r * np.cos(a), r * np.sin(a), z) for a in around] for r, z in outline[1:-1]]
    vertices = np.array([(0.0, 0.0, outline[0][1]), *(p for ring in rings for p in ring), (0.0, 0.0, outline[-1][1])])
    last, faces = len(vertices) - 1, []
    for k in range(SIDES):
        n = (k + 1) % SIDES
        faces.append((0, 1 + n, 1 + k))
        for j in range(len(rings) - 1):
            a, b = 1 + j * SIDES, 1 + (j + 1) * SIDES
            faces += [(a + k, a + n, b + n), (a + k, b + n, b + k)]
        top = 1 + (len(rings) - 1) * SIDES
        faces.append((top + k, top + n, last))
    return Surface(vertices, np.array(faces))
