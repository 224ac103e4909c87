"""`solve_from_home`: forward kinematics without a guess, along a straight line in squared lengths from home."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import se3
from ...shown import shown
from ..assembly.modes import AssemblyModes, assembly_modes
from ..geometry.any_platform import PointJointed, require_legs
from ..geometry.checks import N_LEGS
from ..geometry.inverse_kinematics import as_vector
from ..geometry.platform import StewartPlatform, require_platform
from ..geometry.rotary_platform import RotaryPlatform
from ..solvers.kernels import newton as nk
from ..solvers.kernels.turning import turn
from ..solvers.memory import new_memory, read_pose
from ..solvers.reachability import check_lengths
from .kernels.tracker import ARRIVED, AT_SINGULARITY, follow


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
    rotary = isinstance(platform, RotaryPlatform)
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
    code = (turn if rotary else follow)(memory, wanted)
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
