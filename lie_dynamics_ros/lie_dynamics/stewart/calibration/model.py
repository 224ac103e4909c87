"""The calibration problem: residuals of leg readings and measured poses, linearised and with the poses eliminated.

Unknowns are the parameters of `parameters.Parameters`, in metres: joint centres, length offsets and gains of n legs,
and one true pose ``T_k`` a measurement. A reading is ``m_ki = (|R_k b_i + p_k - a_i| - o_i) / g_i`` plus noise: the
length is gain times reading plus offset. A measured pose is ``T_k`` turned and shifted by noise, a measured distance
that of two joint centres of one side. Each residual is divided by its standard deviation; an infinite one means "not
measured".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import se3, so3
from ...lie._arrays import real_numbers
from ...texts import quoted
from ..errors import StewartError
from ..fusion.sensors import DisplacementSensor, number
from ..geometry import inverse_kinematics as ik
from ..geometry.checks import N_LEGS
from ..geometry.offset_platform import OffsetPlatform
from .parameters import LARGEST, LEGS, Distances, Parameters, check_further

#: Standard deviations whose squares and their inverses are far from the ends of float64.
_DECADES = 15
#: Smallest gain: one that is not is far from any sensor, and 0 makes no length.
_LEAST_GAIN = 0.05


@dataclass(frozen=True)
class Measurements:
    """Measured poses and leg readings with their standard deviations.

    Attributes
    ----------
    poses : (k, 4, 4), of a platform frame in a base frame, as the measuring device has them.
    readings : (k, n) [m].
    length_sigma : (n,) [m].
    pose_sigma : (6,), rotation about the platform's axes [rad] and position along the base's axes [m]; inf: not
        measured. ``None``: poses are exact.
    distances : of joint centres. parameters : what is estimated.
    joints : axes and offsets of universal joints, in these frames; its points do not matter. ``None``: point joints.
    """

    poses: Array
    readings: Array
    length_sigma: Array
    pose_sigma: Array | None
    distances: Distances
    parameters: Parameters
    joints: OffsetPlatform | None = None

    @classmethod
    def check(
        cls,
        poses: npt.ArrayLike,
        readings: npt.ArrayLike,
        length_sigma: npt.ArrayLike,
        pose_sigma: npt.ArrayLike | None,
        further: Sequence[DisplacementSensor] = (),
        gains: bool | float = False,
        distances: Sequence[tuple[str, int | str, int | str, float]] = (),
        distance_sigma: float = 1e-4,
    ) -> Measurements:
        """Return checked measurements; StewartError names those that cannot be used, with the reason.

        `gains` may be their length, see `Parameters`, where that of the readings is not to count.
        """
        legs = check_further(further)
        names = (*LEGS, *(leg.name for leg in legs))
        pose_array = np.array(se3.check(ik.as_pose(poses, "poses"), "poses", tolerance=1e-4))
        reading_array = np.array(real_numbers(readings, "readings"), dtype=np.float64)
        if pose_array.ndim != 3 or reading_array.shape != (len(pose_array), len(names)):
            raise StewartError(
                f"poses have shape {pose_array.shape} and readings {reading_array.shape}, expected (k, 4, 4) and "
                f"(k, {len(names)})"
            )
        bad = np.argwhere(~(np.abs(reading_array) <= LARGEST))
        if bad.size:
            k, leg = bad[0]
            raise StewartError(
                f"reading of leg {names[leg]} in measurement {k} is {reading_array[k, leg]}, expected metres, up to "
                f"{LARGEST:g}"
            )
        sizes = (N_LEGS, len(names)) if legs else (N_LEGS,)
        lengths = _sigma(length_sigma, "length_sigma", sizes, finite=True)
        if len(lengths) < len(names):
            lengths = np.append(lengths, [number(str(leg.name), "noise", leg.noise) for leg in legs])
        pose_array[:, :3, :3] = so3.nearest(pose_array[:, :3, :3])
        if not isinstance(gains, (bool, np.bool_)) and not (isinstance(gains, float) and 1e-6 <= gains <= 1e6):
            raise StewartError(f"gains is {quoted(gains)}, expected True or False, or a typical length in metres")
        typical = float(np.linalg.norm(reading_array)) / max(reading_array.size, 1) ** 0.5 or 1.0
        typical = float(gains) if isinstance(gains, float) else typical
        return cls(
            pose_array,
            reading_array,
            lengths,
            None if pose_sigma is None else _sigma(pose_sigma, "pose_sigma", (6,), finite=False),
            Distances.check(distances, distance_sigma, names),
            Parameters(names, typical if gains else None),
        )

    def __len__(self) -> int:
        return len(self.poses)


def _sigma(value: npt.ArrayLike, name: str, sizes: tuple[int, ...], *, finite: bool) -> Array:
    """Return standard deviations from one number, for the first of `sizes`, or one of as many."""
    array = np.array(real_numbers(value, name), dtype=np.float64)
    if array.shape not in ((), *((size,) for size in sizes)):
        wanted = " or ".join("six" if size == N_LEGS else str(size) for size in sizes)
        raise StewartError(f"{name} has shape {array.shape}, expected one number or {wanted}")
    array = np.broadcast_to(array, (sizes[0],)).copy() if array.ndim == 0 else array
    told = np.isfinite(array)
    if not np.all(array > 0.0) or (finite and not told.all()) or not np.all(np.abs(np.log10(array[told])) <= _DECADES):
        raise StewartError(
            f"{name} is {array.tolist()}, expected positive standard deviations, 1e-{_DECADES} to 1e{_DECADES}"
        )
    return array


@dataclass(frozen=True)
class Linearisation:
    """Weighted least squares problem at some parameters and poses, poses eliminated.

    ``reduced_jacobian`` (m, count) and ``reduced_residual`` (m,) have the same minimiser over the parameters as the
    full problem; the rows of poses, n for each, come first, then those of distances. For given parameter changes,
    `pose_steps` gives the pose changes that go with them.
    """

    cost: float
    reduced_jacobian: Array
    reduced_residual: Array
    _pose_parts: tuple[Array, Array, Array] | None

    def pose_steps(self, step: Array) -> Array:
        """Body screws (k, 6) of the poses that minimise the linearised problem for a parameter step (count,)."""
        if self._pose_parts is None:
            return np.zeros((0, 6))
        triangle, by_parameters, right = self._pose_parts
        return np.asarray(-np.linalg.solve(triangle, (right + by_parameters @ step)[..., None])[..., 0])


def ends(theta: Array, poses: Array, data: Measurements) -> tuple[Array, Array]:
    """Return the ends of the legs in base and platform, (n, 3) or (k, n, 3) [m]; NaN where a leg has none.

    A reading changes with joint points and poses as if the ends were joined to them.
    """
    base, platform, _, _ = data.parameters.split(theta)
    if data.joints is None:
        return base, platform
    C, D, there = data.joints.stationary_feet(poses, (base, platform))
    return np.where(there[..., None], C, np.nan), D


def cost_of(theta: Array, poses: Array, data: Measurements) -> float:
    """Half the sum of the squared weighted residuals; infinite where a gain makes no sense."""
    if not data.parameters.split(theta)[3].min() > _LEAST_GAIN:
        return float("inf")
    return _half_square(theta, *residuals(theta, poses, data), data)


def _half_square(theta: Array, lengths: Array, turned: Array, data: Measurements) -> float:
    return 0.5 * float(np.sum(lengths**2) + np.sum(turned**2) + np.sum(data.distances.residuals(theta) ** 2))


def linearise(theta: Array, poses: Array, data: Measurements) -> Linearisation:
    """Linearise the problem at parameters (count,) and poses (k, 4, 4)."""
    base, platform = ends(theta, poses, data)
    _, _, offsets, gains = data.parameters.split(theta)
    lengths, turned = residuals(theta, poses, data)
    long, units = ik.leg_units(ik.leg_vectors(base, platform, poses))
    n, count = len(gains), data.parameters.count
    weights = 1.0 / (gains * data.length_sigma)
    jacobian = np.zeros((len(data), n, count))
    in_body = units @ poses[:, :3, :3]
    for leg in range(n):
        jacobian[:, leg, 3 * leg : 3 * leg + 3] = -units[:, leg]
        jacobian[:, leg, 3 * (n + leg) : 3 * (n + leg) + 3] = in_body[:, leg]
        jacobian[:, leg, 6 * n + leg] = -1.0
        if data.parameters.gain_length is not None:
            jacobian[:, leg, 7 * n + leg] = -(long[:, leg] - offsets[leg]) / (gains[leg] * data.parameters.gain_length)
    jacobian *= weights[:, None]
    cost = _half_square(theta, lengths, turned, data)
    apart, gaps = data.distances.jacobian(theta), data.distances.residuals(theta)
    if data.pose_sigma is None:
        rows = np.vstack((jacobian.reshape(-1, count), apart))
        return Linearisation(cost, rows, np.append(lengths.ravel(), gaps), None)
    # Eliminate each pose: its rows are turned by Q so that its six unknowns appear in the first six rows only.
    by_pose = np.zeros((len(data), n + 6, 6))
    by_pose[:, :n] = np.concatenate([np.cross(platform, in_body), in_body], axis=-1) * weights[:, None]
    by_pose[:, n : n + 3, :3] = so3.right_jacobian_inverse(so3.log(_turned(poses, data)))
    by_pose[:, n + 3 :, 3:] = poses[:, :3, :3]
    by_pose[:, n:] /= data.pose_sigma[:, None]
    q, r = np.linalg.qr(by_pose, mode="complete")
    stacked = np.concatenate([jacobian, np.zeros((len(data), 6, count))], axis=1)
    right = np.concatenate([lengths, turned], axis=1)
    q_transposed = np.swapaxes(q, 1, 2)
    rows, values = q_transposed @ stacked, (q_transposed @ right[..., None])[..., 0]
    parts = (r[:, :6], rows[:, :6], values[:, :6])
    reduced = np.vstack((rows[:, 6:].reshape(-1, count), apart))
    return Linearisation(cost, reduced, np.append(values[:, 6:].ravel(), gaps), parts)


def residuals(theta: Array, poses: Array, data: Measurements) -> tuple[Array, Array]:
    """Weighted residuals of readings (k, n) and of measured poses (k, 6), zeros for exact poses."""
    lengths = ik.norms(ik.leg_vectors(*ends(theta, poses, data), poses))
    _, _, offsets, gains = data.parameters.split(theta)
    readings = ((lengths - offsets) / gains - data.readings) / data.length_sigma
    if data.pose_sigma is None:
        return readings, np.zeros((0, 6))
    shifts = poses[:, :3, 3] - data.poses[:, :3, 3]
    moved = np.concatenate([so3.log(_turned(poses, data)), shifts], axis=1)
    return readings, moved / data.pose_sigma


def _turned(poses: Array, data: Measurements) -> Array:
    """Rotations (k, 3, 3) from the measured to the estimated orientations, in the measured platform frame."""
    return np.asarray(np.swapaxes(data.poses[:, :3, :3], 1, 2) @ poses[:, :3, :3])
