"""Self-motions: whether a Stewart platform can move though its legs are locked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...lie import se3, so3
from ..geometry.platform import StewartPlatform
from ..solvers.kernels import newton as nk
from ..solvers.kernels.nearest import approach
from ..solvers.memory import blank_memory, read_pose
from .classes import Array, Complex
from .kernels.poses import place
from .paths import Target, finite_poses

#: How well poses of a self-motion must have the lengths, as a share of the platform's radius; data of six digits do.
_TOLERANCE = 1e-5
#: A walk along a self-motion: step in radians and platform radii, number of steps. A pose that is singular to any
#: finite order leaves the lengths on a walk as long as this.
_STEP, _STEPS = 0.05, 20
#: Directions count as free when their singular value is below this share of the largest.
_FREE = 1e-3
#: Singular but for rounding errors, as a share of the largest singular value.
_SINGULAR = 1e-11
_RANDOM_TRIES = 40


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk along poses with the same lengths: where it began (4, 4), and whether all of it is exactly singular.

    Where it is not, the platform as given has at most isolated poses there, too near to each other to tell whether
    its data mean a continuous family.
    """

    pose: Array
    exact: bool


def find_real_member(
    platform: StewartPlatform, lengths: Array, target: Target, family: list[tuple[int, Complex]]
) -> Walk | None:
    """Return a walk of a platform, in canonical form, with its legs locked at `lengths`, or None if there is none.

    The search starts at the real parts of complex members of the family and at random poses.
    """
    rng = np.random.default_rng(0)
    memory = blank_memory(platform)
    memory[nk.TARGET : nk.TARGET + 6] = 0.5 * lengths**2
    for guess in [*_real_parts(platform, target, family), *_random_poses(platform, lengths, rng)]:
        memory[nk.QUATERNION : nk.QUATERNION + 4] = so3.to_quaternion(guess[:3, :3])
        memory[nk.POSITION : nk.POSITION + 3] = guess[:3, 3] + guess[:3, :3] @ memory[nk.SHIFT : nk.SHIFT + 3]
        if approach(memory) < _TOLERANCE * memory[nk.RADIUS]:
            walk = walk_from(platform, lengths, read_pose(memory))
            if walk is not None:
                return walk
    return None


def walk_from(platform: StewartPlatform, lengths: Array, pose: Array) -> Walk | None:
    """Return the walk from a pose (4, 4) while the legs keep their lengths (6,), or None if there is none."""
    radius = platform.characteristic_length
    scale = np.array([1.0 / radius] * 3 + [1.0] * 3)
    for direction in _directions(platform, pose, scale)[0]:
        for sign in (1.0, -1.0):
            here, tangent, exact = pose, sign * direction, True
            for _ in range(_STEPS):
                there = here @ se3.exp(_STEP * radius * scale * tangent)
                for _ in range(8):
                    error = lengths - platform.leg_lengths(there)
                    u, s, v = _decomposition(platform, there, scale)
                    keep = s > _FREE * s[0]
                    there = there @ se3.exp(scale * (v[keep].T @ ((u[:, keep].T @ error) / s[keep])))
                free, flatness = _directions(platform, there, scale)
                step = se3.log(se3.inverse(here) @ there) / scale
                error = lengths - platform.leg_lengths(there)
                if np.abs(error).max() > _TOLERANCE * radius or not free or np.linalg.norm(step) < 0.5 * _STEP * radius:
                    break
                exact &= flatness * radius < _SINGULAR
                along = sum((k @ step) * k for k in free)
                here, tangent = there, along / np.linalg.norm(along)
            else:
                return Walk(pose, exact)
    return None


def _directions(platform: StewartPlatform, pose: Array, scale: Array) -> tuple[list[Array], float]:
    """Return unit twists (6,), angular part times the radius, that hardly change the lengths, and the least change."""
    _, s, v = _decomposition(platform, pose, scale)
    return list(v[s <= _FREE * s[0]]), float(s[-1] / s[0])


def _decomposition(platform: StewartPlatform, pose: Array, scale: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition of the Jacobian; that of the identity where the pose is not finite."""
    jacobian = platform.jacobian(pose) * scale
    return np.linalg.svd(jacobian if np.isfinite(jacobian).all() else np.eye(6))


def _real_parts(platform: StewartPlatform, target: Target, family: list[tuple[int, Complex]]) -> list[Array]:
    if not family:
        return []
    charts, points = zip(*family, strict=True)
    e, p = finite_poses(np.array(charts), np.array(points))
    poses = np.empty((len(e), 16))
    place(blank_memory(platform), np.ascontiguousarray(e.real), np.ascontiguousarray(p.real), target.frame, poses)
    return list(poses.reshape(-1, 4, 4))


def _random_poses(platform: StewartPlatform, lengths: Array, rng: np.random.Generator) -> list[Array]:
    """Return poses of any orientation at distances like the lengths."""
    e = rng.normal(size=(_RANDOM_TRIES, 4))
    pose = np.tile(np.eye(4), (_RANDOM_TRIES, 1, 1))
    pose[:, :3, :3] = so3.from_quaternion(e / np.linalg.norm(e, axis=1)[:, None])
    place = rng.normal(size=(_RANDOM_TRIES, 3))
    centre = platform.base_points.mean(axis=0) + lengths.mean() * place / np.linalg.norm(place, axis=1)[:, None]
    pose[:, :3, 3] = centre - pose[:, :3, :3] @ platform.platform_points.mean(axis=0)
    return list(pose)
