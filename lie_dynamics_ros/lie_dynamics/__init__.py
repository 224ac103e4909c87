"""Robot dynamics on Lie groups: no ROS in here.

SI units and radians; twists and wrenches angular part first, in the body frame; quaternions x, y, z, w.
See ``doc/conventions.md``.
"""

from __future__ import annotations

from .errors import DescriptionError, GroupError, InertiaError, InputError, LieDynamicsError, SingularityError
from .lie import SpatialInertia
from .model import Model, ModelBuilder, joint_types
from .tree.forward_dynamics import forward_dynamics, hybrid_dynamics
from .tree.inverse_dynamics import inverse_dynamics
from .tree.kinematics import forward_kinematics, frame_pose
from .tree.mass_matrix import (
    bias_force,
    coriolis_matrix,
    gravity_force,
    mass_matrix,
    mass_matrix_rate,
    solve_mass_matrix,
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
    "coriolis_matrix",
    "forward_dynamics",
    "forward_kinematics",
    "frame_pose",
    "gravity_force",
    "hybrid_dynamics",
    "inverse_dynamics",
    "joint_types",
    "mass_matrix",
    "mass_matrix_rate",
    "solve_mass_matrix",
]
