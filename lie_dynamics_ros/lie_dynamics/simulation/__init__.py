"""Simulation: integrators on the configuration manifold, joint physics, and robots that move."""

from .joint_physics import JointPhysics, joint_forces
from .linearization import Linearization, linearize
from .simulator import (
    Motion,
    Simulation,
    Simulator,
    integrate_motion,
    rkmk4_step,
    semi_implicit_step,
    simulate,
    simulate_constrained,
)

__all__ = [
    "JointPhysics",
    "Linearization",
    "Motion",
    "Simulation",
    "Simulator",
    "integrate_motion",
    "joint_forces",
    "linearize",
    "rkmk4_step",
    "semi_implicit_step",
    "simulate",
    "simulate_constrained",
]
