"""Gough-Stewart platforms: geometry, inverse and forward kinematics, statics, workspace, calibration."""

from __future__ import annotations

from .assembly.modes import AssemblyModes as AssemblyModes
from .assembly.modes import assembly_modes as assembly_modes
from .calibration.fit import CalibrationResult as CalibrationResult
from .calibration.fit import DesignFrames as DesignFrames
from .calibration.fit import calibrate as calibrate
from .calibration.fit import identifiability_report as identifiability_report
from .calibration.identifiability import IdentifiabilityReport as IdentifiabilityReport
from .errors import ArchitecturalSingularityError as ArchitecturalSingularityError
from .errors import StewartError as StewartError
from .errors import StewartWarning as StewartWarning
from .fusion.estimator import StewartFusion as StewartFusion
from .fusion.result import Fault as Fault
from .fusion.result import FusedPose as FusedPose
from .fusion.sensors import AngleSensor as AngleSensor
from .fusion.sensors import DisplacementSensor as DisplacementSensor
from .fusion.sensors import InertialSensor as InertialSensor
from .geometry.architecture import ArchitectureReport as ArchitectureReport
from .geometry.architecture import architecture_report as architecture_report
from .geometry.designs import dietmaier_platform as dietmaier_platform
from .geometry.designs import griffis_duffy_platform as griffis_duffy_platform
from .geometry.designs import reference_platform as reference_platform
from .geometry.designs import semi_regular_platform as semi_regular_platform
from .geometry.platform import StewartPlatform as StewartPlatform
from .geometry.second_derivatives import leg_length_second_derivatives as leg_length_second_derivatives
from .geometry.statics import holding_forces as holding_forces
from .geometry.statics import leg_forces_for_wrench as leg_forces_for_wrench
from .geometry.statics import weight_wrench as weight_wrench
from .geometry.statics import wrench_of_leg_forces as wrench_of_leg_forces
from .geometry.workspace import WorkspaceSlice as WorkspaceSlice
from .geometry.workspace import workspace_slice as workspace_slice
from .solvers.forward_kinematics import ForwardKinematicsResult as ForwardKinematicsResult
from .solvers.forward_kinematics import solve_forward_kinematics as solve_forward_kinematics
from .tracking.path_following import ColdStart as ColdStart
from .tracking.path_following import StopReason as StopReason
from .tracking.path_following import level_home as level_home
from .tracking.path_following import solve_from_home as solve_from_home
from .tracking.result import TrackedPath as TrackedPath
from .tracking.result import TrackedPose as TrackedPose
from .tracking.status import TrackingError as TrackingError
from .tracking.status import TrackingStatus as TrackingStatus
from .tracking.tracker import StewartTracker as StewartTracker
