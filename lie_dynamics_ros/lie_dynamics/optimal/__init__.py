"""Motions between two states, or through many, of least cost."""

from __future__ import annotations

from .bounds import MotionCost
from .motion import OptimalMotion, OptimalMotionError, optimal_motion, torque_optimal_motion

__all__ = ["MotionCost", "OptimalMotion", "OptimalMotionError", "optimal_motion", "torque_optimal_motion"]
