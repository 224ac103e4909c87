"""Architectural singularity: designs whose legs leave a freedom in every pose, such as similar hexagons on circles.

The test is numerical. The Jacobian is formed at random poses spread over all orientations and over positions of
the platform's own size, its angular columns divided by the RMS radius of the platform points. A sound design has rank
6 at almost every pose: the median ratio of the smallest to the largest singular value is 0.003 to 0.05. A design whose
median ratio is below `SINGULAR_RATIO` has rank 5 or less everywhere, up to the rounding of its coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from .checks import N_LEGS, extent, rms_radius
from .inverse_kinematics import jacobian, leg_vectors, norms

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
