"""Planar linkages of slender rods: four-bar, five-bar and 3-RRR in the xy plane, and an arm with a four-bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...arrays import Array, ArrayLike, Complex
from ...errors import DescriptionError
from ...lie import SpatialInertia
from ...model import joint_types as jt
from ...model.model import ModelBuilder
from ...shown import grouped, shown
from ..constraint_set import ConstraintSet
from ..kinds import Loop
from .base import (
    DOWN,
    Candidates,
    Mechanism,
    circles,
    dimensions,
    disc,
    real_numbers,
    real_roots,
    require_reach,
    rod,
    shifted,
    side_of,
    thirds,
)

#: Hinges turn about -y, so that positive angles go up from x; points of the arm's plane are x + i z.
_UP = [0.0, -1.0, 0.0]


@shown
@dataclass(frozen=True, eq=False)
class FourBarArm(Mechanism):
    """The arm with its dimensions."""

    of: FourBarArmDimensions

    def output(self, q: ArrayLike) -> Array:
        """Return the place (..., 3) of the tool [m]."""
        return self.pose(q)[..., :3, 3]

    def configuration(self, output: ArrayLike) -> Array:
        """Return the configuration (..., nq) for places (..., 3) of the tool; see `Mechanism.configuration`."""
        x, y, z = np.moveaxis(real_numbers(output, (3,), "output"), -1, 0)
        home_elbow, home_tail, home_knee, home_tool = (complex(p) for p in self._points(self.q))
        tool = np.hypot(x, y) - self.of.shoulder_offset + 1j * (z - self.of.shoulder_height)
        elbow = circles(0.0, self.of.upper_arm, tool, self.of.forearm, side_of(0.0, home_tool, home_elbow))
        require_reach(np.isfinite(elbow), "four-bar arm", "the forearm")
        tail = elbow - self.of.tail / self.of.forearm * (tool - elbow)
        knee = circles(0.0, self.of.crank, tail, self.of.link, side_of(0.0, home_tail, home_knee))
        require_reach(np.isfinite(knee), "four-bar arm", "the crank")
        return self._joints(np.arctan2(y, x), elbow, tail, knee)

    def _points(self, q: Array) -> tuple[Complex, Complex, Complex, Complex]:
        """Return elbow, tail, end of the crank, and tool in the arm's plane, seen from the shoulder."""
        angle = {name: q[..., self.model.joint(name).q_slice.start] for name in ("shoulder", "elbow", "crank")}
        elbow, knee = self.of.upper_arm * np.exp(1j * angle["shoulder"]), self.of.crank * np.exp(1j * angle["crank"])
        along = np.exp(1j * (angle["shoulder"] + angle["elbow"]))
        return elbow, elbow - self.of.tail * along, knee, elbow + self.of.forearm * along

    def _joints(self, turret: Array, elbow: Complex, tail: Complex, knee: Complex) -> Array:
        angles = {
            "turret": turret,
            "shoulder": np.angle(elbow),
            "elbow": np.angle((elbow - tail) / elbow),
            "crank": np.angle(knee),
            "link": np.angle((tail - knee) / knee),
        }
        columns = np.broadcast_arrays(*(angles[joint.name] for joint in self.model.joints))
        return np.stack(columns, axis=-1)

    def _candidates(self, positions: Array) -> Candidates:
        turret, shoulder, crank = positions
        elbow, knee = self.of.upper_arm * np.exp(1j * shoulder), self.of.crank * np.exp(1j * crank)
        tails = circles(knee, self.of.link, elbow, self.of.tail, np.array([1.0, -1.0]))
        return Candidates(self._joints(turret, elbow, tails[np.isfinite(tails)], knee), 2, "two circles")


@dataclass(frozen=True, eq=False)
class FourBarArmDimensions:
    """Dimensions of `four_bar_arm`, which describes them."""

    shoulder_offset: float = 0.05
    shoulder_height: float = 0.3
    upper_arm: float = 0.4
    forearm: float = 0.4
    crank: float = 0.12
    link: float = 0.4
    tail: float = 0.12
    upper_arm_mass: float = 1.5
    forearm_mass: float = 1.0
    crank_mass: float = 0.3
    link_mass: float = 0.3
    turret_mass: float = 3.0
    angles: tuple[float, float] = (1.2, -0.4)
    gravity: ArrayLike = (0.0, 0.0, -9.81)


@dimensions(signed="shoulder_offset shoulder_height angles")
@grouped(FourBarArmDimensions)
def four_bar_arm(of: FourBarArmDimensions) -> FourBarArm:
    """Return an arm with three motors ("turret", "shoulder", "crank"), a four-bar behind its elbow.

    The turret turns about z and carries the hinges of upper arm and crank, on one axis; a link goes from the end of the
    crank to the tail of the forearm, behind the elbow. With `crank` equal to `tail` and `link` to `upper_arm` this is
    a parallelogram: the crank then stays parallel to the forearm. All angles of shoulder and crank are above the
    horizontal, those of "elbow" and "link" between two parts; "tool" is a frame at the forearm's end: 5 coordinates, 2
    constraints.

    Parameters
    ----------
    shoulder_offset, shoulder_height : float
        Of the shoulder in front of the turret's axis, and above the base [m].
    upper_arm, forearm, crank, link, tail : float
        Lengths, the forearm's from the elbow to the tool, the tail's from the elbow backwards [m].
    upper_arm_mass, forearm_mass, crank_mass, link_mass : float
        Of slender rods [kg]; that of the forearm includes its tail.
    turret_mass : float
        Of a ball of 0.1 m radius in the turret's axis [kg].
    angles : tuple of float
        Of upper arm and forearm above the horizontal in the home configuration; the crank points backwards there [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        For what is no dimension, or a link that does not reach the crank.
    """
    pivot = shifted(of.shoulder_offset, 0.0, of.shoulder_height)
    builder = ModelBuilder(of.gravity)
    # Where the shoulder's height ends there is the turret's ball.
    about = 0.4 * of.turret_mass * 0.1**2 * np.eye(3)
    ball = SpatialInertia(of.turret_mass, np.array([0.0, 0.0, of.shoulder_height]), about)
    builder.add("turret", None, jt.revolute([0.0, 0.0, 1.0]), None, ball)
    builder.add("upper_arm", "turret", jt.revolute(_UP), pivot, rod(of.upper_arm, of.upper_arm_mass), "shoulder")
    whole = rod(of.forearm + of.tail, of.forearm_mass, start=-of.tail)
    builder.add("forearm", "upper_arm", jt.revolute(_UP), shifted(of.upper_arm), whole, "elbow")
    builder.add("tool", "forearm", placement=shifted(of.forearm))
    builder.add("crank", "turret", jt.revolute(_UP), pivot, rod(of.crank, of.crank_mass))
    builder.add("link", "crank", jt.revolute(_UP), shifted(of.crank), rod(of.link, of.link_mass))
    pin = Loop(
        "point_on_line", "forearm", "link", name="pin", axis=[0.0, 1.0, 0.0],
        first_placement=shifted(-of.tail), second_placement=shifted(of.link),
    )  # fmt: skip
    model = builder.build("four_bar_arm")
    names = "turret", "shoulder", "crank"
    made = FourBarArm(model, ConstraintSet(model, [pin]), model.neutral(), names, "tool", of)
    elbow = np.asarray(of.upper_arm * np.exp(1j * of.angles[0]))
    end = elbow - of.tail * np.exp(1j * of.angles[1])
    # Of the two ends of the crank that of the parallelogram, beside the tail's way from the elbow.
    knee = circles(0.0, of.crank, end, of.link, side_of(0.0, complex(end), complex(end - elbow)))
    require_reach(np.isfinite(knee), "four-bar arm", "the crank by its link", DescriptionError)
    return replace(made, q=made._joints(np.zeros(()), elbow, end, knee))


_DOWN = (0.0, -9.81, 0.0)


@dimensions(signed="crank")
def four_bar(
    lengths: Sequence[float] = (1.0, 0.3, 0.9, 0.7),
    masses: Sequence[float] = (1.0, 1.0, 1.0),
    crank: float = 0.6,
    gravity: ArrayLike = _DOWN,
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

    def output(self, q: ArrayLike) -> Array:
        """Return the place (..., 2) of the tip, where the couplers meet [m]."""
        return self.pose(q)[..., :2, 3]

    def configuration(self, output: ArrayLike) -> Array:
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
    gravity: ArrayLike = _DOWN,
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


_TURNS = np.array(thirds())


@shown
@dataclass(frozen=True, eq=False)
class PlanarThreeRrr(Mechanism):
    """The planar 3-RRR platform with its dimensions."""

    of: ThreeRrrDimensions

    def output(self, q: ArrayLike) -> Array:
        """Return place and angle of the platform (x, y, angle), (..., 3) [m, rad]."""
        T = self.pose(q)
        return np.stack([T[..., 0, 3], T[..., 1, 3], np.arctan2(T[..., 1, 0], T[..., 0, 0])], axis=-1)

    def configuration(self, output: ArrayLike) -> Array:
        """Return the configuration (..., nq) for outputs (x, y, angle) (..., 3); see `Mechanism.configuration`."""
        x, y, angle = np.moveaxis(real_numbers(output, (3,), "output"), -1, 0)
        ends = self._corners(x + 1j * y, angle)
        sides, (inner, outer) = self._sides, (self.of.crank, self.of.coupler)
        elbows = np.stack([circles(self._pivots[k], inner, ends[..., k], outer, sides[k]) for k in range(3)], axis=-1)
        for k, name in enumerate(self.actuated):
            require_reach(np.isfinite(elbows[..., k]), "3-RRR", name)
        return self._joints(elbows, ends, angle)

    @property
    def _pivots(self) -> Complex:
        return np.asarray(self.of.base_radius * np.exp(2j * np.pi * np.arange(3) / 3.0))

    @property
    def _sides(self) -> list[float]:
        x, y, angle = self.output(self.q)
        ends, elbows = self._corners(np.asarray(x + 1j * y), angle), self._elbows(self.motors(self.q))
        return [side_of(a, b, c) for a, b, c in zip(self._pivots, ends, elbows, strict=True)]

    def _elbows(self, positions: Array) -> Complex:
        return np.asarray(self._pivots + self.of.crank * np.exp(1j * positions))

    def _corners(self, place: Complex, angle: Array) -> Complex:
        corners = self.of.platform_radius * np.exp(2j * np.pi * np.arange(3) / 3.0)
        return np.asarray(place[..., None] + corners * np.exp(1j * np.asarray(angle))[..., None])

    def _joints(self, elbows: Complex, ends: Complex, angle: Array) -> Array:
        cranks, couplers = elbows - self._pivots, ends - elbows
        bent = np.angle(couplers / cranks)
        wrist = np.angle(np.exp(1j * angle) * np.conj(couplers[..., 0]))
        columns = {"wrist_1": wrist}
        for k in range(3):
            columns[f"motor_{k + 1}"], columns[f"elbow_{k + 1}"] = np.angle(cranks[..., k]), bent[..., k]
        return np.stack([columns[joint.name] for joint in self.model.joints], axis=-1)

    def _candidates(self, positions: Array) -> Candidates:
        """Return the corners on circles about the elbows: linear in the first one for an angle, of degree 6 in that."""
        elbows, corners = self._elbows(positions), self._corners(np.zeros((), complex), np.zeros(()))
        arms, gaps = corners[1:] - corners[0], elbows[1:] - elbows[0]

        def first_corner(angle: Array) -> tuple[Complex, Array]:
            """Return the first corner, seen from its elbow, times the determinant; and the determinant."""
            v = arms * np.exp(1j * angle)[:, None] - gaps
            right = -0.5 * np.abs(v) ** 2
            d = (np.conj(v[:, 0]) * v[:, 1]).imag
            return 1j * (right[:, 1] * v[:, 0] - right[:, 0] * v[:, 1]), d

        def polynomial(angle: Array) -> Array:
            p, d = first_corner(angle)
            return np.asarray(np.abs(p) ** 2 - (self.of.coupler * d) ** 2)

        method, angles = "a polynomial of degree 6", real_roots(polynomial, 3)
        if angles is None:
            return Candidates(np.empty((0, self.model.nq)), 6, method, False)
        p, d = first_corner(angles)
        with np.errstate(all="ignore"):
            corner = elbows[0] + p / d
        settled = bool((np.abs(d) > 1e-9 * np.abs(arms).max() ** 2).all())  # else the platform may slide in a circle
        angles, corner = angles[np.isfinite(corner)], corner[np.isfinite(corner)]
        ends = self._corners(corner - corners[0] * np.exp(1j * angles), angles)
        q = self._joints(np.broadcast_to(elbows, ends.shape), ends, angles)
        return Candidates(q, 6, method, settled)


@dataclass(frozen=True, eq=False)
class ThreeRrrDimensions:
    """Dimensions of `planar_3rrr`, which describes them."""

    base_radius: float = 0.4
    platform_radius: float = 0.1
    crank: float = 0.25
    coupler: float = 0.25
    crank_mass: float = 0.4
    coupler_mass: float = 0.3
    platform_mass: float = 0.5
    angle: float = 0.0
    gravity: ArrayLike = DOWN


@dimensions(signed="angle")
@grouped(ThreeRrrDimensions)
def planar_3rrr(of: ThreeRrrDimensions) -> PlanarThreeRrr:
    """Return a planar 3-RRR platform in the xy plane: three legs of two links move and turn it.

    Motors ("motor_1" to "motor_3") stand at 120 degrees from each other; "elbow_1" to "elbow_3" follow, and "wrist_1"
    carries the platform, to which the other two legs are pinned: 7 coordinates, 4 constraints.

    Parameters
    ----------
    base_radius, platform_radius : float
        Of the circles of motors and of the platform's hinges [m].
    crank, coupler : float
        Lengths of a leg's links [m].
    crank_mass, coupler_mass, platform_mass : float
        Of one crank, one coupler (both slender), and of the platform, a disc [kg].
    angle : float
        Of the platform in the home configuration, in the middle, elbows to the right [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall, normal to the plane when left out.

    Raises
    ------
    DescriptionError
        For what is no dimension, or legs that do not reach the platform.
    """
    builder, z = ModelBuilder(of.gravity), np.array([0.0, 0.0, 1.0])
    for k, turn in enumerate(_TURNS, start=1):
        pivot = shifted(*(turn @ [of.base_radius, 0.0, 0.0]))
        builder.add(f"crank_{k}", None, jt.revolute(z), pivot, rod(of.crank, of.crank_mass), f"motor_{k}")
        outer = rod(of.coupler, of.coupler_mass)
        builder.add(f"coupler_{k}", f"crank_{k}", jt.revolute(z), shifted(of.crank), outer, f"elbow_{k}")
        if k == 1:
            plate = disc(of.platform_radius, of.platform_mass).transformed(shifted(-of.platform_radius))
            builder.add("plate", "coupler_1", jt.revolute(z), shifted(of.coupler), plate, "wrist_1")
            builder.add("platform", "plate", placement=shifted(-of.platform_radius))
    loops = [
        Loop(
            "point_on_line", "platform", f"coupler_{k}", name=f"pin_{k}", second_placement=shifted(of.coupler),
            first_placement=shifted(*(_TURNS[k - 1] @ [of.platform_radius, 0.0, 0.0])),
        )
        for k in (2, 3)
    ]  # fmt: skip
    model = builder.build("planar_3_rrr")
    names = "motor_1", "motor_2", "motor_3"
    made = PlanarThreeRrr(model, ConstraintSet(model, loops), model.neutral(), names, "platform", of)
    turned = np.asarray(float(of.angle))
    ends = made._corners(np.zeros((), complex), turned)
    elbows = np.array([circles(a, of.crank, b, of.coupler, -1.0) for a, b in zip(made._pivots, ends, strict=True)])
    require_reach(np.isfinite(elbows), "3-RRR", "the platform by its legs", DescriptionError)
    return replace(made, q=made._joints(elbows, ends, turned))
