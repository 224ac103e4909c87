"""An arm whose elbow is driven through a four-bar: both its motors stand on the turret, as palletizers have it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...arrays import Array, Complex
from ...errors import DescriptionError
from ...lie import SpatialInertia
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ...shown import shown
from ..constraint_set import ConstraintSet
from ..kinds import Loop
from .assemblies import Candidates, circles, side_of
from .base import Mechanism, dimensions, real_numbers, require_reach, rod, shifted

#: Hinges turn about -y, so that positive angles go up from x; points of the arm's plane are x + i z.
_UP = [0.0, -1.0, 0.0]


@shown
@dataclass(frozen=True, eq=False)
class FourBarArm(Mechanism):
    """The arm with its dimensions.

    Attributes
    ----------
    shoulder : tuple of float
        Of the shoulder in front of the turret's axis, and above the base [m].
    upper_arm, forearm, crank, link, tail : float
        Lengths [m], as `four_bar_arm` takes them.
    """

    shoulder: tuple[float, float]
    upper_arm: float
    forearm: float
    crank: float
    link: float
    tail: float

    def output(self, q: npt.ArrayLike) -> Array:
        """Return the place (..., 3) of the tool [m]."""
        return self.pose(q)[..., :3, 3]

    def configuration(self, output: npt.ArrayLike) -> Array:
        """Return the configuration (..., nq) for places (..., 3) of the tool; see `Mechanism.configuration`."""
        x, y, z = np.moveaxis(real_numbers(output, (3,), "output"), -1, 0)
        home_elbow, home_tail, home_knee, home_tool = (complex(p) for p in self._points(self.q))
        tool = np.hypot(x, y) - self.shoulder[0] + 1j * (z - self.shoulder[1])
        elbow = circles(0.0, self.upper_arm, tool, self.forearm, side_of(0.0, home_tool, home_elbow))
        require_reach(np.isfinite(elbow), "four-bar arm", "the forearm")
        tail = elbow - self.tail / self.forearm * (tool - elbow)
        knee = circles(0.0, self.crank, tail, self.link, side_of(0.0, home_tail, home_knee))
        require_reach(np.isfinite(knee), "four-bar arm", "the crank")
        return self._joints(np.arctan2(y, x), elbow, tail, knee)

    def _points(self, q: Array) -> tuple[Complex, Complex, Complex, Complex]:
        """Return elbow, tail, end of the crank, and tool in the arm's plane, seen from the shoulder."""
        angle = {name: q[..., self.model.joint(name).q_slice.start] for name in ("shoulder", "elbow", "crank")}
        elbow = self.upper_arm * np.exp(1j * angle["shoulder"])
        along = np.exp(1j * (angle["shoulder"] + angle["elbow"]))
        return elbow, elbow - self.tail * along, self.crank * np.exp(1j * angle["crank"]), elbow + self.forearm * along

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
        elbow, knee = self.upper_arm * np.exp(1j * shoulder), self.crank * np.exp(1j * crank)
        tails = circles(knee, self.link, elbow, self.tail, np.array([1.0, -1.0]))
        return Candidates(self._joints(turret, elbow, tails[np.isfinite(tails)], knee), 2, "two circles")


@dimensions(signed="shoulder_offset shoulder_height angles")
def four_bar_arm(
    shoulder_offset: float = 0.05,
    shoulder_height: float = 0.3,
    upper_arm: float = 0.4,
    forearm: float = 0.4,
    crank: float = 0.12,
    link: float = 0.4,
    tail: float = 0.12,
    upper_arm_mass: float = 1.5,
    forearm_mass: float = 1.0,
    crank_mass: float = 0.3,
    link_mass: float = 0.3,
    turret_mass: float = 3.0,
    angles: tuple[float, float] = (1.2, -0.4),
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
) -> FourBarArm:
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
    pivot = shifted(shoulder_offset, 0.0, shoulder_height)
    builder = ModelBuilder(gravity)
    # Where the shoulder's height ends there is the turret's ball.
    ball = SpatialInertia(turret_mass, np.array([0.0, 0.0, shoulder_height]), 0.4 * turret_mass * 0.1**2 * np.eye(3))
    builder.add("turret", None, jt.revolute([0.0, 0.0, 1.0]), None, ball)
    builder.add("upper_arm", "turret", jt.revolute(_UP), pivot, rod(upper_arm, upper_arm_mass), "shoulder")
    whole = rod(forearm + tail, forearm_mass, start=-tail)
    builder.add("forearm", "upper_arm", jt.revolute(_UP), shifted(upper_arm), whole, "elbow")
    builder.add("tool", "forearm", placement=shifted(forearm))
    builder.add("crank", "turret", jt.revolute(_UP), pivot, rod(crank, crank_mass))
    builder.add("link", "crank", jt.revolute(_UP), shifted(crank), rod(link, link_mass))
    pin = Loop(
        "point_on_line", "forearm", "link", name="pin", axis=[0.0, 1.0, 0.0],
        first_placement=shifted(-tail), second_placement=shifted(link),
    )  # fmt: skip
    model = builder.build("four_bar_arm")
    made = FourBarArm(
        model, ConstraintSet(model, [pin]), model.neutral(), ("turret", "shoulder", "crank"), "tool",
        (shoulder_offset, shoulder_height), upper_arm, forearm, crank, link, tail,
    )  # fmt: skip
    elbow = np.asarray(upper_arm * np.exp(1j * angles[0]))
    end = elbow - tail * np.exp(1j * angles[1])
    # Of the two ends of the crank that of the parallelogram, beside the tail's way from the elbow.
    knee = circles(0.0, crank, end, link, side_of(0.0, complex(end), complex(end - elbow)))
    require_reach(np.isfinite(knee), "four-bar arm", "the crank by its link", DescriptionError)
    return replace(made, q=made._joints(np.zeros(()), elbow, end, knee))
