"""Planar linkages of slender rods in the xy plane, turning about z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...arrays import Array, Complex
from ...errors import DescriptionError
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ...shown import shown
from ..constraint_set import ConstraintSet
from ..loop import Loop
from .assemblies import Candidates
from .base import Mechanism, dimensions, real_numbers, require_reach, rod, shifted
from .crossings import circles, side_of

_DOWN = (0.0, -9.81, 0.0)


@dimensions(signed="crank")
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
        For what is no dimension, or where the rods do not reach each other at this crank angle.
    """
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
    elbow = a * np.exp(1j * crank)
    tip = circles(elbow, b, ground, c, 1.0)
    if np.isnan(tip):
        raise DescriptionError(
            f"four-bar: at crank angle {crank} rad, coupler {b} and rocker {c} do not reach each other over "
            f"{abs(ground - elbow):.6g} m",
            value=abs(ground - elbow),
        )
    q = np.array([crank, np.angle(tip - elbow) - crank, np.angle(tip - ground)])
    return Mechanism(model, ConstraintSet(model, [pin]), q, ("crank",), "coupler_tip")


@shown
@dataclass(frozen=True, eq=False)
class FiveBar(Mechanism):
    """The five-bar linkage with its dimensions.

    Attributes
    ----------
    lengths : tuple of float
        As `five_bar` takes them.
    """

    lengths: tuple[float, ...]

    def output(self, q: npt.ArrayLike) -> Array:
        """Return the place (..., 2) of the tip, where the couplers meet [m]."""
        return self.pose(q)[..., :2, 3]

    def configuration(self, output: npt.ArrayLike) -> Array:
        """Return the configuration (..., nq) for places (..., 2) of the tip; see `Mechanism.configuration`."""
        place = real_numbers(output, (2,), "output")
        tip, (first, second) = place[..., 0] + 1j * place[..., 1], self._elbows(self.q)
        home = complex(*self.output(self.q))
        ground, a, b, c, d = self.lengths
        elbows = (
            circles(0.0, a, tip, b, side_of(0.0, home, complex(first))),
            circles(ground, d, tip, c, side_of(ground, home, complex(second))),
        )
        for k, elbow in enumerate(elbows, start=1):
            require_reach(np.isfinite(elbow), "five-bar", f"crank {k}")
        return self._joints(*elbows, tip)

    def _candidates(self, positions: Array) -> Candidates:
        ground, a, b, c, d = self.lengths
        first, second = a * np.exp(1j * positions[0]), ground + d * np.exp(1j * positions[1])
        tips = circles(first, b, second, c, np.array([1.0, -1.0]))
        return Candidates(self._joints(first, second, tips[np.isfinite(tips)]), 2, "two circles")

    def _elbows(self, q: Array) -> tuple[Complex, Complex]:
        ground, a, _, _, d = self.lengths
        return a * np.exp(1j * q[..., 0]), ground + d * np.exp(1j * q[..., 4])

    def _joints(self, first: Complex, second: Complex, tip: Complex) -> Array:
        """Return the angles of the five joints around the loop, within half a turn."""
        ground = self.lengths[0]
        way = np.broadcast_arrays(first, tip - first, second - tip, ground - second, second - ground)
        turns = [np.angle(way[0]), *(np.angle(y / x) for x, y in pairwise(way[:4])), np.angle(way[4])]
        return np.stack(turns, axis=-1)


@dimensions(signed="cranks")
def five_bar(
    lengths: Sequence[float] = (0.4, 0.3, 0.5, 0.5, 0.3),
    masses: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    cranks: Sequence[float] = (2.0, 1.1),
    gravity: npt.ArrayLike = _DOWN,
) -> FiveBar:
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
        For what is no dimension, or where the couplers do not reach each other.
    """
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
    made = FiveBar(model, constraints, model.neutral(), ("joint_1", "joint_5"), "coupler_2", tuple(lengths))
    first, second = made._elbows(np.array([cranks[0], 0.0, 0.0, 0.0, cranks[1]], dtype=float))
    tip = circles(first, b, second, c, 1.0 if (second - first).real > 0.0 else -1.0)
    if np.isnan(tip):
        raise DescriptionError(
            f"five-bar: with cranks at {tuple(cranks)} rad, couplers {b} and {c} do not reach each other over "
            f"{abs(second - first):.6g} m",
            value=abs(second - first),
        )
    object.__setattr__(made, "q", made._joints(first, second, tip))
    return made
