"""From a recording of positions and efforts to a robot that is true: bodies, friction, rotors, delays."""

from .identify_robot import identify_robot
from .payload import PayloadEstimate, identify_payload
from .problems import Problem, RecordingError
from .report import plot_efforts, plot_friction, plot_shares, write_report
from .result import IdentifiedRobot, Prediction

__all__ = [
    "IdentifiedRobot",
    "PayloadEstimate",
    "Prediction",
    "Problem",
    "RecordingError",
    "identify_payload",
    "identify_robot",
    "plot_efforts",
    "plot_friction",
    "plot_shares",
    "write_report",
]
