"""Calibration from a device's poses, wherever its frames lie: faulty poses left out, checked on poses not used.

Poses that a device sees are ``seen = B own T^-1``: `own` those of the platform from its leg lengths, B the base
frame in the frame of the device, T the platform frame in that of the target. `find_frames` finds B and T well enough
to start a calibration from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, ArrayLike, Integers, Mask
from ...errors import SingularityError, StewartError
from ...lie import se3, so3
from ...lie._arrays import number_of, real_numbers
from ...shown import shared_options, shown
from ...texts import quoted
from ..fusion.sensors import DisplacementSensor
from ..geometry.any_platform import sliding_points_of
from ..geometry.checks import N_LEGS
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform, require_platform
from ..solvers.forward_kinematics import solve_forward_kinematics
from ..solvers.offset_legs import CLOSED, newton
from ..tracking.tracker import level_home
from . import model
from .fit import CalibrationResult, DesignFrames, calibrate, fit_rigid, identifiability_report
from .model import MoreMeasured, Parameters, all_points

if TYPE_CHECKING:
    from typing import Unpack

#: What a device can measure: the whole pose, a point alone, or orientations alone, as an IMU does; and, where there is
#: no device, the lengths of more than six legs alone.
MEASURED = ("pose", "position", "orientation", "lengths")
#: Mean angle [rad] by which poses have to turn, about more than one axis, for frames to be found.
_LEAST_TURN = 0.02
_ALTERNATIONS = 100


def find_frames(seen: Array, own: Array, measured: str) -> tuple[Array, Array]:
    """Return B and T (4, 4) of poses (k, 4, 4) seen and own; parts that are not measured are left at zero.

    Raises
    ------
    StewartError : poses that turn too little, or about one axis only.
    """
    if measured == "lengths":
        return np.eye(4), np.eye(4)
    if measured == "position":
        return _of_points(seen[:, :3, 3], own)
    base, target = _rotations(seen[:, :3, :3], own[:, :3, :3])
    if measured == "orientation":
        return se3.from_parts(base, np.zeros(3)), se3.from_parts(target, np.zeros(3))
    # seen_p + seen_R t = B_R own_p + b is linear in the shifts t and b.
    rows = np.concatenate((seen[:, :3, :3], -np.broadcast_to(np.eye(3), (len(seen), 3, 3))), axis=2).reshape(-1, 6)
    right = (own[:, :3, 3] @ base.T - seen[:, :3, 3]).ravel()
    shifts = np.linalg.lstsq(rows, right, rcond=None)[0]
    return se3.from_parts(base, shifts[3:]), se3.from_parts(target, shifts[:3])


def misfit(seen: Array, own: Array, frames: tuple[Array, Array], measured: str) -> tuple[Array, Array]:
    """Return distances (k,) [m] and angles (k,) [rad] between poses seen and own; zeros where not measured."""
    return differences(seen, frames[0] @ own @ se3.inverse(frames[1]), measured)


def composed(seen: Array, told: Array, measured: str) -> Array:
    """Return poses (k, 4, 4) as seen, with the given values for what is not measured."""
    turned, moved = (seen if measured in ("pose", what) else told for what in ("orientation", "position"))
    return se3.from_parts(turned[:, :3, :3], moved[:, :3, 3])


def differences(seen: Array, told: Array, measured: str) -> tuple[Array, Array]:
    """Return distances (k,) [m] and angles (k,) [rad] between poses; zeros where not measured."""
    turns = so3.log(np.swapaxes(seen[:, :3, :3], 1, 2) @ told[:, :3, :3])
    distance = np.linalg.norm(seen[:, :3, 3] - told[:, :3, 3], axis=1)
    angle = np.linalg.norm(turns, axis=1)
    return distance * (measured in ("pose", "position")), angle * (measured in ("pose", "orientation"))


def _rotations(seen: Array, own: Array) -> tuple[Array, Array]:
    """Rotations B, T with seen T = B own: the null vector of equations that are linear in their 18 entries."""
    rows = np.concatenate([np.hstack((np.kron(s, np.eye(3)), -np.kron(np.eye(3), o.T)))
                           for s, o in zip(seen, own, strict=True)])  # fmt: skip
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    if values[-2] < _LEAST_TURN * np.sqrt(len(seen)):
        raise StewartError(
            "the poses turn too little, or about one axis only: where the frames of the measurement lie cannot be "
            "found; poses with tilts about two axes are expected"
        )
    target, base = directions[-1].reshape(2, 3, 3)
    sign = np.sign(np.linalg.det(target))
    return so3.nearest(sign * base), so3.nearest(sign * target)


def _of_points(seen: Array, own: Array) -> tuple[Array, Array]:
    """Frames of points seen: in turns the rigid motion of the base and the place of the point on the platform."""
    mark, base = np.zeros(3), np.eye(4)
    for _ in range(_ALTERNATIONS):
        try:
            base = fit_rigid(own[:, :3, 3] + own[:, :3, :3] @ mark, seen)
        except SingularityError as error:
            raise StewartError("the measured positions lie on a line: others beside it are expected") from error
        gaps = se3.transform_points(se3.inverse(base), seen) - own[:, :3, 3]
        mark = np.mean(np.swapaxes(own[:, :3, :3], 1, 2) @ gaps[..., None], axis=0)[:, 0]
    # The frame whose position is measured sits at the mark, parallel to the platform's: the platform frame in it.
    return base, se3.from_parts(np.eye(3), -mark)


#: Another reading of the data that fits better by this factor is reported.
_BETTER = 5.0


def poses_of(platform: StewartPlatform | OffsetPlatform, lengths: Array, guesses: Array) -> tuple[Array, Mask]:
    """Poses (k, 4, 4) that have lengths (k, 6), from guesses (4, 4) or (k, 4, 4), and which of them were found."""
    if isinstance(platform, OffsetPlatform):
        starts = np.broadcast_to(guesses, (len(lengths), 4, 4))
        poses, errors = newton(platform, lengths, starts)
        return poses, errors <= CLOSED * lengths.max(axis=1)
    found = solve_forward_kinematics(platform, lengths, guesses)
    return np.asarray(found.pose), np.atleast_1d(found.converged)


def own_poses(nominal: StewartPlatform | OffsetPlatform, readings: Array, most: float) -> tuple[Array, Mask]:
    """Poses (k, 4, 4) that the drawing has for the readings, near its home pose, and which it has (k,).

    A machine beside its drawing may stand where the drawing cannot, at the edge of what legs can do; StewartError where
    more than the part `most` is so.
    """
    home = nominal.home_pose
    if home is None:
        if isinstance(nominal, OffsetPlatform):
            raise StewartError("the platform has offset joints and no home_pose, near which its poses are looked for")
        home = level_home(nominal, np.abs(readings).mean(axis=0))
    typical, expected = float(np.median(readings)), float(np.median(nominal.leg_lengths(home)))
    hint = f"readings are {typical:.4g} m in the median, lengths at the home pose {expected:.4g} m"
    if not 0.02 * expected < typical < 50.0 * expected:
        raise StewartError(f"{hint}: other units, or offsets that are missing?")
    if not (readings > 0.0).all():
        raise StewartError(f"leg lengths that are not positive: offsets that are missing? {hint}")
    poses, found = poses_of(nominal, readings, home)
    failed = np.flatnonzero(~found)
    if failed.size > most * len(readings):
        raise StewartError(
            f"measurement {failed[0]} and {failed.size - 1} others of {len(readings)} have leg lengths that the "
            f"drawing has no pose for near its home pose: legs swapped, other units, offsets that are missing? {hint}"
        )
    return poses, found


def refuse_other_readings(
    seen: Array, own: Array, frames: tuple[Array, Array], nominal: StewartPlatform, measured: str
) -> None:
    """Raise StewartError where poses fit much better when they are read in another way."""
    size = nominal.characteristic_length

    def far(poses: Array) -> float:
        try:
            found = frames if poses is seen else find_frames(poses, own, measured)
        except StewartError:
            return float("inf")
        distance, angle = misfit(poses, own, found, measured)
        return float(np.sqrt(np.mean((distance / size) ** 2 + angle**2)))

    small = seen.copy()
    small[:, :3, 3] *= 1e-3
    others = {"inverted, of the base in the platform's frame": se3.inverse(seen), "in millimetres": small}
    if measured == "position":
        del others["inverted, of the base in the platform's frame"]
    if measured == "orientation":
        del others["in millimetres"]
    now = far(seen)
    for what, poses in others.items():
        if now > 0.02 and far(poses) < now / _BETTER:
            raise StewartError(f"the measured poses seem to be {what}: read so, they fit the leg lengths")


#: Numbers that are measured of each pose; and parameters that only say where frames are.
_NUMBERS = {"pose": 6, "position": 3, "orientation": 3, "lengths": 0}
_GAUGE = {"pose": 0, "position": 3, "orientation": 6, "lengths": 12}
#: What gives no length but by the readings, whose gains may be unknown.
_WITHOUT_LENGTH = ("orientation", "lengths")
#: Squares of a pose's residuals, over the median of all and by themselves, from where it is left out.
_FAR, _FAR_ALONE = 12.0, 28.0
#: Largest part of the poses that may be left out.
_MOST_FAULTY = 0.2
#: Residuals over the given deviations from where a problem is reported.
_LOUD = 5.0
_FOLDS = 5
#: Change of a joint centre, over the characteristic length, from where another machine was measured.
_TOO_FAR = 0.5


@shown
@dataclass(frozen=True)
class MeasuredCalibration:
    """Outcome of `calibrate_measured`.

    Attributes
    ----------
    platform : in the frames of the drawing. further : further legs, in the same frames.
    offsets, gains : (n,) [m] and [1], of the six legs and further ones; length = gain reading + offset.
    deviations : (7 n,) [m], with gains (8 n,) [m] and [1]: standard deviations of base points, platform points, offsets
        and gains in these frames; grown where residuals are larger than the deviations that were given; inf for what
        these poses do not determine. Where the overall scale is not determined (see ``problems``), those at the
        drawing's scale.
    base_frame : (4, 4), base frame in the frame of the device. platform_frame : (4, 4), platform frame in the target's.
    used : (k,) bool, False for poses that contradict the others, and for lengths that the drawing has no pose for.
    poses : (n, 4, 4), estimated, of the platform frame in the base frame, of those used.
    noise_ratio : residuals over what the given deviations let expect.
    errors_before, errors_after : (n, 2), distance [m] and angle [rad] between poses measured and those from leg
    lengths,
        with the drawing and with a calibration in which the pose was not used; zeros where not measured. NaN after
        where there are too few poses to leave some out.
    problems : sentences on what is suspicious.
    fit : the calibration itself, in the frames of the device. nominal : the drawing. measured : what was measured.
    joints : the platform with its offset joints, in the frames of the drawing; None for point joints.

    Of an `OffsetPlatform`, `platform` and `nominal` are the points of its joints.
    """

    platform: StewartPlatform
    offsets: Array
    deviations: Array
    base_frame: Array
    platform_frame: Array
    used: Mask
    poses: Array
    noise_ratio: float
    errors_before: Array
    errors_after: Array
    problems: tuple[str, ...]
    fit: CalibrationResult
    nominal: StewartPlatform
    measured: str
    gains: Array
    further: tuple[DisplacementSensor, ...] = ()
    joints: OffsetPlatform | None = None

    def pose_errors(self) -> tuple[Array, Array]:
        """Root mean squares (2,) of distance [m] and angle [rad], before and after."""
        before, after = (np.sqrt(np.mean(e**2, axis=0)) for e in (self.errors_before, self.errors_after))
        return before, after


@shared_options(model.Measurements.check)
def calibrate_measured(
    nominal: StewartPlatform | OffsetPlatform,
    poses: ArrayLike | None,
    readings: ArrayLike,
    *,
    measured: str = "pose",
    length_sigma: ArrayLike = 1e-5,
    rotation_sigma: float = 5e-5,
    position_sigma: float = 2e-5,
    drawing_sigma: float = 0.01,
    **more: Unpack[MoreMeasured],
) -> MeasuredCalibration:
    """Calibrate a platform from poses in frames that are not known, whole poses or a part of them.

    Parameters
    ----------
    nominal : the platform as drawn; offsets and axes of an `OffsetPlatform` count as `calibrate` takes them.
    poses : (k, 4, 4), of some frame on the platform in some frame of the measuring device; None with "lengths".
    readings : (k, 6 + m), of the legs' sensors [m]; those of the drawing within a few centimetres.
    measured : "pose"; "position" of one point, rotations being of no meaning; "orientation", positions being of none;
        "lengths" of six and further legs alone, without a device.
    length_sigma : standard deviation of a reading [m], one or six, or 6 + m; that of further legs is else their noise.
    rotation_sigma, position_sigma : standard deviations of a pose, of each component [rad], [m].
    drawing_sigma : combinations of parameters that would come out less certain than this stay as drawn [m]; gains
        times a typical length.
    further, gains, distances, distance_sigma : as `calibrate` takes them. With gains, orientations or lengths alone
        do not determine the overall scale: it stays as drawn but for a measured distance.

    Raises
    ------
    StewartError : bad shapes and values; too few poses; leg lengths that no pose of the drawing has; poses that turn
        too little; poses inverted or in millimetres; poses that contradict each other; another machine; with offset
        joints, poses of which only a part was measured; lengths of six legs alone.
    """
    points = sliding_points_of(nominal, "nominal")
    require_platform(points, "nominal")
    if not isinstance(measured, str) or measured not in MEASURED:
        raise StewartError(f"measured is {quoted(measured)}, expected one of {', '.join(MEASURED)}")
    if points is not nominal and measured != "pose":
        raise StewartError(f"measured is {measured}: with offset joints whole poses are expected (pose)")
    positive = "a positive standard deviation"
    rotation = number_of("rotation_sigma", rotation_sigma, positive, lambda x: 0.0 < x < np.inf)
    position = number_of("position_sigma", position_sigma, positive, lambda x: 0.0 < x < np.inf)
    number_of("drawing_sigma", drawing_sigma, "a positive length in metres", lambda x: 0.0 < x <= 1e3)
    sigma = np.repeat((rotation, position), 3)
    sigma[unmeasured(measured)] = np.inf
    if poses is None and measured == "lengths":
        poses = np.tile(np.eye(4), (len(real_numbers(readings, "readings")), 1, 1))
    data = model.Measurements.check(poses, readings, length_sigma, sigma, **more)  # type: ignore[arg-type]
    least = _least(data.parameters, measured)
    if len(data) < least:
        raise StewartError(f"{len(data)} poses were measured, at least {least} are expected ({measured})")
    six = data.readings[:, :N_LEGS]
    own, there = own_poses(nominal, six, _MOST_FAULTY)
    data = replace(data, poses=data.poses[there], readings=data.readings[there])
    own, six = own[there], six[there]
    if len(data) < least:
        raise StewartError(f"{len(data)} poses are left, at least {least} are expected ({measured})")
    frames = find_frames(data.poses, own, measured)
    if measured != "lengths":
        refuse_other_readings(data.poses, own, frames, points, measured)
    # Leg lengths have several poses: the one near to what was seen is that of the machine.
    near = se3.inverse(frames[0]) @ composed(data.poses, frames[0] @ own @ se3.inverse(frames[1]), measured) @ frames[1]
    again, found = poses_of(nominal, six, near)
    own = np.where(found[:, None, None], again, own)
    frames = find_frames(data.poses, own, measured)
    more["gains"] = data.parameters.gain_length or False
    start = _Start(nominal, data, *frames, own, measured, drawing_sigma, more)
    fit, used = _without_faulty(start, least)
    kept, numbers = np.flatnonzero(used), np.flatnonzero(there)
    used = np.isin(np.arange(len(there)), numbers[kept])
    design = fit.in_design_frames()
    ratio = float(np.sqrt(fit.chi_square / fit.degrees_of_freedom)) if fit.degrees_of_freedom else 1.0
    before = np.stack(misfit(data.poses[kept], own[kept], frames, measured), axis=1)
    placed = se3.inverse(design.base_frame) @ fit.poses @ design.platform_frame
    return MeasuredCalibration(
        design.platform, fit.offsets, max(ratio, 1.0) * _deviations(fit, design),
        design.base_frame, design.platform_frame, used, placed, ratio, before, _errors_left_out(start, kept, least),
        _problems(fit, used, there, ratio, design), fit, points, measured, fit.gains, design.further,
        nominal.on(design.platform) if isinstance(nominal, OffsetPlatform) else None,
    )  # fmt: skip


def unmeasured(measured: str) -> slice:
    """Return which of three rotations and three positions are not measured."""
    return {"pose": slice(0), "position": slice(3), "orientation": slice(3, 6), "lengths": slice(6)}[measured]


def _least(parameters: Parameters, measured: str) -> int:
    """Return how many poses determine all parameters but frames, and the scale where nothing gives it."""
    net = len(parameters.legs) - 6 + _NUMBERS[measured]
    if not net:
        raise StewartError("measured is lengths: those of six legs fit any geometry, further legs are expected")
    lost = parameters.gain_length is not None and measured in _WITHOUT_LENGTH
    return (parameters.count - _GAUGE[measured] - lost) // net + 1


@dataclass(frozen=True)
class _Start:
    """Start of every fit of some of the poses."""

    nominal: StewartPlatform | OffsetPlatform
    data: model.Measurements
    base_frame: Array
    platform_frame: Array
    own: Array
    measured: str
    drawing_sigma: float
    more: MoreMeasured

    def seen(self, rows: Integers) -> Array:
        """Return poses (n, 4, 4) in the frames of the device; what it does not measure as the drawing has it."""
        told = self.base_frame @ self.own[rows] @ se3.inverse(self.platform_frame)
        return composed(self.data.poses[rows], told, self.measured)

    def fit(self, rows: Integers) -> CalibrationResult:
        """Calibrate with some of the poses."""
        sigma, pose_sigma = self.data.length_sigma, self.data.pose_sigma
        told = identifiability_report(self.nominal, self.own[rows], length_sigma=sigma,
                                     pose_sigma=pose_sigma, **self.more)  # fmt: skip
        return calibrate(
            self.nominal, self.seen(rows), self.data.readings[rows], length_sigma=sigma, pose_sigma=pose_sigma,
            base_frame=self.base_frame, platform_frame=self.platform_frame,
            rank_tolerance=max(1.0 / (self.drawing_sigma * told.singular_values[0]), 1e-9), **self.more,
        )  # fmt: skip

    def squares(self, fit: CalibrationResult, rows: Integers) -> Array:
        """Weighted squares of each pose's residuals (n,)."""
        seen, sigma = self.data.poses[rows], self.data.pose_sigma
        turned = so3.log(np.swapaxes(seen[:, :3, :3], 1, 2) @ fit.poses[:, :3, :3])
        moved = np.concatenate((turned, fit.poses[:, :3, 3] - seen[:, :3, 3]), axis=1) / sigma
        return np.asarray((moved**2).sum(axis=1) + ((fit.length_residuals / self.data.length_sigma) ** 2).sum(axis=1))


def _without_faulty(start: _Start, least: int) -> tuple[CalibrationResult, Mask]:
    """Fit, leave out the worst pose where it is far beyond all others, and so on."""
    used = np.ones(len(start.data), dtype=np.bool_)
    while True:
        rows = np.flatnonzero(used)
        fit = start.fit(rows)
        if not fit.converged:
            raise StewartError("calibration does not converge: do readings and poses belong together?")
        squares = start.squares(fit, rows)
        worst = int(np.argmax(squares))
        if squares[worst] <= max(_FAR * np.median(squares), _FAR_ALONE) or len(rows) <= least:
            return fit, used
        used[rows[worst]] = False
        if (~used).sum() > _MOST_FAULTY * len(used):
            raise StewartError(
                f"more than {100.0 * _MOST_FAULTY:.0f} % of the poses contradict the others: do readings and poses "
                "belong together?"
            )


def _deviations(fit: CalibrationResult, design: DesignFrames) -> Array:
    """Deviations in the frames of the drawing; inf where something other than frames, or the scale, is undetermined."""
    parameters, scale = fit.report.parameters, fit.report.scale_lost
    theta = parameters.join(*all_points(design.platform, design.further), fit.offsets, fit.gains)
    turn = parameters.turn(design.base_frame[:3, :3].T, design.platform_frame[:3, :3].T)
    values, vectors = np.linalg.eigh(fit.report.covariance)
    half = parameters.free_of_gauge(turn @ vectors * np.sqrt(np.clip(values, 0.0, None)), theta, scale)
    lost = parameters.free_of_gauge(turn @ fit.report.null_space, theta, scale)
    unseen = np.sqrt((lost**2).sum(axis=1)) > 0.03
    return np.asarray(np.where(unseen, np.inf, np.sqrt((half**2).sum(axis=1)))) * parameters.units


def _errors_left_out(start: _Start, kept: Integers, least: int) -> Array:
    """Errors (n, 2) of the poses from leg lengths, each by a calibration without it."""
    errors = np.full((len(kept), 2), np.nan)
    if start.measured == "lengths":
        return np.zeros_like(errors)
    if len(kept) - -(-len(kept) // _FOLDS) < least:
        return errors
    for fold in range(_FOLDS):
        out = np.arange(len(kept)) % _FOLDS == fold
        fit = start.fit(kept[~out])
        lengths = start.data.readings[kept[out]] * fit.gains + fit.offsets
        told, _ = poses_of(fit.joints or fit.platform, lengths[:, :N_LEGS], start.seen(kept[out]))
        errors[out] = np.stack(differences(start.data.poses[kept[out]], told, start.measured), axis=1)
    return errors


def _problems(
    fit: CalibrationResult,
    used: Mask,
    there: Mask,
    ratio: float,
    design: DesignFrames,
) -> tuple[str, ...]:
    told = []
    if not there.all():
        told.append(
            f"measurements {np.flatnonzero(~there).tolist()} have leg lengths that the drawing has no pose for near "
            "its home pose, and are left out"
        )
    if not used[there].all():
        told.append(f"measurements {np.flatnonzero(~used & there).tolist()} contradict the others and are left out")
    if ratio > _LOUD:
        told.append(f"residuals are {ratio:.0f} times the standard deviations that were given")
    if fit.report.scale_lost:
        told.append(
            "the overall scale of geometry, offsets and gains needs a measured distance or position; without one "
            "it stays as drawn, and deviations are those at this scale"
        )
    unseen = fit.report.null_space.shape[1] - fit.report.gauge - fit.report.scale_lost
    if unseen > 0:
        told.append(f"{unseen} combinations of parameters cannot be determined from these poses and stay as drawn")
    points = zip(all_points(design.platform, design.further), all_points(fit.nominal, fit.nominal_further), strict=True)
    moved = max(float(np.abs(found - drawn).max()) for found, drawn in points)
    text = f"joint centres move by up to {1e3 * moved:.0f} mm: is this the platform of the drawing, are legs swapped?"
    if moved > _TOO_FAR * fit.nominal.characteristic_length:
        raise StewartError(text)
    if moved > 0.1 * fit.nominal.characteristic_length:
        told.append(text)
    return tuple(told)
