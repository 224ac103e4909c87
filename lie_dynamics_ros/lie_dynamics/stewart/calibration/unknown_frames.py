"""Frames of a measuring device: of the device in the base frame, and of its target on the platform.

Poses that a device sees are ``seen = B own T^-1``: `own` those of the platform from its leg lengths, B the base
frame in the frame of the device, T the platform frame in that of the target. B and T are found here well enough to
start a calibration from.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...errors import SingularityError
from ...lie import se3, so3
from ..errors import StewartError
from .result import fit_rigid

#: What a device can measure: the whole pose, a point alone, or orientations alone, as an IMU does; and, where there is
#: no device, the lengths of more than six legs alone.
MEASURED = ("pose", "position", "orientation", "lengths")
#: Mean angle [rad] by which poses have to turn, about more than one axis, for frames to be found.
_LEAST_TURN = 0.02
_ALTERNATIONS = 100


def find_frames(seen: Array, own: Array, measured: str) -> tuple[Array, Array]:
    """Return B and T (4, 4) of poses (k, 4, 4) seen and own; parts that are not measured are left at zero.

    Raises
    ------
    StewartError : poses that turn too little, or about one axis only.
    """
    if measured == "lengths":
        return np.eye(4), np.eye(4)
    if measured == "position":
        return _of_points(seen[:, :3, 3], own)
    base, target = _rotations(seen[:, :3, :3], own[:, :3, :3])
    if measured == "orientation":
        return se3.from_parts(base, np.zeros(3)), se3.from_parts(target, np.zeros(3))
    # seen_p + seen_R t = B_R own_p + b is linear in the shifts t and b.
    rows = np.concatenate((seen[:, :3, :3], -np.broadcast_to(np.eye(3), (len(seen), 3, 3))), axis=2).reshape(-1, 6)
    right = (own[:, :3, 3] @ base.T - seen[:, :3, 3]).ravel()
    shifts = np.linalg.lstsq(rows, right, rcond=None)[0]
    return se3.from_parts(base, shifts[3:]), se3.from_parts(target, shifts[:3])


def misfit(seen: Array, own: Array, frames: tuple[Array, Array], measured: str) -> tuple[Array, Array]:
    """Return distances (k,) [m] and angles (k,) [rad] between poses seen and own; zeros where not measured."""
    return differences(seen, frames[0] @ own @ se3.inverse(frames[1]), measured)


def composed(seen: Array, told: Array, measured: str) -> Array:
    """Return poses (k, 4, 4) as seen, with the given values for what is not measured."""
    turned, moved = (seen if measured in ("pose", what) else told for what in ("orientation", "position"))
    return se3.from_parts(turned[:, :3, :3], moved[:, :3, 3])


def differences(seen: Array, told: Array, measured: str) -> tuple[Array, Array]:
    """Return distances (k,) [m] and angles (k,) [rad] between poses; zeros where not measured."""
    turns = so3.log(np.swapaxes(seen[:, :3, :3], 1, 2) @ told[:, :3, :3])
    distance = np.linalg.norm(seen[:, :3, 3] - told[:, :3, 3], axis=1)
    angle = np.linalg.norm(turns, axis=1)
    return distance * (measured in ("pose", "position")), angle * (measured in ("pose", "orientation"))


def _rotations(seen: Array, own: Array) -> tuple[Array, Array]:
    """Rotations B, T with seen T = B own: the null vector of equations that are linear in their 18 entries."""
    rows = np.concatenate([np.hstack((np.kron(s, np.eye(3)), -np.kron(np.eye(3), o.T)))
                           for s, o in zip(seen, own, strict=True)])  # fmt: skip
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    if values[-2] < _LEAST_TURN * np.sqrt(len(seen)):
        raise StewartError(
            "the poses turn too little, or about one axis only: where the frames of the measurement lie cannot be "
            "found; poses with tilts about two axes are expected"
        )
    target, base = directions[-1].reshape(2, 3, 3)
    sign = np.sign(np.linalg.det(target))
    return so3.nearest(sign * base), so3.nearest(sign * target)


def _of_points(seen: Array, own: Array) -> tuple[Array, Array]:
    """Frames of points seen: in turns the rigid motion of the base and the place of the point on the platform."""
    mark, base = np.zeros(3), np.eye(4)
    for _ in range(_ALTERNATIONS):
        try:
            base = fit_rigid(own[:, :3, 3] + own[:, :3, :3] @ mark, seen)
        except SingularityError as error:
            raise StewartError("the measured positions lie on a line: others beside it are expected") from error
        gaps = se3.transform_points(se3.inverse(base), seen) - own[:, :3, 3]
        mark = np.mean(np.swapaxes(own[:, :3, :3], 1, 2) @ gaps[..., None], axis=0)[:, 0]
    # The frame whose position is measured sits at the mark, parallel to the platform's: the platform frame in it.
    return base, se3.from_parts(np.eye(3), -mark)
