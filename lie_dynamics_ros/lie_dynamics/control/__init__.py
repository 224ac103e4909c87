"""Control: torques from desired motions, estimates of loads and contacts, limits and trajectories."""

from . import feasibility
from .adaptive import AdaptiveController
from .computed_torque import ComputedTorquePID, computed_torque, feedforward_pd, gravity_compensation
from .effort_delay import EffortHistory
from .limits import LimitedEffort, SoftLimits, limit_effort
from .momentum_observer import MomentumObserver
from .passivity import SlidingReference, passivity_based, sliding_reference, slotine_li_force, slotine_li_regressor
from .sample_times import SampleTimes
from .sampled_loop import (
    damper_limit,
    is_robust,
    largest_damping,
    largest_period,
    limited_damping,
    limited_damping_matrix,
    sampled_loop,
    spectral_radius,
)
from .task_space.operational_space import ImpedanceTorque, impedance, operational_space, posture_torque
from .task_space.pose_reference import PoseReference
from .task_space.task_state import TaskTorque
from .tracking_error import TrackingError, gradient, position_rate, tracking_error
from .trajectory import StopPlan, Trajectory, TrajectoryPoint
from .velocity_filter import Sampling, VelocityFilter, velocity_delay, velocity_noise, velocity_pole

__all__ = [
    "AdaptiveController",
    "ComputedTorquePID",
    "EffortHistory",
    "ImpedanceTorque",
    "LimitedEffort",
    "MomentumObserver",
    "PoseReference",
    "SampleTimes",
    "Sampling",
    "SlidingReference",
    "SoftLimits",
    "StopPlan",
    "TaskTorque",
    "TrackingError",
    "Trajectory",
    "TrajectoryPoint",
    "VelocityFilter",
    "computed_torque",
    "damper_limit",
    "feasibility",
    "feedforward_pd",
    "gradient",
    "gravity_compensation",
    "impedance",
    "is_robust",
    "largest_damping",
    "largest_period",
    "limit_effort",
    "limited_damping",
    "limited_damping_matrix",
    "operational_space",
    "passivity_based",
    "position_rate",
    "posture_torque",
    "sampled_loop",
    "sliding_reference",
    "slotine_li_force",
    "slotine_li_regressor",
    "spectral_radius",
    "tracking_error",
    "velocity_delay",
    "velocity_noise",
    "velocity_pole",
]
