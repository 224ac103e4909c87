"""Joints that turn without end: positions a turn apart are one, and drivers and planners count turns as they like.

States are unwound where they come in (`Unwinding`), so that all behind it sees positions that go on over the seam of a
driver that wraps; whatever aims at a position is taken at the turn nearest to where the robot is (`Turns.near`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..lie_dynamics import MotorDynamics
from ..lie_dynamics.arrays import Array, Mask
from ..lie_dynamics.control.robots import Robot
from .commands import JointPoints

TURN = 2.0 * np.pi
HALF = np.pi + 1e-3
"""Positions farther apart than this are nearer by a turn [rad]. A goal half a turn away is taken as written, whatever
the noise of the position."""
LARGEST_LEAD = 0.5 * np.pi
"""Largest turn that is expected of a velocity from one state to the next [rad]. So a single wrong
velocity makes no turn, and joints that turn by less than 3/2 of this more than once a state are followed."""


class Turns:
    """Continuous joints of a robot: ``endless`` of shape (n,) tells which, `any` whether there is one."""

    def __init__(self, endless: Mask) -> None:
        self.endless = np.asarray(endless, dtype=bool)
        self.any = bool(self.endless.any())
        self._turn = np.where(self.endless, TURN, 0.0)

    @classmethod
    def of(cls, robot: Robot, names: Sequence[str]) -> Turns:
        """Return those of some joints: continuous ones, and revolute ones without limits as MJCF and SDF have them."""
        model = robot.tree if isinstance(robot, MotorDynamics) else robot
        lower, upper = model.limits.lower, model.limits.upper
        endless = np.zeros(len(names), dtype=bool)
        for k, name in enumerate(names):
            joint = model.joint(name)
            at = joint.q_slice.start
            free = joint.kind == "revolute" and not (np.isfinite(lower[at]) or np.isfinite(upper[at]))
            endless[k] = joint.kind == "continuous" or free
        return cls(endless)

    def between(self, position: Array, aim: Array, joints: NDArray[np.intp] | None = None) -> Array:
        """Return the whole turns (..., m) from positions to those nearest to an aim [rad]; 0 for other joints.

        ``joints`` are the places of these m; all joints where it is left out.
        """
        turn = self._turn if joints is None else self._turn[joints]
        away = aim - position
        return np.where(np.abs(away) > HALF, turn * np.round(away / TURN), 0.0)

    def near(self, points: JointPoints, aim: Array) -> JointPoints:
        """Return a trajectory whose first point is at the turn nearest to an aim (n,); the others wind as written."""
        if not self.any:
            return points
        shift = self.between(points.position[0], aim[points.joints], points.joints)
        return replace(points, position=points.position + shift) if shift.any() else points


class Unwinding:
    """Positions of a robot from state to state, without the jumps of drivers that wrap.

    The first state counts as it comes. What does not wrap stays as it is.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._last: tuple[int, Array, Array] | None = None
        self._turned: Array | None = None

    def forget(self) -> None:
        """Begin afresh at the next state."""
        self._last = self._turned = None

    @property
    def turned(self) -> Array | None:
        """The turns (n,) that were added to the last state [rad]; None for none."""
        return self._turned

    def unwind(self, stamp: int, position: Array, velocity: Array) -> Array:
        """Return the positions (n,) of a state of a time [ns], at the turns that are nearest to what was expected."""
        if not self._turns.any:
            return position
        if self._last is not None:
            since, before, rate = self._last
            ahead = np.clip(rate * (max(0, stamp - since) * 1e-9), -LARGEST_LEAD, LARGEST_LEAD)
            shift = self._turns.between(position, before + ahead)
            self._turned = shift if shift.any() else None
            if self._turned is not None:
                position = position + shift
        self._last = stamp, position.copy(), velocity.copy()
        return position
