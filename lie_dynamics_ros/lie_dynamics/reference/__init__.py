"""The papers' equations as they print them, in plain numpy: to be read beside the paper, and oracles of the tests."""

from __future__ import annotations

from .exponentials import exponential_jacobian, product_of_exponentials
from .factorizations import MassFactors, mass_factors, mass_matrix_by_entries
from .inertial_regressor import inertial_regressor
from .ploen import PloenMatrices, body_coriolis, ploen_matrices
from .printed import ClosedForm
from .recursion import recursive_inverse_dynamics
from .screw_tree import ScrewTree

__all__ = [
    "ClosedForm",
    "MassFactors",
    "PloenMatrices",
    "ScrewTree",
    "body_coriolis",
    "exponential_jacobian",
    "inertial_regressor",
    "mass_factors",
    "mass_matrix_by_entries",
    "ploen_matrices",
    "product_of_exponentials",
    "recursive_inverse_dynamics",
]
