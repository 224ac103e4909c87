"""Lie groups of rigid motion and spatial inertia: numpy only, batch axes everywhere."""

from __future__ import annotations

from . import inertial_parameters, quaternion, se3, so3
from .inertia import SpatialInertia

__all__ = ["SpatialInertia", "inertial_parameters", "quaternion", "se3", "so3"]
