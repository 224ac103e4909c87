"""Simulation: integrators on the configuration manifold, joint physics, and robots that move."""

from .integrators import Motion, integrate_motion, rkmk4_step, semi_implicit_step
from .joint_physics import JointPhysics, joint_forces
from .linearization import Linearization, linearize
from .simulator import Simulation, Simulator, simulate, simulate_constrained

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
