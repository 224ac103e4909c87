"""Identification of inertial parameters from recorded motion: identifiable combinations, and bodies that can exist."""

from .estimation import Identification, identify
from .excitation import Capsule, ExcitingMotion, Plane, exciting_motion
from .identify_robot import (
    IdentifiedRobot,
    Prediction,
    identify_robot,
    plot_efforts,
    plot_friction,
    plot_shares,
    write_report,
)
from .kinematic_calibration import KinematicCalibration, calibrate_kinematics
from .mechanism_calibration import MechanismCalibration, calibrate_mechanism
from .payload import DriveGains, PayloadEstimate, ball_of_water, gains_from_payload, identify_payload
from .problems import Problem, RecordingError
from .recordings import Recording, filtered_motion
from .regression import BaseParameters, JointTerms, base_parameters, parameter_names, regression

__all__ = [
    "BaseParameters",
    "Capsule",
    "DriveGains",
    "ExcitingMotion",
    "Identification",
    "IdentifiedRobot",
    "JointTerms",
    "KinematicCalibration",
    "MechanismCalibration",
    "PayloadEstimate",
    "Plane",
    "Prediction",
    "Problem",
    "Recording",
    "RecordingError",
    "ball_of_water",
    "base_parameters",
    "calibrate_kinematics",
    "calibrate_mechanism",
    "exciting_motion",
    "filtered_motion",
    "gains_from_payload",
    "identify",
    "identify_payload",
    "identify_robot",
    "parameter_names",
    "plot_efforts",
    "plot_friction",
    "plot_shares",
    "regression",
    "write_report",
]
