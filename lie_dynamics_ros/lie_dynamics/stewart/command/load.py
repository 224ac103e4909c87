"""Leg forces of a moving platform: Newton and Euler for platform and payload on legs without mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...lie import se3
from ...lie._arrays import as_real
from ...lie.inertia import SpatialInertia
from ..geometry.inverse_kinematics import Array
from ..geometry.platform import StewartPlatform
from ..geometry.statics import leg_forces_for_wrench, weight_wrench


@dataclass(frozen=True, eq=False, init=False)
class PlatformLoad:
    """What the legs carry.

    Attributes
    ----------
    inertia : SpatialInertia
        Of the platform with its payload, in the platform frame.
    gravity : array-like, shape (3,)
        Acceleration of free fall in the base frame [m/s^2].
    wrench : array-like, shape (6,)
        Wrench (moment, force) that acts on the platform besides, in the platform frame about its origin [N m, N].

    Raises
    ------
    InputError, InertiaError
        For what is no inertia or no list of numbers, and for an inertia that no body has.
    """

    inertia: SpatialInertia
    gravity: Array
    wrench: Array

    def __init__(
        self,
        inertia: SpatialInertia | None = None,
        gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
        wrench: npt.ArrayLike = (0.0,) * 6,
    ) -> None:
        inertia = SpatialInertia.zero() if inertia is None else inertia
        if not isinstance(inertia, SpatialInertia):
            raise InputError(f"inertia: a SpatialInertia is expected, got {inertia!r}", name="inertia")
        inertia.check("the platform")
        object.__setattr__(self, "inertia", inertia)
        object.__setattr__(self, "gravity", as_real(gravity, (3,), "gravity").reshape(3))
        object.__setattr__(self, "wrench", as_real(wrench, (6,), "wrench").reshape(6))

    def needed_wrenches(self, pose: Array, slope: Array, bend: Array) -> Array:
        """Wrenches (..., 6, 3) that the legs exert, terms of s'', of s'^2 and of neither, in the platform frame.

        The platform moves with body twist ``slope`` s', whose derivative along s is ``bend``. Kim (28): the whole
        wrench on a body is G dV/dt - ad*_V G V; the legs exert what nobody else does.
        """
        G = self.inertia.matrix()
        momentum = slope @ G
        given = weight_wrench(pose, self.inertia.mass, self.inertia.com, self.gravity) + self.wrench
        square = bend @ G - (se3.ad_dual(slope) @ momentum[..., None])[..., 0]
        return np.stack(np.broadcast_arrays(momentum, square, -given), axis=-1)


def leg_forces(
    platform: StewartPlatform,
    pose: npt.ArrayLike,
    twist: npt.ArrayLike,
    acceleration: npt.ArrayLike,
    load: PlatformLoad,
) -> Array:
    """Leg forces (..., 6) [N] that move the platform, positive where a leg pushes; the legs themselves have no mass.

    Parameters
    ----------
    platform : StewartPlatform
    pose : array-like, shape (..., 4, 4)
    twist, acceleration : array-like, shape (..., 6)
        Body twist (w, v) and its derivative in time [rad/s, m/s, rad/s^2, m/s^2].
    load : PlatformLoad

    Raises
    ------
    SingularityError
        The pose is singular.
    """
    T = se3.check(pose, "pose")
    V, A = as_real(twist, (6,), "twist"), as_real(acceleration, (6,), "acceleration")
    terms = load.needed_wrenches(T, V, A)
    return leg_forces_for_wrench(platform, T, terms[..., 1] + terms[..., 2])
