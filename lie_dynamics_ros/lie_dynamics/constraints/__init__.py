"""Closed loops, couplings and other constraints on a tree, and the dynamics under them. See ``doc/closed_loops.md``."""

from .assembly import Assembly, assemble, consistent_acceleration, consistent_velocity, project_to_constraints
from .constraint_set import ConstraintSet
from .derivatives import (
    ConstrainedDerivatives,
    constrained_forward_derivatives,
    constrained_hybrid_derivatives,
    constrained_inverse_derivatives,
)
from .dynamics import (
    ConstrainedModel,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
)
from .inputs import ConstrainedDynamics
from .kinds import Coupling, Loop, UserConstraint, mimic_couplings
from .quantities import (
    ConstraintQuantities,
    constraint_bias,
    constraint_error,
    constraint_jacobian,
    constraint_quantities,
    loop_wrenches,
)
from .resolution import Baumgarte, Resolution
from .sensitivity import (
    ConstrainedSensitivity,
    constrained_forward_sensitivity,
    constrained_hybrid_sensitivity,
    constrained_inverse_sensitivity,
)

__all__ = [
    "Assembly",
    "Baumgarte",
    "ConstrainedDerivatives",
    "ConstrainedDynamics",
    "ConstrainedModel",
    "ConstrainedSensitivity",
    "ConstraintQuantities",
    "ConstraintSet",
    "Coupling",
    "Loop",
    "Resolution",
    "UserConstraint",
    "assemble",
    "consistent_acceleration",
    "consistent_velocity",
    "constrained_forward_derivatives",
    "constrained_forward_dynamics",
    "constrained_forward_sensitivity",
    "constrained_hybrid_derivatives",
    "constrained_hybrid_dynamics",
    "constrained_hybrid_sensitivity",
    "constrained_inverse_derivatives",
    "constrained_inverse_dynamics",
    "constrained_inverse_sensitivity",
    "constraint_bias",
    "constraint_error",
    "constraint_jacobian",
    "constraint_quantities",
    "loop_wrenches",
    "mimic_couplings",
    "project_to_constraints",
]
