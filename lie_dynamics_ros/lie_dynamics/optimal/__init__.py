"""Motions between two states that take the least joint forces."""

from __future__ import annotations

from .motion import OptimalMotion, OptimalMotionError, torque_optimal_motion

__all__ = ["OptimalMotion", "OptimalMotionError", "torque_optimal_motion"]
