"""Robot models: text or code -> description -> Model."""

from __future__ import annotations

from . import joint_types
from .builder import ModelBuilder
from .model import Model

__all__ = ["Model", "ModelBuilder", "joint_types"]
