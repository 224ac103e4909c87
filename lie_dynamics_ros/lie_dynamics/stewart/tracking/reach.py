"""Samples that the quick test of a `StewartTracker` does not certify: candidates, one pose, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import StewartError
from ...lie import so3
from ...tracking import AMBIGUOUS, OUT_OF_REACH, SINGULAR, TRACKED
from ..assembly.modes import assembly_modes
from ..geometry.platform import StewartPlatform
from ..kernels import newton as nk
from ..kernels import tracker as tk
from ..kernels.reach_search import MOST, ROUNDING, SMALLEST, search
from ..solvers.memory import set_pose

#: Boxes that one search may look at, about 0.7 us each.
BUDGET = 5000
#: Reach that is larger than this, in radii, is not searched: it would take more boxes than the budget has.
_LARGEST = 0.5
#: Smallest pivot of a box's Jacobian that is not regularised: a share of the anchor's second smallest singular value.
_FLOOR = 0.3


@dataclass(frozen=True)
class Anchor:
    """A possible past of the platform: a pose (4, 4), how long ago [s], and within which radius, in the norm [m]."""

    pose: Array
    age: float
    blur: float


@dataclass(frozen=True)
class TwistBall:
    """Poses within reach of an anchor (4, 4): largest distance of the origin [m], and largest angle [rad]."""

    pose: Array
    reach: float
    angle: float

    @classmethod
    def around(cls, anchor: Anchor, memory: Array) -> TwistBall:
        """Return what was in reach of an anchor, a little more than less."""
        radius = float(memory[nk.RADIUS])
        speed, turn_rate = memory[nk.MAX_SPEED : nk.MAX_SPEED + 2]
        reach = speed * anchor.age * (1.0 + ROUNDING) + SMALLEST * radius
        angle = turn_rate * anchor.age * (1.0 + ROUNDING) + SMALLEST + anchor.blur / radius
        return cls(anchor.pose, float(reach + anchor.blur * (1.0 + memory[nk.SHIFT_SIZE] / radius)), float(angle))

    def holds(self, pose: Array, slack: float = 0.0, turn_slack: float = 0.0) -> bool:
        """Return whether a pose (4, 4) was in reach."""
        turn = self.pose[:3, :3].T @ pose[:3, :3]
        gone = np.linalg.norm(pose[:3, 3] - self.pose[:3, 3])
        half = 0.5 * np.linalg.norm(turn - np.eye(3)) / np.sqrt(2.0)  # sine of half the angle
        turned = 2.0 * np.arcsin(min(half, 1.0))
        return bool(gone <= self.reach + slack and turned <= self.angle + turn_slack)


@dataclass(frozen=True)
class InReach:
    """Poses found in reach, as anchors of age 0; whether these are all of them."""

    found: list[Anchor]
    complete: bool
    boxes: int


def poses_in_reach(memory: Array, lengths: Array, anchor: Anchor, budget: int = BUDGET) -> InReach:
    """Return every pose with the lengths (6,) [m], each as wrong as the memory allows, in reach of an anchor."""
    radius, shift = float(memory[nk.RADIUS]), memory[nk.SHIFT : nk.SHIFT + 3]
    away = float(memory[nk.SHIFT_SIZE])
    ball = TwistBall.around(anchor, memory)
    if not np.hypot(radius * ball.angle, ball.reach) < _LARGEST * radius:
        return InReach([], False, 0)
    R0 = anchor.pose[:3, :3]
    centroid = anchor.pose[:3, 3] + R0 @ shift
    joints = np.empty((6, 7))
    joints[:, :3] = (memory[nk.BASE : nk.BASE + 18].reshape(6, 3) - centroid) @ R0
    joints[:, 3:6] = memory[nk.PLATFORM : nk.PLATFORM + 18].reshape(6, 3)
    joints[:, 6] = 0.5 * lengths * lengths
    error = float(memory[nk.LENGTH_ERROR]) + nk.LENGTH_ROUNDING * lengths
    errors = error * (lengths + 0.5 * error)
    U, values, Vt = np.linalg.svd(jacobian_at_anchor(joints, radius))
    centroid_reach = ball.reach + 2.0 * away * np.sin(0.5 * ball.angle)
    limits = np.array([2.0 * np.tan(0.5 * ball.angle), centroid_reach, radius, _FLOOR * values[4], budget])
    found, report = np.empty((MOST, 7)), np.zeros(2, dtype=np.int64)
    done = search(joints, errors, limits, U, np.ascontiguousarray(Vt.T), found, report)
    anchors = []
    for row in found[: report[0]]:
        w, blur = row[:3] / radius, float(row[6])
        size = float(np.linalg.norm(w))
        turn = so3.exp(w * (2.0 * np.arctan(0.5 * size) / size if size > 0.0 else 1.0))
        pose = np.eye(4)
        pose[:3, :3] = R0 @ turn
        pose[:3, 3] = centroid + R0 @ row[3:6] - pose[:3, :3] @ shift
        if ball.holds(pose, blur * (1.0 + away / radius), blur / radius):
            anchors.append(Anchor(pose, 0.0, blur))
    return InReach(anchors, bool(done), int(report[1]))


def jacobian_at_anchor(joints: Array, radius: float) -> Array:
    """Jacobian (6, 6) of half the squared lengths by the coordinates of the search, at the anchor."""
    base, arms = joints[:, :3], joints[:, 3:6]
    return np.hstack([np.cross(base, arms) / radius, arms - base])


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
    continued = rows[i, tk.STATUS] == TRACKED
    place = rows[i, tk.POSE : tk.POSE + 16].reshape(4, 4)
    if open_ones:
        _be_ambiguous(memory)
        if continued:
            rows[i, tk.STATUS] = AMBIGUOUS
            candidates = PoseCandidates(_first(candidates.poses, place, memory, True), unsearched)
        return found + open_ones, candidates
    if not found:
        tk.go_back(memory, rows, np.array([i, OUT_OF_REACH]))
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
            tk.go_back(memory, rows, np.array([i, SINGULAR]))
            return found, candidates
        else:
            rows[i, tk.CONTINUED] = 0.0
            tk.rewrite(memory, lengths, rates, accelerations, rows, np.array([i]))
        memory[nk.BLUR] = found[0].blur
        rows[i, tk.CERTIFIED] = 1.0
        return [], candidates
    _be_ambiguous(memory)
    if same:
        rows[i, tk.STATUS] = AMBIGUOUS
        return found, PoseCandidates(_first(candidates.poses, place, memory, False), unsearched)
    tk.go_back(memory, rows, np.array([i, AMBIGUOUS]))
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
