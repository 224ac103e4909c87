"""A closed mechanism from one state of its measured joints to the next."""

from __future__ import annotations

import numpy as np

from ...lie_dynamics import Model
from ...lie_dynamics.constraints.idle import IdleFreedom
from ...lie_dynamics.constraints.tracking.result import TrackedState
from ..arrays import Array
from ..robot_state import RobotState
from ..turns import Turns
from .tracked_mechanism import TrackedMechanism


class MechanismFollower:
    """Follows one mechanism from its start.

    Parameters
    ----------
    model : Model
    mechanism : TrackedMechanism
    most : int, optional
        Proven steps that one state may take but for the first, where that is less than the mechanism's `max_steps`.

    Attributes
    ----------
    places : ndarray of int, shape (k,)
        Where the measured joints stand in q.
    last : TrackedState or None
        Outcome of the last state; None before the first.
    """

    def __init__(self, model: Model, mechanism: TrackedMechanism, most: int | None = None) -> None:
        self.mechanism, self._apart = mechanism, most is not None or mechanism.max_speed is not None
        measured = [model.joint(name) for name in mechanism.measured]
        self.places = np.array([joint.q_slice.start for joint in measured], dtype=np.intp)
        self._turns = Turns.of(model, mechanism.measured)
        self._velocity = np.zeros(len(measured))  # at the last state
        self._tracker = mechanism.tracker(model, bounded=mechanism.start_known, most=most)
        self._approach = mechanism.tracker(model, bounded=False)
        self.forget()

    def forget(self) -> None:
        """Forget where the mechanism is: the next state is followed from the start."""
        self.last: TrackedState | None = None
        self._since: int | None = None  # time of the last state that was followed [ns]
        self._tracker.reset(self.mechanism.start)

    @property
    def begun(self) -> bool:
        """Whether a state could be followed since the start."""
        return self._since is not None

    @property
    def idle(self) -> tuple[IdleFreedom, ...]:
        """What the measured joints do not determine, see the tracker."""
        return self._tracker.idle

    @property
    def refuted(self) -> bool:
        """Whether states were out of reach since the start, so that nothing is certified."""
        return self._tracker.refuted

    def time_to_singularity(self, horizon: float) -> float:
        """Return when the measured joints come to a singular configuration at their present rates, see the tracker."""
        return self._tracker.time_to_singularity(self._velocity, horizon)

    def unwound(self, position: Array) -> Array:
        """Return measured positions, those of joints that turn without end less the turns that a driver drops."""
        if not self._turns.any:
            return position
        return position + self._turns.between(position, self._tracker.q[self.places])

    def follow(self, state: RobotState) -> TrackedState:
        """Return what becomes of a state of the measured joints."""
        position = self.unwound(state.position)
        if self._since is None and self._apart:
            # Where the straight line from the start leads to, there it is known to be.
            self._approach.reset(self.mechanism.start)
            first = self._approach.update(position)
            if first.valid:
                self._tracker.reset(first.q)
        dt = 0.0 if self._since is None else max(0.0, 1e-9 * (state.stamp - self._since))
        tracked = self.last = self._tracker.update(position, dt=dt)
        if tracked.valid or self._since is not None:
            self._since = state.stamp
        self._velocity = state.velocity.copy()
        return tracked
