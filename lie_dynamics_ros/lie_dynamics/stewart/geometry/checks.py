"""Checks of platform geometry, in the words of the people who build motion platforms.

Architectural singularity: designs whose legs leave a freedom in every pose, such as similar hexagons on circles.

The test is numerical. The Jacobian is formed at random poses spread over all orientations and over positions of
the platform's own size, its angular columns divided by the RMS radius of the platform points. A sound design has rank
6 at almost every pose: the median ratio of the smallest to the largest singular value is 0.003 to 0.05. A design whose
median ratio is below `SINGULAR_RATIO` has rank 5 or less everywhere, up to the rounding of its coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...errors import StewartError
from ...lie import quaternion, so3
from ...lie._arrays import numbers
from ...texts import LARGEST
from .inverse_kinematics import jacobian, leg_vectors, norms

#: Two joint centres closer than this share of the platform's size count as one point.
COINCIDENCE_TOLERANCE = 1e-9
#: Longest legs that are metres: over the limits, or without limits, over the size of the platform.
OF_LIMITS, OF_SIZE = 10.0, 200.0
#: By what part of its length a leg may be beyond its limits in the home pose of a file.
HOME_SLACK = 0.01
N_LEGS = 6


def as_joint_centres(points: ArrayLike, side: str) -> Array:
    """Return joint centres as a read-only float64 array (6, 3) [m]; StewartError names what is wrong with them.

    ``side`` is "base_points" or "platform_points", for the message.
    """
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StewartError(f"{side} is not a table of numbers, expected six rows of x, y, z in metres") from error
    if array.ndim != 2 or array.shape[1] != 3:
        raise StewartError(f"{side} has shape {array.shape}, expected (6, 3): six joint centres x, y, z in metres")
    if array.shape[0] < N_LEGS:
        raise StewartError(
            f"{side} has {array.shape[0]} points, expected 6: with fewer than six legs nothing holds the platform in "
            "all six directions; a pentapod is a tree with loops (doc/mechanisms/index.md)"
        )
    if array.shape[0] > N_LEGS:
        raise StewartError(
            f"{side} has {array.shape[0]} points, expected 6: redundant legs are not supported; describe them as "
            "further sensors of kind 'length' (doc/stewart_fusion.md)"
        )
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        leg = int(bad[0])
        raise StewartError(f"{side} of leg {leg + 1} is {array[leg].tolist()}, expected finite coordinates in metres")
    array.flags.writeable = False
    return array


def as_leg_limits(limits: ArrayLike | None) -> Array:
    """Return leg limits as a read-only array (6, 2), min and max length [m]; ``None`` means 0 to infinity."""
    array = np.array((0.0, np.inf) if limits is None else limits, dtype=np.float64)
    if array.shape == (2,):
        array = np.tile(array, (N_LEGS, 1))
    if array.shape != (N_LEGS, 2):
        raise StewartError(
            f"leg_limits has shape {array.shape}, expected (2,) for one pair (min, max) or (6, 2) for a pair a leg, "
            "in metres"
        )
    for leg, (low, high) in enumerate(array, start=1):
        if not 0.0 <= low < high:
            raise StewartError(f"leg_limits of leg {leg} are ({low}, {high}), expected 0 <= min < max in metres")
    array.flags.writeable = False
    return array


def as_directions(value: ArrayLike, name: str) -> Array:
    """Return directions, one for all legs or one a leg, as read-only unit vectors (6, 3); StewartError for none."""
    array = numbers(value)
    if array.shape not in ((3,), (N_LEGS, 3)) or not (np.abs(array) <= LARGEST).all():
        raise StewartError(f"{name}: finite directions, six of x, y, z or one, are expected, got {value!r}", name=name)
    array = np.broadcast_to(array, (N_LEGS, 3))
    largest = np.abs(array).max(axis=1, keepdims=True)
    if not (largest > 0.0).all():
        raise StewartError(f"{name} of leg {int(np.argmin(largest)) + 1} has no direction", name=name, value=value)
    array = array / largest
    axes = np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True))
    axes.flags.writeable = False
    return axes


def as_six(value: ArrayLike, name: str, expected: str, good: Callable[[Array], Mask]) -> Array:
    """Return numbers of the legs, one for all or one a leg, read-only (6,); StewartError where they are not `good`."""
    array = numbers(value)
    wrong = isinstance(value, (bool, str, bytes)) or array.shape not in ((), (N_LEGS,))
    if wrong or not (good(array) & ~np.isnan(array)).all():
        raise StewartError(f"{name}: one or six {expected} are expected, got {value!r}", name=name, value=value)
    array = np.array(np.broadcast_to(array, (N_LEGS,)))
    array.flags.writeable = False
    return array


def check_distinct_legs(base_points: Array, platform_points: Array) -> None:
    """Raise StewartError when two legs join the same two points: they are one leg for the kinematics.

    Sharing a point on one side only is a legitimate design (6-3, 3-3 octahedral and so on) and passes.
    """
    tolerance = COINCIDENCE_TOLERANCE * max(extent(base_points), extent(platform_points))
    for first in range(N_LEGS):
        for second in range(first + 1, N_LEGS):
            gaps = [np.linalg.norm(points[first] - points[second]) for points in (base_points, platform_points)]
            if max(gaps) <= tolerance:
                raise StewartError(
                    f"legs {first + 1} and {second + 1} coincide: both join base point {base_points[first].tolist()} "
                    f"to platform point {platform_points[first].tolist()}, expected six different legs"
                )


def longest_of(base_points: Array, platform_points: Array, limits: Array) -> Array:
    """Return lengths (6,) [m] beyond which numbers are no leg lengths of a platform with limits (6, 2)."""
    size = max(extent(base_points), extent(platform_points))
    return np.where(np.isfinite(limits[:, 1]), OF_LIMITS * limits[:, 1], OF_SIZE * size)


def check_turns(angles: Array, limits: Array) -> None:
    """Raise StewartError for angles (..., 6) [rad] that are more than a turn beyond limits (6, 2); NaN is none.

    Nearer than that they may be an encoder's whole turns: a few degrees look the same, and no angle can tell.
    """
    beyond = np.maximum(angles - limits[:, 1], limits[:, 0] - angles)
    bad = np.argwhere((beyond > 2.0 * np.pi) & (beyond < np.inf))
    if bad.size:
        leg = int(bad[0][-1])
        low, high = limits[leg]
        raise StewartError(
            f"leg {leg + 1} has the angle {angles[tuple(bad[0])]:.6g} rad, expected about {low:.6g} to {high:.6g}: "
            "degrees?", name=f"leg {leg + 1}",
        )  # fmt: skip


def check_home_lengths(lengths: Array, limits: Array, size: float) -> None:
    """Raise StewartError unless leg lengths (6,) of a home pose are within limits (6, 2) and suit the platform's size.

    Home may be at a limit: they are let be off by a little, as those of a calibrated platform are.
    """
    slack = HOME_SLACK * lengths
    low, high = limits[:, 0] - slack, limits[:, 1] + slack
    high = np.where(np.isfinite(high), high, OF_SIZE * size)
    bad = np.flatnonzero(~((lengths >= low) & (lengths <= high)))
    if bad.size:
        leg = int(bad[0])
        least, most = limits[leg, 0], min(limits[leg, 1], OF_SIZE * size)
        off = max(lengths[leg] / most, least / max(lengths[leg], 1e-300))
        unlimited = lengths[leg] > most and not np.isfinite(limits[leg, 1])
        unit = unlimited or off > OF_LIMITS
        why = "millimetres, or another unit?" if unit else "limits and home pose contradict each other"
        raise StewartError(
            f"home_pose: leg {leg + 1} has length {lengths[leg]:.6g} m there, expected {least:.6g} to {most:.6g} m by "
            f"leg_limits or the size of the platform: {why}", name="home_pose",
        )  # fmt: skip


def check_home_upright(base_points: Array, platform_points: Array, home: Array) -> None:
    """Raise StewartError for a home pose (4, 4) that turns the platform over where w first in its quaternion does not.

    The triangles that joint centres of any three legs span are seen from the same side on the base and on the
    platform, also where that hangs below; turned over, legs cross.
    """
    turn = so3.to_quaternion(home[:3, :3])
    other = np.asarray(quaternion.to_matrix(np.roll(turn, -1)))
    if _facing(base_points, platform_points, home[:3, :3]) < 0.0 < _facing(base_points, platform_points, other):
        numbers = [round(float(x), 6) for x in turn]
        raise StewartError(
            f"home_pose: the quaternion {numbers} (x, y, z, w) turns the platform over, so that its legs cross: "
            "x, y, z, w expected, is w first?", name="home_pose",
        )  # fmt: skip


def _facing(base_points: Array, platform_points: Array, rotation: Array) -> float:
    """Return how far areas between joint centres face the same way on base and platform; negative where opposite."""
    a, b = base_points - base_points.mean(axis=0), (platform_points - platform_points.mean(axis=0)) @ rotation.T
    i, j = np.triu_indices(N_LEGS, 1)
    return float((np.cross(a[i], a[j]) * np.cross(b[i], b[j])).sum())


def extent(points: Array) -> float:
    """Largest distance of a point from the centroid [m]."""
    return float(np.max(np.linalg.norm(points - points.mean(axis=0), axis=1)))


def rms_radius(points: Array) -> float:
    """Root mean square distance of the points from their centroid [m]."""
    return float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))


#: Median singular value ratio below which a design counts as architecturally singular.
SINGULAR_RATIO = 1e-6
#: Median ratio below which it counts as nearly so; platforms in use lie above 1e-3.
NEARLY_SINGULAR_RATIO = 3e-4
_SAMPLES = 48
_SEED = 20240607
_LEGS_THAT_HOLD_A_POINT = 3


@dataclass(frozen=True)
class ArchitectureReport:
    """Result of the rank test.

    Attributes
    ----------
    rank : rank of the Jacobian; singular values whose median ratio is below `SINGULAR_RATIO` count as zero.
    median_ratio : median over the poses of smallest / largest singular value.
    samples : number of random poses.
    design : name of the special design where it is recognised, "" otherwise.
    """

    rank: int
    median_ratio: float
    samples: int
    design: str

    @property
    def singular(self) -> bool:
        """True for an architecturally singular design."""
        return self.median_ratio < SINGULAR_RATIO

    @property
    def nearly_singular(self) -> bool:
        """True for a design that is not singular but badly conditioned in nearly every pose."""
        return not self.singular and self.median_ratio < NEARLY_SINGULAR_RATIO

    def __str__(self) -> str:
        """Say what was tested and what came out, in one sentence."""
        name = f"; {self.design}" if self.design else ""
        return (
            f"leg Jacobian has rank {self.rank} at {self.samples} random poses, median of smallest / largest singular "
            f"value {self.median_ratio:.1e}{name}"
        )


def architecture_report(base_points: Array, platform_points: Array, samples: int = _SAMPLES) -> ArchitectureReport:
    """Test six legs for architectural singularity, see the module's text.

    Parameters
    ----------
    base_points, platform_points : (6, 3), [m].
    samples : number of random poses; the sample is the same in every call.
    """
    base, platform = base_points - base_points.mean(axis=0), platform_points - platform_points.mean(axis=0)
    scale = max(extent(base), extent(platform))
    if scale == 0.0:
        return ArchitectureReport(0, 0.0, samples, "all joint centres of either side coincide")
    base, platform = base / scale, platform / scale
    poses = _random_poses(samples)
    # A leg of zero length has no direction; with random poses this is the platform's own doing only by accident.
    poses = poses[(norms(leg_vectors(base, platform, poses)) > 0.0).all(axis=1)]
    matrices = jacobian(base, platform, poses)
    matrices[..., :3] /= rms_radius(platform) or 1.0
    values = np.linalg.svd(matrices, compute_uv=False)
    ratios = values / values[:, :1]
    medians = np.median(ratios, axis=0)
    rank, median = int((medians >= SINGULAR_RATIO).sum()), float(medians[-1])
    suspect = median < NEARLY_SINGULAR_RATIO
    design = _name(base, platform, tolerance=30.0 * max(median, SINGULAR_RATIO)) if suspect else ""
    return ArchitectureReport(rank, median, len(poses), design)


def _random_poses(count: int) -> Array:
    """Poses with uniform orientation and normally distributed position of unit size, always the same ones."""
    rng = np.random.default_rng(_SEED)
    quaternions = rng.normal(size=(count, 4))
    x, y, z, w = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=1)
    poses[:, 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=1)
    poses[:, 2, :3] = np.cross(poses[:, 0, :3], poses[:, 1, :3])
    poses[:, :3, 3] = rng.normal(size=(count, 3))
    return poses


def _name(base: Array, platform: Array, tolerance: float) -> str:
    """Name the known singular designs; both sides centred and of unit size, coordinates good to ``tolerance``."""
    for side, points in (("base", base), ("platform", platform)):
        if _flatness(points, 1) < tolerance:
            return f"the six {side} points are collinear, so the platform turns freely about their line"
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2) < tolerance
        if gaps.sum(axis=1).max() > _LEGS_THAT_HOLD_A_POINT:
            legs = ", ".join(str(leg + 1) for leg in np.flatnonzero(gaps[int(gaps.sum(axis=1).argmax())]))
            return f"legs {legs} share one {side} point, but only three legs can hold a point"
    if max(_flatness(base, 2), _flatness(platform, 2)) > tolerance:
        return ""
    in_base, in_platform = _plane_coordinates(base), _plane_coordinates(platform)
    ones = np.ones((N_LEGS, 1))
    affine = np.hstack([in_base, ones])
    residual = in_platform - affine @ np.linalg.lstsq(affine, in_platform, rcond=None)[0]
    if np.abs(residual).max() < tolerance:
        return (
            "base and platform are similar (or affine) hexagons, equally oriented, with their corners on one conic, "
            "such as a circle"
        )
    pairs = np.einsum("ij,ik->ijk", affine, np.hstack([in_platform, ones])).reshape(N_LEGS, 9)
    values = np.linalg.svd(pairs, compute_uv=False)
    if values[-1] < tolerance * values[0]:
        return (
            "planar base and platform whose point pairs obey a bilinear relation (Chasles, Griffis-Duffy and related "
            "designs)"
        )
    return ""


def _flatness(points: Array, dimension: int) -> float:
    """Size of the points' spread beyond the first ``dimension`` principal directions, relative to the first."""
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return float(values[dimension] / values[0]) if values[0] > 0.0 else 0.0


def _plane_coordinates(points: Array) -> Array:
    """Coordinates (6, 2) of coplanar points in their plane, about their centroid."""
    centred = points - points.mean(axis=0)
    directions = np.linalg.svd(centred)[2]
    coordinates: Array = centred @ directions[:2].T
    return coordinates
