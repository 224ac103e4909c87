"""`Coupling`: a linear equation between coordinates, as gears, belts and mimic joints make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import DescriptionError
from ..model.model import Model


@dataclass(frozen=True, eq=False)
class Coupling:
    """A linear equation between coordinates: sum of ``coefficients[joint] * q[joint]`` equals `offset`.

    Parameters
    ----------
    coefficients : mapping of str to float
        For each joint of one coordinate that takes part, its coefficient.
    offset : float
        Right hand side [rad or m].
    name : str, optional
        Name in reports; made of the joints' names when left out.

    Raises
    ------
    DescriptionError
        If a coefficient or the offset is not finite, or none differs from zero.
    """

    coefficients: Mapping[str, float]
    offset: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        values = {str(joint): float(c) for joint, c in dict(self.coefficients).items()}
        name = self.name or "+".join(values) or "coupling"
        if not any(values.values()) or not np.isfinite([*values.values(), self.offset]).all():
            raise DescriptionError(
                f"coupling {name!r}: finite coefficients, not all zero, and a finite offset are expected, "
                f"got {values} and {self.offset}",
                name=name,
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "coefficients", MappingProxyType(values))

    def __reduce__(self) -> tuple[Any, ...]:
        return Coupling, (dict(self.coefficients), self.offset, self.name)

    @property
    def size(self) -> int:
        """Number of scalar constraints: one."""
        return 1

    @classmethod
    def gear(cls, follower: str, leader: str, ratio: float, offset: float = 0.0, name: str = "") -> Coupling:
        """Return the coupling ``q[follower] = ratio * q[leader] + offset``."""
        if follower == leader:
            raise DescriptionError(f"coupling: joint {follower!r} cannot follow itself", name=follower)
        return cls({follower: 1.0, leader: -ratio}, offset, name or follower)


def mimic_couplings(model: Model) -> tuple[Coupling, ...]:
    """Return a coupling for each mimic joint of a model, named after it, as its URDF asks for."""
    found = []
    for joint in model.joints:
        if joint.mimic is not None and not joint.coupled:
            leader, ratio, offset = joint.mimic
            found.append(Coupling.gear(joint.name, leader, ratio, offset))
    return tuple(found)
