"""Calibration of rotary legs: points, axes, zero angles, horns and rods from measured poses and angles.

Each leg separately, Gauss-Newton on its equation ``|R b + p - tip(t)| = rod`` at all poses. The drawing, with
its tolerances, counts as a measurement: so directions that the poses do not determine stay as drawn, and are reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import se3, so3
from ...texts import quoted
from ..errors import StewartError
from ..geometry import inverse_kinematics as ik
from ..geometry.checks import N_LEGS
from ..geometry.rotary_platform import RotaryPlatform

#: Parameters of a leg: points in {N} and {B}, rotation of the motor's frame about its own axes, of which the third is
#: the zero angle, and lengths [m, rad].
LEG_PARAMETERS = (
    "base_x", "base_y", "base_z", "platform_x", "platform_y", "platform_z", "tilt_x", "tilt_y", "zero", "horn", "rod",
)  # fmt: skip
_ROUNDS, _SETTLED = 50, 1e-10


@dataclass(frozen=True, eq=False)
class RotaryCalibration:
    """Result of `calibrate_rotary`.

    Attributes
    ----------
    platform : RotaryPlatform
        With what was found, and the nominal home angles and limits.
    corrections, deviations : ndarray, shape (6, 11)
        What was added to `LEG_PARAMETERS` of each leg, and its standard deviation [m, rad].
    told : ndarray, shape (6, 11)
        Part of each parameter's tolerance that the poses took away, 0 (as drawn: not identifiable) to 1.
    residuals : ndarray, shape (n, 6)
        What rods are too long for the poses and angles [m].
    """

    platform: RotaryPlatform
    corrections: Array
    deviations: Array
    told: Array
    residuals: Array

    def __str__(self) -> str:
        rms = 1e3 * float(np.sqrt(np.mean(self.residuals**2)))
        dim = [name for name, part in zip(LEG_PARAMETERS, self.told.min(axis=0), strict=True) if part < 0.5]
        return f"rods fit to {rms:.3g} mm rms; hardly told by these poses: {', '.join(dim) or 'nothing'}"


def calibrate_rotary(
    nominal: RotaryPlatform,
    poses: npt.ArrayLike,
    angles: npt.ArrayLike,
    angle_sigma: float = 1e-3,
    pose_sigma: tuple[float, float] = (1e-3, 1e-4),
    tolerances: tuple[float, float, float] = (2e-3, 0.03, 0.15),
) -> RotaryCalibration:
    """Return the platform whose legs fit measured poses and angles.

    Parameters
    ----------
    nominal : RotaryPlatform
        As drawn, or measured with calipers.
    poses : array-like, shape (n, 4, 4)
        Of {B} in {N}, measured; both frames are those of the points of `nominal`.
    angles : array-like, shape (n, 6)
        From the motors' sensors, or commands [rad].
    angle_sigma : float
        Standard deviation of angles [rad].
    pose_sigma : (float, float)
        Of measured orientations [rad] and positions [m].
    tolerances : (float, float, float)
        How far the drawing may be off: points and lengths [m], directions of axes and zero angles [rad].

    Raises
    ------
    StewartError
        Shapes, numbers that are not finite or positive; a fit whose platform has no home pose.
    GroupError
        For what is no pose.
    """
    if not isinstance(nominal, RotaryPlatform):
        raise StewartError(f"nominal: a RotaryPlatform is expected, got {quoted(nominal)}", name="nominal")
    T = se3.check(ik.as_pose(poses, "poses"), "poses").real
    t = ik.as_vector(angles, N_LEGS, "angles")
    if T.ndim != 3 or t.shape != (len(T), N_LEGS) or not len(T) or not np.isfinite(t).all():
        raise StewartError(f"poses {T.shape} and angles {t.shape}: (n, 4, 4) and finite (n, 6) are expected")
    sizes = [np.ravel(x) for x in (angle_sigma, pose_sigma, tolerances)]
    if [len(x) for x in sizes] != [1, 2, 3] or not all((np.isfinite(x) & (x > 0.0)).all() for x in sizes):
        raise StewartError("angle_sigma, pose_sigma and tolerances: 1, 2 and 3 numbers above zero are expected")
    points, direction, zero = tolerances
    prior = np.array([*[points] * 6, direction, direction, zero, points, points])
    found = [_leg(nominal, leg, T, t[:, leg], angle_sigma, pose_sigma, prior) for leg in range(N_LEGS)]
    corrections, deviations, residuals, frames = (np.array(x) for x in zip(*found, strict=True))
    arguments = (
        nominal.base_points + corrections[:, :3],
        nominal.platform_points + corrections[:, 3:6],
        frames[..., 2],
        nominal.horns + corrections[:, 9],
        nominal.rods + corrections[:, 10],
        frames[..., 0],
        nominal.home_angles,
        nominal.angle_limits,
    )
    try:
        platform = RotaryPlatform(*arguments)
    except StewartError:  # home is not nearly level
        platform = RotaryPlatform(*arguments, home_pose=nominal.home_pose)
    return RotaryCalibration(platform, corrections, deviations, 1.0 - (deviations / prior) ** 2, residuals.T)


def _leg(
    nominal: RotaryPlatform, leg: int, T: Array, t: Array, angle_sigma: float, pose_sigma: tuple[float, float],
    prior: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Return corrections, deviations (11,), residuals (n,) and the frame (3, 3) of one leg's motor."""
    R, p = T[:, :3, :3], T[:, :3, 3]
    x, first = np.zeros(11), nominal.frames[leg]
    frame, m = first, np.stack([np.cos(t), np.sin(t), 0.0 * t], axis=-1)
    for _ in range(_ROUNDS):
        ball, horn = nominal.platform_points[leg] + x[3:6], nominal.horns[leg] + x[9]
        n = m @ frame.T
        rod = R @ ball + p - nominal.base_points[leg] - x[:3] - horn * n
        length = np.linalg.norm(rod, axis=1)
        u = rod / length[:, None]
        turns = -horn * np.einsum("ni,kni->nk", u, np.cross(np.eye(3)[:, None], m) @ frame.T)
        spun = (u[:, None] @ R)[:, 0]
        one = np.ones((len(t), 1))
        along = (u * n).sum(axis=1, keepdims=True)
        J = np.hstack([-u, spun, turns, -along, -one])
        residual = length - nominal.rods[leg] - x[10]
        turned = np.linalg.norm(np.cross(ball, spun), axis=1)
        sigma = np.sqrt((angle_sigma * turns[:, 2]) ** 2 + (pose_sigma[0] * turned) ** 2 + pose_sigma[1] ** 2)
        A = np.vstack([J / sigma[:, None], np.diag(1.0 / prior)])
        step = np.linalg.lstsq(A, -np.concatenate([residual / sigma, x / prior]), rcond=None)[0]
        x = x + step
        frame = frame @ np.asarray(so3.exp(step[6:9]))
        if np.abs(step / prior).max() < _SETTLED:
            break
    x[6:9] = so3.log(first.T @ frame)
    return x, np.sqrt(np.diagonal(np.linalg.inv(A.T @ A))), residual, frame
