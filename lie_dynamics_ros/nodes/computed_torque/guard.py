"""The limits that the node computed_torque watches: which of them a state breaks."""

from __future__ import annotations

import numpy as np

from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import SoftLimits
from ...lie_dynamics.control.kernels.signals import keeps_limits
from .options import ComputedTorqueOptions
from .trajectories.trajectory_piece import Desired

OUTWARDS = 0.01
"""Speed away from its range with which a joint beyond it is stopped, over the velocity limit, or [rad/s, m/s]."""


class Guard:
    """Limits that options set for a robot.

    Parameters
    ----------
    names : tuple of str
        Joints, in model order.
    soft : SoftLimits
    fastest, speed : ndarray, shape (n,)
        Velocity limits, infinite for none, and the same with 1 for none [rad/s, m/s].
    options : ComputedTorqueOptions
    """

    def __init__(
        self, names: tuple[str, ...], soft: SoftLimits, fastest: Array, speed: Array, options: ComputedTorqueOptions
    ) -> None:
        self._names, self._soft, self._tolerance = names, soft, options.position_tolerance
        self._outwards = OUTWARDS * speed
        self._room = soft.usual + options.position_tolerance
        watched = options.mode != "gravity_compensation" and options.error_limit > 0.0
        self._far = np.full(len(names), options.error_limit if watched else np.finfo(float).max)
        self._fast = np.minimum(fastest * (1.0 + options.velocity_tolerance), np.finfo(float).max)

    def violation(self, position: Array, velocity: Array, desired: Desired) -> str:
        """Say which limit a state (n,), (n,) breaks, or which error is too large; empty where none."""
        tolerance, soft, aim = self._tolerance, self._soft, desired.position
        if keeps_limits(position, velocity, aim, soft.center, self._room, self._fast, self._far) == 1:
            return ""
        error = aim - position
        out = (velocity > self._outwards) & (position > soft.upper + tolerance)
        out |= (velocity < -self._outwards) & (position < soft.lower - tolerance)
        names = self._names
        for bad, what in (
            (np.abs(velocity) > self._fast, "moves faster than its limit"),
            (np.abs(error) > self._far, "is farther from its desired position than error_limit"),
            (out, "moves on beyond its position limit"),
        ):
            if bad.any():
                return f"joint {', '.join(names[k] for k in np.flatnonzero(bad))} {what}"
        return ""
