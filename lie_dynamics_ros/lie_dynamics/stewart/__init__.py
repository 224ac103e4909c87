"""Gough-Stewart platforms: geometry, inverse and forward kinematics, statics, workspace, calibration."""

from __future__ import annotations

from .architecture import ArchitectureReport as ArchitectureReport
from .architecture import architecture_report as architecture_report
from .designs import dietmaier_platform as dietmaier_platform
from .designs import griffis_duffy_platform as griffis_duffy_platform
from .designs import reference_platform as reference_platform
from .designs import semi_regular_platform as semi_regular_platform
from .errors import ArchitecturalSingularityError as ArchitecturalSingularityError
from .errors import StewartError as StewartError
from .errors import StewartWarning as StewartWarning
from .forward_kinematics import ForwardKinematicsResult as ForwardKinematicsResult
from .forward_kinematics import solve_forward_kinematics as solve_forward_kinematics
from .platform import StewartPlatform as StewartPlatform
