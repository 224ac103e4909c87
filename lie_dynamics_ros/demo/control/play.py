"""What is played: three acts on one motion, and a payload that only the simulated robot knows of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics import LieDynamicsError, Model, inverse_dynamics
from ..errors import ShortfallError
from .motion import RAMP, Motion
from .payload import Ball

RATE = 250.0
"""Joint states, and so torques, per second."""
LEAD = 0.7
"""Time from the start of a trajectory until the motion begins: the robot comes to its home pose [s]."""
OVERHEAD = 1.3
"""Time of an act besides its motion: parameters, `LEAD`, coming to rest [s]."""
SHORTEST, LONGEST = 12.0, 40.0
"""Of the whole play [s]."""
SHARES = (0.2, 0.2, 0.6)
"""Of the acts in the play."""
EFFORT_SHARE = 0.8
"""Share of the effort limits that the motion takes at most, payload included."""
PATIENCE = 1.0
"""How long robot and controller wait for each other before they stop [s]: the demo goes on where a machine stalls."""
STEP = 0.05
"""Between points of the trajectory [s]."""


@dataclass(frozen=True)
class Act:
    """A part of the play.

    Attributes
    ----------
    name, story : str
        A word, and what happens.
    duration : float
        Of its motion [s].
    robot, controller : mapping
        Parameters that change at its beginning.
    """

    name: str
    story: str
    duration: float
    robot: Mapping[str, Any]
    controller: Mapping[str, Any]


class Play:
    """Choose motion and payload for a robot.

    Parameters
    ----------
    model : Model
        All joints with one coordinate.
    seconds : float
        How long the play may take.

    Raises
    ------
    ShortfallError
        It cannot be played; says why.

    Attributes
    ----------
    motion : Motion
    payload : Ball
    acts : tuple of Act
    known : bool
        Whether the robot is the one that the demo's limits on learning are meant for, and learning is judged.
    """

    def __init__(self, model: Model, seconds: float, known: bool = True) -> None:
        self.model, self.known = model, known
        if seconds < SHORTEST:
            raise ShortfallError(f"it takes {SHORTEST:g} s at least")
        lengths = _lengths(min(seconds, LONGEST))
        try:
            self.motion, self.payload = self._choose()
        except LieDynamicsError as error:
            raise ShortfallError(str(error)) from error
        mass, link = f"{self.payload.mass:.3g} kg", self.payload.link
        payload = self.payload.parameters()
        self.acts = (
            Act("exact", "computed torque with the exact model", lengths[0], {}, {}),
            Act("payload", f"{mass} at {link} that the model does not know", lengths[1], payload, {}),
            Act("adaptive", "the adaptive controller learns it", lengths[2], {}, {"mode": "adaptive"}),
        )

    def _choose(self) -> tuple[Motion, Ball]:
        """Return motion and payload within the limits of efforts and, until it is learned, of the tracking error."""
        model, lengths = self.model, _lengths(LONGEST)  # the same however short the play is
        limit = np.where(model.limits.effort > 0.0, EFFORT_SHARE * model.limits.effort, np.inf)
        for scale in 0.75 ** np.arange(10):
            motion = Motion(model, float(scale))
            unlearned, longest = (motion.at(np.arange(0.0, length, 0.02), length) for length in lengths[1:])
            payload = Ball.largest(model).scaled(float(scale)).borne(model, *unlearned)
            taken = np.abs(inverse_dynamics(payload.on(model), *longest)).max(axis=0) / limit
            if (taken <= 1.0).all():
                return motion, payload
        j = int(np.argmax(taken))
        raise ShortfallError(
            f"its effort limits do not let it move with a payload: joint {model.joint_names[j]} takes "
            f"{EFFORT_SHARE * taken[j]:.0%} of its limit, at most {EFFORT_SHARE:.0%} is expected"
        )

    def points(self, duration: float) -> tuple[Array, tuple[Array, Array, Array]]:
        """Return times (k,) from the start of a trajectory, and position, velocity, acceleration (k, n) there."""
        t = np.linspace(0.0, duration, max(2, round(duration / STEP)) + 1)
        return LEAD + t, self.motion.at(t, duration)


def _lengths(seconds: float) -> list[float]:
    """Return those of the motions of a play that long [s]."""
    return [share * seconds - OVERHEAD for share in SHARES]


assert min(SHARES) * SHORTEST - OVERHEAD >= RAMP
