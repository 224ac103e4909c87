"""The papers' equations in plain numpy: to be read with the paper on the desk, and oracles of the tests.

Kim: `kim_table_2` to `kim_table_7`, with the list of symbols in `kim_bodies`, the parameter of Tables 5 to 7 in
`kim_parameter`, and constrained systems in `kim_constraints`. Park, Bobrow and Ploen: the files that begin with `pbp`.
Ploen: `ploen`. The Stewart paper: `stewart_legs`, `stewart_solvers`. doc/papers.md goes number by number.
"""

from __future__ import annotations

from .inertial_regressor import inertial_regressor
from .pbp_closed_form import ClosedForm
from .pbp_exponentials import exponential_jacobian, product_of_exponentials
from .pbp_factorizations import MassFactors, mass_factors, mass_matrix_by_entries
from .pbp_recursion import recursive_inverse_dynamics
from .ploen import PloenMatrices, body_coriolis, ploen_matrices
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
