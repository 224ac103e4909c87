"""Planar linkages of slender rods in the xy plane, turning about z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...errors import DescriptionError
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ..assembly import assemble
from ..constraint_set import ConstraintSet
from ..loop import Loop
from .mechanism import Mechanism, rod, shifted

_DOWN = (0.0, -9.81, 0.0)


def four_bar(
    lengths: Sequence[float] = (1.0, 0.3, 0.9, 0.7),
    masses: Sequence[float] = (1.0, 1.0, 1.0),
    crank: float = 0.6,
    gravity: npt.ArrayLike = _DOWN,
    spatial: bool = False,
) -> Mechanism:
    """Return a four-bar linkage: crank and coupler on the origin's pivot, rocker on the other, pinned together.

    Parameters
    ----------
    lengths : sequence of four float
        Ground, along x, then crank, coupler and rocker [m].
    masses : sequence of three float
        Of crank, coupler and rocker, slender rods [kg].
    crank : float
        Angle of the crank in the configuration returned [rad].
    gravity : array-like, shape (3,)
        In the plane, downwards along y, when left out.
    spatial : bool
        Close the loop by a hinge in space: five constraints, of which only two are independent in the plane.

    Raises
    ------
    DescriptionError
        If a length is not above zero, or the rods do not reach each other at this crank angle.
    """
    _positive("lengths", lengths, 4)
    _positive("masses", masses, 3)
    ground, a, b, c = lengths
    model = (
        ModelBuilder(gravity)
        .add("crank", None, jt.revolute(), None, rod(a, masses[0]))
        .add("coupler", "crank", jt.revolute(), shifted(a), rod(b, masses[1]))
        .add("coupler_tip", "coupler", placement=shifted(b))
        .add("rocker", None, jt.revolute(), shifted(ground), rod(c, masses[2]))
        .add("rocker_tip", "rocker", placement=shifted(c))
        .build("four_bar")
    )
    pin = Loop("revolute" if spatial else "point_on_line", "coupler_tip", "rocker_tip", name="pin")
    # The coupler's tip where circles about the crank's tip and the rocker's pivot meet, above.
    elbow = a * np.exp(1j * crank)
    gap = ground - elbow
    distance = abs(gap)
    along = (distance**2 + b**2 - c**2) / (2.0 * distance)
    if b * b < along * along:
        raise DescriptionError(
            f"four-bar: at crank angle {crank} rad, coupler {b} and rocker {c} do not reach each other over "
            f"{distance:.6g} m",
            value=distance,
        )
    tip = elbow + gap / distance * (along + 1j * np.sqrt(b * b - along * along))
    q = np.array([crank, np.angle(tip - elbow) - crank, np.angle(tip - ground)])
    return Mechanism(model, ConstraintSet(model, [pin]), q, ("crank",))


def five_bar(
    lengths: Sequence[float] = (0.4, 0.3, 0.5, 0.5, 0.3),
    masses: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    cranks: Sequence[float] = (2.0, 1.1),
    gravity: npt.ArrayLike = _DOWN,
) -> Mechanism:
    """Return the planar five-bar linkage of Kim, section 3.1: five hinges are coordinates, and three constraints hold.

    The second crank is cut in the middle and welded in the plane. One, two or three of the five hinges ("joint_1" to
    "joint_5", around the loop from the origin) may be actuated; two move it.

    Parameters
    ----------
    lengths : sequence of five float
        Ground, along x, first crank, first and second coupler, second crank [m].
    masses : sequence of four float
        Of the rods, in that order [kg].
    cranks : sequence of two float
        Angles of the cranks, from x, in the configuration returned [rad]; the couplers meet above.
    gravity : array-like, shape (3,)
        In the plane, downwards along y, when left out.

    Raises
    ------
    DescriptionError
        If a length is not above zero, or the couplers do not reach each other.
    """
    _positive("lengths", lengths, 5)
    _positive("masses", masses, 4)
    ground, a, b, c, d = lengths
    model = (
        ModelBuilder(gravity)
        .add("crank_1", None, jt.revolute(), None, rod(a, masses[0]), "joint_1")
        .add("coupler_1", "crank_1", jt.revolute(), shifted(a), rod(b, masses[1]), "joint_2")
        .add("coupler_2", "coupler_1", jt.revolute(), shifted(b), rod(c, masses[2]), "joint_3")
        .add("crank_2_outer", "coupler_2", jt.revolute(), shifted(c), rod(0.5 * d, 0.5 * masses[3]), "joint_4")
        .add("outer_end", "crank_2_outer", placement=shifted(0.5 * d))
        .add("crank_2", None, jt.revolute(), shifted(ground), rod(0.5 * d, 0.5 * masses[3]), "joint_5")
        .add("inner_end", "crank_2", placement=shifted(0.5 * d))
        .build("five_bar")
    )
    # The outer half points from the coupler's end towards the pivot, the inner one away from it.
    turned = np.diag([-1.0, -1.0, 1.0, 1.0])
    constraints = ConstraintSet(
        model, [Loop("welded_in_plane", "inner_end", "outer_end", name="cut", first_placement=turned)]
    )
    first, second = a * np.exp(1j * cranks[0]), ground + d * np.exp(1j * cranks[1])
    gap = second - first
    distance = abs(gap)
    along = (distance**2 + b**2 - c**2) / (2.0 * distance)
    if b * b < along * along:
        raise DescriptionError(
            f"five-bar: with cranks at {tuple(cranks)} rad, couplers {b} and {c} do not reach each other over "
            f"{distance:.6g} m",
            value=distance,
        )
    side = 1j if gap.real > 0.0 else -1j
    tip = first + gap / distance * (along + side * np.sqrt(b * b - along * along))
    angles = np.array([cranks[0], np.angle(tip - first), np.angle(second - tip), cranks[1] + np.pi])
    q = np.append(np.diff(angles, prepend=0.0), cranks[1])
    q = (q + np.pi) % (2.0 * np.pi) - np.pi
    return Mechanism(model, constraints, assemble(model, constraints, q).q, ("joint_1", "joint_5"))


def _positive(name: str, values: Sequence[float], count: int) -> None:
    array = np.asarray(values, dtype=float)
    if array.shape != (count,) or not (np.isfinite(array) & (array > 0.0)).all():
        raise DescriptionError(f"{name}: {count} numbers above zero are expected, got {values!r}", name=name)
