"""Inverse kinematics of a Gough-Stewart platform: leg lengths, their rates and accelerations, and the Jacobians.

Leg ``i`` is the vector ``l_i = R b_i + p - a_i`` from base point ``a_i`` to platform point ``b_i``, for the pose
``T = (R, p)`` of the platform frame {B} in the base frame {N}. With ``u_i = l_i / |l_i|`` the Jacobian rows are

    body twist     (R^T dR/dt, R^T dp/dt):        [ b_i x R^T u_i,  R^T u_i ]      Stewart (22) over 2 L_i
    spatial twist  (dR/dt R^T, dp/dt - w x p):    [ a_i x u_i,      u_i ]          Stewart (23) over 2 L_i
    aligned twist  (w in {N}, dp/dt):             [ R b_i x u_i,    u_i ]

Stewart (23) is printed for exp(-S) T; its Jacobian is that of exp(+S) T, the one used here.

The functions take plain arrays so that they serve every class of this room; any leading batch axes broadcast.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie._arrays import as_numbers

TwistFrame = Literal["body", "spatial", "aligned"]


def check_frame(frame: str) -> None:
    """Raise StewartError unless ``frame`` names one of the three twist frames."""
    if frame not in get_args(TwistFrame):
        raise StewartError(f"frame is {frame!r}, expected one of {', '.join(map(repr, get_args(TwistFrame)))}")


def real_numbers(value: ArrayLike, name: str) -> Array:
    """Return ``value`` as a float64 array; raise InputError or StewartError for what is no array of real numbers."""
    array = as_numbers(value, name)
    if array.dtype.kind == "c":
        raise StewartError(f"{name}: real numbers expected, got complex ones")
    return array


def as_pose(pose: ArrayLike, name: str = "pose") -> Array:
    """Return ``pose`` as a float64 array (..., 4, 4); raise StewartError for another shape."""
    array = real_numbers(pose, name)
    if array.shape[-2:] != (4, 4):
        raise StewartError(f"{name} has shape {array.shape}, expected (..., 4, 4): a homogeneous matrix")
    return array


def as_vector(value: ArrayLike, size: int, name: str) -> Array:
    """Return ``value`` as a float64 array (..., size); raise StewartError for another shape."""
    array = real_numbers(value, name)
    if array.ndim == 0 or array.shape[-1] != size:
        raise StewartError(f"{name} has shape {array.shape}, expected (..., {size})")
    return array


def platform_arms(platform_points: Array, pose: Array) -> Array:
    """Vectors ``R b_i`` from the platform origin to the platform joints, in {N}, shape (..., 6, 3), [m]."""
    rotation: Array = pose[..., :3, :3]
    return platform_points @ np.swapaxes(rotation, -1, -2)


def leg_vectors(base_points: Array, platform_points: Array, pose: Array) -> Array:
    """Leg vectors ``R b_i + p - a_i`` in {N}, shape (..., 6, 3), [m]."""
    return platform_arms(platform_points, pose) + pose[..., None, :3, 3] - base_points


def norms(vectors: Array) -> Array:
    """Euclidean norms along the last axis, (..., n, 3) -> (..., n)."""
    lengths: Array = np.sqrt(np.einsum("...j,...j->...", vectors, vectors))
    return lengths


def leg_units(legs: Array) -> tuple[Array, Array]:
    """Lengths (..., 6) [m] and unit vectors (..., 6, 3) of leg vectors; a leg of zero length raises StewartError."""
    lengths = norms(legs)
    if not np.all(lengths > 0.0):
        raise leg_of_no_length(int(np.argwhere(~(lengths > 0.0))[0][-1]) + 1)
    return lengths, legs / lengths[..., None]


def leg_of_no_length(leg: int) -> StewartError:
    """Return the error of a leg, 1 to 6, that has no direction."""
    return StewartError(
        f"leg {leg} has length zero (or NaN) in this pose, expected a positive length: its direction, and with it "
        "the Jacobian, is undefined"
    )


def jacobian(base_points: Array, platform_points: Array, pose: Array, frame: TwistFrame = "body") -> Array:
    """Jacobian d(lengths)/d(twist), angular columns first, shape (..., 6, 6), [m/rad, 1]; Stewart (22), (23)."""
    check_frame(frame)
    arms = platform_arms(platform_points, pose)
    _, units = leg_units(arms + pose[..., None, :3, 3] - base_points)
    if frame == "body":
        units = units @ pose[..., :3, :3]
        moments = np.cross(platform_points, units)
    elif frame == "spatial":
        moments = np.cross(base_points, units)
    else:
        moments = np.cross(arms, units)
    return np.concatenate([moments, units], axis=-1)


def condition_numbers(matrix: Array, length: float) -> Array:
    """Ratio of extreme singular values of Jacobians (..., 6, 6), angular columns over a length [m]; inf: singular."""
    values = np.linalg.svd(np.concatenate([matrix[..., :3] / length, matrix[..., 3:]], axis=-1), compute_uv=False)
    with np.errstate(divide="ignore"):
        return np.asarray(values[..., 0] / values[..., -1])


def jacobian_rate(
    base_points: Array, platform_points: Array, pose: Array, twist: Array, frame: TwistFrame = "body"
) -> Array:
    """Time derivative of `jacobian` along ``twist`` (..., 6) given in the same frame, shape (..., 6, 6)."""
    check_frame(frame)
    arms = platform_arms(platform_points, pose)
    points = arms + pose[..., None, :3, 3]
    lengths, units = leg_units(points - base_points)
    omega, velocity = twist[..., None, :3], twist[..., None, 3:]
    if frame == "body":
        units = units @ pose[..., :3, :3]
        moving = np.cross(omega, platform_points) + velocity
        # The unit vector is constant in {N} but for the swing of the leg; seen from {B} it also turns by -w.
        unit_rates = _swing(moving, units, lengths) - np.cross(omega, units)
        moment_rates = np.cross(platform_points, unit_rates)
    elif frame == "spatial":
        unit_rates = _swing(np.cross(omega, points) + velocity, units, lengths)
        moment_rates = np.cross(base_points, unit_rates)
    else:
        arm_rates = np.cross(omega, arms)
        unit_rates = _swing(arm_rates + velocity, units, lengths)
        moment_rates = np.cross(arm_rates, units) + np.cross(arms, unit_rates)
    return np.concatenate([np.broadcast_to(moment_rates, unit_rates.shape), unit_rates], axis=-1)


def _swing(velocity: Array, units: Array, lengths: Array) -> Array:
    """Rate of the leg's unit vector: the part of the joint velocity across the leg, over its length [1/s]."""
    along = np.einsum("...ij,...ij->...i", velocity, units)
    swing: Array = (velocity - along[..., None] * units) / lengths[..., None]
    return swing
