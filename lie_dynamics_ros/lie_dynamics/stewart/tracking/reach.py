"""Samples that the quick test of a `StewartTracker` does not certify: candidates, one pose, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...lie import so3
from ..assembly.modes import assembly_modes
from ..errors import StewartError
from ..geometry.platform import StewartPlatform
from ..solvers.kernels import newton as nk
from ..solvers.memory import set_pose
from .kernels import tracker as tk
from .reach_search import BUDGET, Anchor, TwistBall, poses_in_reach

#: A candidate is the tracked pose when it is as near as this, in radii.
_SAME = 1e-7


@dataclass(frozen=True)
class PoseCandidates:
    """Poses (k, 4, 4) with the lengths that were found in reach, and what reach was not searched to the end."""

    poses: Array
    unsearched: list[TwistBall]

    @property
    def complete(self) -> bool:
        """Whether the poses are proven to be all in reach."""
        return not self.unsearched

    def all_known(self, platform: StewartPlatform, lengths: Array) -> Array:
        """Return the poses, and those of the assembly modes that are in what was not searched, (k, 4, 4)."""
        if self.complete:
            return self.poses
        same = _SAME * platform.characteristic_length
        new = [
            mode
            for mode in assembly_modes(platform, lengths).poses
            if any(ball.holds(mode) for ball in self.unsearched)
            and not (np.abs(self.poses - mode) < same).all((1, 2)).any()
        ]
        return np.concatenate([self.poses, np.array(new).reshape(-1, 4, 4)])


def decide(
    memory: Array, rows: Array, i: int, rates: Array, accelerations: Array, anchors: list[Anchor]
) -> tuple[list[Anchor], PoseCandidates]:
    """Settle row i, which is undecided: write it again and return where the platform may be now, and the candidates.

    `anchors` is where the platform may have been AGE ago, empty when that was the memory's anchor for certain. It is
    returned empty when the platform is at the memory's anchor, its age, ago.
    """
    lengths = rows[i, tk.HELD : tk.HELD + 6].copy()
    age = float(memory[nk.AGE])
    anchors = [Anchor(a.pose, a.age + age, a.blur) for a in anchors] or [_anchor_of(memory)]
    found: list[Anchor] = []
    partly: list[Anchor] = []
    open_ones: list[Anchor] = []
    budget = BUDGET
    for anchor in anchors:
        reach = poses_in_reach(memory, lengths, anchor, budget)
        budget = max(budget - reach.boxes, 0)
        if not reach.complete:
            open_ones.append(anchor)
        for pose in reach.found:
            _merge(found if reach.complete else partly, pose, memory)
    for pose in found:
        _merge(partly, pose, memory)
    unsearched = [TwistBall.around(anchor, memory) for anchor in open_ones]
    candidates = PoseCandidates(np.array([a.pose for a in partly]).reshape(-1, 4, 4), unsearched)
    continued = rows[i, tk.STATUS] == tk.TRACKED
    place = rows[i, tk.POSE : tk.POSE + 16].reshape(4, 4)
    if open_ones:
        _be_ambiguous(memory)
        if continued:
            rows[i, tk.STATUS] = tk.AMBIGUOUS
            candidates = PoseCandidates(_first(candidates.poses, place, memory, True), unsearched)
        return found + open_ones, candidates
    if not found:
        tk.go_back(memory, rows, np.array([i, tk.OUT_OF_REACH]))
        if memory[nk.ANCHORED] > 0.0:
            return [], candidates
        _be_ambiguous(memory)
        return anchors, candidates
    same = continued and any(_distance(a.pose, place, memory) <= _SAME * memory[nk.RADIUS] for a in found)
    if len(found) == 1:
        if same:
            memory[nk.ANCHOR : nk.ANCHOR + 7] = rows[i, tk.PLACE : tk.PLACE + 7]
            memory[nk.AGE], memory[nk.ANCHORED] = 0.0, 1.0
        elif not _jump(memory, found[0].pose):
            _be_ambiguous(memory)
            tk.go_back(memory, rows, np.array([i, tk.SINGULAR]))
            return found, candidates
        else:
            rows[i, tk.CONTINUED] = 0.0
            tk.rewrite(memory, lengths, rates, accelerations, rows, np.array([i]))
        memory[nk.BLUR] = found[0].blur
        rows[i, tk.CERTIFIED] = 1.0
        return [], candidates
    _be_ambiguous(memory)
    if same:
        rows[i, tk.STATUS] = tk.AMBIGUOUS
        return found, PoseCandidates(_first(candidates.poses, place, memory, False), unsearched)
    tk.go_back(memory, rows, np.array([i, tk.AMBIGUOUS]))
    return found, candidates


def _anchor_of(memory: Array) -> Anchor:
    """Return the memory's anchor."""
    pose = np.eye(4)
    pose[:3, :3] = so3.from_quaternion(memory[nk.ANCHOR + 3 : nk.ANCHOR + 7])
    pose[:3, 3] = memory[nk.ANCHOR : nk.ANCHOR + 3]
    return Anchor(pose, float(memory[nk.AGE]), float(memory[nk.BLUR]))


def _be_ambiguous(memory: Array) -> None:
    """Make the memory one whose platform may be at several poses, from now on."""
    memory[nk.ANCHORED] = memory[nk.AGE] = 0.0


def _jump(memory: Array, pose: Array) -> bool:
    """Set the memory to a pose; False, and untouched, when it is singular."""
    before, signs = memory.copy(), memory[nk.BEFORE : nk.BEFORE + 4].copy()
    try:
        set_pose(memory, pose)
    except StewartError:
        memory[:] = before
        return False
    if memory[nk.QUATERNION : nk.QUATERNION + 4] @ signs < 0.0:
        memory[nk.QUATERNION : nk.QUATERNION + 4] *= -1.0
    return True


def _distance(a: Array, b: Array, memory: Array) -> float:
    """Return how far a pose is from another, in the norm [m], for small distances."""
    turn = np.linalg.norm(a[:3, :3] - b[:3, :3]) / np.sqrt(2.0)
    return float(np.hypot(memory[nk.RADIUS] * turn, np.linalg.norm(a[:3, 3] - b[:3, 3])))


def _merge(into: list[Anchor], new: Anchor, memory: Array) -> None:
    """Add a pose unless it is there; two that are one to rounding are blurred by what is between them."""
    for k, old in enumerate(into):
        gap = _distance(old.pose, new.pose, memory)
        if gap <= 1e-9 * memory[nk.RADIUS]:
            into[k] = Anchor(old.pose, 0.0, max(old.blur, new.blur) + 2.0 * gap)
            return
    into.append(new)


def _first(poses: Array, place: Array, memory: Array, add: bool) -> Array:
    """Return the candidates with the tracked pose first, added to them if it may be missing."""
    gaps = [_distance(pose, place, memory) for pose in poses]
    if not gaps or (min(gaps) > _SAME * memory[nk.RADIUS] and add):
        return np.concatenate([place[None], poses])
    ordered = poses[np.argsort(gaps, kind="stable")]
    ordered[0] = place  # to the last digit
    return ordered
