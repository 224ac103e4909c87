"""Poses of a platform from its leg lengths, and whether a device's poses can be the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import se3
from ..errors import StewartError
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform
from ..solvers.forward_kinematics import solve_forward_kinematics
from ..solvers.offset_legs import CLOSED, newton
from ..tracking.path_following import level_home
from .unknown_frames import find_frames, misfit

#: Another reading of the data that fits better by this factor is reported.
_BETTER = 5.0


def poses_of(
    platform: StewartPlatform | OffsetPlatform, lengths: Array, guesses: Array
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Poses (k, 4, 4) that have lengths (k, 6), from guesses (4, 4) or (k, 4, 4), and which of them were found."""
    if isinstance(platform, OffsetPlatform):
        starts = np.broadcast_to(guesses, (len(lengths), 4, 4))
        poses, errors = newton(platform, lengths, starts)
        return poses, errors <= CLOSED * lengths.max(axis=1)
    found = solve_forward_kinematics(platform, lengths, guesses)
    return np.asarray(found.pose), np.atleast_1d(found.converged)


def own_poses(
    nominal: StewartPlatform | OffsetPlatform, readings: Array, most: float
) -> tuple[Array, npt.NDArray[np.bool_]]:
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
