"""Forward kinematics of an `OffsetPlatform` from a guess, and from its platform on point joints."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import quaternion, se3
from ...texts import quoted
from ..geometry import inverse_kinematics as ik
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import check_lengths

#: Errors of lengths, in longest legs, that are none, and differences of poses that are one.
CLOSED, _SAME = 1e-11, 1e-6
#: Longest step of an iteration [rad], and in characteristic lengths.
_LONGEST = 0.5
#: Halvings of a step that makes lengths no better.
_HALVINGS = 8


def poses_near(platform: OffsetPlatform, lengths: ArrayLike, guesses: ArrayLike) -> Array:
    """Return the poses (..., 4, 4) that have leg lengths (..., 6) [m], by Newton's method from guesses (..., 4, 4).

    They need not be nearest to the guesses. For the pose of a machine that moves take `ClosedLoopTracker`.

    Raises
    ------
    StewartError
        Where no pose was found, and for invalid lengths.
    GroupError
        For an invalid guess.
    """
    if not isinstance(platform, OffsetPlatform):
        raise StewartError(f"platform: an OffsetPlatform is expected, got {quoted(platform)}", name="platform")
    wanted = check_lengths(lengths, platform.points)
    start = np.asarray(se3.check(ik.as_pose(guesses, "guesses"), "guesses").real)
    try:
        batch = np.broadcast_shapes(wanted.shape[:-1], start.shape[:-2])
    except ValueError:
        text = f"lengths of shape {wanted.shape} and guesses of shape {start.shape} do not broadcast"
        raise StewartError(f"{text}, expected (..., 6) and (..., 4, 4)") from None
    wanted = np.broadcast_to(wanted, (*batch, 6)).reshape(-1, 6)
    poses, errors = newton(platform, wanted, np.broadcast_to(start, (*batch, 4, 4)).reshape(-1, 4, 4))
    lost = ~(errors <= CLOSED * wanted.max(axis=1))
    if lost.any():
        at = int(np.argmax(lost))
        raise StewartError(f"no pose with the lengths {wanted[at].tolist()} m was found from the guess, sample {at}")
    return poses.reshape(*batch, 4, 4)


def newton(platform: OffsetPlatform, lengths: Array, guesses: Array, iterations: int = 50) -> tuple[Array, Array]:
    """Go from poses (n, 4, 4) to such with given lengths (6,) or (n, 6).

    Newton's method; steps are shortened where they are long, or make lengths no better.

    Returns
    -------
    poses : ndarray, shape (n, 4, 4)
        The last ones.
    errors : ndarray, shape (n,)
        Largest differences of their lengths [m]; infinite where a guess has no lengths.
    """
    poses, unit = guesses.copy(), platform.points.characteristic_length
    lengths = np.broadcast_to(lengths, (len(poses), 6))
    wrong, rows = _equations(platform, lengths, poses)
    moving = np.asarray(np.isfinite(wrong).all(axis=1))
    for _ in range(iterations):
        at = np.flatnonzero(moving)
        if not at.size:
            break
        scaled = rows[at] / np.repeat((unit, 1.0), 3)
        step = -(np.linalg.pinv(scaled, rcond=1e-12) @ wrong[at, :, None])[..., 0]
        step[:, :3] /= unit
        size = np.maximum(np.abs(step[:, :3]).max(axis=1), np.abs(step[:, 3:]).max(axis=1) / unit)
        share = np.minimum(1.0, _LONGEST / np.maximum(size, 1e-300))
        before, left = np.abs(wrong[at]).max(axis=1), np.ones(len(at), dtype=bool)
        for _ in range(_HALVINGS):
            trial = np.asarray(poses[at[left]] @ se3.exp(share[left, None] * step[left]))
            new, new_rows = _equations(platform, lengths[at[left]], trial)
            better = np.abs(new).max(axis=1) < before[left]
            taken = at[left][better]
            poses[taken], wrong[taken], rows[taken] = trial[better], new[better], new_rows[better]
            left[np.flatnonzero(left)[better]] = False
            share *= 0.5
            if not left.any():
                break
        moving[at[left]] = False
    return poses, np.where(np.isfinite(wrong).all(axis=1), np.abs(wrong).max(axis=1), np.inf)


def found_from(platform: OffsetPlatform, lengths: Array, starts: int, rng: np.random.Generator) -> Array:
    """Return the poses (k, 4, 4) that Newton's method finds from random ones, as often as it does."""
    points, longest = platform.points, float(lengths.max())
    turned = np.asarray(quaternion.to_matrix(quaternion.normalize(rng.normal(size=(starts, 4)))))
    size = longest + points.characteristic_length
    places = points.base_points.mean(axis=0) + rng.uniform(-size, size, (starts, 3))
    poses, errors = newton(platform, lengths, np.asarray(se3.from_parts(turned, places)))
    return poses[errors <= CLOSED * longest]


def distinct(poses: Array, unit: float) -> Array:
    """Return poses (n, 4, 4), each once."""
    kept: list[Array] = []
    for pose in poses:
        gaps = (np.abs(pose - other) / np.append(np.ones(3), unit) for other in kept)
        if all(gap.max() > _SAME for gap in gaps):
            kept.append(pose)
    return np.array(kept).reshape(-1, 4, 4)


def _equations(platform: OffsetPlatform, lengths: Array, poses: Array) -> tuple[Array, Array]:
    """Return errors of lengths (n, 6), infinite where there are none, and their Jacobian (n, 6, 6)."""
    own, rows, good = platform.told(poses)
    there = np.asarray(good.all(axis=1))
    return np.where(there[:, None], own - lengths, np.inf), np.where(there[:, None, None], rows, 0.0)


def carried(platform: OffsetPlatform, lengths: Array, poses: Array, pieces: int = 10) -> Array:
    """Return the poses (k, 4, 4) to which those on point joints (n, 4, 4) lead while the offsets grow to their size.

    The platform on point joints has legs longer by both offsets, as they are where a leg is perpendicular to its axes.
    Paths that end on the way, where two poses meet, lead nowhere.
    """
    whole = platform.base_offsets + platform.platform_offsets
    for share in np.arange(1, pieces + 1) / pieces:
        part = OffsetPlatform(
            platform.points, platform.base_axes, platform.platform_axes,
            share * platform.base_offsets, share * platform.platform_offsets, share * platform.screw_leads,
        )  # fmt: skip
        poses, errors = newton(part, lengths + (1.0 - share) * whole, poses, 12)
        poses = poses[errors <= CLOSED * np.max(lengths)]
    return poses
