"""Calibration of a platform: 36 joint coordinates and 6 length offsets from measured poses and leg readings.

The poses are those of a measuring device, with noise of known size, or exact. The estimate minimises the weighted
squares of both kinds of residuals over geometry and poses (Levenberg-Marquardt). Directions that the data do not
determine, gauge included, are left where the nominal geometry has them.

Joint centres come out in the frames in which the poses were measured. Of the 42 parameters 12 only say where those two
frames are; `CalibrationResult.in_design_frames` takes them off by moving both sides onto the nominal geometry as well
as rigid motions can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...lie import se3, so3
from ..errors import StewartError
from ..geometry.inverse_kinematics import Array, as_pose
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform, require_platform
from . import model as model
from .identifiability import RANK_TOLERANCE, IdentifiabilityReport, identifiability

_MAX_ITERATIONS = 100
_STEP_TOLERANCE = 1e-13
_COST_TOLERANCE = 1e-14
#: Fits of a platform with offset joints, whose axes turn with the frames found by the one before.
_FITS = 3


@dataclass(frozen=True)
class DesignFrames:
    """Calibrated geometry in frames fitted to the nominal one.

    Attributes
    ----------
    platform : the calibrated platform, gauge removed: no rigid motion of a side brings it closer to the nominal one.
    base_frame : (4, 4), pose of the fitted base frame in the frame of the measured poses.
    platform_frame : (4, 4), pose of the fitted platform frame in the frame whose pose was measured.
    """

    platform: StewartPlatform
    base_frame: Array
    platform_frame: Array


@dataclass(frozen=True)
class CalibrationResult:
    """Outcome of `calibrate`.

    Attributes
    ----------
    platform : calibrated platform, in the frames of the measured poses.
    offsets : (6,) [m], to be added to the readings to get lengths.
    poses : (k, 4, 4), estimated true poses. length_residuals : (k, 6) [m], fitted minus read.
    converged : False when the iteration limit was reached. iterations : steps taken.
    chi_square : sum of the squared weighted residuals. degrees_of_freedom : how large it is on average when the model
        and the given standard deviations hold.
    report : what the data identify, with covariance.
    nominal : the platform that calibration started from, or its points.
    joints : the calibrated platform with its offset joints, in the frames of the measured poses; None for point joints.
    """

    platform: StewartPlatform
    offsets: Array
    poses: Array
    length_residuals: Array
    converged: bool
    iterations: int
    chi_square: float
    degrees_of_freedom: int
    report: IdentifiabilityReport
    nominal: StewartPlatform
    joints: OffsetPlatform | None = None

    def in_design_frames(self) -> DesignFrames:
        """Move both sides onto the nominal joint centres by the best rigid motions (least squares)."""
        base = fit_rigid(self.nominal.base_points, self.platform.base_points)
        moving = fit_rigid(self.nominal.platform_points, self.platform.platform_points)
        platform = StewartPlatform(
            se3.transform_points(se3.inverse(base), self.platform.base_points),
            se3.transform_points(se3.inverse(moving), self.platform.platform_points),
            self.nominal.leg_limits,
            home_pose=self.nominal.home_pose,
            allow_singular=self.nominal.allow_singular,
        )
        return DesignFrames(platform, base, moving)


def calibrate(
    nominal: StewartPlatform | OffsetPlatform,
    poses: npt.ArrayLike,
    readings: npt.ArrayLike,
    *,
    length_sigma: npt.ArrayLike = 1e-5,
    pose_sigma: npt.ArrayLike | None = None,
    base_frame: npt.ArrayLike | None = None,
    platform_frame: npt.ArrayLike | None = None,
    rank_tolerance: float = RANK_TOLERANCE,
) -> CalibrationResult:
    """Estimate joint centres and length offsets from measured poses and leg readings.

    Parameters
    ----------
    nominal : platform to start from. The offsets of an `OffsetPlatform` are taken as known, and its axes as fixed to
        what the frames of the drawing come to.
    poses : (k, 4, 4), measured poses. readings : (k, 6) [m]; length = reading + offset.
    length_sigma : standard deviation of a reading [m], one or six.
    pose_sigma : standard deviations of a measured pose, one or six: rotations [rad] about the platform's axes, then
        positions [m] along the base's axes; inf: not measured. ``None``: the poses are exact.
    base_frame : (4, 4), rough pose of the nominal base frame in the frame of the measured poses; default identity.
    platform_frame : (4, 4), rough pose of the nominal platform frame in the frame whose pose was measured.
    rank_tolerance : singular values below this share of the largest count as zero.

    Raises
    ------
    StewartError : wrong shapes, values that are not finite, standard deviations that are not positive; for an
        `OffsetPlatform` also poses of which only a part was measured.
    """
    data = model.Measurements.check(poses, readings, length_sigma, pose_sigma)
    if not isinstance(nominal, OffsetPlatform):
        require_platform(nominal, "nominal")
        return _fitted(nominal, data, base_frame, platform_frame, rank_tolerance)
    if data.pose_sigma is not None and not np.isfinite(data.pose_sigma).all():
        raise StewartError("pose_sigma: with offset joints whole poses are expected: finite standard deviations")
    turns = tuple(
        np.eye(3) if frame is None else se3.check(as_pose(frame, name), name).real[:3, :3]
        for frame, name in ((base_frame, "base_frame"), (platform_frame, "platform_frame"))
    )
    for _ in range(_FITS):
        joints = nominal.on(nominal.points, *turns)
        result = _fitted(nominal.points, replace(data, joints=joints), base_frame, platform_frame, rank_tolerance)
        frames = result.in_design_frames()
        turns = frames.base_frame[:3, :3], frames.platform_frame[:3, :3]
    return replace(result, joints=joints.on(result.platform))


def _fitted(
    nominal: StewartPlatform,
    data: model.Measurements,
    base_frame: npt.ArrayLike | None,
    platform_frame: npt.ArrayLike | None,
    rank_tolerance: float,
) -> CalibrationResult:
    """Fit joint centres and length offsets to measurements (Levenberg-Marquardt)."""
    theta = _start(nominal, base_frame, platform_frame)
    estimate = data.poses.copy()
    damping, converged, iterations = 1e-6, False, 0
    problem = model.linearise(theta, estimate, data)
    while not converged and iterations < _MAX_ITERATIONS:
        iterations += 1
        left, values, directions = np.linalg.svd(problem.reduced_jacobian, full_matrices=False)
        kept = values > rank_tolerance * values[0]
        along = left.T @ problem.reduced_residual
        while True:
            # Damping is relative to each direction's own weight: the solution does not depend on units.
            gain = np.where(kept, 1.0 / (np.where(kept, values, 1.0) * (1.0 + damping)), 0.0)
            step = -directions.T @ (gain * along)
            screws = problem.pose_steps(step)
            moved = estimate @ se3.exp(screws) if data.pose_sigma is not None else estimate
            cost = model.cost_of(theta + step, moved, data)
            if cost <= problem.cost or damping > 1e6:
                break
            damping = max(10.0 * damping, 1e-3)
        small = max(float(np.abs(step).max()), float(np.abs(screws).max(initial=0.0))) <= _STEP_TOLERANCE
        stalled = problem.cost - cost <= _COST_TOLERANCE * problem.cost
        if cost <= problem.cost:
            theta, estimate = theta + step, moved
        damping *= 0.1
        problem = model.linearise(theta, estimate, data)
        converged = small or stalled
    return _result(nominal, theta, estimate, data, problem, (converged, iterations), rank_tolerance)


def identifiability_report(
    platform: StewartPlatform | OffsetPlatform,
    poses: npt.ArrayLike,
    *,
    length_sigma: npt.ArrayLike = 1e-5,
    pose_sigma: npt.ArrayLike | None = None,
    rank_tolerance: float = RANK_TOLERANCE,
) -> IdentifiabilityReport:
    """Say what a calibration with these poses (k, 4, 4) could identify, before anything is measured."""
    if not isinstance(platform, OffsetPlatform):
        require_platform(platform)
    readings = platform.leg_lengths(poses)
    data = model.Measurements.check(poses, readings, length_sigma, pose_sigma)
    if isinstance(platform, OffsetPlatform):
        data, platform = replace(data, joints=platform), platform.points
    theta = model.join(platform.base_points, platform.platform_points, np.zeros(6))
    problem = model.linearise(theta, data.poses, data)
    return identifiability(problem.reduced_jacobian, platform.base_points, platform.platform_points, rank_tolerance)


def fit_rigid(source: Array, target: Array) -> Array:
    """Pose (4, 4) that moves points (n, 3) closest to target points (n, 3), least squares (Kabsch)."""
    middle_source, middle_target = source.mean(axis=0), target.mean(axis=0)
    rotation = so3.nearest((target - middle_target).T @ (source - middle_source))
    return se3.from_parts(rotation, middle_target - rotation @ middle_source)


def _start(nominal: StewartPlatform, base_frame: npt.ArrayLike | None, platform_frame: npt.ArrayLike | None) -> Array:
    """Parameters (42,) of the nominal geometry, seen from the frames of the measurement, no offsets."""
    base, moving = nominal.base_points, nominal.platform_points
    if base_frame is not None:
        base = se3.transform_points(se3.check(as_pose(base_frame, "base_frame"), "base_frame"), base)
    if platform_frame is not None:
        moving = se3.transform_points(se3.check(as_pose(platform_frame, "platform_frame"), "platform_frame"), moving)
    return model.join(base, moving, np.zeros(6))


def _result(
    nominal: StewartPlatform,
    theta: Array,
    poses: Array,
    data: model.Measurements,
    problem: model.Linearisation,
    ended: tuple[bool, int],
    rank_tolerance: float,
) -> CalibrationResult:
    """Collect what is known at the end of the iteration."""
    base, moving, offsets = model.split(theta)
    if not np.isfinite(theta).all():
        raise StewartError("calibration diverged: the data do not fit any geometry near the nominal one")
    report = identifiability(problem.reduced_jacobian, base, moving, rank_tolerance)
    platform = StewartPlatform(base, moving, nominal.leg_limits, allow_singular=nominal.allow_singular)
    residuals = model.residuals(theta, poses, data)[0] * data.length_sigma
    freedom = len(problem.reduced_residual) - report.rank
    if data.pose_sigma is not None:
        freedom -= int(np.isinf(data.pose_sigma).sum()) * len(data)
    return CalibrationResult(platform, offsets, poses, residuals, *ended, 2.0 * problem.cost, freedom, report, nominal)
