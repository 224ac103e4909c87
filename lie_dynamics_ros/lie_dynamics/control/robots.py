"""Dynamics of what is controlled: a tree, or a closed mechanism as its motors feel it."""

from __future__ import annotations

from typing import TypeAlias

import numpy.typing as npt

from ..arrays import Array
from ..constraints.tracking.motor_dynamics import MotorDynamics
from ..dynamics import forward_dynamics as forward
from ..dynamics import inverse_dynamics as inverse
from ..errors import InputError
from ..model.arguments import require_coordinates
from ..model.model import Model

Robot: TypeAlias = Model | MotorDynamics


def require_robot(model: object) -> None:
    """Raise an InputError for what is neither a Model nor MotorDynamics."""
    if not isinstance(model, (Model, MotorDynamics)):
        raise InputError(f"model: a Model is expected, got {model!r}", name="model", value=model, expected="a Model")


def require_robot_coordinates(model: Robot, what: str) -> None:
    """Refuse what `require_robot` does, and joints whose rates are no derivatives of coordinates."""
    require_robot(model)
    if isinstance(model, Model):
        require_coordinates(model, what)


def inverse_dynamics(
    model: Robot, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, f_ext: npt.ArrayLike | None = None
) -> Array:
    """Return the efforts (..., n) of a motion."""
    if isinstance(model, Model):
        return inverse.inverse_dynamics(model, q, qd, qdd, f_ext)
    return model.inverse_dynamics(q, qd, qdd, f_ext)


def forward_dynamics(model: Robot, q: npt.ArrayLike, qd: npt.ArrayLike, effort: npt.ArrayLike) -> Array:
    """Return the accelerations (..., n) under efforts."""
    if isinstance(model, Model):
        return forward.forward_dynamics(model, q, qd, effort)
    return model.forward_dynamics(q, qd, effort)


def mass_matrix(model: Robot, q: npt.ArrayLike) -> Array:
    """Return the mass matrix (..., n, n)."""
    return inverse.mass_matrix(model, q) if isinstance(model, Model) else model.mass_matrix(q)


def gravity_force(model: Robot, q: npt.ArrayLike) -> Array:
    """Return the efforts (..., n) that hold a robot at rest."""
    return inverse.gravity_force(model, q) if isinstance(model, Model) else model.gravity_force(q)
