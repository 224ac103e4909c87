"""Parameters of the load on the legs of a platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..lie_dynamics import LieDynamicsError, SpatialInertia
from ..lie_dynamics.stewart.command import PlatformLoad
from .arrays import Array
from .errors import ParameterError
from .setting import Setting

LOAD_SETTINGS = (
    Setting("mass", 0.0, "Of the platform with its payload, for forces [kg].", low=0.0, high=1e7),
    Setting("center_of_mass", [0.0, 0.0, 0.0], "In the platform frame [m].", low=-1e3, high=1e3),
    Setting(
        "inertia",
        [0.0],
        "About the centre of mass, in axes of the platform frame: xx, xy, xz, yy, yz, zz [kg m^2]; [0.0]: none.",
        low=-1e7,
        high=1e7,
    ),
    Setting("gravity", [0.0, 0.0, -9.81], "In the base frame [m/s^2].", low=-100.0, high=100.0),
)


def read_load(values: Mapping[str, Any]) -> PlatformLoad:
    """Return the load that parameters describe; raises ParameterError where no body has such an inertia."""
    matrix = np.zeros((3, 3))
    if list(values["inertia"]) != [0.0]:
        xx, xy, xz, yy, yz, zz = numbers_of(values, "inertia", 6)
        matrix[:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    gravity, center = numbers_of(values, "gravity", 3), numbers_of(values, "center_of_mass", 3)
    try:
        return PlatformLoad(SpatialInertia(values["mass"], center, matrix), gravity)
    except LieDynamicsError as error:
        raise ParameterError(f"mass, center_of_mass or inertia: {error}") from error


def numbers_of(values: Mapping[str, Any], name: str, count: int) -> Array:
    """Return a parameter that is a list of numbers; raises ParameterError where there are not so many."""
    numbers: Sequence[float] = values[name]
    if len(numbers) != count:
        raise ParameterError(f"{name} has {len(numbers)} numbers; expected {count}")
    return np.array(numbers, dtype=float)
