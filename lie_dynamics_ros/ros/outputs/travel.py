"""Travel left on each axis of a platform: in diagnostics, and as an answer of a service."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.arrays import Array
from ...core.errors import NodeError
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import TravelLeft
from ...lie_dynamics.stewart.geometry.travel import AXES, travel_left
from .diagnostics import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...lie_dynamics.stewart.geometry.any_platform import Platform

CLOSER_LOOKS = 3
"""Closer looks: right to 0.04 mm and 0.1 mrad."""
Way = Callable[["Sequence[str]"], TravelLeft]
"""Returns the travel left on axes."""


def ways_from(
    platform: Platform, pose: Array, names: Sequence[str], positions: Array | None = None, limits: Array | None = None
) -> Way:
    """Return what finds the travel left from a pose (4, 4); see `travel_left`."""
    return lambda axes: travel_left(
        platform, pose, positions, limits=limits, names=names, axes=axes, looks=CLOSER_LOOKS
    )


def describe_travel(ways: Way, report: Report) -> None:
    """Tell the travel left, each axis in a part of its own: one takes some milliseconds."""

    def tell(axis: str) -> None:
        unit = "rad" if axis.startswith("about") else "m"
        try:
            text = str(ways([axis])).removeprefix(f"{axis} ")
        except LieDynamicsError as error:
            text = str(error)
        report.values[f"travel left {axis} [{unit}]"] = text

    report.parts.extend(partial(tell, axis) for axis in AXES)


def answer_travel(find: Callable[[], Way], response: Any) -> Any:
    """Fill in the response of a std_srvs/Trigger with the travel left, or with why it is not known."""
    try:
        response.message = str(find()(AXES))
        response.success = True
    except (NodeError, LieDynamicsError) as error:
        response.success, response.message = False, str(error)
    return response
