"""Arms for tests of control: models, limits, and poses drawn at random and on purpose."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

from lie_dynamics_ros.lie_dynamics import Model

from . import robots
from .mujoco_arm import MujocoArm
from .robots import OWN

FILES = {
    "panda": robots.PANDA,
    "ur5": robots.UR5,
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "panda_arm": OWN,
}
"""The Panda of example-robot-data has fingers, two prismatic joints of 15 g each; that of the package has none."""

NAMES = tuple(FILES)

ALIGNED = {
    "panda": (
        [0.3, 0.0, -0.4, -1.5, 0.2, 1.8, 0.5],  # q2 = 0: axes 1 and 3 in one line
        [0.0, 0.003, 0.0, -0.1, 0.0, 1.6, 0.0],  # nearly stretched, 1, 3 and 5 in one line
        [0.0, -0.6, 0.0, -2.2, 0.0, 0.0, 0.0],  # q6 = 0: 5 and 7
    ),
    "ur5": (
        [0.0, -0.3, 0.0, -1.2, 0.0, 0.0],  # stretched, wrist axes 4 and 6 parallel
        [1.0, -1.5708, 0.0, -1.5708, 0.0, 0.5],  # straight up
        [0.5, -1.0, 1.5, -0.5, 3.1, 0.0],
    ),
    "xarm7": (
        [0.3, 0.0, -0.4, 1.0, 0.2, 0.8, 0.5],  # q2 = 0: axes 1 and 3
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # stretched upwards, all of 1, 3, 5, 7
        [0.0, -0.5, 0.0, 1.2, 0.0, 0.0, 0.0],  # q6 = 0
    ),
    "kinova": (
        [0.0, 3.14, 3.14, 0.0, 3.14, 0.0],  # straight up
        [1.0, 2.0, 1.0, 0.0, 3.14, 1.0],  # 4 and 6 in one line
        [0.0, 3.9, 1.5, 1.0, 1.0, 0.0],
    ),
}
ALIGNED["panda_arm"] = ALIGNED["panda"]

HELD = 0.7
"""Largest part of an effort limit that gravity needs in the poses drawn."""


@dataclass(frozen=True)
class Arm:
    """An arm by name: its URDF, and the library's model of it.

    Attributes
    ----------
    limit : ndarray, shape (n,)
        Of the efforts [N m, N].
    speed : ndarray, shape (n,)
        Of the joints [rad/s, m/s].
    lower, upper : ndarray, shape (n,)
        Positions to draw from, within the limits, at most a turn [rad, m].
    """

    name: str
    text: str
    model: Model
    limit: np.ndarray
    speed: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def simulated(self, **physics) -> MujocoArm:
        """Return the arm in MuJoCo; see `MujocoArm`."""
        return MujocoArm(self.text, self.model.joint_names, **physics)

    def aligned(self, k: int) -> np.ndarray:
        """Return a pose in which axes line up, the k-th."""
        chosen = ALIGNED[self.name]
        q = 0.5 * (self.lower + self.upper)  # fingers in the middle
        q[: len(chosen[0])] = chosen[k % len(chosen)]
        return q

    def random_pose(self, rng: np.random.Generator, margin: float = 0.0) -> np.ndarray:
        """Draw a pose within the limits, some part of the range away from them, that the arm can hold easily."""
        room = margin * (self.upper - self.lower)
        judge = physics(self.name)
        while True:
            q = rng.uniform(self.lower + room, self.upper - room)
            if (np.abs(judge.gravity(q)) < HELD * self.limit).all():
                return q


@cache
def load(name: str) -> Arm:
    """Return an arm; skips the test where its package is missing."""
    text = robots.path(FILES[name]).read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Model.from_urdf(text, inertia_check="warn")
    limits = model.limits
    lower, upper = np.clip(limits.lower, -np.pi, None), np.clip(limits.upper, None, np.pi)
    return Arm(name, text, model, limits.effort, limits.velocity, lower, upper)


@cache
def physics(name: str) -> MujocoArm:
    """Return the arm in MuJoCo for questions of statics, shared by all who ask."""
    return load(name).simulated()
