"""Content of the page at one moment, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics import Model
from .shapes import Shape

GOOD, DOUBTFUL, BAD = range(3)


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot, and what it looks like.

    Attributes
    ----------
    model : Model
    shapes : sequence of Shape
    problems : sequence of str
        What of it cannot be drawn.
    """

    model: Model
    shapes: Sequence[Shape]
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class Effort:
    """Effort of a joint [N m or N], None where it is not known; its limit may be infinite."""

    joint: str
    value: float | None
    limit: float
    unit: str


@dataclass(frozen=True, eq=False)
class PlatformView:
    """A Stewart platform in its base frame [m], its one-sigma ellipsoid, and the status of its pose."""

    pose: Array
    points: Array
    deviations: Array
    axes: Array
    radii: Array
    level: int
    word: str
    stale: bool


@dataclass(frozen=True, eq=False)
class ContactView:
    """A force [N] at a point; the arrow's ends [m], shape (2, 3); None where its frame is none of the robot's."""

    frame: str
    force: float
    arrow: Array | None
    touching: bool | None


@dataclass(frozen=True)
class ReportView:
    """The last diagnostic report of a node."""

    name: str
    level: int
    message: str
    stale: bool


@dataclass(frozen=True, eq=False)
class Picture:
    """Everything that the page shows at one moment.

    Attributes
    ----------
    robot : Robot or None
    poses : ndarray or None
        Of its bodies (n_bodies, 4, 4); None before the first joint states.
    age : float or None
        Of the last joint states [s].
    unknown : tuple of str
        Joints that have not been heard of for longer than ``stale_after``.
    efforts, source : tuple of Effort, str
        By joint, and where they come from; empty where there are none.
    times, traces : ndarray, shapes (n,), (n, joints)
        Efforts over time [s], before the moment.
    """

    robot: Robot | None = None
    poses: Array | None = None
    age: float | None = None
    stale: bool = True
    unknown: tuple[str, ...] = ()
    efforts: tuple[Effort, ...] = ()
    source: str = ""
    times: Array = field(default_factory=lambda: np.zeros(0))
    traces: Array = field(default_factory=lambda: np.zeros((0, 0)))
    platform: PlatformView | None = None
    contact: ContactView | None = None
    reports: tuple[ReportView, ...] = ()
