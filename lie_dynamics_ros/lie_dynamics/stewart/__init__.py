"""Gough-Stewart platforms: geometry, inverse and forward kinematics, statics, workspace, calibration."""

from __future__ import annotations

from .architecture import ArchitectureReport as ArchitectureReport
from .architecture import architecture_report as architecture_report
from .assembly import AssemblyModes as AssemblyModes
from .assembly import assembly_modes as assembly_modes
from .calibration import CalibrationResult as CalibrationResult
from .calibration import DesignFrames as DesignFrames
from .calibration import calibrate as calibrate
from .calibration import identifiability_report as identifiability_report
from .designs import dietmaier_platform as dietmaier_platform
from .designs import griffis_duffy_platform as griffis_duffy_platform
from .designs import reference_platform as reference_platform
from .designs import semi_regular_platform as semi_regular_platform
from .errors import ArchitecturalSingularityError as ArchitecturalSingularityError
from .errors import StewartError as StewartError
from .errors import StewartWarning as StewartWarning
from .forward_kinematics import ForwardKinematicsResult as ForwardKinematicsResult
from .forward_kinematics import solve_forward_kinematics as solve_forward_kinematics
from .identifiability import IdentifiabilityReport as IdentifiabilityReport
from .path_following import ColdStart as ColdStart
from .path_following import StopReason as StopReason
from .path_following import level_home as level_home
from .path_following import solve_from_home as solve_from_home
from .platform import StewartPlatform as StewartPlatform
from .second_derivatives import leg_length_second_derivatives as leg_length_second_derivatives
from .statics import holding_forces as holding_forces
from .statics import leg_forces_for_wrench as leg_forces_for_wrench
from .statics import weight_wrench as weight_wrench
from .statics import wrench_of_leg_forces as wrench_of_leg_forces
from .tracker import StewartTracker as StewartTracker
from .tracker_result import TrackedPath as TrackedPath
from .tracker_result import TrackedPose as TrackedPose
from .tracker_result import TrackingError as TrackingError
from .tracker_result import TrackingStatus as TrackingStatus
from .workspace import WorkspaceSlice as WorkspaceSlice
from .workspace import workspace_slice as workspace_slice
