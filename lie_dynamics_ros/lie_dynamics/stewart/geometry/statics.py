"""Static forces: the wrench that leg forces exert on the platform, and the leg forces that exert a wrench.

Sign: a positive leg force is a leg in compression; it pushes base and platform apart. Leg ``i`` then acts on the
platform with ``f_i u_i`` at ``b_i``. Virtual work, ``F . V = sum f_i dL_i/dt`` for every twist ``V``, gives
``F = J^T f``.

A wrench (m, f) [N m, N] is given in the frame that names the Jacobian's twist:

    body      about the origin of {B}, components in {B}
    aligned   about the origin of {B}, components in {N}
    spatial   about the origin of {N}, components in {N}

A load on the platform is held by the legs with the opposite wrench: `holding_forces`.

Of a `RotaryPlatform` everything holds for the torques of its motors [N m] in place of leg forces, J being that of the
angles; positive as the angles are.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import SingularityError, StewartError
from . import inverse_kinematics as ik
from .any_platform import Platform, require_any
from .checks import N_LEGS
from .inverse_kinematics import TwistFrame
from .rotary_platform import RotaryPlatform

_SINGULAR_CONDITION = 1e12


def wrench_of_leg_forces(
    platform: Platform, pose: ArrayLike, leg_forces: ArrayLike, frame: TwistFrame = "body"
) -> Array:
    """Wrench (..., 6) [N m, N] that leg forces (..., 6) [N] exert on the platform, see the module's text."""
    require_any(platform)
    forces = ik.as_vector(leg_forces, 6, "leg_forces")
    jacobian = platform.jacobian(pose, frame)
    return np.asarray((np.swapaxes(jacobian, -1, -2) @ forces[..., None])[..., 0])


def leg_forces_for_wrench(platform: Platform, pose: ArrayLike, wrench: ArrayLike, frame: TwistFrame = "body") -> Array:
    """Leg forces (..., 6) [N] that exert a wrench (..., 6) [N m, N] on the platform; inverse of `wrench_of_leg_forces`.

    Raises
    ------
    SingularityError : the pose is singular, so some wrenches need leg forces without bound.
    """
    require_any(platform)
    target = ik.as_vector(wrench, 6, "wrench")
    condition = platform.condition_number(pose)
    if not np.all(condition < _SINGULAR_CONDITION):
        worst = float(np.max(condition))
        raise SingularityError(
            f"the pose is singular (condition number {worst:.1e}): the legs cannot hold the platform against every "
            "wrench, expected a pose away from singularities",
            value=worst,
        )
    jacobian = platform.jacobian(pose, frame)
    return np.asarray(np.linalg.solve(np.swapaxes(jacobian, -1, -2), target[..., None])[..., 0])


def holding_forces(platform: Platform, pose: ArrayLike, load: ArrayLike, frame: TwistFrame = "body") -> Array:
    """Leg forces (..., 6) [N] in equilibrium with a load, a wrench (..., 6) that acts on the platform from outside."""
    return leg_forces_for_wrench(platform, pose, -ik.as_vector(load, 6, "load"), frame)


def stiffness(
    platform: Platform,
    pose: ArrayLike,
    motors: ArrayLike,
    rods: ArrayLike = np.inf,
    frame: TwistFrame = "body",
) -> Array:
    """Stiffness of the platform without load, (..., 6, 6): wrench over the small twist that answers it, J^T K J.

    Parameters
    ----------
    platform, pose, frame
        As above.
    motors : array-like, shape () or (6,)
        Stiffness of the motors with their control [N/m, or N m/rad for rotary legs].
    rods : array-like, shape () or (6,), optional
        Of rods, or of legs, along themselves [N/m]; in series with the motors.
    """  # fmt: skip
    require_any(platform)
    given = []
    for name, value in (("motors", motors), ("rods", rods)):
        each = ik.real_numbers(value, name)
        if each.shape not in ((), (N_LEGS,)) or not (each > 0.0).all():
            raise StewartError(f"{name} is {value!r}, expected one stiffness above zero, or six")
        given.append(each)
    jacobian = platform.jacobian(pose, frame)
    levers = platform.levers(pose) if isinstance(platform, RotaryPlatform) else 1.0
    softness = 1.0 / given[0] + 1.0 / (levers**2 * given[1])
    return np.asarray(np.swapaxes(jacobian, -1, -2) @ (jacobian / softness[..., None]))


def weight_wrench(
    pose: ArrayLike, mass: float, center_of_mass: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81)
) -> Array:
    """Weight of the platform with its payload as a body wrench (..., 6) [N m, N].

    Parameters
    ----------
    pose : (..., 4, 4).
    mass : [kg].
    center_of_mass : (3,) in {B} [m].
    gravity : (3,), acceleration of free fall in {N} [m/s^2].
    """
    if not 0.0 <= mass < np.inf:
        raise StewartError(f"mass is {mass} kg, expected a finite mass of at least 0")
    lever = ik.as_vector(center_of_mass, 3, "center_of_mass")
    pull = mass * ik.as_vector(gravity, 3, "gravity")
    rotation = ik.as_pose(pose)[..., :3, :3]
    force = (np.swapaxes(rotation, -1, -2) @ pull[..., None])[..., 0]
    return np.concatenate(np.broadcast_arrays(np.cross(lever, force), force), axis=-1)
