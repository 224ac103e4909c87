"""Parameters of a robot's dynamics: gravity, payload, joint losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..lie_dynamics import LieDynamicsError, Model
from .errors import ParameterError
from .setting import Setting, per_joint

MODEL_SETTINGS = (
    Setting(
        "gravity",
        [0.0, 0.0, -9.81],
        "Acceleration of free fall in the frame of the robot's root link, or in that of odometry [m/s^2].",
        low=-1000.0,
        high=1000.0,
    ),
    Setting("include_damping", False, "Include the viscous damping that the URDF gives."),
    Setting("include_friction", False, "Include the dry friction that the URDF gives; zero for a joint at rest."),
    Setting(
        "friction_file",
        "",
        "Friction of the joints, in place of what the URDF gives: YAML text, a file path, file:///path or "
        "package://name/path. Empty: none.",
        "while unconfigured",
    ),
    per_joint(
        "rotors",
        0.0,
        "Inertia of the joint's rotor, seen at the joint, in place of the description's armature [kg m^2, kg]. "
        "0: that of the description.",
        high=1e6,
    ),
    Setting("payload_frame", "", "Link or frame that carries the payload; read where payload_mass is not zero."),
    Setting(
        "payload_mass",
        0.0,
        "Mass of what the robot carries besides what its description holds [kg]. 0: nothing.",
        high=1e6,
    ),
    Setting(
        "payload_center_of_mass",
        [0.0, 0.0, 0.0],
        "Centre of mass of the payload in payload_frame [m].",
        low=-1000.0,
        high=1000.0,
    ),
    Setting(
        "payload_inertia",
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "Inertia of the payload about its centre of mass, in the axes of payload_frame: "
        "xx, xy, xz, yy, yz, zz [kg m^2].",
        low=-1e9,
        high=1e9,
    ),
)
STATE_TIMEOUT = Setting(
    "state_timeout",
    0.1,
    "Joint states older than this, by their time stamp, are not answered [s]. 0: no limit.",
    high=3600.0,
)
EFFORT_SETTINGS = (
    Setting(
        "driver_compensates_gravity",
        False,
        "Leave gravity out of ~/joint_efforts and ~/commands, for drivers that add it themselves.",
    ),
    Setting("saturate_efforts", True, "Limit the outputs to the effort limits of the URDF; limiting is reported."),
)
"""Parameters of nodes that command efforts."""


@dataclass(frozen=True)
class Payload:
    """Payload of a robot.

    Attributes
    ----------
    frame : str
        Link or frame that carries it.
    mass : float
        [kg]; zero for none.
    center_of_mass : tuple of float
        In the frame [m].
    inertia : tuple of float
        About the centre of mass, in the axes of the frame: xx, xy, xz, yy, yz, zz [kg m^2].
    """

    frame: str
    mass: float
    center_of_mass: tuple[float, ...]
    inertia: tuple[float, ...]

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Payload:
        """Make a payload of parameter values; raises ParameterError where they make no sense together."""
        for name, size in (("payload_center_of_mass", 3), ("payload_inertia", 6)):
            if len(values[name]) != size:
                raise ParameterError(f"{name} has {len(values[name])} entries; expected {size}")
        if values["payload_mass"] > 0.0 and not values["payload_frame"]:
            raise ParameterError("payload_mass is set without payload_frame; expected a link or frame of the robot")
        return cls(
            values["payload_frame"].removeprefix("/"),  # as older nodes send
            values["payload_mass"],
            tuple(values["payload_center_of_mass"]),
            tuple(values["payload_inertia"]),
        )

    def put_on(self, model: Model) -> Model:
        """Return the model with this payload; raises ParameterError where the model cannot carry it."""
        if not self.mass:
            return model
        xx, xy, xz, yy, yz, zz = self.inertia
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        try:
            return model.with_payload(self.frame, self.mass, self.center_of_mass, inertia)
        except LieDynamicsError as error:
            raise ParameterError(f"payload: {error}") from error


@dataclass(frozen=True)
class RobotOptions:
    """Terms of a robot's dynamics; all may change at run time."""

    gravity: tuple[float, ...]
    damping: bool
    friction: bool
    rotors: tuple[float, ...]
    payload: Payload

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> RobotOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return cls(**cls.read(values))

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for, if only by name; raises ParameterError."""
        if values["friction_file"] and (values["include_damping"] or values["include_friction"]):
            raise ParameterError(
                "friction_file is set with include_damping or include_friction; expected one of them, or the joints "
                "would have friction twice"
            )
        gravity = tuple(values["gravity"])
        if len(gravity) != 3:
            raise ParameterError(f"gravity has {len(gravity)} entries; expected 3 (x, y, z)")
        return {
            **{field.name: values[field.name] for field in fields(cls) if field.name in values},
            "gravity": gravity,
            "damping": values["include_damping"],
            "friction": values["include_friction"],
            "rotors": tuple(values["rotors"]),
            "payload": Payload.from_values(values),
        }

    def apply(self, model: Model) -> Model:
        """Return the model with all this included; raises ParameterError where that cannot be."""
        losses = {"damping": self.damping, "friction": self.friction}
        model = self.with_rotors(model).with_joint_terms(armature=True, springs=True, **losses)
        return self.payload.put_on(model).with_gravity(self.gravity)

    def with_rotors(self, model: Model) -> Model:
        """Return the model with the rotors that are given; raises ParameterError where it cannot have them."""
        if not any(self.rotors):
            return model
        if len(self.rotors) not in (1, model.nv):
            raise ParameterError(
                f"rotors has {len(self.rotors)} entries; expected 1 or {model.nv}, one for each joint: "
                f"{', '.join(model.joint_names)}"
            )
        given = np.broadcast_to(self.rotors, model.nv)
        try:
            return model.with_armature(np.where(given > 0.0, given, model.limits.armature))
        except LieDynamicsError as error:
            raise ParameterError(f"rotors: {error}") from error
