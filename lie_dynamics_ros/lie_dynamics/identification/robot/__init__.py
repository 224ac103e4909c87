"""From a recording of positions and efforts to a robot that is true: bodies, friction, rotors, delays."""

from .identify_robot import identify_robot
from .payload import DriveGains, PayloadEstimate, ball_of_water, gains_from_payload, identify_payload
from .problems import Problem, RecordingError
from .result import IdentifiedRobot, Prediction, plot_efforts, plot_friction, plot_shares, write_report

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
