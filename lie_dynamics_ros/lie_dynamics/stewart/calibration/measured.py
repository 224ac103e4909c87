"""Calibration from what a device measured, wherever its frames lie: faulty poses left out, judged by poses not used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lie import se3, so3
from ...lie._arrays import number_of
from ...texts import quoted
from ..errors import StewartError
from ..geometry.inverse_kinematics import Array
from ..geometry.offset_platform import OffsetPlatform, points_of
from ..geometry.platform import StewartPlatform, require_platform
from ..solvers.forward_kinematics import solve_forward_kinematics
from ..solvers.offset_legs import CLOSED, newton
from ..tracking.path_following import level_home
from . import model
from .fit import CalibrationResult, DesignFrames, calibrate, identifiability_report
from .next_poses import free_of_gauge
from .unknown_frames import MEASURED, composed, differences, find_frames, misfit

#: Equations that each pose adds, beyond its own unknowns; and parameters that only say where frames are.
_NET = {"pose": 6, "position": 3, "orientation": 3}
_GAUGE = {"pose": 0, "position": 3, "orientation": 6}
#: Squares of a pose's residuals, over the median of all and by themselves, from where it is left out.
_FAR, _FAR_ALONE = 12.0, 28.0
#: Largest part of the poses that may be left out.
_MOST_FAULTY = 0.2
#: Another reading of the data that fits better by this factor is told.
_BETTER = 5.0
#: Residuals over the given deviations from where a problem is told.
_LOUD = 5.0
_FOLDS = 5
#: Change of a joint centre, over the characteristic length, from where another machine was measured.
_TOO_FAR = 0.5


@dataclass(frozen=True)
class MeasuredCalibration:
    """Outcome of `calibrate_measured`.

    Attributes
    ----------
    platform : in the frames of the drawing. offsets : (6,) [m]; length = reading + offset.
    deviations : (42,) [m], standard deviations of base points, platform points, offsets in these frames; grown where
        residuals are larger than the deviations that were given; inf for what these poses do not tell.
    base_frame : (4, 4), base frame in the frame of the device. platform_frame : (4, 4), platform frame in the target's.
    used : (k,) bool, False for poses that contradict the others.
    poses : (n, 4, 4), estimated, of the platform frame in the base frame, of those used.
    noise_ratio : residuals over what the given deviations let expect.
    errors_before, errors_after : (n, 2), distance [m] and angle [rad] between poses measured and told by leg lengths,
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
    used: npt.NDArray[np.bool_]
    poses: Array
    noise_ratio: float
    errors_before: Array
    errors_after: Array
    problems: tuple[str, ...]
    fit: CalibrationResult
    nominal: StewartPlatform
    measured: str
    joints: OffsetPlatform | None = None

    def pose_errors(self) -> tuple[Array, Array]:
        """Root mean squares (2,) of distance [m] and angle [rad], before and after."""
        before, after = (np.sqrt(np.mean(e**2, axis=0)) for e in (self.errors_before, self.errors_after))
        return before, after


def calibrate_measured(
    nominal: StewartPlatform | OffsetPlatform,
    poses: npt.ArrayLike,
    readings: npt.ArrayLike,
    *,
    measured: str = "pose",
    length_sigma: npt.ArrayLike = 1e-5,
    rotation_sigma: float = 5e-5,
    position_sigma: float = 2e-5,
    drawing_sigma: float = 0.01,
) -> MeasuredCalibration:
    """Calibrate a platform from poses in frames that are not known, whole poses or a part of them.

    Parameters
    ----------
    nominal : the platform as drawn; offsets and axes of an `OffsetPlatform` count as `calibrate` takes them.
    poses : (k, 4, 4), of some frame on the platform in some frame of the measuring device.
    readings : (k, 6), of the legs' sensors [m]; those of the drawing within a few centimetres.
    measured : "pose"; "position" of one point, rotations being of no meaning; "orientation", positions being of none.
    length_sigma : standard deviation of a reading [m], one or six.
    rotation_sigma, position_sigma : standard deviations of a pose, of each component [rad], [m].
    drawing_sigma : combinations of parameters that would come out less certain than this stay as drawn [m].

    Raises
    ------
    StewartError : bad shapes and values; too few poses; leg lengths that no pose of the drawing has; poses that turn
        too little; poses inverted or in millimetres; poses that contradict each other; another machine; with offset
        joints, poses of which only a part was measured.
    """
    points = points_of(nominal)
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
    sigma[{"pose": slice(0), "position": slice(3), "orientation": slice(3, 6)}[measured]] = np.inf
    data = model.Measurements.check(poses, readings, length_sigma, sigma)
    least = (model.N_PARAMETERS - _GAUGE[measured]) // _NET[measured] + 1
    if len(data) < least:
        raise StewartError(f"{len(data)} poses were measured, at least {least} are expected ({measured})")
    own = _own_poses(nominal, data.readings)
    frames = find_frames(data.poses, own, measured)
    _refuse_other_readings(data.poses, own, frames, points, measured)
    # Leg lengths have several poses: the one near to what was seen is that of the machine.
    near = se3.inverse(frames[0]) @ composed(data.poses, frames[0] @ own @ se3.inverse(frames[1]), measured) @ frames[1]
    again, found = _poses_of(nominal, data.readings, near)
    own = np.where(found[:, None, None], again, own)
    frames = find_frames(data.poses, own, measured)
    start = _Start(nominal, data, *frames, own, measured, drawing_sigma)
    fit, used = _without_faulty(start, least)
    kept = np.flatnonzero(used)
    design = fit.in_design_frames()
    ratio = float(np.sqrt(fit.chi_square / fit.degrees_of_freedom)) if fit.degrees_of_freedom else 1.0
    before = np.stack(misfit(data.poses[kept], own[kept], frames, measured), axis=1)
    placed = se3.inverse(design.base_frame) @ fit.poses @ design.platform_frame
    return MeasuredCalibration(
        design.platform, fit.offsets, max(ratio, 1.0) * _deviations(fit, design, points),
        design.base_frame, design.platform_frame, used, placed, ratio, before, _errors_left_out(start, kept, least),
        _problems(fit, used, ratio, points, design.platform), fit, points, measured,
        nominal.on(design.platform) if isinstance(nominal, OffsetPlatform) else None,
    )  # fmt: skip


@dataclass(frozen=True)
class _Start:
    """What every fit of some of the poses starts from."""

    nominal: StewartPlatform | OffsetPlatform
    data: model.Measurements
    base_frame: Array
    platform_frame: Array
    own: Array
    measured: str
    drawing_sigma: float

    def seen(self, rows: npt.NDArray[np.int64]) -> Array:
        """Return poses (n, 4, 4) in the frames of the device; what it does not measure as the drawing has it."""
        told = self.base_frame @ self.own[rows] @ se3.inverse(self.platform_frame)
        return composed(self.data.poses[rows], told, self.measured)

    def fit(self, rows: npt.NDArray[np.int64]) -> CalibrationResult:
        """Calibrate with some of the poses."""
        sigma, pose_sigma = self.data.length_sigma, self.data.pose_sigma
        told = identifiability_report(self.nominal, self.own[rows], length_sigma=sigma, pose_sigma=pose_sigma)
        return calibrate(
            self.nominal, self.seen(rows), self.data.readings[rows], length_sigma=sigma, pose_sigma=pose_sigma,
            base_frame=self.base_frame, platform_frame=self.platform_frame,
            rank_tolerance=max(1.0 / (self.drawing_sigma * told.singular_values[0]), 1e-9),
        )  # fmt: skip

    def squares(self, fit: CalibrationResult, rows: npt.NDArray[np.int64]) -> Array:
        """Weighted squares of each pose's residuals (n,)."""
        seen, sigma = self.data.poses[rows], self.data.pose_sigma
        turned = so3.log(np.swapaxes(seen[:, :3, :3], 1, 2) @ fit.poses[:, :3, :3])
        moved = np.concatenate((turned, fit.poses[:, :3, 3] - seen[:, :3, 3]), axis=1) / sigma
        return np.asarray((moved**2).sum(axis=1) + ((fit.length_residuals / self.data.length_sigma) ** 2).sum(axis=1))


def _poses_of(
    platform: StewartPlatform | OffsetPlatform, lengths: Array, guesses: Array
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Poses (k, 4, 4) that have lengths (k, 6), from guesses (4, 4) or (k, 4, 4), and which of them were found."""
    if isinstance(platform, OffsetPlatform):
        starts = np.broadcast_to(guesses, (len(lengths), 4, 4))
        poses, errors = newton(platform, lengths, starts)
        return poses, errors <= CLOSED * lengths.max(axis=1)
    found = solve_forward_kinematics(platform, lengths, guesses)
    return np.asarray(found.pose), np.atleast_1d(found.converged)


def _own_poses(nominal: StewartPlatform | OffsetPlatform, readings: Array) -> Array:
    """Poses (k, 4, 4) that the drawing has for the readings, near its home pose."""
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
    poses, found = _poses_of(nominal, readings, home)
    failed = np.flatnonzero(~found)
    if failed.size:
        raise StewartError(
            f"measurement {failed[0]} and {failed.size - 1} others of {len(readings)} have leg lengths that the "
            f"drawing has no pose for near its home pose: legs swapped, other units, offsets that are missing? {hint}"
        )
    return poses


def _refuse_other_readings(
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


def _without_faulty(start: _Start, least: int) -> tuple[CalibrationResult, npt.NDArray[np.bool_]]:
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


def _deviations(fit: CalibrationResult, design: DesignFrames, nominal: StewartPlatform) -> Array:
    """Deviations (42,) in the frames of the drawing; inf where something other than a frame is not told."""
    turn = np.eye(model.N_PARAMETERS)
    for k in range(6):
        turn[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = design.base_frame[:3, :3].T
        turn[18 + 3 * k : 21 + 3 * k, 18 + 3 * k : 21 + 3 * k] = design.platform_frame[:3, :3].T
    values, vectors = np.linalg.eigh(fit.report.covariance)
    half = free_of_gauge(turn @ vectors * np.sqrt(np.clip(values, 0.0, None)), nominal)
    lost = free_of_gauge(turn @ fit.report.null_space, nominal)
    unseen = np.sqrt((lost**2).sum(axis=1)) > 0.03
    return np.asarray(np.where(unseen, np.inf, np.sqrt((half**2).sum(axis=1))))


def _errors_left_out(start: _Start, kept: npt.NDArray[np.int64], least: int) -> Array:
    """Errors (n, 2) of the poses that leg lengths tell, each by a calibration without it."""
    errors = np.full((len(kept), 2), np.nan)
    if len(kept) - -(-len(kept) // _FOLDS) < least:
        return errors
    for fold in range(_FOLDS):
        out = np.arange(len(kept)) % _FOLDS == fold
        fit = start.fit(kept[~out])
        lengths = start.data.readings[kept[out]] + fit.offsets
        told, _ = _poses_of(fit.joints or fit.platform, lengths, start.seen(kept[out]))
        errors[out] = np.stack(differences(start.data.poses[kept[out]], told, start.measured), axis=1)
    return errors


def _problems(
    fit: CalibrationResult,
    used: npt.NDArray[np.bool_],
    ratio: float,
    nominal: StewartPlatform,
    platform: StewartPlatform,
) -> tuple[str, ...]:
    told = []
    if not used.all():
        told.append(f"measurements {np.flatnonzero(~used).tolist()} contradict the others and are left out")
    if ratio > _LOUD:
        told.append(f"residuals are {ratio:.0f} times the standard deviations that were given")
    unseen = fit.report.null_space.shape[1] - fit.report.gauge
    if unseen > 0:
        told.append(f"{unseen} combinations of parameters cannot be told from these poses and stay as drawn")
    moved = max(np.abs(platform.base_points - nominal.base_points).max(),
                np.abs(platform.platform_points - nominal.platform_points).max())  # fmt: skip
    text = f"joint centres move by up to {1e3 * moved:.0f} mm: is this the platform of the drawing, are legs swapped?"
    if moved > _TOO_FAR * nominal.characteristic_length:
        raise StewartError(text)
    if moved > 0.1 * nominal.characteristic_length:
        told.append(text)
    return tuple(told)
