"""The link that carries the tool of a robot, where none is given."""

from __future__ import annotations

import numpy as np

from ..lie_dynamics import Model

LINK_SHARE = 0.005
"""Least part of the robot's mass of a link that carries a payload: fingers do not; of UR5's last link it is 0.011."""


def last_link(model: Model) -> int:
    """Return the last body of the longest chain, light ones like fingers left out."""
    depth: list[int] = []
    for body in range(model.n_bodies):
        parent = model.frame(model.joints[body].parent_body).body
        depth.append(1 + (depth[parent] if 0 <= parent < body else 0))
    mass = np.array([model.inertia(body).mass for body in range(model.n_bodies)])
    return int(np.argmax(np.where(mass >= LINK_SHARE * mass.sum(), depth, 0)))
