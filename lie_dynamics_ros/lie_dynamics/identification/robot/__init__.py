"""From a recording of positions and efforts to a robot that is true: bodies, friction, rotors, delays."""

from .drive_gains import DriveGains, gains_from_payload
from .identify_robot import identify_robot
from .payload import PayloadEstimate, ball_of_water, identify_payload
from .problems import Problem, RecordingError
from .report import plot_efforts, plot_friction, plot_shares, write_report
from .result import IdentifiedRobot, Prediction

__all__ = [
    "DriveGains",
    "IdentifiedRobot",
    "PayloadEstimate",
    "Prediction",
    "Problem",
    "RecordingError",
    "ball_of_water",
    "gains_from_payload",
    "identify_payload",
    "identify_robot",
    "plot_efforts",
    "plot_friction",
    "plot_shares",
    "write_report",
]
