"""From the bytes of an SDF to the elements that describe the motion."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from ...errors import DescriptionError
from ...texts import quoted
from ...xml_elements import ElementReader

#: Versions of the format that are read, by what <sdf> says.
VERSIONS = tuple((1, minor) for minor in range(4, 13))

_LIMITS = ("lower", "upper", "effort", "velocity")
_DYNAMICS = ("damping", "friction", "spring_reference", "spring_stiffness")
_AXIS = ("xyz", "use_parent_model_frame", "dynamics", "limit", "mimic", "initial_position")
#: Elements that are read, by the element that they are in.
READ: dict[str, tuple[str, ...]] = {
    "sdf": ("world", "model"),
    "world": ("model", "joint", "frame", "gravity", "physics", "include", "state"),
    "model": ("model", "link", "joint", "frame", "pose", "static", "include"),
    "include": ("uri", "name", "pose", "static", "placement_frame"),
    "frame": ("pose",),
    "link": ("pose", "inertial", "gravity", "kinematic", "velocity_decay"),
    "velocity_decay": ("linear", "angular"),
    "inertial": ("mass", "pose", "inertia", "fluid_added_mass"),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "joint": ("parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "physics"),
    "axis": _AXIS,
    "axis2": _AXIS,
    "limit": _LIMITS,
    "dynamics": _DYNAMICS,
    "mimic": ("multiplier", "offset", "reference"),
    "physics": ("simbody", "gravity"),
    "simbody": ("must_be_loop_joint",),
}
#: Elements that the format has and that say nothing of the motion of a model.
PASSED: dict[str, tuple[str, ...]] = {
    "model": ("plugin", "gripper", "self_collide", "allow_auto_disable", "enable_wind"),
    "link": (
        *("collision", "visual", "sensor", "projector", "audio_sink", "audio_source", "battery", "light", "plugin"),
        *("particle_emitter", "self_collide", "enable_wind", "must_be_base_link"),
    ),
    "joint": ("sensor", "plugin", "gearbox_ratio", "gearbox_reference_body"),
    "inertial": ("density", "auto_inertia_params"),
    "inertia": (),
    "axis": (),
    "axis2": (),
    "limit": ("stiffness", "dissipation"),
    "dynamics": (),
    "mimic": (),
}
"""Of the elements that are named here, those which are neither read nor passed are strangers, and kept to be named."""


def read_sdf_element(source: str | bytes, origin: str) -> tuple[Element, tuple[int, int]]:
    """Return the <sdf> of XML text or bytes, and its version.

    Raises
    ------
    DescriptionError
        For what `ElementReader.read` refuses, and what is no SDF, or of a version that is not known.
    """
    reader = _Reader(origin, "SDF")
    reader.read(source)
    assert reader.root is not None
    return reader.root, _version(reader.root, origin)


class _Reader(ElementReader):
    """Keeps what is read, and the names of strangers."""

    with_text = True
    root: Element | None = None

    def checked(self, tag: str, attributes: dict[str, str]) -> str:
        if (
            tag.startswith("xacro:") and not self._passed and (not self._open or self._open[-1].tag in READ)
        ) or "${" in attributes.get("name", ""):
            raise self.raw_xacro()
        return tag

    def wanted(self, tag: str, depth: int) -> bool:
        around = self._open[-1].tag
        if tag in READ.get(around, ()):
            return True
        return around in PASSED and tag not in PASSED[around]

    def take(self, element: Element, depth: int) -> None:
        if depth:
            self._open[-1].append(element)
            return
        if element.tag != "sdf":
            raise self.wrong_root(element.tag, "sdf")
        self.root = element


def _version(root: Element, origin: str) -> tuple[int, int]:
    text = root.get("version", "")
    for version in VERSIONS:
        if text == f"{version[0]}.{version[1]}":
            return version
    known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
    what = f"unknown SDF version {quoted(text)}" if text else "attribute 'version' of <sdf> is missing"
    hint = "; `gz sdf -p FILE` prints it in a later version" if re.fullmatch(r"1\.[0-3]", text) else ""
    raise DescriptionError(f"{origin}: {what}; known are {known}{hint}", name=origin, value=text, expected=known)
