"""The delta robot: three arms, six rods, a platform that stays level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...errors import DescriptionError
from ...lie import SpatialInertia
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ..assembly import assemble
from ..constraint_set import ConstraintSet
from ..loop import Loop
from .mechanism import Array, Mechanism, placed, rod, shifted


def delta_robot(
    base_radius: float = 0.2,
    platform_radius: float = 0.05,
    arm: float = 0.3,
    forearm: float = 0.8,
    rod_spacing: float = 0.1,
    arm_mass: float = 0.5,
    rod_mass: float = 0.05,
    platform_mass: float = 0.3,
    angle: float = 0.3,
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """Return a delta robot hanging from the xy plane.

    Three arms ("arm_1" to "arm_3", hinged at 120 degrees from each other, positive downwards) carry two parallel rods
    each, on universal joints; the platform is a free body, and ball joints close six loops: 21 coordinates, 18
    constraints. Without mass the rods are no bodies but six distances.

    Parameters
    ----------
    base_radius, platform_radius : float
        Distances of the hinges from the centre of the base, and of the rods' ends from that of the platform [m].
    arm, forearm, rod_spacing : float
        Lengths of arms and rods, and distance of two parallel rods [m].
    arm_mass, rod_mass, platform_mass : float
        Of one arm, one rod (both slender), and of the platform, a disc [kg].
    angle : float
        Of the arms below the horizontal, in the configuration returned [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        If the rods do not reach the platform.
    """
    reach = base_radius + arm * np.cos(angle) - platform_radius
    if not abs(reach) < forearm:
        raise DescriptionError(f"delta robot: rods of {forearm} m do not reach over {reach:.6g} m", value=reach)
    height = -arm * np.sin(angle) - np.sqrt(forearm**2 - reach**2)
    builder, loops = ModelBuilder(gravity), []
    disc = platform_mass * max(platform_radius, 0.01) ** 2
    plate = SpatialInertia(platform_mass, np.zeros(3), np.diag([0.25, 0.25, 0.5]) * disc)
    builder.add("platform", None, jt.free(), None, plate, "platform")
    guess: dict[str, Array] = {"platform": np.array([0, 0, 0, 1, 0, 0, height])}
    for k in range(1, 4):
        turn = _about_z(2.0 * np.pi * (k - 1) / 3.0)
        name = f"arm_{k}"
        # The arm points along x of its frame; y is the hinge, so positive angles go down.
        builder.add(name, None, jt.revolute([0, 1, 0]), placed(turn, turn @ [base_radius, 0, 0]), rod(arm, arm_mass))
        guess[name] = np.array([angle])
        for side, y in (("left", 0.5 * rod_spacing), ("right", -0.5 * rod_spacing)):
            end, link = turn @ [platform_radius, y, 0.0], f"rod_{k}_{side}"
            if rod_mass > 0.0:
                builder.add(
                    link, name, jt.universal([0, 1, 0], [0, 0, 1]), shifted(arm, y), rod(forearm, rod_mass), link
                )
                guess[link] = np.array([np.arctan2(-height - arm * np.sin(angle), -reach) - angle, 0.0])
                loops.append(
                    Loop.spherical(
                        "platform", link, name=link, first_placement=shifted(*end), second_placement=shifted(forearm)
                    )
                )
            else:
                loops.append(
                    Loop.distance(
                        "platform",
                        name,
                        forearm,
                        name=link,
                        first_placement=shifted(*end),
                        second_placement=shifted(arm, y),
                    )
                )
    model = builder.build("delta")
    q = np.concatenate([guess[joint.name] for joint in model.joints])
    constraints = ConstraintSet(model, loops)
    found = assemble(model, constraints, q, held=["arm_1", "arm_2", "arm_3"])
    return Mechanism(model, constraints, found.q, ("arm_1", "arm_2", "arm_3"))


def _about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
