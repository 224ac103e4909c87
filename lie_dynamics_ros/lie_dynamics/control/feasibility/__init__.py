"""Checks of trajectories against all limits of a robot, and the shortest time for the same path."""

from __future__ import annotations

from .joint_path import JointPath, Motion
from .judgement import (
    KINDS,
    Excess,
    Feasibility,
    MotionLimits,
    efforts_of,
    feasibility,
    first_effort,
    first_excess,
    first_opening,
    plot_feasibility,
)
from .retiming import Retimed, RetimingError, retime

__all__ = [
    "KINDS",
    "Excess",
    "Feasibility",
    "JointPath",
    "Motion",
    "MotionLimits",
    "Retimed",
    "RetimingError",
    "efforts_of",
    "feasibility",
    "first_effort",
    "first_excess",
    "first_opening",
    "plot_feasibility",
    "retime",
]
