"""Poses to measure next: those that add most to what is known of a platform's geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import se3
from ...lie._arrays import count_of, number_of
from ...shown import grouped, shown
from ..fusion.sensors import DisplacementSensor
from ..geometry.any_platform import Platform, points_of
from ..geometry.inverse_kinematics import as_pose
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import require_platform
from ..geometry.rotary_platform import RotaryPlatform
from . import model
from .fit import at_nominal
from .model import check_further
from .rotary import rotary_rows

#: Of the leg lengths' range, kept free at both ends.
_MARGIN = 0.02
#: Condition numbers up to this many times that of the home pose.
_WORST_CONDITION = 5.0
_STEPS = 9
#: Of a pose that rotary legs are calibrated from, where nothing else is said [rad, m].
_POSE_SIGMA = (*[1e-3] * 3, *[1e-4] * 3)


@shown
@dataclass(frozen=True)
class PlannedPoses:
    """Poses that are worth measuring.

    Attributes
    ----------
    poses : (n, 4, 4), of the platform frame in the base frame. lengths : (n, 6) [m], of rotary legs angles [rad].
    deviation_before, deviation_after : [m], of the least certain joint coordinate or offset, frames apart, and gains
        times a typical length; what has not been measured counts as known to ``drawing_sigma``.
    turns : whether legs are rotary.
    """

    poses: Array
    lengths: Array
    deviation_before: float
    deviation_after: float
    turns: bool = False

    def to_yaml(self) -> str:
        """YAML text: positions [m], rotations and leg lengths [m], or angles [rad]."""
        what = "angles of the motors [rad]" if self.turns else "lengths of the legs"
        lines = [f"# Poses of the platform frame in the base frame, and {what}, in metres. Each is",
                 "# reached on a straight line from home within the limits of the legs; collisions are not looked for.",
                 "poses:"]  # fmt: skip
        for pose, lengths in zip(self.poses, self.lengths, strict=True):
            lines.append(f"  - position: {np.round(pose[:3, 3], 6).tolist()}")
            lines.append(f"    rotation: {np.round(pose[:3, :3], 9).tolist()}")
            lines.append(f"    {'angles' if self.turns else 'leg_lengths'}: {np.round(lengths, 6).tolist()}")
        return "\n".join(lines) + "\n"


@dataclass(eq=False)
class PosesRequest:
    """Arguments of `poses_to_measure`, of which numbers are checked."""

    platform: Platform
    count: int
    _: KW_ONLY
    measured_poses: ArrayLike | None = None
    length_sigma: ArrayLike = 1e-5
    pose_sigma: ArrayLike | None = None
    reach: float | None = None
    tilt: float = 0.4
    drawing_sigma: float = 0.01
    candidates: int = 500
    seed: int = 0
    further: Sequence[DisplacementSensor] = ()
    gains: bool = False

    def __post_init__(self) -> None:
        require_platform(points_of(self.platform))
        self.count, self.seed = count_of("count", self.count, 1, 1000), count_of("seed", self.seed, 0, 2**63)
        self.candidates = count_of("candidates", self.candidates, 1, 100_000)
        self.tilt = number_of("tilt", self.tilt, "an angle between 0 and pi/2", lambda x: 0.0 < x <= 0.5 * np.pi)
        self.drawing_sigma = number_of(
            "drawing_sigma", self.drawing_sigma, "a positive length in metres", lambda x: 1e-9 <= x <= 1e3
        )


@grouped(PosesRequest)
def poses_to_measure(asked: PosesRequest) -> PlannedPoses:
    """Choose poses, one after the other, that add most to the information on all parameters (D-optimal).

    Parameters
    ----------
    platform : with a home pose, about which poses are drawn at random. Of a `RotaryPlatform`, `length_sigma` is one
        number, of the angles [rad], and `pose_sigma` may be infinite for the rotations.
    count : how many poses, 1 to 1000.
    measured_poses : (k, 4, 4), what was measured before, of the platform frame in the base frame.
    length_sigma, pose_sigma : as `calibrate` takes them.
    reach : largest shift along each axis [m]; default 0.6 of the characteristic length, or of the horns.
    tilt : largest rotation vector along each axis [rad].
    drawing_sigma : standard deviation of the drawing [m].
    candidates : poses that are drawn.
    seed : of the random numbers.
    further, gains : as `calibrate` takes them.

    Raises
    ------
    StewartError : no home pose, or no pose about it within the limits of the legs.
    InputError : numbers out of range.
    """
    platform, prior, further, gains = asked.platform, asked.drawing_sigma, asked.further, asked.gains
    drawn = _candidates(asked)
    before_now = None if asked.measured_poses is None else as_pose(asked.measured_poses, "measured_poses")
    if isinstance(platform, RotaryPlatform):
        if further or gains:
            raise StewartError("further legs and gains: legs that slide are expected, the platform is a RotaryPlatform")
        noise = _rotary_sigma(asked.length_sigma, asked.pose_sigma)
        offered, information, shape = rotary_rows(platform, drawn, *noise, prior)
        done = None if before_now is None else rotary_rows(platform, before_now, *noise, prior)[0]

        def net(half: Array) -> Array:
            return np.asarray(shape @ half)
    else:
        legs, sigmas = check_further(further), (asked.length_sigma, asked.pose_sigma)
        theta, data = at_nominal(platform, drawn, *sigmas, further=legs, gains=gains)
        offered, parameters = _rows(theta, data), data.parameters
        information, scale, done = np.eye(parameters.count) / prior**2, parameters.gain_length or False, None
        if before_now is not None:
            _, earlier = at_nominal(platform, before_now, *sigmas, further=legs, gains=scale)
            done = _rows(theta, earlier)
        # Whether the overall scale is lost.
        lost = gains and data.pose_sigma is not None and bool(np.isinf(data.pose_sigma[3:]).all())

        def net(half: Array) -> Array:
            return parameters.free_of_gauge(half, theta, lost)

    if done is not None:
        information += np.einsum("kij,kil->jl", done, done)

    def worst() -> float:
        half = np.linalg.inv(np.linalg.cholesky(information)).T
        return float(np.sqrt((net(half) ** 2).sum(axis=1).max()))

    chosen: list[int] = []
    before = worst()
    for _ in range(asked.count):
        # log det(I + J M^-1 J^T) is what a pose adds to the logarithm of the determinant of the information M.
        spread = offered @ np.linalg.solve(information, np.swapaxes(offered, 1, 2))
        gain = np.linalg.slogdet(np.eye(spread.shape[1]) + spread)[1]
        best = int(np.argmax(gain))
        chosen.append(best)
        information += offered[best].T @ offered[best]
    poses = drawn[chosen]
    return PlannedPoses(poses, platform.motor_positions(poses), before, worst(), isinstance(platform, RotaryPlatform))


def _rotary_sigma(angles: ArrayLike, poses: ArrayLike | None) -> tuple[float, tuple[float, float]]:
    """Return standard deviations of angles, and of orientations and positions."""
    given = np.ravel(np.asarray(angles, dtype=np.float64))
    six = np.broadcast_to(np.asarray(_POSE_SIGMA if poses is None else poses, dtype=np.float64), (6,))
    if given.size != 1 or not 0.0 < given[0] < np.inf or not (six > 0.0).all() or not np.isfinite(six[3:]).all():
        raise StewartError("length_sigma, pose_sigma: one number above zero, and finite ones of positions are expected")
    return float(given[0]), (float(six[:3].max()), float(six[3:].max()))


def _rows(theta: Array, data: model.Measurements) -> Array:
    """Rows (k, n, count) of the weighted problem that each pose adds, the pose itself eliminated."""
    return model.linearise(theta, data.poses, data).reduced_jacobian.reshape(len(data), -1, data.parameters.count)


def _candidates(asked: PosesRequest) -> Array:
    """Poses about home to which a straight line leads within limits, away from singular poses."""
    platform = asked.platform
    home, points = platform.home_pose, points_of(platform)
    if home is None:
        raise StewartError("the platform has no home_pose, about which poses to measure are looked for")
    size = float(platform.horns.mean()) if isinstance(platform, RotaryPlatform) else points.characteristic_length
    reach, tilt = 0.6 * size if asked.reach is None else asked.reach, asked.tilt
    reach = number_of("reach", reach, "a positive length in metres", lambda x: 0.0 < x < np.inf)
    rng = np.random.default_rng(asked.seed)
    screws = rng.uniform(-1.0, 1.0, (asked.candidates, 6)) * np.repeat((tilt, reach), 3)
    way = home @ se3.exp(np.linspace(0.0, 1.0, _STEPS)[:, None, None] * screws)
    if isinstance(platform, OffsetPlatform):
        way = way[:, platform.stationary_feet(way)[2].all(axis=(0, 2))]
    if isinstance(platform, RotaryPlatform):
        way = way[:, np.isfinite(platform.reached_angles(way)).all(axis=(0, 2))]
    lengths, slopes = platform.motor_positions(way), platform.jacobian(way)
    way, lengths, slopes = (x[:, np.isfinite(slopes).all(axis=(0, 2, 3))] for x in (way, lengths, slopes))
    low, high = platform.motor_limits.T
    margin = np.where(np.isfinite(high), _MARGIN * (np.where(np.isfinite(high), high, 0.0) - low), 0.0)
    inside = ((lengths >= low + margin) & (lengths <= high - margin)).all(axis=(0, 2))
    conditions = np.linalg.cond(slopes / np.repeat((points.characteristic_length, 1.0), 3))
    sides = np.sign(np.linalg.det(slopes))
    regular = (conditions <= _WORST_CONDITION * conditions[:1]).all(axis=0) & (sides == sides[:1]).all(axis=0)
    found = np.asarray(way[-1][inside & regular])
    if not len(found):
        raise StewartError(
            f"no pose within {reach:g} m and {tilt:g} rad of the home pose can be reached within the limits of the legs"
        )
    return found
