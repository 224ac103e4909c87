"""Control: torques from desired motions, estimates of loads and contacts, limits and trajectories."""

from .adaptive import AdaptiveController
from .computed_torque import ComputedTorquePID, computed_torque, feedforward_pd, gravity_compensation
from .effort_limits import LimitedEffort, limit_effort
from .momentum_observer import MomentumObserver
from .operational_space import TaskTorque, operational_space, posture_torque
from .passivity import SlidingReference, passivity_based, sliding_reference, slotine_li_force
from .regressor import slotine_li_regressor
from .tracking_error import TrackingError, gradient, position_rate, tracking_error
from .trajectory import Trajectory, TrajectoryPoint

__all__ = [
    "AdaptiveController",
    "ComputedTorquePID",
    "LimitedEffort",
    "MomentumObserver",
    "SlidingReference",
    "TaskTorque",
    "TrackingError",
    "Trajectory",
    "TrajectoryPoint",
    "computed_torque",
    "feedforward_pd",
    "gradient",
    "gravity_compensation",
    "limit_effort",
    "operational_space",
    "passivity_based",
    "position_rate",
    "posture_torque",
    "sliding_reference",
    "slotine_li_force",
    "slotine_li_regressor",
    "tracking_error",
]
