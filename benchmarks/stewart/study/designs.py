"""Best solver by the geometry of a platform: the question that the paper leaves open.

Platforms of one base radius, 30 cm. Targets lie within 15 cm and 30 degrees of the home pose, guesses within twice as
much, which is what separates the solvers. Solvers run with the middle of the paper's settings. Each design is seen by
what a designer knows: the condition number of its Jacobian at home, the platform's radius its characteristic length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lie_dynamics_ros.lie_dynamics.stewart.geometry.any_platform import semi_regular_platform
from lie_dynamics_ros.lie_dynamics.stewart.geometry.platform import StewartPlatform
from lie_dynamics_ros.lie_dynamics.stewart.solvers.forward_kinematics import METHODS, solve_forward_kinematics

from . import paper
from .basins import Note, box

_RADIUS, _SEED = 0.3, 757
#: Name, platform radius [m], half angles of pairs on base and platform [degrees], home height [m].
DESIGNS = (
    ("of the paper's proportions", 0.2, 15.0, 15.0, 0.5),
    ("small platform", 0.09, 15.0, 15.0, 0.5),
    ("platform as large as the base", 0.3, 15.0, 15.0, 0.5),
    ("low", 0.2, 15.0, 15.0, 0.25),
    ("tall", 0.2, 15.0, 15.0, 1.0),
    ("joints shared in pairs (octahedron)", 0.2, 0.0, 0.0, 0.5),
    ("pairs on the base alone", 0.2, 0.0, 30.0, 0.5),
    ("nearly similar hexagons", 0.2, 30.0, 28.0, 0.5),
    ("joints off their planes by 6 cm", 0.2, 15.0, 15.0, 0.5),
)


@dataclass(frozen=True)
class DesignResult:
    """One design: condition number at home, and percentages and mean iterations by method."""

    name: str
    condition: float
    to_true: dict[str, float]
    to_any: dict[str, float]
    iterations: dict[str, float]

    @property
    def best(self) -> list[str]:
        """Methods whose percentage to the true pose lies within two points of the best one's."""
        most = max(self.to_true.values())
        return [method for method, percent in self.to_true.items() if percent >= most - 2.0]


def platform_of(name: str) -> StewartPlatform:
    """Return the platform of a design."""
    _, radius, base, top, height = next(row for row in DESIGNS if row[0] == name)
    regular = semi_regular_platform(_RADIUS, radius, np.deg2rad(base), np.deg2rad(top), height=height)
    if not name.startswith("joints off"):
        return regular
    rng = np.random.default_rng(_SEED)
    off = np.zeros((2, 6, 3))
    off[..., 2] = rng.uniform(-0.06, 0.06, (2, 6))
    return StewartPlatform(regular.base_points + off[0], regular.platform_points + off[1], home_pose=regular.home_pose)


def run_designs(targets: int = 1000, note: Note = lambda text: None) -> list[DesignResult]:
    """Run every solver on random targets of every design, from guesses within twice the targets' region."""
    results = []
    for name, radius, _, _, height in DESIGNS:
        rng = np.random.default_rng(_SEED)
        platform = platform_of(name)
        truth, guesses = box(rng, targets, 0.15, 30.0, height), box(rng, targets, 0.30, 60.0, height)
        lengths = platform.leg_lengths(truth)
        assert platform.home_pose is not None
        to_true, to_any, iterations = {}, {}, {}
        for method in METHODS:
            settings = {"alpha": 0.75} if method.startswith("gn") else {"tau": 1e-6} if method.startswith("lm") else {}
            result = solve_forward_kinematics(platform, lengths, guesses, method, **settings)
            to_true[method] = 100.0 * float(paper.near(result.pose, truth).mean())
            to_any[method] = 100.0 * float(np.mean(result.converged))
            iterations[method] = float(np.mean(np.asarray(result.iterations)[result.converged]))
            note(f"{method.upper()} on designs: {name}")
        condition = float(platform.condition_number(platform.home_pose, radius))
        results.append(DesignResult(name, condition, to_true, to_any, iterations))
    return results


def count_design_steps() -> int:
    """Return the number of calls of ``note`` by `run_designs`."""
    return len(DESIGNS) * len(METHODS)
