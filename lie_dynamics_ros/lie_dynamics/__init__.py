"""Robot dynamics on Lie groups: no ROS in here.

SI units and radians; twists and wrenches angular part first, in the body frame; quaternions x, y, z, w.
See ``doc/conventions.md``.
"""

from __future__ import annotations

from .closed_form import (
    christoffel_symbols,
    coriolis_product,
    curvature_tensor,
    is_flat,
    mass_matrix_derivatives,
    ricci_tensor,
    scalar_curvature,
    sectional_curvature,
)
from .constraints import (
    Assembly,
    Baumgarte,
    ConstrainedDerivatives,
    ConstrainedDynamics,
    ConstraintSet,
    Coupling,
    Loop,
    UserConstraint,
    assemble,
    consistent_acceleration,
    consistent_velocity,
    constrained_forward_derivatives,
    constrained_forward_dynamics,
    constrained_hybrid_derivatives,
    constrained_hybrid_dynamics,
    constrained_inverse_derivatives,
    constrained_inverse_dynamics,
    constraint_bias,
    constraint_error,
    constraint_jacobian,
    constraint_quantities,
    loop_wrenches,
    mimic_couplings,
    project_to_constraints,
)
from .errors import DescriptionError, GroupError, InertiaError, InputError, LieDynamicsError, SingularityError
from .lie import SpatialInertia
from .model import Model, ModelBuilder, joint_types
from .tree.external import external_wrench
from .tree.forward_derivatives import forward_dynamics_derivatives, hybrid_dynamics_derivatives
from .tree.forward_dynamics import forward_dynamics, hybrid_dynamics
from .tree.inverse_derivatives import (
    bias_force_derivatives,
    gravity_force_derivatives,
    inverse_dynamics_derivatives,
)
from .tree.inverse_dynamics import inverse_dynamics
from .tree.jacobians import jacobian, jacobian_rate
from .tree.kinematics import forward_kinematics, frame_pose
from .tree.mass_matrix import (
    bias_force,
    coriolis_matrix,
    gravity_force,
    mass_matrix,
    mass_matrix_rate,
    solve_mass_matrix,
)
from .tree.motion import (
    body_accelerations,
    body_velocities,
    center_of_mass,
    centroidal_momentum_matrix,
    kinetic_energy,
    momentum,
    potential_energy,
    total_mass,
)
from .tree.parameters import Parameter
from .tree.regressor import torque_regressor
from .tree.second_derivatives import inverse_dynamics_second_derivatives
from .tree.sensitivity import (
    forward_dynamics_sensitivity,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_sensitivity,
)

__all__ = [
    "Assembly",
    "Baumgarte",
    "ConstrainedDerivatives",
    "ConstrainedDynamics",
    "ConstraintSet",
    "Coupling",
    "DescriptionError",
    "GroupError",
    "InertiaError",
    "InputError",
    "LieDynamicsError",
    "Loop",
    "Model",
    "ModelBuilder",
    "Parameter",
    "SingularityError",
    "SpatialInertia",
    "UserConstraint",
    "assemble",
    "bias_force",
    "bias_force_derivatives",
    "body_accelerations",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum_matrix",
    "christoffel_symbols",
    "consistent_acceleration",
    "consistent_velocity",
    "constrained_forward_derivatives",
    "constrained_forward_dynamics",
    "constrained_hybrid_derivatives",
    "constrained_hybrid_dynamics",
    "constrained_inverse_derivatives",
    "constrained_inverse_dynamics",
    "constraint_bias",
    "constraint_error",
    "constraint_jacobian",
    "constraint_quantities",
    "coriolis_matrix",
    "coriolis_product",
    "curvature_tensor",
    "external_wrench",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_sensitivity",
    "forward_kinematics",
    "frame_pose",
    "gravity_force",
    "gravity_force_derivatives",
    "hybrid_dynamics",
    "hybrid_dynamics_derivatives",
    "hybrid_dynamics_sensitivity",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_second_derivatives",
    "inverse_dynamics_sensitivity",
    "is_flat",
    "jacobian",
    "jacobian_rate",
    "joint_types",
    "kinetic_energy",
    "loop_wrenches",
    "mass_matrix",
    "mass_matrix_derivatives",
    "mass_matrix_rate",
    "mimic_couplings",
    "momentum",
    "potential_energy",
    "project_to_constraints",
    "ricci_tensor",
    "scalar_curvature",
    "sectional_curvature",
    "solve_mass_matrix",
    "torque_regressor",
    "total_mass",
]
