"""`StewartTracker`: forward kinematics from one vector of leg lengths to the next, and what it proves.

`solve_from_home` needs no guess: it tracks a straight line in squared lengths from home.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import se3
from ...lie._arrays import numbers
from ...shown import shown
from ...tracking import CONTRADICTIONS, uncertify
from ..assembly.modes import AssemblyModes, assembly_modes
from ..geometry.any_platform import PointJointed, require_legs
from ..geometry.checks import N_LEGS
from ..geometry.inverse_kinematics import as_vector
from ..geometry.platform import StewartPlatform, check_lengths, require_platform
from ..geometry.rotary_platform import RotaryPlatform
from ..kernels import newton as nk
from ..kernels import tracker as tk
from ..kernels import turning
from ..kernels.tracker import ARRIVED, AT_SINGULARITY, follow
from ..kernels.tracker import update as _update
from ..solvers.memory import as_max_steps, new_memory, put_at, read_pose
from .reach import Anchor, decide
from .result import TrackedPath, TrackedPose

# Results of single updates lie in blocks of this many rows; a block lives as long as a result that looks at it.
_BLOCK = 64
_LAST = _BLOCK - 1
_NO_ROWS, _NONE = np.empty((0, 6)), np.empty(0)
_DT = nk.DT
# What is known, for the kernel's speed as arrays.
_LENGTHS, _WITH_RATES, _WITH_ACCELERATIONS = np.zeros(1), np.ones(1), np.full(1, 2.0)


class StewartTracker:
    """Follows the pose of a platform through its measured leg lengths, or through the angles of rotary legs.

    Each `update` follows the straight line in squared lengths from the last good sample to the new one, in steps that
    are proven to stay regular: the pose is then ``continued``. With ``max_speed`` it is also ``certified`` when no
    other pose with these lengths was within reach at that speed since the last certified pose, whatever the path;
    otherwise the status is AMBIGUOUS, and ``candidates`` are the poses in reach (doc/stewart_tracking.md). When a
    sample cannot be used, the result gives the reason, its ``valid`` is False and its ``pose`` is the last good one;
    tracking goes on from it. After OUT_OF_REACH, or lengths that cannot be, a length, the time or ``max_speed`` was
    wrong, it is not known which: nothing is certified until `reset` gets a known pose.

    For a `RotaryPlatform` all lengths, rates and accelerations are those of angles [rad], and the straight line is
    that in the angles (doc/stewart_tracking.md, "Rotary legs").

    Parameters
    ----------
    platform : StewartPlatform or RotaryPlatform, its legs bent as at home.
    pose : array-like, shape (4, 4), pose of {B} in {N} that the platform is known to be in.
    max_speed : largest speed of the origin of {B} [m/s] and largest angular speed [rad/s] that the platform can have;
        None: unknown, and nothing is ever certified.
    length_error : largest error of a length [m] that what is certified allows for.
    leg_noise : standard deviation of the lengths [m]; a number, one for each leg (6,), or a covariance (6, 6) [m^2].
    max_steps : proven steps that one update may take, about 0.3 us each.

    Raises
    ------
    StewartError : a singular ``pose``, an impossible ``max_speed``, ``length_error`` or ``leg_noise``, ``max_steps``
        below 1.
    GroupError, InputError : a ``pose`` that is no rigid motion.

    A tracker keeps the last pose, so it belongs to one thread at a time. Copies share nothing that changes.
    """

    __slots__ = ("_anchors", "_block", "_bounded", "_leg_covariance", "_memory", "_refuted", "platform")

    def __init__(
        self,
        platform: PointJointed,
        pose: ArrayLike,
        max_speed: ArrayLike | None = None,
        *,
        length_error: float = 0.0,
        leg_noise: ArrayLike = 1e-5,
        max_steps: int = 1000,
    ) -> None:
        require_legs(platform)
        self.platform = platform
        self._leg_covariance = as_leg_covariance(leg_noise)
        speeds = None if max_speed is None else as_speeds(max_speed)
        self._memory = new_memory(platform, pose, max_steps, speeds, as_length_error(length_error))
        self._bounded, self._refuted = speeds is not None, False
        self._anchors: list[Anchor] = []
        self._block = self._new_path(_BLOCK)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.platform, self._leg_covariance, self._memory, self._bounded, self._anchors, self._refuted

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Take over what a tracker knows; what changes with updates is copied."""
        self.platform, self._leg_covariance, memory, self._bounded, anchors, self._refuted = state
        self._memory, self._anchors = memory.copy(), list(anchors)
        self._memory[nk.ROW] = 0
        self._block = self._new_path(_BLOCK)

    def with_options(self, *, leg_noise: ArrayLike, max_steps: int) -> StewartTracker:
        """Return a copy that goes on from the same knowledge with another leg noise and another number of steps."""
        platform, _, memory, *known = self.__getstate__()
        memory = memory.copy()
        memory[nk.MAX_STEPS] = as_max_steps(max_steps)
        made = object.__new__(StewartTracker)
        made.__setstate__((platform, as_leg_covariance(leg_noise), memory, *known))
        return made

    @property
    def max_speed(self) -> tuple[float, float] | None:
        """Largest linear [m/s] and angular speed [rad/s] that the platform can have; None when not given."""
        linear, angular = self._memory[nk.MAX_SPEED : nk.MAX_SPEED + 2]
        return (float(linear), float(angular)) if self._bounded else None

    @property
    def refuted(self) -> bool:
        """Whether lengths since the last `reset` were what they cannot be, so that nothing is certified."""
        return self._refuted

    @property
    def pose(self) -> Array:
        """The last good pose, (4, 4)."""
        return read_pose(self._memory)

    @property
    def leg_covariance(self) -> Array:
        """Covariance of the leg lengths, (6, 6) [m^2]."""
        return self._leg_covariance.copy()

    def reset(self, pose: ArrayLike) -> None:
        """Start again from another pose (4, 4), which the platform is known to be in; errors as for the constructor."""
        before = self._memory.copy()
        try:
            put_at(self._memory, self.platform, pose)
        except ValueError:
            self._memory[:] = before
            raise
        self._anchors, self._refuted = [], False

    def update(
        self,
        lengths: Array,
        rates: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        dt: float | None = None,
    ) -> TrackedPose:
        """Go to the pose for new lengths.

        Parameters
        ----------
        lengths : array-like, shape (6,), leg lengths [m]; fastest as a contiguous float64 array.
        rates : array-like, shape (6,), their time derivatives [m/s]; gives the result its ``twist``.
        accelerations : array-like, shape (6,), second time derivatives [m/s^2]; gives its ``acceleration``.
        dt : time since the last update, or since the start [s]; needed with ``max_speed``, ignored without.

        Returns
        -------
        TrackedPose : keeps its values whatever the tracker does afterwards.

        Raises
        ------
        StewartError : arguments of a wrong shape, accelerations without rates, no ``dt`` or one below 0 where it is
            needed. Bad lengths do not raise: the
            result's ``status`` and ``message`` show, and its `~TrackedPose.require` raises.
        """
        block = self._block
        try:
            if dt is not None:
                self._memory[_DT] = dt
            if rates is None:
                unknown = accelerations is None
                row = _update(self._memory, _LENGTHS, lengths, _NONE, _NONE, block.rows) if unknown else -1
            elif accelerations is None:
                row = _update(self._memory, _WITH_RATES, lengths, rates, _NONE, block.rows)
            else:
                row = _update(self._memory, _WITH_ACCELERATIONS, lengths, rates, accelerations, block.rows)
        except (TypeError, ValueError, OverflowError):
            row = -1
        if row < 0:
            row = self._update_converted(lengths, rates, accelerations, dt)
        valid = row < _BLOCK
        if not valid:
            row -= _BLOCK
            if row >= _BLOCK:
                row -= _BLOCK
                valid = self._decide(block, row, _vector_or_none(rates), _vector_or_none(accelerations))
            self._refuted |= self._bounded and block.rows[row, tk.STATUS] in CONTRADICTIONS
        if self._refuted:
            block.rows[row, tk.CERTIFIED] = 0.0
        if row == _LAST:
            self._block = self._new_path(_BLOCK)
        return TrackedPose(block, row, valid)

    def _update_converted(
        self,
        lengths: ArrayLike,
        rates: ArrayLike | None,
        accelerations: ArrayLike | None,
        dt: float | None,
    ) -> int:
        """Update with arguments that the kernels do not take as they are, or raise with what is wrong with them."""
        memory, rows = self._memory, self._block.rows
        memory[_DT] = math.nan
        given = _vector(lengths, "lengths")
        first = _NONE if rates is None else _vector(rates, "rates")
        second = _NONE if accelerations is None else _vector(accelerations, "accelerations")
        if self._bounded:
            memory[_DT] = as_times(dt, 1)[0]
        if rates is None:
            if accelerations is not None:
                raise StewartError("accelerations were given without rates, which they need: give both")
            return _update(memory, _LENGTHS, given, _NONE, _NONE, rows)
        known = _WITH_RATES if accelerations is None else _WITH_ACCELERATIONS
        return _update(memory, known, given, first, second, rows)

    def update_many(
        self,
        lengths: ArrayLike,
        rates: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        dt: ArrayLike | None = None,
    ) -> TrackedPath:
        """Go through many vectors of lengths (n, 6) in turn, as `update` would, in one compiled loop.

        ``rates`` and ``accelerations`` are None or have the same shape; ``dt`` [s] is a number, or one before each
        sample (n,). A sample that cannot be followed is marked in the result and skipped. Raises StewartError for
        arguments of a wrong shape, and as `update`.
        """
        if rates is None and accelerations is not None:
            raise StewartError("accelerations were given without rates, which they need: give both")
        samples = _table(lengths, "lengths")
        first = _NO_ROWS if rates is None else _table(rates, "rates")
        second = _NO_ROWS if accelerations is None else _table(accelerations, "accelerations")
        for name, table in (("rates", first), ("accelerations", second)):
            if table is not _NO_ROWS and table.shape != samples.shape:
                raise StewartError(f"{name} has shape {table.shape}, expected that of lengths, {samples.shape}")
        times = as_times(dt, len(samples)) if self._bounded else _NONE
        path = self._new_path(len(samples))
        i = 0
        while i < len(samples):
            i = tk.update_many(self._memory, samples, first, second, times, path.rows, np.array([i]))
            if i < len(samples):
                self._decide(path, i, None if rates is None else first[i], None if second is _NO_ROWS else second[i])
                i += 1
        if self._bounded:
            self._refuted = uncertify(path.rows, tk.STATUS, tk.CERTIFIED, self._refuted)
        return path

    def _decide(self, path: TrackedPath, row: int, rates: Array | None, accelerations: Array | None) -> bool:
        """Settle a row that the kernel leaves undecided; return whether its pose is valid."""
        first = _NONE if rates is None else rates
        second = _NONE if accelerations is None else accelerations
        memory, turns = self._memory, self._memory[turning.ROTARY] > 0.0
        out = path.rows[row]
        if turns and not out[tk.CONTINUED]:  # no step went to these angles: their tips are looked at all the same
            turning.set_angles(memory, out[tk.LENGTHS : tk.LENGTHS + 6].copy())
        self._anchors, candidates = decide(memory, path.rows, row, first, second, self._anchors)
        path.candidates[row] = candidates
        if turns and not path.is_valid(row):
            turning.set_angles(memory, memory[turning.ANGLES_BEFORE : turning.ANGLES_BEFORE + 6].copy())
        out[tk.TURNED : tk.TURNED + 6] = memory[turning.ANGLES : turning.ANGLES + 6]
        return path.is_valid(row)

    def _new_path(self, n: int) -> TrackedPath:
        return TrackedPath(np.empty((n, tk.WIDTH)), self.platform, self._leg_covariance)


def as_leg_covariance(leg_noise: ArrayLike) -> Array:
    """Return the covariance (6, 6) [m^2] of a standard deviation, six of them [m], or of itself."""
    noise = numbers(leg_noise)
    if noise.shape in ((), (6,)):
        if not (np.isfinite(noise).all() and (noise >= 0.0).all()):
            raise StewartError(f"leg_noise is {noise.tolist()}, expected standard deviations of at least 0 in metres")
        return np.diag(np.broadcast_to(noise**2, (6,))).copy()
    if noise.shape != (6, 6):
        raise StewartError(f"leg_noise has shape {noise.shape}, expected a number, (6,) or a covariance (6, 6)")
    eigenvalues = np.linalg.eigvalsh(0.5 * (noise + noise.T)) if np.isfinite(noise).all() else np.array([-np.inf])
    if not (np.allclose(noise, noise.T, rtol=1e-9, atol=0.0) and eigenvalues[0] >= -1e-12 * abs(eigenvalues[-1])):
        raise StewartError("leg_noise is no covariance: expected a symmetric, positive semidefinite matrix in m^2")
    return noise.copy()


def as_speeds(max_speed: ArrayLike) -> tuple[float, float]:
    """Return the largest linear and angular speed [m/s, rad/s]; StewartError when they make no sense."""
    speeds = numbers(max_speed)
    if speeds.shape != (2,) or not (np.isfinite(speeds).all() and (speeds > 0.0).all()):
        raise StewartError(
            f"max_speed is {max_speed!r}, expected a positive linear [m/s] and a positive angular speed [rad/s]",
            name="max_speed",
        )
    return float(speeds[0]), float(speeds[1])


def as_length_error(length_error: float) -> float:
    """Return the largest error of a length [m]; StewartError when it is none."""
    error = numbers(length_error)
    if error.ndim or not 0.0 <= error < np.inf:
        raise StewartError(f"length_error is {length_error!r}, expected at least 0 in metres", name="length_error")
    return float(error)


def as_times(dt: ArrayLike | None, n: int) -> Array:
    """Return n times [s] between samples; StewartError when there are none, or one is negative or not finite."""
    if dt is None:
        raise StewartError("max_speed was given, so dt is needed: the time since the last sample [s]", name="dt")
    try:
        times = np.array(np.broadcast_to(np.asarray(dt, dtype=np.float64), (n,)))
    except (TypeError, ValueError, OverflowError) as error:
        raise StewartError(f"dt is no time, nor one for each of {n} samples [s]: {error}", name="dt") from error
    bad = np.flatnonzero(~((times >= 0.0) & (times < np.inf)))
    if bad.size:
        raise StewartError(f"dt of sample {bad[0]} is {times[bad[0]]} s, expected at least 0", name="dt")
    return times


def _vector_or_none(value: ArrayLike | None) -> Array | None:
    return None if value is None else _vector(value, "rates")


def _vector(value: ArrayLike, name: str) -> Array:
    """Return six numbers as the kernels take them."""
    array = np.array(as_vector(value, 6, name), dtype=np.float64, order="C")
    if array.shape != (6,):
        raise StewartError(f"{name} has shape {array.shape}, expected (6,): one for each leg")
    return array


def _table(value: ArrayLike, name: str) -> Array:
    """Return rows of six numbers as the kernels take them: contiguous, aligned and writeable."""
    array = np.require(as_vector(value, 6, name), dtype=np.float64, requirements=["C", "A", "W"])
    if array.ndim != 2:
        raise StewartError(f"{name} has shape {array.shape}, expected (n, 6)")
    return array


class StopReason(Enum):
    """Outcome of a cold start."""

    ARRIVED = "arrived"
    """The pose has the lengths and is the end of the regular straight line in squared lengths from the home pose."""
    SINGULARITY = "singularity"
    """The path met a singularity on its way; beyond it several branches are possible."""
    NO_POSE = "no pose"
    """The path met a singularity, and no pose at all has these lengths."""
    STEP_LIMIT = "step limit"
    """More steps would have been needed than ``max_steps`` allows."""


@shown
@dataclass(frozen=True, eq=False)
class ColdStart:
    """Result of `solve_from_home`.

    Attributes
    ----------
    pose : pose of {B} in {N}, (4, 4): that of the lengths when ``converged``, else where the path stopped.
    converged : whether the path arrived, each of its steps proven. This is what `StewartTracker` calls ``continued``:
        the platform is in this pose if it has gone from home along the straight line in squared lengths. Had it gone
        another way, it might be in another: the pose is not ``certified``.
    reason : how it ended.
    fraction : share of the path covered, 0 to 1.
    steps, iterations : proven steps and Newton corrections spent.
    home_pose : where the path began, (4, 4).
    lengths : the lengths requested, (6,) [m].
    """

    platform: PointJointed
    pose: Array
    reason: StopReason
    fraction: float
    steps: int
    iterations: int
    home_pose: Array
    lengths: Array
    modes: AssemblyModes | None

    @property
    def converged(self) -> bool:
        """Whether the path arrived, each of its steps proven: the pose is ``continued``, not ``certified``."""
        return self.reason is StopReason.ARRIVED

    @cached_property
    def candidates(self) -> Array:
        """All poses with these lengths, (k, 4, 4), nearest to ``pose`` first; only ``pose`` when ``converged``.

        Nearness is that of the joints: the root mean square distance between the platform points of two poses.
        """
        if self.converged:
            return self.pose[None]
        assert self.modes is not None
        found = self.modes.poses
        points = self.platform.platform_points
        gaps = _placed(points, found) - _placed(points, self.pose)
        return found[np.argsort((gaps * gaps).sum(axis=(-2, -1)))]

    @property
    def _line(self) -> str:
        return "angles" if isinstance(self.platform, RotaryPlatform) else "squared lengths"

    @property
    def message(self) -> str:
        """The outcome, in a sentence."""
        if self.converged:
            return (
                f"arrived in {self.steps} proven steps: continued from the home pose, straight in {self._line}; "
                "not certified, as the platform may have gone another way"
            )
        covered = f"{100.0 * self.fraction:.4g}% of the way from the home pose"
        if self.reason is StopReason.STEP_LIMIT:
            return f"stopped after {self.steps} proven steps, {covered}: allow more steps, or give a nearer home pose"
        if self.reason is StopReason.NO_POSE:
            return f"no pose has these lengths; the path from the home pose ended at a singularity, {covered}"
        return (
            f"the path met a singularity {covered}; {len(self.candidates)} poses have these lengths, and only a nearer "
            "home pose, or another sensor, distinguishes which one the platform is in"
        )

    def require(self) -> ColdStart:
        """Return itself when converged, raise StewartError with the ``message`` otherwise."""
        if not self.converged:
            raise StewartError(self.message, name=self.reason.value)
        return self


def solve_from_home(
    platform: PointJointed,
    lengths: ArrayLike,
    home_pose: ArrayLike | None = None,
    *,
    max_steps: int = 10000,
) -> ColdStart:
    """Return the pose for leg lengths to which a straight line in squared lengths from a home pose leads.

    The steps are as long as they can be proven to stay regular. At a singularity the path stops, and the result lists
    the candidates. Nothing is proven about the way that the platform itself has gone.

    For a `RotaryPlatform` lengths are the angles of its motors [rad], and the line is straight in them.

    Parameters
    ----------
    platform : the platform.
    lengths : array-like, shape (6,), leg lengths [m].
    home_pose : array-like, shape (4, 4); default: the platform's ``home_pose``, or `level_home` where it has none.
    max_steps : proven steps allowed, about 0.5 us each; a path across a workspace takes some 30.

    Raises
    ------
    StewartError : lengths that are not six finite positive numbers, outside the leg limits or far beyond the platform
        (millimetres); a singular home pose.
    """
    require_legs(platform)
    if isinstance(platform, RotaryPlatform):
        wanted = np.array(as_vector(lengths, N_LEGS, "angles"))
    else:
        wanted = np.array(check_lengths(lengths, platform))
    if wanted.shape != (6,):
        raise StewartError(f"lengths has shape {wanted.shape}, expected (6,): one for each leg", name="lengths")
    platform.check_motor_limits(wanted)
    if home_pose is None:
        home_pose = platform.home_pose
    if home_pose is None:
        home_pose = level_home(platform.locked(wanted)[0], wanted)
    home = se3.check(np.asarray(home_pose, dtype=np.float64), "home_pose")
    memory = new_memory(platform, home, max_steps)
    code = follow(memory, wanted)
    steps, iterations, fraction = memory[nk.REPORT : nk.REPORT + 3]
    modes = None if code == ARRIVED else assembly_modes(platform, wanted)
    reason = StopReason.ARRIVED
    if modes is not None:
        reason = StopReason.SINGULARITY if code == AT_SINGULARITY else StopReason.STEP_LIMIT
        if code == AT_SINGULARITY and len(modes) == 0 and modes.certain and not modes.self_motion:
            reason = StopReason.NO_POSE
    return ColdStart(
        platform, read_pose(memory), reason, float(fraction), int(steps), int(iterations), home, wanted, modes
    )


def level_home(platform: StewartPlatform, lengths: ArrayLike) -> Array:
    """Return the pose (4, 4) that has the axes of {N} and the platform points centred above the base points.

    "Above" is along z of {N}; the height is the one at which the mean squared length is that of the lengths given.

    Raises
    ------
    StewartError : lengths too short for any height: the home pose has to be given then.
    """
    require_platform(platform)
    base = platform.base_points - platform.base_points.mean(axis=0)
    arms = platform.platform_points - platform.platform_points.mean(axis=0)
    gaps = arms - base  # at height 0
    # Mean of |gap + h z|^2 is mean |gap|^2 + h^2, as the gaps have mean zero.
    square = float(np.mean(check_lengths(lengths, platform) ** 2) - np.mean((gaps * gaps).sum(axis=1)))
    if not square > 0.0:
        raise StewartError(
            "these lengths are too short for a level pose above the base: give the platform a home_pose", name="lengths"
        )
    home = np.eye(4)
    home[:3, 3] = platform.base_points.mean(axis=0) - platform.platform_points.mean(axis=0)
    home[2, 3] += np.sqrt(square)
    return home


def _placed(points: Array, poses: Array) -> Array:
    """Points (6, 3) of the platform in poses (..., 4, 4)."""
    placed: Array = points @ np.swapaxes(poses[..., :3, :3], -1, -2) + poses[..., None, :3, 3]
    return placed
