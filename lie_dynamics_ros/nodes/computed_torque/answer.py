"""The answer of the node computed_torque to one state. No messages in here."""

from __future__ import annotations

from dataclasses import dataclass

from ...lie_dynamics.arrays import Array
from .laws import LawEffort
from .trajectories.trajectory_piece import Desired


@dataclass(eq=False, slots=True)
class ControllerAnswer:
    """The answer to one state; arrays (n,) in model order.

    Attributes
    ----------
    stamp : int
        Of the state [ns].
    mode, phase, reason : str
        Mode, phase of `core.commands`, and why it is in that phase.
    position, velocity : ndarray
        The state [rad or m, and per s].
    desired : Desired
        The motion desired at the stamp, in a stop that of the stop; `effort` is the trajectory's feed-forward.
    ahead : Desired
        The motion desired when the effort acts; in a stop that at the stamp. The law is that of this motion and of the
        state which is as far from it as the actual one is from `desired`.
    error, error_rate : ndarray
        Desired minus actual, at the stamp.
    law : LawEffort
        Efforts of the control law, and their parts.
    wrench : ndarray
        Effort by which known external wrenches, and the motion of the base, push the joints [N m, N].
    wanted : ndarray
        law.effort + ahead.effort - wrench: what would be exerted without limits and blending.
    blend : ndarray
        What was added so that a change of mode, gains or model does not step.
    total : ndarray
        What is exerted, gravity included: wanted + blend within the limits.
    effort : ndarray
        What is published: the total, without gravity where the driver adds it.
    scale : float
        What part of the efforts beyond their base was exerted; 1 unless limits were met.
    """

    stamp: int
    mode: str
    phase: str
    reason: str
    position: Array
    velocity: Array
    desired: Desired
    ahead: Desired
    error: Array
    error_rate: Array
    law: LawEffort
    wrench: Array
    wanted: Array
    blend: Array
    total: Array
    effort: Array
    scale: float
