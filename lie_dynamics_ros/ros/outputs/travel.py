"""Travel left on each axis of a platform: in diagnostics, and as an answer of a service."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.arrays import Array
from ...core.errors import NodeError
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.constraints.travel import Ways
from ...lie_dynamics.stewart import TravelLeft
from ...lie_dynamics.stewart.geometry.workspace import AXES, travel_left
from .diagnostics import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...lie_dynamics.stewart.geometry.any_platform import Platform

TRAVEL_ACCURACY = 1e-4
"""How exactly ends of ways are looked for in mechanisms [m, rad]."""
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
        try:
            _write(axis, str(ways([axis])).removeprefix(f"{axis} "), report)
        except LieDynamicsError as error:
            _write(axis, str(error), report)

    report.parts.extend(partial(tell, axis) for axis in AXES)


def _write(axis: str, text: str, report: Report) -> None:
    report.values[f"travel left {axis} [{'rad' if axis.startswith('about') else 'm'}]"] = text


class TravelInTurn:
    """Tells the travel left of a mechanism in its diagnostics, one axis in each report: it takes some 50 ms."""

    def __init__(self) -> None:
        self._next = 0

    def describe(self, ways: Callable[[], Ways], report: Report) -> None:
        """Tell the travel left along one axis, in parts of a millisecond; `ways` begins, by errors of the library."""

        def found() -> Generator[None, None, None]:
            try:
                begun = ways()
                axis = begun.axes[self._next % len(begun.axes)]
                self._next += 1
                yield
                left = yield from begun.both(axis, TRAVEL_ACCURACY)
                _write(axis, str(left).removeprefix(f"{axis} "), report)
            except (NodeError, LieDynamicsError) as error:
                report.values["travel left"] = str(error)

        steps = found()

        def go_on() -> None:
            for _ in steps:
                return report.parts.appendleft(go_on)

        report.parts.append(go_on)


def answer_travel(find: Callable[[], Way], response: Any) -> Any:
    """Fill in the response of a std_srvs/Trigger with the travel left, or with why it is not known."""
    try:
        response.message = str(find()(AXES))
        response.success = True
    except (NodeError, LieDynamicsError) as error:
        response.success, response.message = False, str(error)
    return response
