"""Closed mechanisms ready to use, by name or by their own functions."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from ...errors import DescriptionError
from .base import Assemblies, Mechanism, assemblies_from_starts, file_name
from .delta import LinearDelta, RotaryDelta, delta_robot, linear_delta
from .planar import FiveBar, FourBarArm, PlanarThreeRrr, five_bar, four_bar, four_bar_arm, planar_3rrr
from .six_legs import GoughStewart, OffsetLegs, RotaryLegs, gough_stewart, offset_legs, rotary_legs
from .three_rps import ThreeRps, three_rps

#: Names and what makes the mechanisms.
MECHANISMS: MappingProxyType[str, Callable[..., Mechanism]] = MappingProxyType(
    {
        "6-UPS": gough_stewart,
        "6-UCU": offset_legs,
        "6-RUS": rotary_legs,
        "delta": delta_robot,
        "linear delta": linear_delta,
        "3-RPS": three_rps,
        "five-bar": five_bar,
        "four-bar": four_bar,
        "four-bar arm": four_bar_arm,
        "planar 3-RRR": planar_3rrr,
    }
)


def mechanism(name: str, **dimensions: Any) -> Mechanism:
    """Return a ready-made mechanism: its tree, what closes it, its motors and its home configuration.

    Parameters
    ----------
    name : str
        One of `MECHANISMS`; "four_bar_arm" is as good as "four-bar arm".
    **dimensions
        Lengths [m], masses [kg] and the like in place of the given ones, by the names that its function has for them
        (doc/mechanisms/index.md).

    Raises
    ------
    DescriptionError
        For a name or dimension that is not known, and for dimensions that make no mechanism.

    Examples
    --------
    >>> made = mechanism("delta", forearm=0.7)
    >>> made.inverse_kinematics([0.1, 0.0, -0.6])
    """
    known = {file_name(key): key for key in MECHANISMS}
    key = known.get(file_name(name)) if isinstance(name, str) else None
    if key is None:
        raise DescriptionError(f"mechanism {name!r} is unknown, known are {list(MECHANISMS)}", name=str(name))
    return MECHANISMS[key](**dimensions)


__all__ = [
    "MECHANISMS",
    "Assemblies",
    "FiveBar",
    "FourBarArm",
    "GoughStewart",
    "LinearDelta",
    "Mechanism",
    "OffsetLegs",
    "PlanarThreeRrr",
    "RotaryDelta",
    "RotaryLegs",
    "ThreeRps",
    "assemblies_from_starts",
    "delta_robot",
    "five_bar",
    "four_bar",
    "four_bar_arm",
    "gough_stewart",
    "linear_delta",
    "mechanism",
    "offset_legs",
    "planar_3rrr",
    "rotary_legs",
    "three_rps",
]
