"""Trajectories of an arm on smooth, curved paths, and how its controller is given them."""

import numpy as np

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.lie_dynamics.control import Trajectory

from .. import arms

ARM = "panda_arm"
START = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.7, 0.5])
WAY = np.array([0.9, 0.7, -0.6, 0.6, 0.8, 0.5, 0.9])


def quintic(duration, model=None, points=3):
    """A trajectory from rest to rest through points of one smooth, curved path."""
    s = np.linspace(0.0, 1.0, points)[:, None]
    bent = 0.3 * np.array([0.0, 1.0, 0.0, -1.0, 1.0, 0.0, 0.0])

    def motion(s):
        x, v, a = (
            s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s),
        )  # fmt: skip
        q = START + x * WAY + np.sin(np.pi * x) * bent
        dq = WAY + np.pi * np.cos(np.pi * x) * bent
        return q, dq * v, dq * a - np.pi**2 * np.sin(np.pi * x) * bent * v**2

    q, qd, qdd = motion(s)
    return Trajectory(model or arms.load(ARM).model, duration * s[:, 0], q, qd / duration, qdd / duration**2)


def follow(loop, trajectory, start):
    at = [trajectory.at(t) for t in trajectory.times]
    points = JointPoints(np.arange(trajectory.q.shape[1]), trajectory.times, trajectory.q, np.array([x.qd for x in at]))
    prepared = loop.core.prepare(points, start)
    loop.core.take(prepared)
    return prepared
