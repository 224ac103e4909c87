"""Motions between two states, or through many, of least cost."""

from __future__ import annotations

from .motion import OptimalMotion, OptimalMotionError, optimal_motion, torque_optimal_motion
from .task import MotionCost

__all__ = ["MotionCost", "OptimalMotion", "OptimalMotionError", "optimal_motion", "torque_optimal_motion"]
