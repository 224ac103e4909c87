"""Identification of inertial parameters from recorded motion: what can be told apart, and bodies that can exist."""

from .base_parameters import BaseParameters, base_parameters
from .estimation import Identification, identify
from .recordings import Recording, filtered_motion
from .regression import JointTerms, parameter_names, regression

__all__ = [
    "BaseParameters",
    "Identification",
    "JointTerms",
    "Recording",
    "base_parameters",
    "filtered_motion",
    "identify",
    "parameter_names",
    "regression",
]
