"""Closed mechanisms ready to use: four-bar, five-bar, delta robot, Gough-Stewart platform with legs."""

from .gough_stewart import GoughStewart, gough_stewart
from .mechanism import Mechanism
from .parallel import delta_robot
from .planar import five_bar, four_bar

__all__ = ["GoughStewart", "Mechanism", "delta_robot", "five_bar", "four_bar", "gough_stewart"]
