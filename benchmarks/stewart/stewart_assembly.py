"""Stewart assembly modes: over 1,000 random platforms of all classes, are all poses found, and how fast.

Each platform is new to the solver, so the time to recognise its class is in the figures. Times are processor times.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.stewart.study.progress import Progress
from lie_dynamics_ros.lie_dynamics.stewart import (
    ArchitecturalSingularityError,
    StewartPlatform,
    StewartWarning,
    assembly_modes,
    dietmaier_platform,
    griffis_duffy_platform,
    reference_platform,
)

from ..results import Figure, at_least, at_most
from .stewart_platforms import FAMILIES, Case, random_case

PLATFORMS = 65  # of each family
#: A pose is the true one when no entry differs by more than this, times the condition number where that is large.
SAME = 1e-10


def sound_case(name: str, rng: np.random.Generator) -> tuple[Case, StewartPlatform]:
    """Draw until the platform is not, by chance, one that its constructor refuses as architecturally singular."""
    while True:
        case = random_case(name, rng)
        with warnings.catch_warnings(), contextlib.suppress(ArchitecturalSingularityError):
            warnings.simplefilter("ignore", StewartWarning)
            return case, StewartPlatform(case.base, case.platform)


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and what was found in each family."""
    platform, lengths = dietmaier_platform()
    forty = assembly_modes(platform, lengths)
    moving = assembly_modes(*griffis_duffy_platform())
    paper = np.array([55.85583542, 62.53130024, 52.74363698, 55.14569326, 44.79721341, 51.99103155]) / 100.0
    four = assembly_modes(reference_platform(), paper)
    rows: dict[str, dict[str, Any]] = {}
    times: dict[str, list[float]] = {}
    residual = 0.0
    with Progress(PLATFORMS * len(FAMILIES)) as bar:
        for number, (name, family) in enumerate(FAMILIES.items()):
            rng = np.random.default_rng(number)
            found = counted = certain = 0
            times[name] = []
            for _ in range(PLATFORMS):
                case, platform = sound_case(name, rng)
                begin = time.thread_time()
                modes = assembly_modes(platform, case.lengths)
                times[name].append(1e3 * (time.thread_time() - begin))
                gaps = np.abs(modes.poses - case.pose).reshape(-1, 16).max(axis=1)
                nearest = int(gaps.argmin()) if len(gaps) else -1
                found += bool(nearest >= 0 and gaps[nearest] < SAME * max(1.0, 1e-3 * modes.condition_numbers[nearest]))
                counted += modes.complex_count == family.count
                certain += modes.certain
                residual = max(residual, float(np.max(modes.residuals, initial=0.0)))
                bar.step(name)
            rows[name] = {
                "complex poses": family.count,
                "true pose found": found,
                "count right": counted,
                "certain": certain,
                "median ms": float(np.median(times[name])),
                "slowest ms": float(np.max(times[name])),
            }
    total = PLATFORMS * len(FAMILIES)
    share = {key: 100.0 * sum(row[key] for row in rows.values()) / total for key in ("true pose found", "count right")}
    figures = [
        at_least("Dietmaier's platform, real poses", len(forty), "", 40),
        at_most("Dietmaier's platform, largest residual", float(forty.residuals.max()), "m", 1e-12),
        at_least("Griffis-Duffy platform, self-motion found", float(moving.self_motion), "", 1),
        Figure("the paper's platform, complex poses", four.complex_count, "", "28", four.complex_count == 28),
        Figure("the paper's platform, real poses", len(four), "", "4", len(four) == 4),
        Figure("random platforms", total, ""),
        at_least("true pose found", share["true pose found"], "%", 100.0),
        at_least("number of complex poses right", share["count right"], "%", 100.0),
        at_most("largest residual", residual, "m", 1e-12),
        at_most(
            "median time, all platforms", float(np.median([t for each in times.values() for t in each])), "ms", 10.0
        ),
    ]
    quick = ("semi-regular", "mirror-symmetric, flat")
    for name, row in rows.items():
        label = f"median time, {name}, {row['complex poses']} poses ({row['count right']} of {PLATFORMS} counts right)"
        value = row["median ms"]
        figures.append(at_most(label, value, "ms", 3.0) if name in quick else Figure(label, value, "ms"))
    return figures, rows
