"""Answers of the node stewart_pose to service calls: requests into the library, results into responses."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import Pose

from ...core.errors import MessageError, RequestError
from ...core.joint_mapping import JointMapping
from ...core.platform import LEGS, said
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.constraints.mechanisms.six_legs import offset_legs
from ...lie_dynamics.constraints.tracking.offset_tracker import OffsetTracker
from ...lie_dynamics.lie import so3
from ...lie_dynamics.stewart import (
    OffsetPlatform,
    RotaryPlatform,
    StewartTracker,
    assembly_modes,
    solve_forward_kinematics,
    solve_from_home,
)
from ...lie_dynamics.stewart.geometry.inverse_kinematics import leg_vectors, norms
from ...lie_dynamics.stewart.solvers.offset_legs import CLOSED, newton
from ...ros.node.services import Batch, to_field
from ...ros.wire.messages import fill_pose, pose_to_matrix, twist_to_array
from .core import Platform

if TYPE_CHECKING:
    from ...ros.wire.compatibility import Logger


# Legs on offset universal joints.

@dataclass
class Found:
    """Results for the states of a request: poses (count, 4, 4), whether they are right, and why not."""

    poses: Array
    valid: list[bool]
    reasons: list[str]


def followed(platform: OffsetPlatform, start: Array, lengths: Array, max_steps: int, each: bool = False) -> Found:
    """Return the poses to which lengths (n, 6) lead from a pose, one after the other, or `each` from there."""
    first = OffsetTracker(platform, start, max_steps=max_steps)
    found = []
    for row in lengths:
        tracker = first.with_options(leg_noise=0.0, max_steps=max_steps) if each else first
        found.append(tracker.update(row))
    poses = np.array([tracked.pose for tracked in found])
    return Found(poses, [tracked.valid for tracked in found], [tracked.message for tracked in found])


def iterated(platform: OffsetPlatform, lengths: Array, guesses: Array) -> Found:
    """Return the poses to which Newton's method leads from guesses (n, 4, 4), these where there is none."""
    poses, errors = newton(platform, lengths, np.array(guesses))
    valid = errors <= CLOSED * lengths.max(axis=1)
    reasons = ["converged" if good else "no pose with these lengths was found from the guess" for good in valid]
    return Found(np.where(valid[:, None, None], poses, guesses), valid.tolist(), reasons)


def modes_of_offset_joints(platform: OffsetPlatform, home: Array | None, lengths: Array) -> tuple[Array, Array, str]:
    """Return poses (k, 4, 4) that have lengths (6,), the highest first, their residuals, and how they were searched."""
    mechanism = offset_legs(platform, home)
    found = mechanism.assembly_modes(lengths)
    poses = mechanism.pose(found.q)
    order = np.argsort(-poses[:, 2, 3])
    return poses[order], found.residuals[order], found.message


INFINITE = float(np.finfo(np.float64).max)
"""Stands for infinity, the condition number of a singular pose, in responses."""


@dataclass(frozen=True)
class Knowledge:
    """Inputs of answers: nothing in it changes while a call is served.

    Attributes
    ----------
    platform : StewartPlatform, OffsetPlatform or RotaryPlatform
    legs : tuple of str
        Names of the legs.
    pose : ndarray, shape (4, 4), or None
        The pose tracked at the time of the call.
    home : ndarray, shape (4, 4), or None
        Where a cold start begins; None for a level pose that fits the lengths.
    max_batch : int
        Largest number of states in a request.
    max_steps : int
        Certified steps for each state.
    """

    platform: Platform
    legs: tuple[str, ...]
    pose: Array | None
    home: Array | None
    max_batch: int
    max_steps: int

    def batch(self, names: Sequence[str], count: int, numbers: Sequence[float]) -> Batch:
        """Read names and number of states of a request."""
        return Batch(JointMapping(self.legs), names, count, numbers, self.max_batch, "leg")

    def lengths(self, batch: Batch, values: array[float]) -> Array:
        """Lengths of a request, (count, 6) [m], or angles [rad]; raises RequestError for no positive length."""
        rows = batch.read("lengths", values)
        if isinstance(self.platform, RotaryPlatform):
            return rows
        bad = np.argwhere(rows <= 0.0)
        if bad.size:
            state, leg = (int(i) for i in bad[0])
            raise RequestError(
                f"the length of {self.legs[leg]} in state {state} is {rows[state, leg]} m; expected a positive length"
            )
        return rows


def warm_up(platform: Platform, log: Logger) -> None:
    """Load what the services need, so that the first call does not disturb the stream."""
    if platform.home_pose is None:
        return
    lengths = platform.motor_positions(platform.home_pose)
    try:
        if isinstance(platform, OffsetPlatform):
            modes_of_offset_joints(platform, platform.home_pose, lengths)
            return
        for compute in (assembly_modes, solve_from_home):
            compute(platform, lengths)
        solve_forward_kinematics(*platform.locked(lengths), platform.home_pose)
    except LieDynamicsError as error:
        log.warning(f"the home pose makes trouble: {error}")


def forward_kinematics(known: Knowledge, request: Any, response: Any) -> None:
    """Fill in the response of StewartForwardKinematics."""
    methods: dict[int, Callable[[Knowledge, Array, list[Array]], Found]] = {
        request.TRACKED: _tracked,
        request.FROM_HOME: _from_home,
        request.FROM_GUESS: _from_guess,
    }
    if request.method not in methods:
        raise RequestError(f"method is {request.method}; expected TRACKED, FROM_HOME or FROM_GUESS (0, 1 or 2)")
    batch = known.batch(request.leg_names, request.count, request.lengths)
    lengths = known.lengths(batch, request.lengths)
    if len(request.guess) > batch.count:
        raise RequestError(f"{len(request.guess)} guesses for {batch.count} states")
    found = methods[request.method](known, lengths, _matrices("guess", request.guess))
    response.count = batch.count
    response.valid, response.reasons = found.valid, found.reasons
    response.poses = [_pose(matrix) for matrix in found.poses]
    response.residuals = to_field(_residuals(known.platform, found.poses, lengths))
    response.condition_numbers = _conditions(known, found.poses, lengths)
    response.success = all(found.valid)
    if not response.success:
        state = found.valid.index(False)
        response.message = f"state {state}: {found.reasons[state]}"


def _tracked(known: Knowledge, lengths: Array, guesses: list[Array]) -> Found:
    if guesses:
        raise RequestError("TRACKED takes no guess")
    if known.pose is None:
        raise RequestError("nothing is tracked yet: no leg lengths have been followed since the last start")
    if isinstance(known.platform, OffsetPlatform):
        return followed(known.platform, known.pose, lengths, known.max_steps)
    path = StewartTracker(known.platform, known.pose, max_steps=known.max_steps).update_many(lengths)
    return Found(np.array(path.poses), path.valid.tolist(), [path[i].message for i in range(len(path))])


def _from_home(known: Knowledge, lengths: Array, guesses: list[Array]) -> Found:
    if len(guesses) > 1:
        raise RequestError(f"FROM_HOME takes one home pose or none, not {len(guesses)}")
    home = guesses[0] if guesses else known.home
    if isinstance(known.platform, OffsetPlatform):
        if home is None:
            raise RequestError("FROM_HOME: expected a home pose as the guess, there is no other")
        return followed(known.platform, home, lengths, 10 * known.max_steps, each=True)
    found = Found(np.tile(np.eye(4) if home is None else home, (len(lengths), 1, 1)), [], [])
    for i, row in enumerate(lengths):
        try:
            cold = solve_from_home(known.platform, row, home, max_steps=10 * known.max_steps)
        except LieDynamicsError as error:
            found.valid.append(False)
            found.reasons.append(str(error))
        else:
            found.poses[i] = cold.pose
            found.valid.append(cold.converged)
            found.reasons.append(cold.message)
    return found


def _from_guess(known: Knowledge, lengths: Array, guesses: list[Array]) -> Found:
    if len(guesses) not in (1, len(lengths)):
        raise RequestError(f"FROM_GUESS takes one guess for all or one for each of {len(lengths)} states")
    start = np.broadcast_to(np.array(guesses), (len(lengths), 4, 4))
    if isinstance(known.platform, OffsetPlatform):
        return iterated(known.platform, lengths, start)
    if isinstance(known.platform, RotaryPlatform):
        each = [known.platform.locked(row) for row in lengths]
        results = [solve_forward_kinematics(*held, guess) for held, guess in zip(each, start, strict=True)]
    else:
        results = [solve_forward_kinematics(known.platform, lengths, start)]
    poses = np.concatenate([np.reshape(result.pose, (-1, 4, 4)) for result in results])
    valid = np.concatenate([np.ravel(result.converged) for result in results])
    usable = np.isfinite(poses).all(axis=(1, 2))
    poses[~usable] = start[~usable]
    reasons = [str(reason) or "converged" for result in results for reason in np.atleast_1d(result.reason)]
    return Found(poses, (valid & usable).tolist(), reasons)


def all_assembly_modes(known: Knowledge, request: Any, response: Any) -> None:
    """Fill in the response of StewartAssemblyModes."""
    batch = known.batch(request.leg_names, 1, request.lengths)
    lengths = known.lengths(batch, request.lengths)[0]
    if isinstance(known.platform, OffsetPlatform):
        poses, residuals, response.message = modes_of_offset_joints(known.platform, known.home, lengths)
        response.success = response.certain = False
        response.poses, response.proven = [_pose(matrix) for matrix in poses], [False] * len(poses)
        response.residuals, response.condition_numbers = to_field(residuals), _conditions(known, poses)
        return
    modes = assembly_modes(known.platform, lengths)
    response.message = modes.message
    response.success = bool(modes.certain)
    response.poses = [_pose(matrix) for matrix in modes.poses]
    response.proven = modes.proven.tolist()
    response.residuals = to_field(modes.residuals)
    response.condition_numbers = _conditions(known, modes.poses, lengths)
    response.complex_count, response.class_count = int(modes.complex_count), int(modes.class_count)
    response.certain, response.self_motion = bool(modes.certain), bool(modes.self_motion)


def inverse_kinematics(known: Knowledge, request: Any, response: Any) -> None:
    """Fill in the response of StewartInverseKinematics."""
    count = len(request.poses)
    if not count:
        raise RequestError("no poses")
    if len(request.twists) not in (0, count):
        raise RequestError(f"{len(request.twists)} twists for {count} poses; expected one for each, or none")
    batch = known.batch(request.leg_names, count, ())
    if batch.columns != len(known.legs):
        raise RequestError(f"leg_names has {batch.columns} names; expected each of {', '.join(known.legs)} once")
    platform, poses = known.platform, np.array(_matrices("poses", request.poses))
    lengths = platform.motor_positions(poses)
    response.leg_names = list(batch.names)
    response.count = count
    response.lengths = batch.write(lengths)
    if request.twists:
        twists = np.array([twist_to_array(twist) for twist in request.twists])
        if not np.isfinite(twists).all():
            raise RequestError("twists holds numbers that are not finite")
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            response.rates = batch.write(platform.motor_rates(poses, twists, "aligned"))
    margins = platform.motor_margins(lengths)
    response.within_limits = (margins >= 0.0).all(axis=1).tolist()
    response.reasons = [_beyond(known, *row) for row in zip(lengths, margins, strict=True)]
    response.condition_numbers = _conditions(known, poses)


def _beyond(known: Knowledge, lengths: Array, margins: Array) -> str:
    """Return the legs beyond their limits; empty where none is."""
    unit = known.platform.motor_units[0]
    return "; ".join(
        f"{known.legs[leg]} is {said(lengths[leg], unit)}, limits {low:.6g} to {high:.6g} {unit}"
        for leg, (low, high) in enumerate(known.platform.motor_limits)
        if margins[leg] < 0.0
    )


def _matrices(field: str, poses: Sequence[Pose]) -> list[Array]:
    """Poses of a request as matrices; RequestError names the one that is none."""
    found = []
    for i, pose in enumerate(poses):
        try:
            found.append(pose_to_matrix(pose))
        except MessageError as error:
            raise RequestError(f"{field}[{i}] is {error}") from error
    return found


def _pose(matrix: Array) -> Pose:
    pose = Pose()
    # What a solver leaves behind that has failed need not be a rotation to the last digit.
    fill_pose(pose, matrix[:3, 3].tolist(), so3.to_quaternion(so3.nearest(matrix[:3, :3])).tolist())
    return pose


def _residuals(platform: Platform, poses: Array, lengths: Array) -> Array:
    """Largest errors (count,) of the lengths of legs, or of rods, in poses for lengths, or angles [m]."""
    if not isinstance(platform, RotaryPlatform):
        return np.asarray(np.abs(platform.leg_lengths(poses) - lengths).max(axis=1))
    rods = leg_vectors(platform.tips(lengths), platform.platform_points, poses)
    return np.asarray(np.abs(norms(rods) - platform.rods).max(axis=1))


def _conditions(known: Knowledge, poses: Array, lengths: Array | None = None) -> array[float]:
    platform = known.platform
    with np.errstate(invalid="ignore", divide="ignore"):
        if not len(poses):
            numbers = np.empty(0)
        elif isinstance(platform, RotaryPlatform):
            angles = None if lengths is None else np.broadcast_to(lengths, (len(poses), LEGS))
            numbers = platform.condition_number(poses, angles=angles)
        else:
            numbers = platform.condition_number(poses)
    return to_field(np.nan_to_num(numbers, nan=INFINITE, posinf=INFINITE))
