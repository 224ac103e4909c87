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
from .errors import DescriptionError, GroupError, InertiaError, InputError, LieDynamicsError, SingularityError
from .lie import SpatialInertia
from .model import Model, ModelBuilder, joint_types
from .tree.external import external_wrench
from .tree.forward_dynamics import forward_dynamics, hybrid_dynamics
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

__all__ = [
    "DescriptionError",
    "GroupError",
    "InertiaError",
    "InputError",
    "LieDynamicsError",
    "Model",
    "ModelBuilder",
    "SingularityError",
    "SpatialInertia",
    "bias_force",
    "body_accelerations",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum_matrix",
    "christoffel_symbols",
    "coriolis_matrix",
    "coriolis_product",
    "curvature_tensor",
    "external_wrench",
    "forward_dynamics",
    "forward_kinematics",
    "frame_pose",
    "gravity_force",
    "hybrid_dynamics",
    "inverse_dynamics",
    "is_flat",
    "jacobian",
    "jacobian_rate",
    "joint_types",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_derivatives",
    "mass_matrix_rate",
    "momentum",
    "potential_energy",
    "ricci_tensor",
    "scalar_curvature",
    "sectional_curvature",
    "solve_mass_matrix",
    "total_mass",
]
