"""Random targets: how often each solver finds the true pose, which five hand-picked states cannot show.

Targets lie in the workspace, within 15 cm and 30 degrees (roll, pitch, yaw) of the level pose at 50 cm. Guesses are
drawn from the same region ("workspace"), from twice that region ("wide", 30 cm and 60 degrees), or with any orientation
and within 15 cm ("any orientation"). Each solve gets a step factor or damping ratio of the paper, drawn at random.

Beside them, with no guess at all: the lengths go from those of the home pose to the target's in twenty equal steps, and
each solve starts from the pose before; and `StewartTracker`, which chooses and certifies its own steps from the home
pose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lie_dynamics_ros.lie_dynamics.arrays import Array
from lie_dynamics_ros.lie_dynamics.lie import quaternion, se3, so3
from lie_dynamics_ros.lie_dynamics.stewart.geometry.any_platform import reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.solvers.forward_kinematics import METHODS, solve_forward_kinematics
from lie_dynamics_ros.lie_dynamics.stewart.tracking.tracker import StewartTracker

from . import paper

Note = Callable[[str], None]
GUESSES = ("workspace", "wide", "any orientation")
PATH_STEPS = 20
_HEIGHT = 0.5
_CHUNK = 250
_SEED = 2021


@dataclass(frozen=True)
class BasinResult:
    """Percentages of random targets, by method and kind of guess: pose found is the true one; is some pose at all.

    Two ways need no guess: ``path_to_true`` for the path in the lengths, ``tracker_to_true`` for `StewartTracker`,
    which refused ``tracker_refused`` percent of the targets.
    """

    targets: int
    to_true: dict[tuple[str, str], float]
    to_any: dict[tuple[str, str], float]
    path_to_true: float
    tracker_to_true: float
    tracker_refused: float

    def margin(self, percent: float) -> float:
        """Half width of the 95 % interval of a percentage, in points."""
        share = percent / 100.0
        return float(196.0 * np.sqrt(max(share * (1.0 - share), 0.25 / self.targets) / self.targets))


def run_basins(targets: int = 1500, note: Note = lambda text: None) -> BasinResult:
    """Run every solver on random targets from three kinds of guesses."""
    rng = np.random.default_rng(_SEED)
    platform = reference_platform()
    truth = box(rng, targets, 0.15, 30.0)
    lengths = platform.leg_lengths(truth)
    alpha = rng.choice(paper.STEP_FACTORS, targets)
    tau = rng.choice(paper.DAMPING_RATIOS, targets)
    to_true: dict[tuple[str, str], float] = {}
    to_any: dict[tuple[str, str], float] = {}
    for kind in GUESSES:
        guesses = _guesses(rng, kind, targets)
        for method in METHODS:
            hits: list[npt.NDArray[np.bool_]] = []
            found: list[npt.NDArray[np.bool_]] = []
            for start in range(0, targets, _CHUNK):
                part = slice(start, start + _CHUNK)
                grid = {"alpha": alpha[part]} if method.startswith("gn") else {"tau": tau[part]}
                settings = {} if method == "auto" else grid
                result = solve_forward_kinematics(platform, lengths[part], guesses[part], method, **settings)
                hits.append(paper.near(result.pose, truth[part]))
                found.append(np.atleast_1d(result.converged))
                note(f"{method.upper()} on random targets, guesses: {kind}")
            to_true[method, kind] = 100.0 * float(np.concatenate(hits).mean())
            to_any[method, kind] = 100.0 * float(np.concatenate(found).mean())
    followed = 100.0 * float(_follow_lengths(truth, note).mean())
    reached, valid = _track(truth)
    note("StewartTracker from the home pose")
    return BasinResult(
        targets, to_true, to_any, followed, 100.0 * float(reached.mean()), 100.0 * float((~valid).mean())
    )


def _track(truth: Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Say which targets (n, 4, 4) a tracker reaches from the home pose in one update, and which it calls valid."""
    platform = reference_platform()
    assert platform.home_pose is not None
    tracker = StewartTracker(platform, platform.home_pose)
    poses, valid = np.empty_like(truth), np.zeros(len(truth), dtype=np.bool_)
    for row, lengths in enumerate(platform.leg_lengths(truth)):
        tracker.reset(platform.home_pose)
        tracked = tracker.update(lengths)
        poses[row], valid[row] = tracked.pose, tracked.valid
    return paper.near(poses, truth) & valid, valid


def _follow_lengths(truth: Array, note: Note) -> npt.NDArray[np.bool_]:
    """Say which targets (n, 4, 4) are reached by the path in the lengths from the home pose."""
    platform = reference_platform()
    assert platform.home_pose is not None
    home, goal = platform.leg_lengths(platform.home_pose), platform.leg_lengths(truth)
    poses = np.broadcast_to(platform.home_pose, truth.shape)
    for share in np.arange(1, PATH_STEPS + 1) / PATH_STEPS:
        poses = solve_forward_kinematics(platform, home + share * (goal - home), poses).pose
        note("path in the lengths from the home pose")
    return paper.near(poses, truth)


def count_steps(targets: int) -> int:
    """Return the number of calls of ``note`` by `run_basins`."""
    return len(GUESSES) * len(METHODS) * -(-targets // _CHUNK) + PATH_STEPS + 1


def box(rng: np.random.Generator, count: int, reach: float, degrees: float, height: float = _HEIGHT) -> Array:
    """Poses within ``reach`` [m] and ``degrees`` in roll, pitch and yaw of the level pose at a height [m], uniform."""
    angles = np.deg2rad(rng.uniform(-degrees, degrees, (count, 3)))
    return np.asarray(se3.from_parts(so3.from_rpy(angles), _positions(rng, count, reach, height)))


def _positions(rng: np.random.Generator, count: int, reach: float, height: float = _HEIGHT) -> Array:
    return np.asarray(rng.uniform(-reach, reach, (count, 3)) + np.array([0.0, 0.0, height]))


def _guesses(rng: np.random.Generator, kind: str, count: int) -> Array:
    if kind == "workspace":
        return box(rng, count, 0.15, 30.0)
    if kind == "wide":
        return box(rng, count, 0.30, 60.0)
    rotations = so3.from_quaternion(quaternion.normalize(rng.normal(size=(count, 4))))
    return se3.from_parts(rotations, _positions(rng, count, 0.15))
