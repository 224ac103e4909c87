"""Robot dynamics on Lie groups: no ROS in here.

SI units and radians; twists and wrenches angular part first, in the body frame; quaternions x, y, z, w.
See ``doc/conventions.md``.

Names are imported when they are first requested: a node that needs one algorithm does not wait for the others. What is
public, and its types, is written in ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "geometry": (
        "christoffel_derivatives christoffel_symbols coriolis_product curvature_tensor is_flat mass_matrix_derivatives "
        "ricci_tensor scalar_curvature sectional_curvature"
    ),
    "constraints": (
        "Assembly Baumgarte ConstrainedDerivatives ConstrainedDynamics ConstrainedModel ConstrainedSensitivity "
        "ConstraintSet Coupling Loop Resolution UserConstraint assemble consistent_acceleration consistent_velocity "
        "constrained_forward_derivatives constrained_forward_dynamics constrained_hybrid_derivatives "
        "constrained_hybrid_dynamics constrained_inverse_derivatives constrained_inverse_dynamics "
        "constrained_forward_sensitivity constrained_hybrid_sensitivity constrained_inverse_sensitivity "
        "constraint_bias constraint_error constraint_jacobian constraint_quantities loop_wrenches "
        "mimic_couplings project_to_constraints"
    ),
    "constraints.travel": "constrained_travel_left",
    "constraints.mechanisms": "Mechanism mechanism",
    "constraints.tracking.motor_dynamics": "MotorDynamics PlatformWrench platform_wrench",
    "constraints.tracking.tracker": "ClosedLoopTracker",
    "errors": "DescriptionError GroupError InertiaError InputError LieDynamicsError SingularityError",
    "lie": "SpatialInertia",
    "model": "BodySpring Model ModelBuilder TorsionSpring joint_types",
    "optimal": "MotionCost optimal_motion torque_optimal_motion",
    "stewart": "StewartPlatform StewartTracker assembly_modes solve_forward_kinematics",
    "dynamics.derivatives.forward_derivatives": "forward_dynamics_derivatives hybrid_dynamics_derivatives",
    "dynamics.forward_dynamics": "forward_dynamics hybrid_dynamics solve_mass_matrix",
    "dynamics.derivatives.inverse_derivatives": (
        "bias_force_derivatives gravity_force_derivatives inverse_dynamics_derivatives torque_regressor"
    ),
    "dynamics.inverse_dynamics": (
        "bias_force coriolis_matrix gravity_force inverse_dynamics mass_matrix mass_matrix_rate"
    ),
    "dynamics.joint_friction": "JointFriction",
    "dynamics.kinematics": "external_wrench forward_kinematics frame_pose jacobian jacobian_rate",
    "dynamics.motion": (
        "body_accelerations body_velocities center_of_mass centroidal_momentum_matrix kinetic_energy "
        "momentum potential_energy total_mass"
    ),
    "dynamics.derivatives.momentum_derivatives": "center_of_mass_derivatives centroidal_momentum_derivatives",
    "dynamics.derivatives.parameters": "Parameter",
    "dynamics.derivatives.second_derivatives": (
        "forward_dynamics_second_derivatives hybrid_dynamics_second_derivatives inverse_dynamics_second_derivatives"
    ),
    "dynamics.derivatives.sensitivity": (
        "forward_dynamics_sensitivity hybrid_dynamics_sensitivity inverse_dynamics_sensitivity"
    ),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}
#: Rooms, imported when they are requested too.
_ROOMS = (
    "autodiff", "closed_form", "constraints", "control", "dynamics", "errors", "estimation", "geometry",
    "identification", "lie", "model", "motion", "optimal", "plots", "reference", "simulation", "stewart",
)  # fmt: skip
__all__ = sorted(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
