"""`assembly_modes`: every pose that a Stewart platform can have with given leg lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import StewartError
from ..geometry.inverse_kinematics import as_vector
from ..geometry.platform import StewartPlatform, require_platform
from ..solvers.kernels.certificate import MAX_H
from ..solvers.memory import blank_memory
from .canonical import canonical
from .classes import EXACT, Array, placement_of
from .kernels.poses import ERROR, MOVED, PROOF, refine
from .paths import Bools, Target, make_target, with_mirror_images
from .search import Found, follow_paths
from .self_motion import find_real_member, walk_from

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


@dataclass(frozen=True, eq=False)
class AssemblyModes:
    """All poses of a platform for given lengths.

    Attributes
    ----------
    platform, lengths : what was asked for.
    poses : real poses of {B} in {N}, (k, 4, 4), each once, highest first (then by x and y). A multiple pose counts
        once; members of a continuous family, singular to rounding errors all along it, are not listed.
    proven : (k,), whether a Newton-Kantorovich certificate proves that the pose exists and is the only one near.
    complex_count : number of finite complex poses, multiple ones counted as often as paths lead to them.
    class_count : number that generic members of the platform's class have, by which ``complex_count`` can be judged.
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
    proven: Bools
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
        """What was found, in a sentence or two."""
        text = f"{len(self.poses)} real of {self.complex_count} complex poses, class: {self.platform_class}"
        if self.self_motion:
            text += "; with these lengths the platform can move though all legs are locked"
        if not self.certain:
            text += "; some paths could not be followed to their end, so poses may be missing"
        return text


def assembly_modes(platform: StewartPlatform, lengths: npt.ArrayLike) -> AssemblyModes:
    """Return every pose of {B} in {N} for leg lengths (6,) [m]; leg limits are not looked at.

    The complex poses of a start system of the platform's class are carried along paths to those of the platform
    (doc/stewart_tracking.md, "All assembly modes"); real ones are refined and proven on the given geometry.

    Raises
    ------
    StewartError : lengths of a wrong shape, not finite or not positive; the message names the leg.
    """
    require_platform(platform)
    wanted = _checked(lengths)
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


def _is_settled(found: Found, target: Target) -> bool:
    """Tell whether the little by which a platform may miss its class cannot change which poses are real.

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
    proven: Bools
    accounted: bool


def _real_poses(platform: StewartPlatform, lengths: Array, target: Target, found: Found) -> _Real:
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


def _checked(lengths: npt.ArrayLike) -> Array:
    array = np.array(as_vector(lengths, 6, "lengths"))
    if array.shape != (6,):
        raise StewartError(f"lengths has shape {array.shape}, expected (6,): one for each leg", name="lengths")
    for leg, length in enumerate(array, start=1):
        if not 0.0 < length < np.inf:
            raise StewartError(f"length of leg {leg} is {length} m, expected a positive length", name=f"leg {leg}")
    return array
