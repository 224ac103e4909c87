"""Closed mechanisms ready to use, by name or by their own functions."""

from .arm import FourBarArm, four_bar_arm
from .assemblies import Assemblies, assemblies_from_starts
from .base import Mechanism
from .by_name import MECHANISMS, mechanism
from .delta import LinearDelta, RotaryDelta, delta_robot, linear_delta
from .planar import FiveBar, PlanarThreeRrr, five_bar, four_bar, planar_3rrr
from .rotary_legs import RotaryLegs, rotary_legs
from .six_legs import GoughStewart, OffsetLegs, gough_stewart, offset_legs
from .three_rps import ThreeRps, three_rps

__all__ = [
    "MECHANISMS",
    "Assemblies",
    "FiveBar",
    "FourBarArm",
    "GoughStewart",
    "LinearDelta",
    "Mechanism",
    "OffsetLegs",
    "PlanarThreeRrr",
    "RotaryDelta",
    "RotaryLegs",
    "ThreeRps",
    "assemblies_from_starts",
    "delta_robot",
    "five_bar",
    "four_bar",
    "four_bar_arm",
    "gough_stewart",
    "linear_delta",
    "mechanism",
    "offset_legs",
    "planar_3rrr",
    "rotary_legs",
    "three_rps",
]
