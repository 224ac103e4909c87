"""Leg forces of a moving platform: Newton and Euler for platform and payload on legs without mass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError
from ...lie import se3
from ...lie._arrays import as_real
from ...lie.inertia import SpatialInertia
from ..geometry.any_platform import Platform
from ..geometry.statics import leg_forces_for_wrench
from .kernels import leg_samples


@dataclass(frozen=True, eq=False, init=False)
class PlatformLoad:
    """Load on the legs.

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

    @cached_property
    def numbers(self) -> Array:
        """The load (48,), as kernels take it."""
        inertia, weight = self.inertia, self.inertia.mass * self.gravity
        return np.concatenate([inertia.matrix().ravel(), inertia.com, weight, self.wrench])

    def needed_wrenches(self, pose: Array, slope: Array, bend: Array) -> Array:
        """Wrenches (..., 6, 3) that the legs exert, terms of s'', of s'^2 and of neither, in the platform frame.

        The platform moves with body twist ``slope`` s', whose derivative along s is ``bend``.
        """
        batch = np.broadcast_shapes(pose.shape[:-2], slope.shape[:-1], bend.shape[:-1])
        flat = pose.reshape(*pose.shape[:-2], 16)
        whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (flat, slope, bend)]
        table = np.ascontiguousarray(np.concatenate(whole, axis=-1).reshape(-1, 28))
        out = np.empty((6 * len(table), 3))
        leg_samples.needed_wrenches(self.numbers, table, out)
        return out.reshape(*batch, 6, 3)


def leg_forces(
    platform: Platform,
    pose: npt.ArrayLike,
    twist: npt.ArrayLike,
    acceleration: npt.ArrayLike,
    load: PlatformLoad,
) -> Array:
    """Leg forces (..., 6) [N] that move the platform, positive where a leg pushes; the legs themselves have no mass.

    For a `RotaryPlatform` torques of its motors [N m].

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
