"""The four ways in which a solver of the forward kinematics can hold and step a pose.

A chart has its own unknowns ``x`` (n, ...), a Jacobian of the residuals with respect to its step, and a rule that
applies a step. `PoseSE3` steps on the group, by a body or a spatial screw; `RollPitchYaw` and `Quaternion` step in R^6
and R^7.

The residuals of a leg are ``|l|^2 - L^2`` (Stewart (17)) or ``|l| - L``. Lengths here are in the solver's own unit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import Array
from ...lie import quaternion, se3, so3
from ..geometry.inverse_kinematics import norms

ResidualForm = Literal["squared", "length"]


@dataclass(frozen=True)
class LegEquations:
    """Six leg equations in the solver's unit of length, for a batch of ``n`` problems.

    Attributes
    ----------
    base_points, platform_points : (6, 3).
    lengths : (n, 6).
    form : "squared" for ``|l|^2 - L^2`` or "length" for ``|l| - L``.
    """

    base_points: Array
    platform_points: Array
    lengths: Array
    form: ResidualForm = "squared"

    def select(self, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> LegEquations:
        """Equations of some problems of the batch."""
        return LegEquations(self.base_points, self.platform_points, self.lengths[rows], self.form)

    def legs(self, arms: Array, positions: Array) -> Array:
        """Leg vectors (n, 6, 3) from arms ``R b_i`` (n, 6, 3) and positions (n, 3)."""
        return arms + positions[:, None, :] - self.base_points

    def residual(self, legs: Array) -> Array:
        """Residuals (n, 6) of leg vectors."""
        if self.form == "squared":
            return np.asarray(np.einsum("nij,nij->ni", legs, legs) - self.lengths**2)
        return norms(legs) - self.lengths

    def gradient(self, legs: Array) -> Array:
        """Gradients (n, 6, 3) of the residuals, each with respect to its own leg vector."""
        if self.form == "squared":
            return 2.0 * legs
        return legs / norms(legs)[..., None]


class Chart(ABC):
    """A parametrisation of the pose; see the module's text."""

    @abstractmethod
    def from_pose(self, poses: Array) -> Array:
        """Unknowns of poses (n, 4, 4)."""

    @abstractmethod
    def to_pose(self, x: Array) -> Array:
        """Poses (n, 4, 4) of the unknowns, with exact rotations."""

    @abstractmethod
    def move(self, x: Array, step: Array) -> Array:
        """Unknowns after a step (n, k)."""

    @abstractmethod
    def legs(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """Arms ``R b_i`` and leg vectors, (n, 6, 3) each."""

    def residual(self, equations: LegEquations, x: Array) -> Array:
        """Residuals (n, m), m = 6, or 7 with the norm equation of `Quaternion`."""
        return equations.residual(self.legs(equations, x)[1])

    @abstractmethod
    def linearise(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """Residuals (n, m) and their Jacobian (n, m, k) with respect to the step."""


@dataclass(frozen=True)
class PoseSE3(Chart):
    """Pose on SE(3): ``T exp(S)`` for a body screw, Jacobian (24); ``exp(S) T`` for a spatial one, Jacobian (23)."""

    screw: Literal["body", "spatial"] = "body"

    def from_pose(self, poses: Array) -> Array:
        """Poses are their own unknowns."""
        return poses

    def to_pose(self, x: Array) -> Array:
        """Poses, with the rounding of many products taken off the rotation."""
        return _clean(x)

    def move(self, x: Array, step: Array) -> Array:
        """Stewart (28) on the side of the screw."""
        motion = se3.exp(step)
        return np.asarray(x @ motion if self.screw == "body" else motion @ x)

    def legs(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """By the rotation of the pose."""
        arms = equations.platform_points @ np.swapaxes(x[:, :3, :3], -1, -2)
        return arms, equations.legs(arms, x[:, :3, 3])

    def linearise(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """Residuals and (24) or (23)."""
        _, legs = self.legs(equations, x)
        gradient = equations.gradient(legs)
        if self.screw == "body":
            gradient = gradient @ x[:, :3, :3]
            moments = np.cross(equations.platform_points, gradient)
        else:
            moments = np.cross(equations.base_points, gradient)
        return equations.residual(legs), np.concatenate([moments, gradient], axis=-1)


@dataclass(frozen=True)
class RollPitchYaw(Chart):
    """Unknowns ``[x, y, z, phi, theta, psi]`` in R^6, ``R = Rz(psi) Ry(theta) Rx(phi)``; steps are sums."""

    def from_pose(self, poses: Array) -> Array:
        """Position and angles, pitch in [-pi/2, pi/2]; the other set of angles leads the solvers to the same poses."""
        return np.concatenate([poses[:, :3, 3], so3.to_rpy(poses[:, :3, :3])], axis=-1)

    def to_pose(self, x: Array) -> Array:
        """Poses of the unknowns."""
        return se3.from_parts(so3.from_rpy(x[:, 3:]), x[:, :3])

    def move(self, x: Array, step: Array) -> Array:
        """Add the step."""
        return x + step

    def legs(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """By the rotation of the angles."""
        arms = equations.platform_points @ np.swapaxes(so3.from_rpy(x[:, 3:]), -1, -2)
        return arms, equations.legs(arms, x[:, :3])

    def linearise(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """Residuals and Jacobian; an angle turns the arm about its own axis, as seen in {N}."""
        arms, legs = self.legs(equations, x)
        gradient = equations.gradient(legs)
        moments = np.cross(arms, gradient)
        return equations.residual(legs), np.concatenate([gradient, moments @ self._axes(x)], axis=-1)

    @staticmethod
    def _axes(x: Array) -> Array:
        """Axes of roll, pitch and yaw in {N} as columns, (n, 3, 3)."""
        theta, psi = x[:, 4], x[:, 5]
        zero, one = np.zeros_like(psi), np.ones_like(psi)
        roll = np.stack([np.cos(psi) * np.cos(theta), np.sin(psi) * np.cos(theta), -np.sin(theta)], axis=-1)
        pitch = np.stack([-np.sin(psi), np.cos(psi), zero], axis=-1)
        return np.stack([roll, pitch, np.stack([zero, zero, one], axis=-1)], axis=-1)


@dataclass(frozen=True)
class Quaternion(Chart):
    """Unknowns ``[x, y, z, qx, qy, qz, qw]`` in R^7; steps are sums.

    A seventh residual, ``weight (|q|^2 - 1)``, keeps the quaternion's length near 1; with ``rescale`` the quaternion
    is also divided by its length after each step. ``rotation`` says how a quaternion ``(v, w)`` off length 1 turns a
    point: "homogeneous" by ``M = (w^2 - |v|^2) I + 2 v v^T + 2 w [v]``, which also scales it; "normalised" by
    ``M / |q|^2``.
    """

    rotation: Literal["homogeneous", "normalised"] = "normalised"
    weight: float = 1.0
    rescale: bool = False

    def from_pose(self, poses: Array) -> Array:
        """Position and unit quaternion."""
        return np.concatenate([poses[:, :3, 3], quaternion.from_matrix(poses[:, :3, :3])], axis=-1)

    def to_pose(self, x: Array) -> Array:
        """Poses of the unknowns, the quaternion scaled to length 1."""
        rotation = quaternion.to_matrix(x[:, 3:] / np.linalg.norm(x[:, 3:], axis=-1, keepdims=True))
        return se3.from_parts(rotation, x[:, :3])

    def move(self, x: Array, step: Array) -> Array:
        """Add the step, and rescale the quaternion where the chart requires it."""
        moved = x + step
        if self.rescale:
            moved[:, 3:] /= np.linalg.norm(moved[:, 3:], axis=-1, keepdims=True)
        return moved

    def residual(self, equations: LegEquations, x: Array) -> Array:
        """Six leg residuals and that of the norm."""
        return self._with_norm(super().residual(equations, x), x)

    def linearise(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """Residuals and Jacobian."""
        v, w, b = x[:, None, 3:6], x[:, None, 6:], equations.platform_points[None]
        arms, legs = self.legs(equations, x)
        gradient = equations.gradient(legs)
        # d(M b) = (2 w b + 2 v x b) dw + [-2 b v^T + 2 (v.b) I + 2 v b^T - 2 w [b]] dv, contracted with the gradient.
        along = _dot(gradient, b)
        by_v = (
            -2.0 * along * v
            + 2.0 * _dot(v, b) * gradient
            + 2.0 * _dot(gradient, v) * b
            + 2.0 * w * np.cross(b, gradient)
        )
        by_w = 2.0 * w * along + 2.0 * _dot(gradient, np.cross(v, b))
        by_q = np.concatenate([by_v, by_w], axis=-1)
        if self.rotation == "normalised":
            q = x[:, None, 3:]
            by_q = (by_q - 2.0 * _dot(gradient, arms) * q) / _dot(q, q)
        norm_row = np.concatenate([np.zeros((len(x), 3)), 2.0 * self.weight * x[:, 3:]], axis=-1)
        jacobian = np.concatenate([np.concatenate([gradient, by_q], axis=-1), norm_row[:, None, :]], axis=1)
        return self._with_norm(equations.residual(legs), x), jacobian

    def _with_norm(self, residual: Array, x: Array) -> Array:
        excess = self.weight * (_dot(x[:, 3:], x[:, 3:]) - 1.0)
        return np.concatenate([residual, excess], axis=-1)

    def legs(self, equations: LegEquations, x: Array) -> tuple[Array, Array]:
        """By the quaternion, as ``rotation`` says."""
        v, w, b = x[:, None, 3:6], x[:, None, 6:], equations.platform_points[None]
        arms: Array = (w * w - _dot(v, v)) * b + 2.0 * _dot(v, b) * v + 2.0 * w * np.cross(v, b)
        if self.rotation == "normalised":
            arms = arms / (w * w + _dot(v, v))
        return arms, equations.legs(arms, x[:, :3])


def _dot(left: Array, right: Array) -> Array:
    """Scalar products along the last axis, which stays with length 1."""
    return np.asarray(np.sum(left * right, axis=-1, keepdims=True))


def _clean(poses: Array) -> Array:
    """Poses with rotations made orthogonal to rounding by one Newton step towards the nearest rotation."""
    cleaned = poses.copy()
    rotation = poses[:, :3, :3]
    cleaned[:, :3, :3] = 1.5 * rotation - 0.5 * rotation @ np.swapaxes(rotation, -1, -2) @ rotation
    cleaned[:, 3] = (0.0, 0.0, 0.0, 1.0)
    return cleaned
