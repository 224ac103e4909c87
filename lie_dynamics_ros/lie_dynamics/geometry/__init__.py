"""Geometry of the mass metric: Christoffel symbols, curvature, geodesics; see ``doc/closed_form.md``."""

from ..dynamics.inverse_dynamics import coriolis_product
from .curvature import (
    Flatness,
    christoffel_derivatives,
    christoffel_symbols,
    christoffel_symbols_second_kind,
    curvature_tensor,
    is_flat,
    mass_matrix_derivatives,
    ricci_tensor,
    scalar_curvature,
    sectional_curvature,
)
from .geodesics import Geodesic, GeodesicError, first_conjugate_time, geodesic, jacobi_fields
from .plots import CurvatureMap, curvature_map

__all__ = [
    "CurvatureMap",
    "Flatness",
    "Geodesic",
    "GeodesicError",
    "christoffel_derivatives",
    "christoffel_symbols",
    "christoffel_symbols_second_kind",
    "coriolis_product",
    "curvature_map",
    "curvature_tensor",
    "first_conjugate_time",
    "geodesic",
    "is_flat",
    "jacobi_fields",
    "mass_matrix_derivatives",
    "ricci_tensor",
    "scalar_curvature",
    "sectional_curvature",
]
