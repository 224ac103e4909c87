"""The calibration problem: residuals of leg readings and measured poses, linearised and with the poses eliminated.

Unknowns are 42 parameters, in metres,

    theta = (a_1, ..., a_6, b_1, ..., b_6, o_1, ..., o_6),

joint centres and length offsets, and one true pose ``T_k`` a measurement. A reading is
``m_ki = |R_k b_i + p_k - a_i| - o_i`` plus noise: the offset is what must be added to a reading to get the length. A
measured pose is ``T_k`` turned and shifted by noise. Each residual is divided by its standard deviation; an infinite
one means "not measured".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lie import se3, so3
from ...lie._arrays import real_numbers
from ..errors import StewartError
from ..geometry import inverse_kinematics as ik
from ..geometry.checks import N_LEGS
from ..geometry.inverse_kinematics import Array
from ..geometry.offset_platform import OffsetPlatform

#: Names of the 42 parameters, in order.
PARAMETERS = (
    *(f"base point {leg} {axis}" for leg in range(1, 7) for axis in "xyz"),
    *(f"platform point {leg} {axis}" for leg in range(1, 7) for axis in "xyz"),
    *(f"offset {leg}" for leg in range(1, 7)),
)
N_PARAMETERS = len(PARAMETERS)
#: Standard deviations whose squares and their inverses are far from the ends of float64.
_DECADES = 15


def split(theta: Array) -> tuple[Array, Array, Array]:
    """Return base points (6, 3), platform points (6, 3) and offsets (6,) of the parameters (42,) [m]."""
    return theta[:18].reshape(6, 3), theta[18:36].reshape(6, 3), theta[36:]


def join(base_points: Array, platform_points: Array, offsets: Array) -> Array:
    """Parameters (42,) [m] of base points, platform points and offsets."""
    return np.concatenate([base_points.ravel(), platform_points.ravel(), offsets])


@dataclass(frozen=True)
class Measurements:
    """Measured poses and leg readings with their standard deviations.

    Attributes
    ----------
    poses : (k, 4, 4), of a platform frame in a base frame, as the measuring device has them.
    readings : (k, 6) [m].
    length_sigma : (6,) [m].
    pose_sigma : (6,), rotation about the platform's axes [rad] and position along the base's axes [m]; inf: not
        measured. ``None``: poses are exact.
    joints : axes and offsets of universal joints, in these frames; its points do not matter. ``None``: point joints.
    """

    poses: Array
    readings: Array
    length_sigma: Array
    pose_sigma: Array | None
    joints: OffsetPlatform | None = None

    @classmethod
    def check(
        cls,
        poses: npt.ArrayLike,
        readings: npt.ArrayLike,
        length_sigma: npt.ArrayLike,
        pose_sigma: npt.ArrayLike | None,
    ) -> Measurements:
        """Return checked measurements; StewartError says which of them cannot be used and why."""
        pose_array = np.array(se3.check(ik.as_pose(poses, "poses"), "poses", tolerance=1e-4))
        reading_array = np.array(real_numbers(readings, "readings"), dtype=np.float64)
        if pose_array.ndim != 3 or reading_array.shape != (len(pose_array), N_LEGS):
            raise StewartError(
                f"poses have shape {pose_array.shape} and readings {reading_array.shape}, expected (k, 4, 4) and (k, 6)"
            )
        bad = np.argwhere(~np.isfinite(reading_array))
        if bad.size:
            k, leg = bad[0]
            raise StewartError(
                f"reading of leg {leg + 1} in measurement {k} is {reading_array[k, leg]}, expected metres"
            )
        lengths = _sigma(length_sigma, "length_sigma", finite=True)
        pose_array[:, :3, :3] = so3.nearest(pose_array[:, :3, :3])
        return cls(
            pose_array,
            reading_array,
            lengths,
            None if pose_sigma is None else _sigma(pose_sigma, "pose_sigma", finite=False),
        )

    def __len__(self) -> int:
        return len(self.poses)


def _sigma(value: npt.ArrayLike, name: str, *, finite: bool) -> Array:
    """Return standard deviations (6,) from one number or six."""
    array = np.array(real_numbers(value, name), dtype=np.float64)
    if array.shape not in ((), (6,)):
        raise StewartError(f"{name} has shape {array.shape}, expected one number or six")
    array = np.broadcast_to(array, (6,)).copy()
    told = np.isfinite(array)
    if not np.all(array > 0.0) or (finite and not told.all()) or not np.all(np.abs(np.log10(array[told])) <= _DECADES):
        raise StewartError(
            f"{name} is {array.tolist()}, expected positive standard deviations, 1e-{_DECADES} to 1e{_DECADES}"
        )
    return array


@dataclass(frozen=True)
class Linearisation:
    """Weighted least squares problem at some parameters and poses, poses eliminated.

    ``reduced_jacobian`` (m, 42) and ``reduced_residual`` (m,) have the same minimiser over the parameters as the full
    problem. For given parameter changes, `pose_steps` gives the pose changes that go with them.
    """

    cost: float
    reduced_jacobian: Array
    reduced_residual: Array
    _pose_parts: tuple[Array, Array, Array] | None

    def pose_steps(self, step: Array) -> Array:
        """Body screws (k, 6) of the poses that minimise the linearised problem for a parameter step (42,)."""
        if self._pose_parts is None:
            return np.zeros((0, 6))
        triangle, by_parameters, right = self._pose_parts
        return np.asarray(-np.linalg.solve(triangle, (right + by_parameters @ step)[..., None])[..., 0])


def ends(theta: Array, poses: Array, data: Measurements) -> tuple[Array, Array]:
    """Return the ends of the legs in base and platform, (6, 3) or (k, 6, 3) [m]; NaN where a leg has none.

    A reading changes with joint points and poses as if the ends were joined to them.
    """
    base, platform, _ = split(theta)
    if data.joints is None:
        return base, platform
    C, D, there = data.joints.stationary_feet(poses, (base, platform))
    return np.where(there[..., None], C, np.nan), D


def cost_of(theta: Array, poses: Array, data: Measurements) -> float:
    """Half the sum of the squared weighted residuals."""
    lengths, turned = residuals(theta, poses, data)
    return 0.5 * float(np.sum(lengths**2) + np.sum(turned**2))


def linearise(theta: Array, poses: Array, data: Measurements) -> Linearisation:
    """Linearise the problem at parameters (42,) and poses (k, 4, 4)."""
    base, platform = ends(theta, poses, data)
    lengths, turned = residuals(theta, poses, data)
    _, units = ik.leg_units(ik.leg_vectors(base, platform, poses))
    weights = 1.0 / data.length_sigma
    jacobian = np.zeros((len(data), N_LEGS, N_PARAMETERS))
    in_body = units @ poses[:, :3, :3]
    for leg in range(N_LEGS):
        jacobian[:, leg, 3 * leg : 3 * leg + 3] = -units[:, leg]
        jacobian[:, leg, 18 + 3 * leg : 21 + 3 * leg] = in_body[:, leg]
        jacobian[:, leg, 36 + leg] = -1.0
    jacobian *= weights[:, None]
    cost = 0.5 * float(np.sum(lengths**2) + np.sum(turned**2))
    if data.pose_sigma is None:
        return Linearisation(cost, jacobian.reshape(-1, N_PARAMETERS), lengths.ravel(), None)
    # Eliminate each pose: its twelve rows are turned by Q so that its six unknowns appear in the first six rows only.
    by_pose = np.zeros((len(data), 12, 6))
    by_pose[:, :6] = np.concatenate([np.cross(platform, in_body), in_body], axis=-1) * weights[:, None]
    by_pose[:, 6:9, :3] = so3.right_jacobian_inverse(so3.log(_turned(poses, data)))
    by_pose[:, 9:, 3:] = poses[:, :3, :3]
    by_pose[:, 6:] /= data.pose_sigma[:, None]
    q, r = np.linalg.qr(by_pose, mode="complete")
    stacked = np.concatenate([jacobian, np.zeros_like(jacobian)], axis=1)
    right = np.concatenate([lengths, turned], axis=1)
    q_transposed = np.swapaxes(q, 1, 2)
    rows, values = q_transposed @ stacked, (q_transposed @ right[..., None])[..., 0]
    parts = (r[:, :6], rows[:, :6], values[:, :6])
    return Linearisation(cost, rows[:, 6:].reshape(-1, N_PARAMETERS), values[:, 6:].ravel(), parts)


def residuals(theta: Array, poses: Array, data: Measurements) -> tuple[Array, Array]:
    """Weighted residuals of readings (k, 6) and of measured poses (k, 6), zeros for exact poses."""
    lengths = ik.norms(ik.leg_vectors(*ends(theta, poses, data), poses))
    readings = (lengths - split(theta)[2] - data.readings) / data.length_sigma
    if data.pose_sigma is None:
        return readings, np.zeros((0, 6))
    shifts = poses[:, :3, 3] - data.poses[:, :3, 3]
    moved = np.concatenate([so3.log(_turned(poses, data)), shifts], axis=1)
    return readings, moved / data.pose_sigma


def _turned(poses: Array, data: Measurements) -> Array:
    """Rotations (k, 3, 3) from the measured to the estimated orientations, in the measured platform frame."""
    return np.asarray(np.swapaxes(data.poses[:, :3, :3], 1, 2) @ poses[:, :3, :3])
