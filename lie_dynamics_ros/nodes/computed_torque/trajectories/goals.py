"""Goals to follow trajectories: tolerances, and how each comes to its end. No messages in here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.commands import JointPoints
from ....core.errors import TRAJECTORIES, MessageError
from ....lie_dynamics.arrays import Array
from .trajectory_piece import Piece
from .trajectory_player import TrajectoryPlayer

SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = 0, -1, -2, -3
PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -4, -5
UNBOUNDED = -1.0  # tolerance that stands for no bound


#: Result text of a goal that another one replaces; clients that stream goals get it for each.
TAKEN_OVER = "a later trajectory has taken over its joints"


class GoalError(MessageError):
    """A goal that cannot be followed, with the code of its result."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(TRAJECTORIES, detail)
        self.code = code


class Tolerance(NamedTuple):
    """Tolerances of one joint, as a goal gives them: 0 for the default, -1 for no bound [rad, m and rates]."""

    name: str
    position: float
    velocity: float


class Bounds(NamedTuple):
    """Largest errors of joints (m,), infinite for no bound."""

    position: Array
    velocity: Array

    def broken(self, names: Sequence[str], error: Array, rate: Array) -> str:
        """Say which bound errors (m,) exceed, and by how much; empty where none."""
        for what, values, most, unit in (
            ("position", np.abs(error), self.position, "rad or m"),
            ("velocity", np.abs(rate), self.velocity, "rad/s or m/s"),
        ):
            over = values > most
            if over.any():
                k = int(np.argmax(np.where(over, values - most, -np.inf)))
                return f"{what} of joint {names[k]} is off by {values[k]:.4g} {unit}, allowed {most[k]:.4g}"
        return ""


def read_bounds(what: str, given: Sequence[Tolerance], names: Sequence[str], default: Array) -> Bounds:
    """Return the bounds of the joints ``names``; tolerances of other joints are not looked at.

    The default (m,) is that of positions, 0 for no bound; velocities have none. Raises GoalError for NaN or infinite
    numbers, naming them by ``what``.
    """
    position = np.where(default > 0.0, default, np.inf)
    velocity = np.full(len(names), np.inf)
    place = {name: k for k, name in enumerate(names)}
    for entry in given:
        for array, value, kind in ((position, entry.position, "position"), (velocity, entry.velocity, "velocity")):
            if value != UNBOUNDED and not 0.0 <= value < np.inf:
                expected = "0 for the default, -1 for no bound, or a finite number above 0"
                raise GoalError(INVALID_GOAL, f"{what} of joint {entry.name}: {kind} {value:g}; expected {expected}")
            if entry.name in place and value != 0.0:
                array[place[entry.name]] = np.inf if value == UNBOUNDED else value
    return Bounds(position, velocity)


@dataclass(eq=False)
class Goal:
    """A trajectory to follow, and its reports."""

    sender: Any  # whoever is informed; nothing in here looks at it
    names: Sequence[str] = ()  # joints, as `points` has them
    path: Bounds | None = None  # largest errors under way
    end: Bounds | None = None  # and at the end
    patience: float = 0.0  # time after the end for errors to come within `end` [s]; 0: no limit
    points: JointPoints | None = None  # as they are played; None until they have been prepared
    note: str = ""  # what was changed of the trajectory
    canceling: bool = False
    piece: Piece | None = None
    ended: int | None = None

    @property
    def joints(self) -> NDArray[np.intp]:
        """Places of its joints in model order."""
        return np.zeros(0, np.intp) if self.points is None else self.points.joints


class Result(NamedTuple):
    """Outcome of a goal: its code, a text, and whether it was canceled."""

    goal: Goal
    code: int
    text: str
    canceled: bool = False


@dataclass(eq=False)
class Goals:
    """Goals under way, and results to be sent; the user takes these out."""

    active: list[Goal] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def finish(self, goal: Goal, code: int, text: str, canceled: bool = False) -> None:
        """End a goal."""
        if goal in self.active:
            self.active.remove(goal)
        text = "; ".join(x for x in (text, goal.note) if x)
        self.results.append(Result(goal, code, text, canceled))

    def abort_all(self, reason: str, code: int = PATH_TOLERANCE_VIOLATED) -> None:
        """End all goals for one reason."""
        for goal in list(self.active):
            self.finish(goal, code, reason)

    def wait(self, time: int) -> None:
        """Let a time [ns] in which motions paused not count."""
        for goal in self.active:
            if goal.ended is not None:
                goal.ended += time

    def update(self, stamp: int, player: TrajectoryPlayer, error: Array, rate: Array) -> list[Goal]:
        """Go on after a state [ns] with the player at its time and errors of all joints, desired minus actual (n,).

        Return goals given up whose trajectories, or what is left of them, are to come to rest.
        """
        begun = player.begun
        given_up: list[Goal] = []
        for goal in list(self.active):
            later = begun
            for k, piece in enumerate(begun):
                if piece.points is goal.points:
                    goal.piece, later = piece, begun[k + 1 :]
            held = goal.points is not None and player.holds(goal.points)
            if goal.piece is not None and any(np.isin(p.joints, goal.joints).any() for p in later):
                self.finish(goal, INVALID_GOAL, TAKEN_OVER)
                given_up.append(goal)
            elif goal.piece is None:
                if not held:
                    why = next((text for _, points, text in player.dropped if points is goal.points), "")
                    self.finish(goal, INVALID_GOAL, why or "another trajectory took its place before it began")
            elif self._follow(goal, stamp, held, error[goal.joints], rate[goal.joints]):
                given_up.append(goal)
        return given_up

    def _follow(self, goal: Goal, stamp: int, held: bool, error: Array, rate: Array) -> bool:
        """Go on with a goal that has begun; return whether it has to be given up on the way."""
        assert goal.path is not None and goal.end is not None and goal.piece is not None
        if goal.ended is None:
            if held:
                broken = goal.path.broken(goal.names, error, rate)
                if broken:
                    self.finish(goal, PATH_TOLERANCE_VIOLATED, f"path tolerance: {broken}")
                return bool(broken)
            goal.ended = stamp
        broken = goal.end.broken(goal.names, error, rate)
        if not broken:
            self.finish(goal, SUCCESSFUL, "")
        elif goal.patience and (stamp - goal.ended) * 1e-9 > goal.patience:
            self.finish(
                goal, GOAL_TOLERANCE_VIOLATED, f"goal tolerance, {goal.patience:g} s after the end: {broken}"
            )  # fmt: skip
        return False
