"""`OffsetTracker`: the pose of a platform on legs with offset universal joints, from one set of lengths to the next."""

from __future__ import annotations

import copy

import numpy as np

from ...arrays import Array, ArrayLike, Integers
from ...lie import se3, so3
from ...stewart import OffsetPlatform
from ...stewart.geometry import inverse_kinematics as ik
from ...stewart.geometry.checks import N_LEGS
from ...stewart.geometry.offset_platform import aligned
from ...stewart.geometry.rotary_platform import PLACES_AHEAD, first_crossing
from ...stewart.solvers.memory import readable
from ...stewart.tracking.tracker import as_leg_covariance
from ...tracking import TrackingStatus
from ..mechanisms.six_legs import offset_legs
from .result import TrackedState
from .tracker import ClosedLoopTracker

_POSE_KEPT = "the pose is the last good one"


class OffsetTracker:
    """Follows the pose of a platform through the lengths of its legs, as `StewartTracker` without a bound of speed.

    The platform's mechanism is followed along the straight line in the lengths, in steps that are proven to stay
    regular: the pose is ``continued``. Nothing is ever certified: that takes bounds of the rates of all its hinges,
    which the speed of the platform alone does not give.

    Parameters
    ----------
    platform : OffsetPlatform
    pose : array-like, shape (4, 4)
        Pose that the platform is known to be in.
    leg_noise : array-like
        As of `StewartTracker`.
    max_steps : int
        Proven steps that one update may take, about 10 us each.

    Raises
    ------
    StewartError, SingularityError
        A pose without leg lengths, or a singular one; impossible `leg_noise`.
    """

    max_speed = None

    def __init__(
        self, platform: OffsetPlatform, pose: ArrayLike, *, leg_noise: ArrayLike = 1e-5, max_steps: int = 1000
    ) -> None:
        self.platform, self.leg_covariance = platform, as_leg_covariance(leg_noise)
        self._mechanism = mechanism = offset_legs(platform, pose)
        self._tracker = self._tracker_at(mechanism.q, max_steps)
        place = mechanism.model.joint("platform").q_slice
        self._turn, self._origin = slice(place.start, place.start + 4), slice(place.start + 4, place.stop)
        self._hinges = np.array(
            [[mechanism.model.joint(f"tilt_{leg}_{k}").q_slice.start for k in (1, 2)] for leg in range(1, N_LEGS + 1)]
        )
        self._pivots = [mechanism.model.joint(f"pivot_{leg}").q_slice.start for leg in range(1, N_LEGS + 1)]

    def _tracker_at(self, q: Array, max_steps: int) -> ClosedLoopTracker:
        of = self._mechanism
        return ClosedLoopTracker(of.model, of.constraints, q, of.actuated, max_steps=max_steps)

    def with_options(self, *, leg_noise: ArrayLike, max_steps: int) -> OffsetTracker:
        """Return a tracker that goes on from the same pose with another leg noise and another number of steps."""
        other = copy.copy(self)
        other.leg_covariance = as_leg_covariance(leg_noise)
        other._tracker = self._tracker_at(self._tracker.q, max_steps)
        return other

    @property
    def pose(self) -> Array:
        """The last good pose, (4, 4)."""
        return self.pose_at(self._tracker.q)

    def pose_at(self, q: Array) -> Array:
        """Return the pose (4, 4) in a configuration of the mechanism."""
        return np.asarray(se3.from_parts(so3.from_quaternion(q[self._turn]), q[self._origin]))

    def place_at(self, q: Array) -> tuple[list[float], list[float]]:
        """Return its position x, y, z [m] and quaternion x, y, z, w."""
        return q[self._origin].tolist(), q[self._turn].tolist()

    def jacobian_at(self, q: Array, lengths: Array) -> Array:
        """Return d(lengths)/d(twist), (6, 6), of twists "aligned" as in `StewartPlatform.jacobian`."""
        platform, frames = self.platform, self._mechanism.leg_frames
        (s1, s2), (c1, c2) = np.sin(q[self._hinges].T), np.cos(q[self._hinges].T)
        zero = np.zeros(6)
        towards = np.stack([zero, -s1, c1], axis=1)  # z turned about x: from the first axis to the second
        if platform.has_screws:
            T, above = self.pose_at(q), q[self._pivots]
            back = _turned(self._mechanism.knuckle_frames, np.stack([zero, -np.sin(above), np.cos(above)], axis=1))
            return aligned(platform.told(T, (_turned(frames, towards), back @ T[:3, :3].T))[1], T)
        along = np.stack([s2, -s1 * c2, c1 * c2], axis=1)  # z turned about x, then about y: along the leg
        feet = platform.points.base_points + platform.base_offsets[:, None] * _turned(frames, towards)
        units = _turned(frames, along)
        arms = feet + lengths[:, None] * units - q[self._origin]
        return np.concatenate([np.cross(arms, units), units], axis=1)

    def update(
        self, lengths: ArrayLike, rates: ArrayLike | None = None, *, dt: float | None = None
    ) -> TrackedOffsetPose:
        """Go to the pose for new lengths (6,) [m], with their rates (6,) [m/s] for the twist; `dt` does not matter."""
        given = np.array(lengths, dtype=np.float64)
        low, high = readable(self.platform.leg_limits).T
        for status, good in (
            (TrackingStatus.NOT_FINITE, np.isfinite(given)),
            (TrackingStatus.NOT_POSITIVE, given > 0.0),
            (TrackingStatus.LEG_LIMIT, (given >= low) & (given <= high)),
        ):
            if not good.all():
                return TrackedOffsetPose(self, self._tracker.q, given, None, status, leg=int(good.argmin()))
        state = self._tracker.update(given)
        known = None if rates is None else np.array(rates, dtype=np.float64)
        return TrackedOffsetPose(self, state.q, given, known, state.status, state)


class TrackedOffsetPose:
    """Outcome for one set of lengths; names as in `TrackedPose`.

    Attributes
    ----------
    lengths : ndarray, shape (6,)
        As given [m].
    status : TrackingStatus
    leg : int or None
        Index, from 0, of the leg to blame; None where it is no single leg.
    valid, continued : bool
        Whether the pose belongs to the lengths, being the end of the regular straight line in the lengths.
    certified : bool
        False.
    """

    certified = False

    def __init__(
        self,
        tracker: OffsetTracker,
        q: Array,
        lengths: Array,
        rates: Array | None,
        status: TrackingStatus,
        state: TrackedState | None = None,
        leg: int | None = None,
    ) -> None:
        self._tracker, self._q, self._rates, self._state = tracker, q, rates, state
        self.lengths, self.status, self.leg = lengths, status, leg
        self.valid = self.continued = state is not None and state.valid
        self.pose = tracker.pose_at(q)
        self._rows: Array | None = None

    @property
    def _jacobian(self) -> Array:
        if self._rows is None:
            self._rows = self._tracker.jacobian_at(self._q, self.lengths)
        return self._rows

    def position_quaternion(self) -> tuple[list[float], list[float]]:
        """Return position x, y, z [m] and orientation x, y, z, w; its sign is continuous."""
        return self._tracker.place_at(self._q)

    @property
    def twist(self) -> Array:
        """Body twist (angular, linear), (6,) [rad/s, m/s]; NaN without rates or when not valid."""
        if self._rates is None or not self.valid:
            return np.full(6, np.nan)
        aligned = np.linalg.solve(self._jacobian, self._rates)
        return (aligned.reshape(2, 3) @ self.pose[:3, :3]).ravel()

    @property
    def covariance(self) -> Array:
        """Covariance of the pose from the leg noise, (6, 6), as in `TrackedPose`; NaN when not valid or singular."""
        try:
            gain = np.linalg.inv(self._jacobian) if self.valid else np.full((6, 6), np.nan)
        except np.linalg.LinAlgError:
            gain = np.full((6, 6), np.nan)
        return np.asarray(gain @ self._tracker.leg_covariance @ gain.T)

    def write_covariance(self, out: Array, order: Integers) -> bool:
        """Write it into (1, 6, 6) in another order of components; return whether it is finite."""
        out[0] = self.covariance[np.ix_(order, order)]
        return bool(np.isfinite(out).all())

    @property
    def condition_number(self) -> float:
        """Condition number of the Jacobian, angular columns over the platform's characteristic length."""
        return float(ik.condition_numbers(self._jacobian, self._tracker.platform.characteristic_length))

    @property
    def steps(self) -> int:
        """Proven steps that were tried; 1 unless the lengths jumped."""
        return 0 if self._state is None else self._state.steps

    @property
    def residual(self) -> float:
        """Largest error of the joints that close the loops [m, rad]; the lengths are those given."""
        return np.nan if self._state is None else float(np.abs(self._state.residuals).max())

    def time_to_singularity(self, horizon: float = 1.0) -> float:
        """Return when the platform comes to a singular pose if it keeps its present twist [s].

        Looked for at `PLACES_AHEAD` on the way, which proves nothing. Infinity beyond the `horizon` [s]; NaN where the
        rates are unknown, and when not valid.
        """
        if self._rates is None or not self.valid:
            return np.nan
        times = np.linspace(0.0, horizon, PLACES_AHEAD)
        poses = self.pose @ np.asarray(se3.exp(times[:, None] * self.twist))
        _, rows, good = self._tracker.platform.told(poses)
        there = np.asarray(good.all(axis=1))
        volumes = np.where(there, np.linalg.det(np.where(there[:, None, None], rows, 0.0)), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            return first_crossing(times, volumes / volumes[0])  # NaN where a leg has no length

    @property
    def message(self) -> str:
        """The outcome, in a sentence."""
        if self._state is not None:
            return self._state.message.replace("q is the last good configuration", _POSE_KEPT)
        leg = self.leg or 0
        length, (low, high) = self.lengths[leg], self._tracker.platform.leg_limits[leg]
        text = f"length of leg {leg + 1} is {length}"
        if self.status is TrackingStatus.NOT_FINITE:
            return f"{text}, expected a number: check its sensor; {_POSE_KEPT}"
        if self.status is TrackingStatus.NOT_POSITIVE:
            return f"{text} m, expected a positive length; {_POSE_KEPT}"
        return f"{text} m, beyond its limits {low:.6g} to {high:.6g} m; {_POSE_KEPT}"


def _turned(frames: Array, vectors: Array) -> Array:
    return np.asarray((frames @ vectors[..., None])[..., 0])
