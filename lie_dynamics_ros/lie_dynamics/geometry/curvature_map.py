"""Curvature over a part of an arm's workspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import frame_pose
from ..errors import InputError
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model
from .curvature import scalar_curvature

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CurvatureMap:
    """Scalar curvature over a grid of two coordinates, and where a frame is there.

    Attributes
    ----------
    x, y : ndarray, shape (a,), (b,)
        Values of the two coordinates [rad or m].
    names : tuple of str
        Names of their joints.
    frame : str
        Name of the frame.
    curvature : ndarray, shape (a, b)
        Scalar curvature [1/(kg m^2)].
    position : ndarray, shape (a, b, 3)
        Origin of the frame in the world [m].
    """

    x: Array
    y: Array
    names: tuple[str, str]
    frame: str
    curvature: Array
    position: Array


def curvature_map(
    model: Model,
    frame: str | int,
    x: tuple[int, npt.ArrayLike],
    y: tuple[int, npt.ArrayLike],
    q: npt.ArrayLike | None = None,
) -> CurvatureMap:
    """Return the scalar curvature over a grid of two coordinates.

    Parameters
    ----------
    model : Model
        A robot of joints made of axes.
    frame : str or int
        Frame or body whose place tells where in the workspace a configuration is.
    x, y : tuple
        Index of a coordinate, and its values (a,) and (b,) [rad or m].
    q : array-like, shape (nq,), optional
        The other coordinates; the neutral configuration when left out.

    Raises
    ------
    InputError
        For two indices that are not two different coordinates; otherwise as `curvature_tensor`.
    """
    require_model(model)
    (i, first), (j, second) = x, y
    if not (0 <= i < model.nv and 0 <= j < model.nv and i != j):
        raise InputError(f"x and y: two different coordinates of {model.nv} are expected, got {i} and {j}")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    states = np.empty((a.size, b.size, model.nq))
    states[...] = model.neutral() if q is None else checked(q, model.nq, "q", model)
    states[..., i], states[..., j] = np.meshgrid(a, b, indexing="ij")
    curvature = np.array([scalar_curvature(model, row) for row in states]).reshape(a.size, b.size)
    owners = [next(n.name for n in model.joints if n.q_slice.start <= k < n.q_slice.stop) for k in (i, j)]
    place = frame_pose(model, states, frame)[..., :3, 3]
    return CurvatureMap(a, b, (owners[0], owners[1]), model.frame(frame).name, curvature, place)
