"""The poses of one design for lengths chosen at random: where paths start when those of its class do not suffice.

A design may be special in ways that no class of `assembly_classes` knows, such as four joints of a side on a line. For
complex lengths at random its finite poses are regular and the others plainly at infinity, so that the two can be told
apart, once for all lengths: from there on no path is wasted, and every isolated pose is the end of one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..geometry.architecture import architecture_report
from .classes import start_systems
from .kernels.paths import CONDITION
from .paths import Ends, Origin, Scale, Target, clashes, class_origin, same_poses, with_mirror_images

#: Complex scalings of a start system, each leading along other paths.
SCALINGS = (1.0 + 0.0j, 0.6 + 0.8j, -0.28 + 0.96j, 0.8 - 0.6j)
#: A design is architecturally singular, rounding errors aside, below the first number as its report's ratio, and so
#: nearly so below the second that poses may be far away for most lengths and near for some.
_SINGULAR, _NEARLY_SINGULAR = 1e-12, 1e-5


def own_origins(target: Target) -> tuple[Origin, ...]:
    """Return the target's design twice, with two sets of complex lengths, each with all poses (half of them when flat).

    Without poses when the design is architecturally singular; none when it is nearly so, which leaves poses too far
    away to be told from infinite ones, or when no two of four attempts agree on what the poses are.
    """
    return _own_origins(target.placement.start.name, target.packed[:5].tobytes(), target.scale)


@lru_cache(maxsize=64)
def _own_origins(name: str, geometry: bytes, scale: Scale) -> tuple[Origin, ...]:
    start = next(s for s in start_systems() if s.name == name)
    sides = np.zeros((2, 6, 3))
    sides[:, 1:] = np.frombuffer(geometry, dtype=np.complex128).real.reshape(5, 2, 3).swapaxes(0, 1)
    ratio = architecture_report(*sides).median_ratio / scale.ratio
    if _SINGULAR < ratio < _NEARLY_SINGULAR:
        return ()
    tried: list[Origin] = []
    for number, scaling in enumerate(SCALINGS):
        rng = np.random.default_rng(number)
        design = np.zeros((7, 6), dtype=np.complex128)
        design[:5] = np.frombuffer(geometry, dtype=np.complex128).reshape(5, 6)
        design[5, :5], design[6, 0] = rng.normal(size=(5, 2)) @ (1.0, 1j), rng.normal(size=2) @ (1.0, 1j)
        ends = class_origin(start, scaling).track(design, scale.careful, start)
        found = Origin(design, ends.charts, ends.points).of(_good(ends, scale, start.flat))
        if (len(found.points) == 0) != (ratio <= _SINGULAR):
            continue
        for other in tried:
            if len(found.points) == len(other.points) and _leads_to(other, found, scale, start.flat):
                return other, found
        tried.append(found)
    return ()


def _good(ends: Ends, scale: Scale, flat: bool) -> np.ndarray:
    """Return which ends are finite poses, each for the first time."""
    good = ends.regular & ends.finite & (ends.reports[:, CONDITION] < scale.doubtful)
    repeated, _ = clashes(ends.e[good], ends.p[good], flat)
    good[np.flatnonzero(good)[repeated]] = False
    return good


def _leads_to(origin: Origin, other: Origin, scale: Scale, flat: bool) -> bool:
    """Tell whether the paths from one origin to the platform of another lead to all of its poses."""
    ends = origin.track(other.platform, scale.careful)
    if not _good(ends, scale, flat).all():
        return False
    there = Ends(other.charts, other.points, ends.codes, ends.reports)
    e, p = with_mirror_images(there.e, there.p) if flat else (there.e, there.p)
    return bool((same_poses(ends.e, ends.p, e, p).sum(axis=1) == 1).all())
