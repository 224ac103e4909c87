"""Trajectories whose last point has a velocity: refused, or brought to rest behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....core.commands import JointPoints
from ....core.errors import TRAJECTORIES, MessageError

STILL = 1e-4
"""Velocities below this count as rest [rad/s, m/s]."""
ALLOWED = "allow_nonzero_velocity_at_trajectory_end"
"""The parameter, of the name that ros2_controllers gave it."""


def moves_at_its_end(points: JointPoints) -> bool:
    """Return whether the last point has a velocity."""
    return points.velocity is not None and bool((np.abs(points.velocity[-1]) > STILL).any())


def require_rest(points: JointPoints, names: Sequence[str]) -> None:
    """Raise MessageError where the last point has a velocity; `names` of all joints, in model order."""
    if moves_at_its_end(points):
        assert points.velocity is not None
        k = int(np.abs(points.velocity[-1]).argmax())
        text = f"a trajectory that ends with joint {names[points.joints[k]]} at {points.velocity[-1][k]:.4g} (velocity)"
        raise MessageError(TRAJECTORIES, f"{text}; expected 0, or the parameter {ALLOWED}")


def tail(points: JointPoints, time: float) -> JointPoints:
    """Return the way to rest behind the last point, in a time [s]: its velocity v, and acceleration a, fade evenly.

    It is v T / 2 + a T^2 / 12 long: the shortest polynomial, quadratic or quartic, that joins on.
    """
    assert points.velocity is not None
    position, velocity = points.position[-1], points.velocity[-1]
    end, zero, acceleration = position + 0.5 * time * velocity, np.zeros_like(velocity), None
    if points.acceleration is not None:
        end = end + time**2 / 12.0 * points.acceleration[-1]
        acceleration = np.array([points.acceleration[-1], zero])
    return replace(
        points,
        times=np.array([0.0, time]),
        position=np.array([position, end]),
        velocity=np.array([velocity, zero]),
        acceleration=acceleration,
        effort=None if points.effort is None else points.effort[[-1, -1]],
        segments=None,
    )


def joined(points: JointPoints, after: JointPoints) -> JointPoints:
    """Return points and the `tail` that follows them, as one trajectory."""

    def both(name: str) -> np.ndarray | None:
        first = getattr(points, name)
        return None if first is None else np.concatenate([first, getattr(after, name)[1:]])

    fields = {name: both(name) for name in ("position", "velocity", "acceleration", "effort")}
    return replace(points, segments=None, times=np.append(points.times, points.times[-1] + after.times[1:]), **fields)
