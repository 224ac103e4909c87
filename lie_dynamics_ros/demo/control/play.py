"""What is played: three acts on one motion, and a payload that only the simulated robot knows of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.last_link import last_link
from ...lie_dynamics import Model, inverse_dynamics
from ..errors import ShortfallError
from .motion import RAMP, Motion

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
PAYLOAD_MASS, PAYLOAD_SHARE, PAYLOAD_RATIO = 1.5, 0.1, 10.0
"""Payload [kg], the largest share of the robot's mass that it may be, and its largest ratio to that of the link."""
PAYLOAD_CENTER = (0.02, 0.01, 0.12)
PAYLOAD_RADIUS = 0.05
"""Its centre of mass in the frame of the link [m]; it is a ball of that radius [m]."""
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
    link : str
        The link that carries the payload: the last of the longest chain, light ones like fingers left out.
    mass : float
        Of the payload [kg].
    own_mass : float
        Of that link, without [kg].
    acts : tuple of Act
    known : bool
        Whether the robot is the one that the demo's limits on learning are meant for, and learning is judged.
    """

    def __init__(self, model: Model, seconds: float, known: bool = True) -> None:
        self.model, self.known = model, known
        self.body = last_link(model)
        self.link = model.body_names[self.body]
        self.own_mass = float(model.inertia(self.body).mass)
        total = sum(float(model.inertia(b).mass) for b in range(model.n_bodies))
        self.motion, self.mass = self._choose(min(PAYLOAD_MASS, PAYLOAD_SHARE * total, PAYLOAD_RATIO * self.own_mass))
        if seconds < SHORTEST:
            raise ShortfallError(f"it takes {SHORTEST:g} s at least")
        lengths = [share * min(seconds, LONGEST) - OVERHEAD for share in SHARES]
        payload = {
            "payload_frame": self.link,
            "payload_mass": self.mass,
            "payload_center_of_mass": list(PAYLOAD_CENTER),
            "payload_inertia": [0.4 * self.mass * PAYLOAD_RADIUS**2 * k for k in (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)],
        }
        self.acts = (
            Act("exact", "computed torque with the exact model", lengths[0], {}, {}),
            Act("payload", f"{self.mass:.3g} kg at {self.link} that the model does not know", lengths[1], payload, {}),
            Act("adaptive", "the adaptive controller learns it", lengths[2], {}, {"mode": "adaptive"}),
        )

    def _choose(self, mass: float) -> tuple[Motion, float]:
        """Return motion and mass within the limits of the efforts."""
        model = self.model
        limit = np.where(model.limits.effort > 0.0, EFFORT_SHARE * model.limits.effort, np.inf)
        if not mass > 0.0:
            raise ShortfallError("its last link has no mass")
        for scale in 0.75 ** np.arange(10):
            motion = Motion(model, float(scale))
            inertia = 0.4 * scale * mass * PAYLOAD_RADIUS**2 * np.eye(3)
            loaded = model.with_payload(self.link, scale * mass, PAYLOAD_CENTER, inertia)
            tau = inverse_dynamics(loaded, *motion.at(np.arange(0.0, 20.0, 0.02), 20.0))
            if (np.abs(tau) <= limit).all():
                return motion, round(float(scale) * mass, 3)
        raise ShortfallError("its effort limits do not let it move with a payload")

    def points(self, duration: float) -> tuple[Array, tuple[Array, Array, Array]]:
        """Return times (k,) from the start of a trajectory, and position, velocity, acceleration (k, n) there."""
        t = np.linspace(0.0, duration, max(2, round(duration / STEP)) + 1)
        return LEAD + t, self.motion.at(t, duration)


assert min(SHARES) * SHORTEST - OVERHEAD >= RAMP
