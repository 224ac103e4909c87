"""Robot models: text or code -> description -> Model."""

from . import joint_types
from .model import Model, ModelBuilder
from .structure import BodySpring, TorsionSpring

__all__ = ["BodySpring", "Model", "ModelBuilder", "TorsionSpring", "joint_types"]
