"""The payload that only the simulated robot knows of: what its controller can bear on its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.last_link import last_link
from ...lie_dynamics import Model, forward_dynamics, inverse_dynamics
from ...nodes.computed_torque.options import CONTROL_SETTINGS
from ..errors import ShortfallError

MASS, ROBOT_SHARE, LINK_RATIO = 1.5, 0.1, 10.0
"""Payload [kg], the largest share of the robot's mass that it may be, and its largest ratio to that of the link."""
REACH = 0.1
"""How far along the axis of the link's joint its centre of mass is from the origin of the link [m]."""
RADIUS = 0.05
"""It is a ball of that radius [m]."""
ERROR_SHARE = 0.5
"""Share of the room for errors that it may take at rest and on the way; picked up, it swings beyond that."""
DEFAULTS = {setting.name: setting.default for setting in CONTROL_SETTINGS}


@dataclass(frozen=True)
class Ball:
    """A ball that the last link of the longest chain carries, light links like fingers left out.

    Attributes
    ----------
    link : str
    center : tuple of float
        Of mass, in the frame of the link [m].
    mass, own_mass : float
        Of the payload, and of the link without it [kg].
    """

    link: str
    center: tuple[float, ...]
    mass: float
    own_mass: float

    @classmethod
    def largest(cls, model: Model) -> Ball:
        """Return the largest that suits the masses of a robot.

        Raises
        ------
        ShortfallError
            The link has no mass.
        """
        body = last_link(model)
        name, inertia = model.body_names[body], model.inertia(body)
        if not inertia.mass > 0.0:
            raise ShortfallError("its last link has no mass")
        axis = np.array(model.joints[body].type.steps[0].axis)
        axis *= np.copysign(REACH, axis @ inertia.com)  # to the side where the link is
        total = sum(float(model.inertia(b).mass) for b in range(model.n_bodies))
        mass = min(MASS, ROBOT_SHARE * total, LINK_RATIO * inertia.mass)
        return cls(name, tuple(axis.tolist()), float(mass), float(inertia.mass))

    def on(self, model: Model) -> Model:
        """Return the robot with the payload."""
        return model.with_payload(self.link, self.mass, self.center, 0.4 * self.mass * RADIUS**2 * np.eye(3))

    def strain(self, model: Model, q: Array, qd: Array, qdd: Array) -> float:
        """Return what the payload causes to a controller that does not know of it, as a share of what it may; (k, n).

        The errors of mode computed_torque on its defaults, e = M^-1 (tau with the payload - tau without) / kp but for
        the swinging, against `error_limit` and `position_tolerance`. It is proportional to the mass.
        """
        tau = inverse_dynamics(self.on(model), q, qd, qdd)
        # One by one: the kernel that does many at once would have to be compiled for this alone.
        pull = np.array([forward_dynamics(model, *state) for state in zip(q, qd, tau, strict=True)]) - qdd
        beyond = np.minimum(q - model.limits.lower, model.limits.upper - q) + DEFAULTS["position_tolerance"]
        room = np.minimum(beyond, DEFAULTS["error_limit"])
        return float((np.abs(pull) / (DEFAULTS["kp"][0] * ERROR_SHARE * room)).max())

    def borne(self, model: Model, q: Array, qd: Array, qdd: Array) -> Ball:
        """Return the payload, made lighter where it asks too much of a controller on this motion."""
        return self.scaled(1.0 / max(1.0, self.strain(model, q, qd, qdd)))

    def scaled(self, factor: float) -> Ball:
        """Return one that is that much heavier, to two digits."""
        return Ball(self.link, self.center, float(f"{factor * self.mass:.2g}"), self.own_mass)

    def parameters(self) -> Mapping[str, Any]:
        """Return those of a node whose robot carries it."""
        return {
            "payload_frame": self.link,
            "payload_mass": self.mass,
            "payload_center_of_mass": list(self.center),
            "payload_inertia": [0.4 * self.mass * RADIUS**2 * k for k in (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)],
        }
