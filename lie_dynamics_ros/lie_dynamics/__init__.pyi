from . import autodiff as autodiff
from . import closed_form as closed_form
from . import constraints as constraints
from . import control as control
from . import dynamics as dynamics
from . import errors as errors
from . import estimation as estimation
from . import geometry as geometry
from . import identification as identification
from . import lie as lie
from . import model as model
from . import motion as motion
from . import optimal as optimal
from . import plots as plots
from . import reference as reference
from . import simulation as simulation
from . import stewart as stewart
from .constraints import (
    Assembly,
    Baumgarte,
    ConstrainedDerivatives,
    ConstrainedDynamics,
    ConstrainedModel,
    ConstrainedSensitivity,
    ConstraintSet,
    Coupling,
    Loop,
    Resolution,
    UserConstraint,
    assemble,
    consistent_acceleration,
    consistent_velocity,
    constrained_forward_derivatives,
    constrained_forward_dynamics,
    constrained_forward_sensitivity,
    constrained_hybrid_derivatives,
    constrained_hybrid_dynamics,
    constrained_hybrid_sensitivity,
    constrained_inverse_derivatives,
    constrained_inverse_dynamics,
    constrained_inverse_sensitivity,
    constraint_bias,
    constraint_error,
    constraint_jacobian,
    constraint_quantities,
    loop_wrenches,
    mimic_couplings,
    project_to_constraints,
)
from .constraints.mechanisms import Mechanism, mechanism
from .constraints.tracking.motor_dynamics import MotorDynamics, PlatformWrench, platform_wrench
from .constraints.tracking.tracker import ClosedLoopTracker
from .constraints.travel import constrained_travel_left
from .dynamics.derivatives.forward_derivatives import forward_dynamics_derivatives, hybrid_dynamics_derivatives
from .dynamics.derivatives.inverse_derivatives import (
    bias_force_derivatives,
    gravity_force_derivatives,
    inverse_dynamics_derivatives,
    torque_regressor,
)
from .dynamics.derivatives.momentum_derivatives import center_of_mass_derivatives, centroidal_momentum_derivatives
from .dynamics.derivatives.parameters import Parameter
from .dynamics.derivatives.second_derivatives import (
    forward_dynamics_second_derivatives,
    hybrid_dynamics_second_derivatives,
    inverse_dynamics_second_derivatives,
)
from .dynamics.derivatives.sensitivity import (
    forward_dynamics_sensitivity,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_sensitivity,
)
from .dynamics.forward_dynamics import forward_dynamics, hybrid_dynamics, solve_mass_matrix
from .dynamics.inverse_dynamics import (
    bias_force,
    coriolis_matrix,
    gravity_force,
    inverse_dynamics,
    mass_matrix,
    mass_matrix_rate,
)
from .dynamics.joint_friction import JointFriction
from .dynamics.kinematics import external_wrench, forward_kinematics, frame_pose, jacobian, jacobian_rate
from .dynamics.motion import (
    body_accelerations,
    body_velocities,
    center_of_mass,
    centroidal_momentum_matrix,
    kinetic_energy,
    momentum,
    potential_energy,
    total_mass,
)
from .errors import DescriptionError, GroupError, InertiaError, InputError, LieDynamicsError, SingularityError
from .geometry import (
    christoffel_derivatives,
    christoffel_symbols,
    coriolis_product,
    curvature_tensor,
    is_flat,
    mass_matrix_derivatives,
    ricci_tensor,
    scalar_curvature,
    sectional_curvature,
)
from .lie import SpatialInertia
from .model import BodySpring, Model, ModelBuilder, TorsionSpring, joint_types
from .optimal import MotionCost, optimal_motion, torque_optimal_motion
from .stewart import StewartPlatform, StewartTracker, assembly_modes, solve_forward_kinematics

__all__ = [
    "Assembly",
    "Baumgarte",
    "BodySpring",
    "ClosedLoopTracker",
    "ConstrainedDerivatives",
    "ConstrainedDynamics",
    "ConstrainedModel",
    "ConstrainedSensitivity",
    "ConstraintSet",
    "Coupling",
    "DescriptionError",
    "GroupError",
    "InertiaError",
    "InputError",
    "JointFriction",
    "LieDynamicsError",
    "Loop",
    "Mechanism",
    "Model",
    "ModelBuilder",
    "MotionCost",
    "MotorDynamics",
    "Parameter",
    "PlatformWrench",
    "Resolution",
    "SingularityError",
    "SpatialInertia",
    "StewartPlatform",
    "StewartTracker",
    "TorsionSpring",
    "UserConstraint",
    "assemble",
    "assembly_modes",
    "bias_force",
    "bias_force_derivatives",
    "body_accelerations",
    "body_velocities",
    "center_of_mass",
    "center_of_mass_derivatives",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "christoffel_derivatives",
    "christoffel_symbols",
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
    "constrained_travel_left",
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
    "forward_dynamics_second_derivatives",
    "forward_dynamics_sensitivity",
    "forward_kinematics",
    "frame_pose",
    "gravity_force",
    "gravity_force_derivatives",
    "hybrid_dynamics",
    "hybrid_dynamics_derivatives",
    "hybrid_dynamics_second_derivatives",
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
    "mechanism",
    "mimic_couplings",
    "momentum",
    "optimal_motion",
    "platform_wrench",
    "potential_energy",
    "project_to_constraints",
    "ricci_tensor",
    "scalar_curvature",
    "sectional_curvature",
    "solve_forward_kinematics",
    "solve_mass_matrix",
    "torque_optimal_motion",
    "torque_regressor",
    "total_mass",
]
