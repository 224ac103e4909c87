"""Inertias of the links of an SDF."""

from __future__ import annotations

import numpy as np

from ...errors import DescriptionError
from ...lie import SpatialInertia
from ...texts import quoted
from ..urdf.fields import Strangers
from .scopes import SdfFrame


def read_inertia(link: SdfFrame, left_out: Strangers) -> SpatialInertia:
    """Return the inertia of a link in its frame; by default 1 kg and 1 kg m^2, as the format requires.

    Raises
    ------
    DescriptionError
        For invalid numbers, and inertias that are to be computed from shapes; names the link.
    """
    fields = link.fields
    if not fields.boolean("gravity", True):
        left_out.note("switched off <gravity>", link.label)
    if fields.boolean("kinematic"):
        left_out.note("<kinematic>", link.label)
    decay = fields.inside("velocity_decay")
    if any(decay.number(key, 0.0) for key in ("linear", "angular")):
        left_out.note("<velocity_decay>", link.label)
    inertial = fields.inside("inertial")
    if inertial.element.get("auto", "false").lower() not in ("false", "0", ""):
        raise DescriptionError(
            f"{link.label}: auto of <inertial> is {quoted(inertial.element.get('auto', ''))}; shapes are not read, and "
            "an inertia in figures is expected (`gz sdf -p --expand-auto-inertials FILE` writes them)",
            name=link.name,
            expected="<mass> and <inertia>",
        )
    told_in = inertial.attribute("pose", "relative_to")
    if told_in:
        raise DescriptionError(
            f"{link.label}: relative_to of the <pose> of its <inertial> is {quoted(told_in)}; none expected, "
            "since it is told in the link",
            name=link.name,
            value=told_in,
            expected="no relative_to",
        )
    if inertial.has("fluid_added_mass"):
        left_out.note("<fluid_added_mass>", link.label)
    pose, inertia = inertial.pose(), inertial.inside("inertia")
    mass = inertial.number("mass", 1.0)
    xx, yy, zz = (inertia.number(key, 1.0) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    figures = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotation = pose[:3, :3]
    return SpatialInertia(mass, pose[:3, 3], rotation @ figures @ rotation.T)


def is_told(link: SdfFrame) -> bool:
    """Return whether a file gives the mass and the inertia of a link."""
    inertial = link.fields.inside("inertial")
    return inertial.has("mass") and all(inertial.inside("inertia").has(key) for key in ("ixx", "iyy", "izz"))
