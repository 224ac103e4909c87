"""Meshes that a robot description names, read by trimesh, which comes with the page's server."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...lie_dynamics.files import read_file
from .solids import Surface

FORMATS = ("stl", "obj", "ply", "dae")
"""Endings that are read; .dae where pycollada is installed, too. None of them leads to other files here."""
MAX_SIZE = 64 * 2**20
"""Largest file [bytes]."""
MOST_FACES = 100_000
"""Of a larger mesh, the convex hull is drawn."""


class MeshReader:
    """Reads meshes, each file once.

    Parameters
    ----------
    locate : callable
        Returns the path that a URI stands for; raises ValueError.
    """

    def __init__(self, locate: Callable[[str], Path]) -> None:
        self._locate = locate
        self._read: dict[str, Surface | Exception] = {}

    def __call__(self, uri: str) -> Surface:
        """Return the surface in a file; raises ValueError, which says why there is none."""
        found = self._read.get(uri)
        if found is None:
            try:
                found = self._load(uri)
            except Exception as error:  # whatever a reader makes of a file that is none
                found = error
            self._read[uri] = found
        if isinstance(found, Exception):
            raise ValueError(str(found) or type(found).__name__) from found
        return found

    def _load(self, uri: str) -> Surface:
        import trimesh

        path = self._locate(uri)
        ending = path.suffix.lower().removeprefix(".")
        if ending not in FORMATS:
            raise ValueError(f"expected one of the endings {', '.join(FORMATS)}")
        # From the bytes alone: textures and further files are not looked for.
        mesh = trimesh.load(io.BytesIO(read_file(path, MAX_SIZE)), file_type=ending, force="mesh")
        if len(mesh.faces) > MOST_FACES:
            mesh = mesh.convex_hull
        vertices = np.array(mesh.vertices, dtype=float)
        if not len(mesh.faces) or not np.isfinite(vertices).all():
            raise ValueError("it holds no triangles, or numbers that are not finite")
        return Surface(vertices, np.array(mesh.faces, dtype=np.int64))
