"""The papers' equations in plain numpy: to be read with the paper on the desk, and oracles of the tests.

Kim: symbols, Tables 2 to 4 and constrained systems in `kim_dynamics`, 5 to 7 in `kim_derivatives`. Park, Bobrow
and Ploen: `pbp`. Ploen: `ploen`. The Stewart paper: `stewart_solvers`. doc/papers.md goes number by number.
"""

from .pbp import (
    ClosedForm,
    MassFactors,
    exponential_jacobian,
    mass_factors,
    mass_matrix_by_entries,
    product_of_exponentials,
)
from .ploen import PloenMatrices, body_coriolis, inertial_regressor, ploen_matrices, recursive_inverse_dynamics
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
