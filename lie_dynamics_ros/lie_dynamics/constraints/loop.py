"""`Loop`: two frames of a tree held together by a cut joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import DescriptionError
from ..lie import se3
from .cut_joints import SIZES, WITH_AXIS, WITH_SECOND_AXIS


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint that closes a loop: it holds a frame on one body to a frame on another, or on the world.

    Frame 1 is at `first_placement` in the body or frame `first`, frame 2 likewise. The class methods `welded`,
    `revolute`, ... read better than the constructor.

    Parameters
    ----------
    kind : str
        The cut joint. "welded": the frames coincide. "revolute": origins coincide, axes are parallel. "universal":
        origins coincide, `axis` and `second_axis` are perpendicular. "spherical": origins coincide. "prismatic":
        frame 2 slides along `axis` without turning. "cylindrical": it may turn about the axis, too. "planar": it slides
        in the plane normal to `axis`, and turns about it. "welded_in_plane": the frames coincide as seen along `axis`,
        for mechanisms that cannot leave a plane anyway and have no use for the other three. "point_in_plane": its
        origin stays in the plane through the origin of frame 1 normal to `axis`. "point_on_line": its origin stays on
        the axis. "perpendicular": `axis` and `second_axis` are perpendicular, wherever the origins are. "distance": the
        origins stay `length` apart.
    first, second : str
        Names of bodies or frames of the model; the name of the inertial frame stands for the world.
    name : str, optional
        Name in reports; "first-second" when left out.
    axis : array-like, shape (3,)
        Axis or normal, in frame 1, of any length but zero; z when left out, x for "universal" and "perpendicular".
    second_axis : array-like, shape (3,), optional
        Axis in frame 2. When left out, the same numbers as `axis`; for "universal" and "perpendicular"
        y.
    length : float, optional
        Distance [m], above zero.
    first_placement, second_placement : array-like, shape (4, 4), optional
        T_first_frame1 and T_second_frame2 [m]; the identity when left out.

    Raises
    ------
    DescriptionError
        For a kind that is not there, or what does not belong to it.
    GroupError
        For a placement that is no rigid transform.
    """

    kind: str
    first: str
    second: str
    name: str = ""
    axis: Any = None
    second_axis: Any = None
    length: float | None = None
    first_placement: Any = None
    second_placement: Any = None

    def __post_init__(self) -> None:
        if self.kind not in SIZES:
            self._refuse(f"kind {self.kind!r} is unknown, known are {list(SIZES)}", self.kind)
        if not self.name:
            object.__setattr__(self, "name", f"{self.first}-{self.second}")
        for key, allowed in (("axis", WITH_AXIS), ("second_axis", WITH_SECOND_AXIS)):
            if getattr(self, key) is not None and self.kind not in allowed:
                self._refuse(f"a {self.kind} cut joint has no {key}", getattr(self, key))
        universal = self.kind in ("universal", "perpendicular")
        if self.kind in WITH_AXIS:
            default = [1.0, 0.0, 0.0] if universal else [0.0, 0.0, 1.0]
            object.__setattr__(self, "axis", self._unit("axis", default if self.axis is None else self.axis))
        if self.kind in WITH_SECOND_AXIS:
            other = [0.0, 1.0, 0.0] if universal else self.axis
            axis = self._unit("second_axis", other if self.second_axis is None else self.second_axis)
            object.__setattr__(self, "second_axis", axis)
        if self.kind == "distance":
            if self.length is None or not 0.0 < self.length < np.inf:
                self._refuse("length: a distance above zero [m] is expected; for zero use 'spherical'", self.length)
        elif self.length is not None:
            self._refuse(f"a {self.kind} cut joint has no length", self.length)
        for key in ("first_placement", "second_placement"):
            given = getattr(self, key)
            pose = np.eye(4) if given is None else se3.check(given, f"{key} of loop {self.name}").real.copy()
            pose.flags.writeable = False
            object.__setattr__(self, key, pose)

    @property
    def size(self) -> int:
        """Number of scalar constraints."""
        return SIZES[self.kind]

    def _unit(self, key: str, value: npt.ArrayLike) -> Array:
        try:
            vector = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        norm = np.linalg.norm(vector)
        if vector.shape != (3,) or not 0.0 < norm < np.inf:
            self._refuse(f"{key}: three numbers, not all zero, are expected", value)
        vector = np.asarray(vector / norm)
        vector.flags.writeable = False
        return vector

    def _refuse(self, what: str, value: Any) -> NoReturn:
        name = self.name or f"{self.first}-{self.second}"
        raise DescriptionError(f"loop {name!r}: {what}, got {value!r}", name=name, value=value)

    @classmethod
    def welded(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop in which the two frames coincide; `options` as for the class."""
        return cls("welded", first, second, **options)

    @classmethod
    def revolute(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a hinge about `axis`; `options` as for the class."""
        return cls("revolute", first, second, **options)

    @classmethod
    def universal(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a universal joint; `options` as for the class."""
        return cls("universal", first, second, **options)

    @classmethod
    def spherical(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a ball joint; `options` as for the class."""
        return cls("spherical", first, second, **options)

    @classmethod
    def prismatic(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a slide along `axis`; `options` as for the class."""
        return cls("prismatic", first, second, **options)

    @classmethod
    def point_in_plane(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop that holds the second origin in a plane of the first frame; `options` as for the class."""
        return cls("point_in_plane", first, second, **options)

    @classmethod
    def distance(cls, first: str, second: str, length: float, **options: Any) -> Loop:
        """Return a loop that keeps the origins `length` [m] apart; `options` as for the class."""
        return cls("distance", first, second, length=length, **options)
