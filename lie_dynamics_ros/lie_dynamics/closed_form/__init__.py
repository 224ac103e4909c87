"""Geometry of a robot in closed form: screws, factorisations, Christoffel symbols, curvature, geodesics.

The functions of a `Model` are fast; those of a `ScrewTree` and `ClosedForm` follow the papers' notation, equation by
equation, and are their oracles.
"""

from __future__ import annotations

from .christoffel import (
    christoffel_derivatives,
    christoffel_symbols,
    christoffel_symbols_second_kind,
    mass_matrix_derivatives,
)
from .conjugate import first_conjugate_time, jacobi_fields
from .coriolis import coriolis_product
from .curvature import curvature_tensor, ricci_tensor, scalar_curvature, sectional_curvature
from .curvature_map import CurvatureMap, curvature_map
from .exponentials import exponential_jacobian, product_of_exponentials
from .factorizations import MassFactors, mass_factors, mass_matrix_by_entries
from .flatness import Flatness, is_flat
from .geodesics import Geodesic, GeodesicError, geodesic
from .ploen import PloenMatrices, body_coriolis, ploen_matrices
from .printed import ClosedForm
from .recursion import recursive_inverse_dynamics
from .regressor import inertial_regressor
from .screw_tree import ScrewTree

__all__ = [
    "ClosedForm",
    "CurvatureMap",
    "Flatness",
    "Geodesic",
    "GeodesicError",
    "MassFactors",
    "PloenMatrices",
    "ScrewTree",
    "body_coriolis",
    "christoffel_derivatives",
    "christoffel_symbols",
    "christoffel_symbols_second_kind",
    "coriolis_product",
    "curvature_map",
    "curvature_tensor",
    "exponential_jacobian",
    "first_conjugate_time",
    "geodesic",
    "inertial_regressor",
    "is_flat",
    "jacobi_fields",
    "mass_factors",
    "mass_matrix_by_entries",
    "mass_matrix_derivatives",
    "ploen_matrices",
    "product_of_exponentials",
    "recursive_inverse_dynamics",
    "ricci_tensor",
    "scalar_curvature",
    "sectional_curvature",
]
