"""Results of a `StewartTracker`: one tracked pose, or a path of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, Integers, Mask
from ...engine.compile import raise_if_rejected
from ...errors import TrackingError
from ...lie import se3, so3
from ...tracking import STATUS_OF_CODE, TRACKED, TrackingStatus
from ..geometry.any_platform import PointJointed
from ..geometry.platform import StewartPlatform
from ..kernels import tracker as tk
from ..kernels.covariance import covariances, time_to_singularity
from .reach import PoseCandidates

_PLACE = slice(tk.PLACE, tk.ORIENTATION + 4)  # position and quaternion in a row
_BLAME_A_LEG = frozenset(
    (TrackingStatus.NOT_FINITE, TrackingStatus.NOT_POSITIVE, TrackingStatus.LEG_LIMIT, TrackingStatus.NO_POSE)
)
#: Order of components: small rotations about x, y, z, then displacements along them.
ANGULAR_FIRST = np.arange(6)


class TrackedPath:
    """Poses tracked for one vector of lengths after another, as arrays with one row each; computed on demand.

    ``path[i]`` is a `TrackedPose`.

    Attributes
    ----------
    poses : ndarray, shape (n, 4, 4)
        Poses of {B} in {N}, read-only; the last good pose where ``valid`` is False.
    platform : StewartPlatform or RotaryPlatform
        Whose poses they are.
    rows : ndarray, shape (n, ...)
        What the kernels found; columns are those of `kernels.tracker`.
    candidates : dict of int to PoseCandidates
        What was found in reach for the rows that the quick test did not certify.
    """

    __slots__ = ("_leg_covariance", "candidates", "platform", "poses", "rows")

    def __init__(self, rows: Array, platform: PointJointed, leg_covariance: Array) -> None:
        self.rows = rows
        self.platform = platform
        self._leg_covariance = leg_covariance
        self.poses: Array = rows[:, tk.POSE : tk.POSE + 16].reshape(-1, 4, 4)
        self.poses.flags.writeable = False
        self.candidates: dict[int, PoseCandidates] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived_path, (self.rows, self.platform, self._leg_covariance, self.candidates)

    def is_valid(self, row: int) -> bool:
        """Return whether the pose of a row belongs to its lengths."""
        return bool(self.rows[row, tk.STATUS] == TRACKED or self.rows[row, tk.CONTINUED] > 0.0)

    def locked(self, row: int) -> tuple[StewartPlatform, Array]:
        """Return the platform on point joints that a row's pose belongs to, and the covariance (6, 6) of lengths."""
        platform = self.platform
        if isinstance(platform, StewartPlatform):
            return platform, self._leg_covariance
        angles = self.rows[row, tk.TURNED : tk.TURNED + 6]
        levers = platform.levers(self.poses[row], angles)
        return platform.locked(angles)[0], np.ascontiguousarray(levers[:, None] * self._leg_covariance * levers)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> TrackedPose:
        row = range(len(self))[index]
        return TrackedPose(self, row, self.is_valid(row))

    @property
    def quaternions(self) -> Array:
        """Orientations of {B} in {N} as x, y, z, w, (n, 4); signs are continuous, so w may be negative."""
        return self.rows[:, tk.ORIENTATION : tk.ORIENTATION + 4].copy()

    @property
    def lengths(self) -> Array:
        """Lengths as given, (n, 6) [m]; angles of rotary legs [rad]."""
        return self.rows[:, tk.LENGTHS : tk.LENGTHS + 6].copy()

    @property
    def statuses(self) -> Integers:
        """Codes of `TrackingStatus`, (n,)."""
        return self.rows[:, tk.STATUS].astype(np.int64)

    @property
    def valid(self) -> Mask:
        """Where the pose belongs to the given lengths, (n,)."""
        return np.asarray((self.rows[:, tk.STATUS] == TRACKED) | self.continued)

    @property
    def continued(self) -> Mask:
        """Where the pose is the end of the regular straight line in squared lengths, (n,)."""
        return np.asarray(self.rows[:, tk.CONTINUED] > 0.0)

    @property
    def certified(self) -> Mask:
        """Where no other pose with these lengths was within reach, (n,); False without a bound of the speed."""
        return np.asarray(self.rows[:, tk.CERTIFIED] > 0.0)

    @property
    def twists(self) -> Array:
        """Body twists (angular, linear) of {B}, (n, 6) [rad/s, m/s]; NaN without rates or where not valid."""
        return self.rows[:, tk.TWIST : tk.TWIST + 6].copy()

    @property
    def accelerations(self) -> Array:
        """Time derivatives of the body twists' components, (n, 6) [rad/s^2, m/s^2]; NaN where unknown."""
        return self.rows[:, tk.ACCELERATION : tk.ACCELERATION + 6].copy()

    def mean_twist(self, i: int) -> Array:
        """Return the body twist (6,) from the last good to that of a row; NaN where the time between is unknown."""
        row = self.rows[i]
        since = row[tk.SINCE]
        if not since > 0.0:
            return np.full(6, np.nan)
        before = np.eye(4)
        before[:3, :3] = so3.from_quaternion(row[tk.START : tk.START + 4])
        before[:3, 3] = row[tk.START + 4 : tk.START + 7]
        before[:3, 3] -= before[:3, :3] @ self.platform.platform_points.mean(axis=0)
        return np.asarray(se3.log(np.linalg.inv(before) @ self.poses[i]) / since)

    @property
    def iterations(self) -> Integers:
        """Newton corrections spent, over all steps, (n,)."""
        return self.rows[:, tk.N_CORRECTIONS].astype(np.int64)

    @property
    def steps(self) -> Integers:
        """Proven steps into which the way was split, (n,); 1 unless the lengths jumped."""
        return self.rows[:, tk.N_STEPS].astype(np.int64)

    @property
    def largest_h(self) -> Array:
        """Largest h = K eta of the steps, (n,); below 1/2 proves, 0 is standing still."""
        return self.rows[:, tk.H].copy()

    @property
    def condition_numbers(self) -> Array:
        """Condition numbers of the Jacobian, its angular columns over the platform's characteristic length, (n,)."""
        return self.condition_numbers_of(slice(None))

    def condition_numbers_of(self, rows: slice) -> Array:
        """Return `condition_numbers` of some rows."""
        poses, platform = self.poses[rows], self.platform
        if isinstance(platform, StewartPlatform):
            return platform.condition_number(poses)
        return platform.condition_number(poses, angles=self.rows[rows, tk.TURNED : tk.TURNED + 6])

    @property
    def covariances(self) -> Array:
        """Covariances of the poses from the leg noise, (n, 6, 6), as `TrackedPose.covariance`; NaN where not valid."""
        if isinstance(self.platform, StewartPlatform):
            covariance = _covariances(self.platform, self.rows, self._leg_covariance)
        else:
            angles = self.rows[:, tk.TURNED : tk.TURNED + 6]
            with np.errstate(all="ignore"):
                gain = np.linalg.pinv(self.platform.jacobian(self.poses, "aligned", angles))
            covariance = gain @ self._leg_covariance @ np.swapaxes(gain, -1, -2)
            covariance[~(self.condition_numbers < 1e12)] = np.nan
        covariance[~self.valid] = np.nan
        return covariance


class TrackedPose:
    """One tracked pose; what costs time is computed when it is requested.

    Attributes
    ----------
    valid : bool
        True when the pose belongs to the given lengths, False when it is the last good one.
    """

    __slots__ = ("_path", "_row", "valid")

    def __init__(self, path: TrackedPath, row: int, valid: bool) -> None:
        self._path = path
        self._row = row
        self.valid = valid

    def _number(self, column: int) -> float:
        return float(self._path.rows[self._row, column])

    def _vector(self, column: int) -> Array:
        return self._path.rows[self._row, column : column + 6].copy()

    @property
    def pose(self) -> Array:
        """Pose of {B} in {N}, (4, 4), read-only; the last good pose where ``valid`` is False."""
        pose: Array = self._path.poses[self._row]
        return pose

    @property
    def quaternion(self) -> Array:
        """Orientation of {B} in {N} as x, y, z, w, (4,); its sign is continuous, so w may be negative."""
        return self._path.rows[self._row, tk.ORIENTATION : tk.ORIENTATION + 4].copy()

    @property
    def status(self) -> TrackingStatus:
        """Outcome of the lengths."""
        return STATUS_OF_CODE[self._path.rows[self._row, tk.STATUS]]

    @property
    def continued(self) -> bool:
        """True when ``pose`` is the end of the regular straight line in squared lengths from the last good sample."""
        return self._number(tk.CONTINUED) > 0.0

    @property
    def certified(self) -> bool:
        """True when no other pose with these lengths was within reach since the last certified or given pose.

        At ``max_speed``, whatever the path; False without this bound.
        """
        return self._number(tk.CERTIFIED) > 0.0

    @property
    def candidates(self) -> Array:
        """Poses (k, 4, 4) with these lengths found in reach, ``pose`` first; only it when certified or unbounded.

        Reach that is too large for a proof is looked through by `assembly_modes`, which takes milliseconds.
        """
        known = self._path.candidates.get(self._row)
        if known is None or self.certified:
            return self.pose[None] if self.valid else np.empty((0, 4, 4))
        return known.all_known(*self._path.platform.locked(self.lengths)).copy()

    @property
    def candidates_complete(self) -> bool:
        """True when ``candidates`` are proven to be all poses with these lengths in reach."""
        known = self._path.candidates.get(self._row)
        return self.certified if known is None else known.complete

    @property
    def lengths(self) -> Array:
        """Lengths as given, (6,) [m]; angles of rotary legs [rad]."""
        return self._vector(tk.LENGTHS)

    @property
    def twist(self) -> Array:
        """Body twist (angular, linear) of {B}, (6,) [rad/s, m/s]; NaN without rates or when not valid."""
        return self._vector(tk.TWIST)

    @property
    def acceleration(self) -> Array:
        """Time derivative of the twist's components, (6,) [rad/s^2, m/s^2]; NaN where unknown.

        Its linear part is the acceleration of the origin of {B}, in {B}, less ``w x v``.
        """
        return self._vector(tk.ACCELERATION)

    @property
    def iterations(self) -> int:
        """Newton corrections spent, over all steps."""
        return int(self._number(tk.N_CORRECTIONS))

    @property
    def steps(self) -> int:
        """Proven steps into which the way was split; 1 unless the lengths jumped."""
        return int(self._number(tk.N_STEPS))

    @property
    def largest_h(self) -> float:
        """Largest h = K eta of the steps; below 1/2 proves, 0 is standing still."""
        return self._number(tk.H)

    @property
    def residual(self) -> float:
        """Largest difference between the lengths of ``pose`` and those given, or those of the rods [m]."""
        platform, lengths = self._path.platform.locked(self.lengths)
        return float(np.max(np.abs(platform.leg_lengths(self.pose) - lengths)))

    @property
    def condition_number(self) -> float:
        """Condition number of the Jacobian at ``pose``, angular columns over the platform's characteristic length."""
        return float(self._path.condition_numbers_of(slice(self._row, self._row + 1))[0])

    @property
    def covariance(self) -> Array:
        """Covariance of the pose from the leg noise, (6, 6) [rad^2, rad m, m^2]; NaN when not valid.

        Of the small rotation about the axes of {N} and the displacement of the origin of {B} in {N}, in this order.
        """
        path = self._path
        if not self.valid:
            return np.full((6, 6), np.nan)
        row = path.rows[self._row : self._row + 1]
        platform, leg_covariance = path.locked(self._row)
        covariance: Array = _covariances(platform, row, leg_covariance)[0]
        return covariance

    def time_to_singularity(self, horizon: float = 1.0) -> float:
        """Return when the platform comes to a singular pose if it keeps its present twist [s].

        The pose is proven regular until then (less 0.1 %); for rotary legs it is looked for at 33 places on the way,
        which proves nothing. Infinity beyond the ``horizon`` [s] or while standing still;
        NaN when the speed is unknown: with neither leg rates nor, with a bound, a time since the last good sample.
        """
        path = self._path
        twist = self.twist
        if np.isnan(twist[0]) and self.valid:
            twist = path.mean_twist(self._row)
        platform = path.platform
        if not isinstance(platform, StewartPlatform):
            return platform.time_to_singularity(self.pose, self._vector(tk.TURNED), twist, horizon)
        scales = np.array([platform.characteristic_length, float(horizon)])
        return float(time_to_singularity(platform.all_points, self.pose.copy(), twist, scales))

    def position_quaternion(self) -> tuple[list[float], list[float]]:
        """Return position x, y, z [m] and `quaternion` as plain numbers: the fastest way to them."""
        place = self._path.rows[self._row, _PLACE].tolist()
        return place[:3], place[3:]

    def write_covariance(self, out: Array, order: Integers) -> bool:
        """Write the covariance of a valid pose where somebody else keeps it, in another order of components.

        Returns whether the pose is regular, so that the covariance is finite.

        Parameters
        ----------
        out : ndarray, shape (1, 6, 6), contiguous; NaN where singular.
        order : int64 ndarray, shape (6,), which of the components of `covariance` each row and column is.
        """
        path, row = self._path, self._row
        rows, (platform, leg_covariance) = path.rows[row : row + 1], path.locked(row)
        return covariances(platform.all_points, leg_covariance, order, rows, out) == 1

    @property
    def leg(self) -> int | None:
        """Index, from 0, of the leg to blame, or of the one that misses most; None where it is no single leg."""
        return int(self._number(tk.LEG)) if self.status in _BLAME_A_LEG else None

    @property
    def message(self) -> str:
        """The outcome, in a sentence."""
        return _message_for(self, self._path.platform, self._path.rows[self._row])

    def require(self) -> TrackedPose:
        """Return itself when valid, raise TrackingError with the ``message`` otherwise."""
        if not self.valid:
            raise TrackingError(self.message, name=self.status.name)
        return self

    def __repr__(self) -> str:
        return f"TrackedPose({self.status.name}, position {self.pose[:3, 3].tolist()})"


def _covariances(platform: StewartPlatform, rows: Array, leg_covariance: Array) -> Array:
    """Return J^-1 Sigma J^-T, (n, 6, 6), of the poses in rows (n, WIDTH), J "aligned"; NaN where singular."""
    out = np.empty((len(rows), 6, 6))
    raise_if_rejected(covariances(platform.all_points, leg_covariance, ANGULAR_FIRST, rows, out))
    return out


def _revived_path(
    rows: Array, platform: PointJointed, leg_covariance: Array, candidates: dict[int, PoseCandidates]
) -> TrackedPath:
    """Build a path from the data of `TrackedPath.__reduce__`."""
    path = TrackedPath(rows.copy(), platform, leg_covariance)
    path.candidates.update(candidates)
    return path


def _message_for(tracked: TrackedPose, platform: PointJointed, row: Array) -> str:
    """Return what became of the lengths of a tracked pose, and what its pose is."""
    status = tracked.status
    leg = int(row[tk.LEG])
    length = tracked.lengths[leg]
    unit, _ = platform.motor_units
    one = "length" if unit == "m" else "angle"
    error = float(row[tk.ERROR])
    last = "the pose is the last good one"
    if status is TrackingStatus.TRACKED:
        what = ["not continued", "continued"][tracked.continued] + (", certified" if tracked.certified else "")
        return f"tracked in {tracked.steps} proven step(s), h = {tracked.largest_h:.3g} of at most 0.5: {what}"
    if status is TrackingStatus.AMBIGUOUS:
        return _ambiguity(tracked, one)
    if status is TrackingStatus.OUT_OF_REACH:
        return f"no pose with these {one}s was within reach at max_speed: check the {one}s, dt and max_speed; {last}"
    if status is TrackingStatus.NOT_FINITE:
        return f"{one} of leg {leg + 1} is {length}, expected a number: check its sensor; {last}"
    if status is TrackingStatus.NOT_POSITIVE:
        return f"length of leg {leg + 1} is {length} m, expected a positive length; {last}"
    if status is TrackingStatus.LEG_LIMIT:
        low, high = platform.motor_limits[leg]
        side, error = ("above", length - high) if error > 0.0 else ("below", length - low)
        if unit != "m":
            off = f"{abs(error):.3g} rad {side} its limits {low:.6g} to {high:.6g} rad"
            unit = ": degrees?" if abs(error) > 0.01 * (high - low) else ""
            return f"angle of leg {leg + 1} is {length:.6g} rad, {off}{unit}; {last}"
        if np.isinf(high) and error > 0.0:
            return f"length of leg {leg + 1} is {length:.6g} m, far beyond this platform: millimetres?; {last}"
        return (
            f"length of leg {leg + 1} is {length:.6g} m, {1e3 * abs(error):.3g} mm "
            f"{side} its limits {low:.6g} to {high:.6g} m; {last}"
        )
    covered = f"{100.0 * row[tk.COVERED]:.4g}% of the way from the last good {one}s"
    if status is TrackingStatus.SINGULAR:
        return f"the platform would pass a singularity {covered}: which branch it takes there cannot be known; {last}"
    if status is TrackingStatus.NO_POSE:
        return (
            f"no pose near has these {one}s: the branch ends {covered}, and the best pose beyond misses leg "
            f"{leg + 1} by {1e3 * error:.3g} mm; {last}"
        )
    if status is TrackingStatus.TOO_FAR:
        return f"the {one}s jumped too far: {tracked.steps} proven steps covered {covered}; {last}"
    raise AssertionError(f"no message for {status!r}")


def _ambiguity(tracked: TrackedPose, one: str) -> str:
    count = len(tracked.candidates)
    text = f"{count} pose{'s' if count > 1 else ''} with these {one}s found within reach at max_speed"
    if not tracked.candidates_complete:
        text += ", and others cannot be excluded"
    if tracked.continued:
        return f"{text}; the pose is the continued one"
    return f"{text}, none of them continued; the pose is the last good one"
