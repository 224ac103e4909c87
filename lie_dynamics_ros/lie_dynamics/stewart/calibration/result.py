"""Result of a calibration, in the frames of the measurement, and in those of the drawing."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays import Array
from ...lie import se3, so3
from ...shown import shown
from ..fusion.sensors import DisplacementSensor
from ..geometry.checks import N_LEGS
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform
from .further_legs import all_points, at_points
from .identifiability import IdentifiabilityReport


@dataclass(frozen=True)
class DesignFrames:
    """Calibrated geometry in frames fitted to the nominal one.

    Attributes
    ----------
    platform : the calibrated platform, gauge removed: no rigid motion of a side brings it closer to the nominal one.
    base_frame : (4, 4), pose of the fitted base frame in the frame of the measured poses.
    platform_frame : (4, 4), pose of the fitted platform frame in the frame whose pose was measured.
    further : calibrated further legs, in the same frames.
    """

    platform: StewartPlatform
    base_frame: Array
    platform_frame: Array
    further: tuple[DisplacementSensor, ...] = ()


@shown
@dataclass(frozen=True)
class CalibrationResult:
    """Outcome of `calibrate`.

    Attributes
    ----------
    platform : calibrated platform, in the frames of the measured poses.
    offsets, gains : (n,) [m] and [1], of the six legs and further ones: length = gain reading + offset. Where
        ``report.scale_lost``, both sides together are as large as the nominal ones.
    poses : (k, 4, 4), estimated true poses. length_residuals : (k, n) [m], fitted minus read.
    converged : False when the iteration limit was reached. iterations : steps taken.
    chi_square : sum of the squared weighted residuals. degrees_of_freedom : how large it is on average when the model
        and the given standard deviations hold.
    report : what the data identify, with covariance.
    nominal : the platform that calibration started from, or its points.
    joints : the calibrated platform with its offset joints, in the frames of the measured poses; None for point joints.
    further, nominal_further : further legs as calibrated, in the frames of the measured poses, and as they were.
    """

    platform: StewartPlatform
    offsets: Array
    gains: Array
    poses: Array
    length_residuals: Array
    converged: bool
    iterations: int
    chi_square: float
    degrees_of_freedom: int
    report: IdentifiabilityReport
    nominal: StewartPlatform
    further: tuple[DisplacementSensor, ...] = ()
    nominal_further: tuple[DisplacementSensor, ...] = ()
    joints: OffsetPlatform | None = None

    def in_design_frames(self) -> DesignFrames:
        """Move both sides onto the nominal joint centres by the best rigid motions (least squares)."""
        drawn, found = all_points(self.nominal, self.nominal_further), all_points(self.platform, self.further)
        base, moving = (fit_rigid(*points) for points in zip(drawn, found, strict=True))
        placed = [se3.transform_points(se3.inverse(T), x) for T, x in zip((base, moving), found, strict=True)]
        platform = StewartPlatform(
            placed[0][:N_LEGS],
            placed[1][:N_LEGS],
            self.nominal.leg_limits,
            home_pose=self.nominal.home_pose,
            allow_singular=self.nominal.allow_singular,
        )
        return DesignFrames(platform, base, moving, at_points(self.further, placed[0], placed[1]))


def fit_rigid(source: Array, target: Array) -> Array:
    """Pose (4, 4) that moves points (n, 3) closest to target points (n, 3), least squares (Kabsch)."""
    middle_source, middle_target = source.mean(axis=0), target.mean(axis=0)
    rotation = so3.nearest((target - middle_target).T @ (source - middle_source))
    return se3.from_parts(rotation, middle_target - rotation @ middle_source)
