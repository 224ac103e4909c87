"""`assembly_modes`: every pose that a Stewart platform can have with given leg lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Complex, Integers, Mask
from ...errors import StewartError
from ...lie import se3, so3
from ...shown import shown
from ..geometry.any_platform import PointJointed, require_legs
from ..geometry.platform import StewartPlatform, check_lengths
from ..kernels import newton as nk
from ..kernels.newton import MAX_H, approach
from ..kernels.poses import ERROR, MOVED, PROOF, place, refine
from ..solvers.memory import blank_memory, read_pose
from .paths import EXACT, Target, finite_poses, make_target, placement_of, with_mirror_images
from .search import FoundPoses, follow_paths

# Self-motions: whether a Stewart platform can move though its legs are locked.

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

    Where it is not, the platform as given has at most isolated poses there, too near to each other to see whether
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


# One form of a Stewart platform, whatever its frames, units and order of legs, and whichever side is the platform.
#
# Assembly modes are sought and checked in this form, so that they do not depend on how a platform was written down.

#: Differences below this share of the size are rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CanonicalPlatform:
    """A platform with centred sides, the smaller one on top, the radius of the larger one as the unit of length.

    Attributes
    ----------
    platform : the platform in this form.
    order : leg ``order[j]`` of the user is leg j here.
    swapped : whether base and platform have changed places, which inverts the pose.
    unit : radius of the larger side [m].
    ratio : radius of the platform in units.
    centres, turns : centroid (3,) [m] of each side here in the frame of the user, and the rotation (3, 3) from there.
    """

    platform: StewartPlatform
    order: Integers
    swapped: bool
    unit: float
    ratio: float
    centres: tuple[Array, Array]
    turns: tuple[Array, Array]

    def poses(self, poses: Array) -> Array:
        """Return poses (k, 4, 4) of this form as those of {B} in {N} of the user."""
        (first, second), (a, b) = self.turns, self.centres
        found = np.empty_like(poses)
        found[:] = np.eye(4)
        found[:, :3, :3] = first.T @ poses[:, :3, :3] @ second
        found[:, :3, 3] = a + self.unit * poses[:, :3, 3] @ first - found[:, :3, :3] @ b
        if self.swapped:
            found[:, :3, :3] = np.swapaxes(found[:, :3, :3], 1, 2)
            found[:, :3, 3] = -(found[:, :3, :3] @ found[:, :3, 3, None])[..., 0]
        return found


def canonical(base: Array, platform: Array) -> CanonicalPlatform:
    """Return the canonical form of a platform (6, 3), (6, 3)."""
    return _canonical(np.stack([base, platform]).tobytes())


@lru_cache(maxsize=256)
def _canonical(points: bytes) -> CanonicalPlatform:
    sides = np.frombuffer(points).reshape(2, 6, 3)
    gaps = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in sides]
    radii = [float(np.sqrt(np.sort((g * g).ravel()).sum() / 72.0)) for g in gaps]
    unit = max(radii) or 1.0
    # How far the other joints of its side are from that of a leg: the same number in any order of the legs.
    spreads = [np.round(np.sort(g, axis=1).sum(axis=1) / (_ROUNDING * unit)) for g in gaps]
    pointed = min(radii) < _ROUNDING * unit  # a side that is a point has no rotation to speak of: it is the base
    swapped = radii[0] > radii[1] if pointed else _is_larger(radii, spreads, unit)
    i, j = (1, 0) if swapped else (0, 1)
    order = np.lexsort((spreads[j], spreads[i]))
    first, second = sides[i][order], sides[j][order]
    centres = first.mean(axis=0), second.mean(axis=0)
    first, second = first - centres[0], second - centres[1]
    turns = _axes(first), _axes(second)
    form = StewartPlatform(first @ turns[0].T / unit, second @ turns[1].T / unit, allow_singular=True)
    return CanonicalPlatform(form, order, swapped, unit, 1.0 if pointed else min(radii) / unit, centres, turns)


def _is_larger(radii: list[float], spreads: list[Array], unit: float) -> bool:
    """Return whether the platform is larger than the base; of equal ones, whether it is first in a fixed order."""
    if abs(radii[1] - radii[0]) > _ROUNDING * unit:
        return radii[1] > radii[0]
    keys = []
    for i, j in ((0, 1), (1, 0)):
        order = np.lexsort((spreads[j], spreads[i]))
        keys.append(np.concatenate([spreads[i][order], spreads[j][order]]))
    differ = np.flatnonzero(np.abs(keys[1] - keys[0]) > 2.0)
    return bool(differ.size and keys[1][differ[0]] > keys[0][differ[0]])


def _axes(points: Array) -> Array:
    """Return the rotation (3, 3) to axes that turn with centred points (6, 3).

    z is normal to the best plane, x points to the joint that is farthest away along it, and of the joints off the x
    axis the farthest has a positive y.
    """
    normal = np.linalg.svd(points)[2][2]
    flat = points - np.outer(points @ normal, normal)
    x = flat[_first_largest(np.linalg.norm(flat, axis=1))]
    size = np.linalg.norm(x)
    if not size > 0.0:
        return np.eye(3)
    x = x / size
    y = np.cross(normal, x)
    heights = flat @ y
    sign = 1.0 if heights[_first_largest(np.abs(heights))] >= 0.0 else -1.0
    return np.array([x, sign * y, sign * normal])


def _first_largest(values: Array) -> int:
    """Return the first of the largest entries, rounding errors aside."""
    return int(np.argmax(values >= (1.0 - _ROUNDING) * values.max()))


#: Ends are tried as real poses when imaginary parts are below this share.
_NEARLY_REAL = 1e-5
#: Real poses must be found this close to the ends, in platform radii, with lengths right to this share.
_NEAR, _ACCURATE = 1e-2, 1e-12
#: Real poses nearer than this, in platform sizes, are one; singular ones are known less well.
_SAME_REGULAR, _SAME_SINGULAR = 1e-9, 1e-5
#: Imaginary parts below this, times the condition number, are rounding errors.
_NOISE = 1e-14
#: A change of the platform by d changes no pose from real to complex when d times the square of the condition number,
#: about the h of Newton-Kantorovich, is below this.
_HARMLESS = 1.0


@shown
@dataclass(frozen=True, eq=False)
class AssemblyModes:
    """All poses of a platform for given lengths.

    Attributes
    ----------
    platform, lengths : what was requested.
    poses : real poses of {B} in {N}, (k, 4, 4), each once, highest first (then by x and y). A multiple pose counts
        once; members of a continuous family, singular to rounding errors all along it, are not listed.
    proven : (k,), whether a Newton-Kantorovich certificate proves that the pose exists and is the only one near.
    complex_count : number of finite complex poses, multiple ones counted as often as paths lead to them.
    class_count : number that generic members of the platform's class have, by which ``complex_count`` can be checked.
    platform_class : name of the class, such as "general" or "semi-regular, flat".
    certain : True when every path is accounted for: each led to a pose of its own, with its conjugate among them, or
        what else it led to was found again along other paths. Where that can be, no pose is missing.
    self_motion : True when the platform can move a long way while no length changes by more than 1e-5 of the radius of
        the smaller side: then some poses form a continuous family, or nearly so.
    self_motion_pose : a pose (4, 4) from which it can, or None.
    complex_family : True when complex poses form a continuous family, whether real ones are on it or not.
    at_infinity : number of paths that led to infinity.
    """

    platform: StewartPlatform
    lengths: Array
    poses: Array
    proven: Mask
    complex_count: int
    class_count: int
    platform_class: str
    certain: bool
    self_motion: bool
    self_motion_pose: Array | None
    complex_family: bool
    at_infinity: int

    def __len__(self) -> int:
        return len(self.poses)

    @cached_property
    def residuals(self) -> Array:
        """Largest differences between the lengths of the poses and those given, (k,) [m]."""
        errors = np.abs(self.platform.leg_lengths(self.poses) - self.lengths)
        return np.asarray(errors.max(axis=-1, initial=0.0))

    @cached_property
    def condition_numbers(self) -> Array:
        """Condition numbers of the Jacobian, (k,), as `StewartPlatform.condition_number`; large at singular poses."""
        return self.platform.condition_number(self.poses)

    @property
    def message(self) -> str:
        """The result, in a sentence or two."""
        text = f"{len(self.poses)} real of {self.complex_count} complex poses, class: {self.platform_class}"
        if self.self_motion:
            text += "; with these lengths the platform can move though all legs are locked"
        if not self.certain:
            text += "; some paths could not be followed to their end, so poses may be missing"
        return text


def assembly_modes(platform: PointJointed, lengths: ArrayLike) -> AssemblyModes:
    """Return every pose of {B} in {N} for leg lengths (6,) [m]; leg limits are not looked at.

    For a `RotaryPlatform` they are angles of its motors [rad]; the result is that of the platform they leave, `locked`.

    The complex poses of a start system of the platform's class are carried along paths to those of the platform
    (doc/stewart_tracking.md, "All assembly modes"); real ones are refined and proven on the given geometry.

    Raises
    ------
    StewartError : lengths of a wrong shape, not finite, not positive or far beyond the platform (millimetres); the
        message names the leg.
    """
    require_legs(platform)
    platform, lengths = platform.locked(lengths)
    wanted = _checked(lengths, platform)
    form = canonical(platform.base_points, platform.platform_points)
    own, scaled = form.platform, wanted[form.order] / form.unit
    base, top = own.base_points, own.platform_points
    placement = placement_of(base, top)
    target = make_target(placement, base, top, scaled, form.ratio)
    found = follow_paths(target)
    if not _is_settled(found, target):
        exact = placement_of(base, top, EXACT)
        if exact.start is not placement.start:
            placement, target = exact, make_target(exact, base, top, scaled, form.ratio)
            found = follow_paths(target)
    real = _real_poses(own, scaled, target, found)
    poses, proven, certain = real.poses, real.proven, found.certain and real.accounted
    walk = None
    if found.family or found.suspects or not certain or len(found.e) == 0:
        walk = find_real_member(own, scaled, target, [*found.family, *found.suspects])
        if walk is not None:
            walks = [None if ok else walk_from(own, scaled, pose) for pose, ok in zip(poses, proven, strict=True)]
            isolated = np.array([w is None or not w.exact for w in walks], dtype=bool)
            certain &= all(w is None or w.exact for w in walks) and (walk.exact or found.every)
            poses, proven = poses[isolated], proven[isolated]
    poses = form.poses(poses)
    order = _from_the_top(poses, platform)
    images = 2 if placement.start.flat else 1
    return AssemblyModes(
        platform=platform,
        lengths=wanted,
        poses=poses[order],
        proven=proven[order],
        complex_count=images * len(found.e),
        class_count=placement.start.count,
        platform_class=placement.start.name,
        certain=bool(certain),
        self_motion=walk is not None,
        self_motion_pose=None if walk is None else form.poses(walk.pose[None])[0],
        complex_family=len(found.family) > 0 or walk is not None,
        at_infinity=images * found.infinite,
    )


def _is_settled(found: FoundPoses, target: Target) -> bool:
    """Return whether the little by which a platform may miss its class cannot change which poses are real.

    Ends are poses of the platform as given, made flat if its class is; others than those of the class are near
    infinity, or near a continuous family.
    """
    if found.family or found.suspects or not found.certain:
        return False
    return target.flattened == 0.0 or bool((target.flattened * found.conditions**2 < _HARMLESS).all())


@dataclass(frozen=True, eq=False)
class _Real:
    """Real poses (k, 4, 4), each once, which are proven (k,), and whether all ends near real ones turned out so."""

    poses: Array
    proven: Mask
    accounted: bool


def _real_poses(platform: StewartPlatform, lengths: Array, target: Target, found: FoundPoses) -> _Real:
    """Return the real poses among complex ones."""
    e, p, conditions = found.e, found.p, found.conditions
    if target.placement.start.flat:
        e, p = with_mirror_images(e, p)
        conditions = np.concatenate([conditions, conditions])
    sizes = np.maximum(1.0, np.abs(p).max(axis=1, initial=0.0))
    imaginary = np.maximum(np.abs(e.imag).max(axis=1, initial=0.0), np.abs(p.imag).max(axis=1, initial=0.0) / sizes)
    limit = np.clip(_NOISE * np.where(np.isfinite(conditions), conditions, 0.0), _NEARLY_REAL, _NEAR)
    nearly = np.flatnonzero(imaginary < limit)
    poses, reports = refined(platform, lengths, target, e.real[nearly], p.real[nearly])
    real = (reports[:, MOVED] < _NEAR) & (reports[:, ERROR] <= _ACCURATE * lengths.max())
    proven = reports[:, PROOF] <= MAX_H
    accounted = bool((real | (conditions[nearly] > target.scale.doubtful)).all())
    kept: list[int] = []
    for i in np.flatnonzero(real):
        gap = _SAME_REGULAR if proven[i] else _SAME_SINGULAR
        if all(np.abs(poses[i] - poses[j]).max() > gap * target.unit for j in kept):
            kept.append(int(i))
        elif proven[i]:
            accounted = False  # two paths have led to one pose
    return _Real(poses[kept], proven[kept], accounted)


def refined(platform: StewartPlatform, lengths: Array, target: Target, e: Array, p: Array) -> tuple[Array, Array]:
    """Return poses (n, 4, 4), improved by Newton's method on the leg equations, and reports as `refine` makes them."""
    poses, reports = np.empty((len(e), 16)), np.empty((len(e), 3))
    refine(
        blank_memory(platform), lengths, np.ascontiguousarray(e), np.ascontiguousarray(p), target.frame, poses, reports
    )
    return poses.reshape(-1, 4, 4), reports


def _from_the_top(poses: Array, platform: StewartPlatform) -> npt.NDArray[np.intp]:
    """Return the order of poses by height, then x, then y; differences of rounding size do not count."""
    unit = 1e-9 * platform.characteristic_length
    x, y, z = np.round(poses[:, :3, 3].T / unit)
    return np.lexsort((-y, -x, -z))


def _checked(lengths: ArrayLike, platform: StewartPlatform) -> Array:
    array = np.array(check_lengths(lengths, platform))
    if array.shape != (6,):
        raise StewartError(f"lengths has shape {array.shape}, expected (6,): one for each leg", name="lengths")
    return array
