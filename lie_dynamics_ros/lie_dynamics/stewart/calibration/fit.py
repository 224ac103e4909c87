"""Calibration of a platform: 36 joint coordinates and 6 length offsets from measured poses and leg readings.

Further legs add their joint coordinates and offsets, gains one parameter a leg; distances of joint centres can be
measured beside.

The poses are those of a measuring device, with noise of known size, or exact. The estimate minimises the weighted
squares of both kinds of residuals over geometry and poses (Levenberg-Marquardt). Directions that the data do not
determine, gauge included, are left where the nominal geometry has them.

Joint centres come out in the frames in which the poses were measured. Of the 42 parameters 12 only say where those two
frames are; `CalibrationResult.in_design_frames` takes them off by moving both sides onto the nominal geometry as well
as rigid motions can.

Which parameters measurements determine, alone or only in combination, the singular values of the weighted Jacobian
tell, poses eliminated. Directions without weight are changes of the geometry that no reading would notice: part of them
are gauge, a common motion of all joints of one side that renames a frame; others come from poses that vary too little.
Where gains are estimated and nothing else gives a length, all lengths may grow alike: the overall scale is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import se3, so3
from ...shown import shared_options, shown
from ..fusion.sensors import DisplacementSensor
from ..geometry.any_platform import sliding_points_of
from ..geometry.checks import N_LEGS
from ..geometry.inverse_kinematics import as_pose, leg_vectors, norms
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform, longest_legs, require_platform
from . import model as model
from .model import MoreMeasured, Parameters, all_points, at_points, check_further

if TYPE_CHECKING:
    from typing import Unpack


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


#: Singular values below this share of the largest count as zero.
RANK_TOLERANCE = 1e-9
_SHOWN = 1e-3
_MAX_TERMS = 8


@dataclass(frozen=True)
class IdentifiabilityReport:
    """Information of measurements on the n parameters of a calibration, see `Parameters`; 42 of six legs without gains.

    Attributes
    ----------
    singular_values : (n,), of the weighted Jacobian [1/m], largest first.
    rank : how many parameter combinations are identifiable.
    null_space : (n, n - rank), orthonormal; changes of the parameters that leave every reading alone.
    gauge : how many of them are motions of the base frame or the platform frame.
    scale_lost : whether one of them is the overall scale of geometry, offsets and gains, all of which may grow alike.
    unidentifiable : names of the parameters that take part in the null space.
    combinations : one line for each null direction, with the parameters that move together.
    standard_deviations : (n,) [m], of gains [1], of each parameter; inf for those that are not identifiable.
    covariance : (n, n) [m^2], of the identifiable part (pseudo-inverse of the information matrix), of gains times
        ``parameters.gain_length``.
    parameters : their names and units.
    """

    singular_values: Array
    rank: int
    null_space: Array
    gauge: int
    scale_lost: bool
    unidentifiable: tuple[str, ...]
    combinations: tuple[str, ...]
    standard_deviations: Array
    covariance: Array
    parameters: Parameters

    @property
    def condition_number(self) -> float:
        """Largest over smallest singular value of the identifiable part."""
        return float(self.singular_values[0] / self.singular_values[self.rank - 1]) if self.rank else float("inf")

    def __str__(self) -> str:
        """Summarise in a few lines."""
        condition = f"condition number {self.condition_number:.2e}"
        lines = [f"{self.rank} of {self.parameters.count} parameter combinations identifiable, {condition}"]
        if self.rank == self.parameters.count:
            alike = self.standard_deviations / self.parameters.units
            worst = int(np.argmax(alike))
            unit = " m" if self.parameters.units[worst] == 1.0 else ""
            lines.append(
                f"least certain: {self.parameters.names[worst]}, standard deviation "
                f"{self.standard_deviations[worst]:.2e}{unit}"
            )
        else:
            scale = ", one the overall scale" if self.scale_lost else ""
            lines.append(
                f"{self.null_space.shape[1]} not identifiable, {self.gauge} of them choices of frame (gauge){scale}:"
            )
            lines += [f"  {line}" for line in self.combinations]
        return "\n".join(lines)


def identifiability(
    jacobian: Array, theta: Array, parameters: Parameters, tolerance: float = RANK_TOLERANCE
) -> IdentifiabilityReport:
    """Analyse a weighted Jacobian (m, n) of the calibration problem at parameters (n,)."""
    values, directions = _right_singular(jacobian)
    rank = int((values > tolerance * values[0]).sum()) if values[0] > 0.0 else 0
    null_space = directions[rank:].T
    scaled = directions[:rank].T / values[:rank]
    covariance = scaled @ scaled.T
    share = np.sqrt((null_space**2).sum(axis=1))
    lost = share > _SHOWN
    deviations = np.where(lost, np.inf, np.sqrt(np.diag(covariance))) * parameters.units
    return IdentifiabilityReport(
        values,
        rank,
        null_space,
        _gauge_dimension(null_space, parameters.generators(theta)),
        _loses_scale(jacobian, theta, parameters, float(values[0])),
        tuple(name for name, gone in zip(parameters.names, lost, strict=True) if gone),
        tuple(_describe(direction, parameters.names) for direction in sparse_basis(null_space).T),
        deviations,
        covariance,
        parameters,
    )


def _right_singular(jacobian: Array) -> tuple[Array, Array]:
    """Singular values (n,) and right singular vectors (n, n), also for fewer rows than columns."""
    count = jacobian.shape[1]
    rows = np.vstack([jacobian, np.zeros((max(count - len(jacobian), 0), count))])
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    return values, directions


def _loses_scale(jacobian: Array, theta: Array, parameters: Parameters, largest: float) -> bool:
    """Return whether no reading would notice that all lengths grow alike."""
    if parameters.gain_length is None:
        return False
    growth = parameters.scaling(theta)
    return bool(np.linalg.norm(jacobian @ growth) <= RANK_TOLERANCE * largest * np.linalg.norm(growth))


def _gauge_dimension(null_space: Array, generators: Array) -> int:
    """Dimension of the intersection of the null space with the motions of the two frames."""
    if not null_space.size:
        return 0
    basis, _ = np.linalg.qr(generators)
    # Cosines of the principal angles between the two subspaces; 1 for common directions.
    return int((np.linalg.svd(basis.T @ null_space, compute_uv=False) > 1.0 - 1e-6).sum())


def sparse_basis(null_space: Array) -> Array:
    """Basis of the same space in which each direction has a parameter of its own, so that it can be read."""
    if not null_space.size:
        return null_space
    from scipy.linalg import qr

    _, _, order = qr(null_space.T, pivoting=True)
    own = order[: null_space.shape[1]]
    basis: Array = null_space @ np.linalg.inv(null_space[own])
    return basis


def _describe(direction: Array, names: tuple[str, ...]) -> str:
    """Write a null direction as the parameters that move together."""
    order = np.argsort(-np.abs(direction))
    terms = [index for index in order if abs(direction[index]) > _SHOWN * abs(direction[order[0]])]
    text = ", ".join(f"{names[index]} by {direction[index]:+.3f}" for index in terms[:_MAX_TERMS])
    rest = len(terms) - _MAX_TERMS
    return text + (f" and {rest} more" if rest > 0 else "")


_MAX_ITERATIONS = 100
_STEP_TOLERANCE = 1e-13
_COST_TOLERANCE = 1e-14
#: Fits of a platform with offset joints, whose axes turn with the frames found by the one before.
_FITS = 3


@shared_options(model.Measurements.check)
def calibrate(
    nominal: StewartPlatform | OffsetPlatform,
    poses: ArrayLike,
    readings: ArrayLike,
    *,
    length_sigma: ArrayLike = 1e-5,
    pose_sigma: ArrayLike | None = None,
    base_frame: ArrayLike | None = None,
    platform_frame: ArrayLike | None = None,
    rank_tolerance: float = RANK_TOLERANCE,
    **more: Unpack[MoreMeasured],
) -> CalibrationResult:
    """Estimate joint centres and length offsets from measured poses and leg readings.

    Parameters
    ----------
    nominal : platform to start from. The offsets of an `OffsetPlatform` are taken as known, and its axes as fixed to
        what the frames of the drawing come to.
    poses : (k, 4, 4), measured poses. readings : (k, 6 + m) [m]; length = reading + offset, with gains gain reading
        + offset.
    length_sigma : standard deviation of a reading [m], one or six, or 6 + m; that of further legs is else their noise.
    pose_sigma : standard deviations of a measured pose, one or six: rotations [rad] about the platform's axes, then
        positions [m] along the base's axes; inf: not measured. ``None``: the poses are exact.
    base_frame : (4, 4), rough pose of the nominal base frame in the frame of the measured poses; default identity.
    platform_frame : (4, 4), rough pose of the nominal platform frame in the frame whose pose was measured.
    rank_tolerance : singular values below this share of the largest count as zero.
    further : m redundant legs, whose joint centres and offsets are estimated, too; none with an `OffsetPlatform`.
    gains : whether a gain of each leg is estimated. A number stands for the length [m] by which gains are scaled in the
        parameters, in place of that of the readings.
    distances : measured distances of joint centres of one side: ("base" or "platform", leg, leg, metres), legs 1 to 6
        or names of further ones.
    distance_sigma : standard deviation of these [m].

    Raises
    ------
    StewartError : wrong shapes, values that are not finite, standard deviations that are not positive; for an
        `OffsetPlatform` also poses of which only a part was measured, and further legs.
    """
    data = model.Measurements.check(poses, readings, length_sigma, pose_sigma, **more)
    if not len(data):
        raise StewartError("0 poses were measured, at least one is expected")
    points = nominal.points if isinstance(nominal, OffsetPlatform) else nominal
    require_platform(points, "nominal")
    _check_units(points, data)
    legs = check_further(more.get("further", ()))
    if not isinstance(nominal, OffsetPlatform):
        return _fitted(nominal, data, base_frame, platform_frame, rank_tolerance, legs)
    _refuse_further(legs)
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


def _check_units(nominal: StewartPlatform, data: model.Measurements) -> None:
    """Raise StewartError for readings (k, 6 + m) or poses that are in other units than metres."""
    away = float(np.median(np.abs(data.poses[:, :3, 3]).max(axis=1))) if len(data.poses) else 0.0
    if away > nominal.farthest:
        raise StewartError(
            f"poses are {away:.6g} m away in the median, expected at most {nominal.farthest:.6g}: millimetres?",
            name="poses",
        )
    typical, longest = np.median(np.abs(data.readings[:, :6]), axis=0), longest_legs(nominal)
    if (typical > longest).any():
        leg = int(np.argmax(typical / longest))
        raise StewartError(
            f"readings of leg {leg + 1} are {typical[leg]:.6g} m in the median, expected at most {longest[leg]:.6g} by "
            "the leg limits or the size of this platform: millimetres?", name="readings",
        )  # fmt: skip


def _fitted(
    nominal: StewartPlatform,
    data: model.Measurements,
    base_frame: ArrayLike | None,
    platform_frame: ArrayLike | None,
    rank_tolerance: float,
    further: tuple[DisplacementSensor, ...] = (),
) -> CalibrationResult:
    """Fit joint centres, length offsets and gains to measurements (Levenberg-Marquardt)."""
    theta = _start(all_points(nominal, further), data.parameters, base_frame, platform_frame)
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
    if not np.isfinite(theta).all():
        raise StewartError("calibration diverged: the data do not fit any geometry near the nominal one")
    report = identifiability(problem.reduced_jacobian, theta, data.parameters, rank_tolerance)
    if report.scale_lost:
        theta, estimate = _as_large(all_points(nominal, further), theta, estimate, data)
        problem = model.linearise(theta, estimate, data)
        report = identifiability(problem.reduced_jacobian, theta, data.parameters, rank_tolerance)
    return _result(nominal, further, theta, estimate, data, problem, (converged, iterations), report)


@shared_options(model.Measurements.check)
def identifiability_report(
    platform: StewartPlatform | OffsetPlatform,
    poses: ArrayLike,
    *,
    length_sigma: ArrayLike = 1e-5,
    pose_sigma: ArrayLike | None = None,
    rank_tolerance: float = RANK_TOLERANCE,
    **more: Unpack[MoreMeasured],
) -> IdentifiabilityReport:
    """Say what a calibration with these poses (k, 4, 4) could identify, before any is measured; see `calibrate`."""
    theta, data = at_nominal(platform, poses, length_sigma, pose_sigma, **more)
    if not len(data):
        raise StewartError("there are no poses, at least one is expected")
    problem = model.linearise(theta, data.poses, data)
    return identifiability(problem.reduced_jacobian, theta, data.parameters, rank_tolerance)


def at_nominal(
    platform: StewartPlatform | OffsetPlatform,
    poses: ArrayLike,
    length_sigma: ArrayLike,
    pose_sigma: ArrayLike | None,
    **more: Unpack[MoreMeasured],
) -> tuple[Array, model.Measurements]:
    """Return parameters of a platform, and what it would measure in these poses (k, 4, 4); see `Measurements.check`."""
    points = sliding_points_of(platform)
    require_platform(points)
    further = check_further(more.get("further", ()))
    ends = all_points(points, further)
    own = platform.leg_lengths(poses)
    lengths = norms(leg_vectors(*ends, np.asarray(as_pose(poses, "poses"))))
    readings = np.concatenate((own, lengths[..., N_LEGS:]), axis=-1)
    data = model.Measurements.check(poses, readings, length_sigma, pose_sigma, **more)
    if isinstance(platform, OffsetPlatform):
        _refuse_further(further)
        data = replace(data, joints=platform)
    return data.parameters.join(*ends, np.zeros(len(ends[0]))), data


def _refuse_further(further: tuple[DisplacementSensor, ...]) -> None:
    if further:
        raise StewartError(f"further has {further[0].name}: with offset joints no further legs are expected")


def _start(
    points: tuple[Array, Array],
    parameters: Parameters,
    base_frame: ArrayLike | None,
    platform_frame: ArrayLike | None,
) -> Array:
    """Parameters of nominal points (n, 3), seen from the frames of the measurement, no offsets."""
    base, moving = points
    if base_frame is not None:
        base = se3.transform_points(se3.check(as_pose(base_frame, "base_frame"), "base_frame"), base)
    if platform_frame is not None:
        moving = se3.transform_points(se3.check(as_pose(platform_frame, "platform_frame"), "platform_frame"), moving)
    return parameters.join(base, moving, np.zeros(len(base)))


def _as_large(
    nominal: tuple[Array, Array], theta: Array, poses: Array, data: model.Measurements
) -> tuple[Array, Array]:
    """Return parameters and poses with all lengths multiplied so that both sides are as large as the nominal ones."""
    base, moving, offsets, gains = data.parameters.split(theta)
    along = square = 0.0
    for drawn, found in zip(nominal, (base, moving), strict=True):
        frame = fit_rigid(drawn, found)
        turned = (found - found.mean(axis=0)) @ frame[:3, :3]
        along += float(np.sum((drawn - drawn.mean(axis=0)) * turned))
        square += float(np.sum(turned**2))
    by = along / square
    larger = poses.copy()
    larger[:, :3, 3] *= by
    return data.parameters.join(by * base, by * moving, by * offsets, by * gains), larger


def _result(
    nominal: StewartPlatform,
    further: tuple[DisplacementSensor, ...],
    theta: Array,
    poses: Array,
    data: model.Measurements,
    problem: model.Linearisation,
    ended: tuple[bool, int],
    report: IdentifiabilityReport,
) -> CalibrationResult:
    """Collect what is known at the end of the iteration."""
    base, moving, offsets, gains = data.parameters.split(theta)
    platform = StewartPlatform(
        base[:N_LEGS], moving[:N_LEGS], nominal.leg_limits, allow_singular=nominal.allow_singular
    )
    residuals = model.residuals(theta, poses, data)[0] * data.length_sigma
    freedom = len(problem.reduced_residual) - report.rank
    if data.pose_sigma is not None:
        freedom -= int(np.isinf(data.pose_sigma).sum()) * len(data)
    return CalibrationResult(
        platform, offsets, gains, poses, residuals, *ended, 2.0 * problem.cost, freedom, report, nominal,
        at_points(further, base, moving), further,
    )  # fmt: skip
