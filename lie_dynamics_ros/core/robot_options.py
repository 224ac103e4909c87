"""Parameters of a robot's dynamics: gravity, payload, joint losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..lie_dynamics import LieDynamicsError, Model
from .errors import ParameterError
from .parameters import Parameters, parameter, per_joint


@dataclass(frozen=True)
class RobotOptions(Parameters):
    """Parameters of a robot's dynamics, which may change at run time, all but the file of friction."""

    gravity: tuple[float, ...] = parameter(
        [0.0, 0.0, -9.81],
        "Acceleration of free fall in the frame of the robot's root link, or in that of odometry [m/s^2].",
        low=-1000.0,
        high=1000.0,
    )
    include_damping: bool = parameter(False, "Include the viscous damping that the URDF gives.")
    include_friction: bool = parameter(False, "Include the dry friction that the URDF gives; zero for a joint at rest.")
    friction_file: str = parameter(
        "",
        "Friction of the joints, in place of what the URDF gives: YAML text, a file path, file:///path or "
        "package://name/path. Empty: none.",
        "while unconfigured",
    )
    rotors: tuple[float, ...] = per_joint(
        0.0,
        "Inertia of the joint's rotor, seen at the joint, in place of the description's armature [kg m^2, kg]. 0: "
        "that of the description.",
        high=1e6,
    )
    payload_frame: str = parameter("", "Link or frame that carries the payload; read where payload_mass is not zero.")
    payload_mass: float = parameter(
        0.0, "Mass of what the robot carries besides what its description holds [kg]. 0: nothing.", high=1e6
    )
    payload_center_of_mass: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0], "Centre of mass of the payload in payload_frame [m].", low=-1000.0, high=1000.0
    )
    payload_inertia: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "Inertia of the payload about its centre of mass, in the axes of payload_frame: xx, xy, xz, yy, yz, zz [kg "
        "m^2].",
        low=-1e9,
        high=1e9,
    )

    def check(self) -> None:
        """Check values against each other; raises ParameterError."""
        super().check()
        if self.friction_file and (self.include_damping or self.include_friction):
            raise ParameterError(
                "friction_file is set with include_damping or include_friction; expected one of them, or the joints "
                "would have friction twice"
            )
        if len(self.gravity) != 3:
            raise ParameterError(f"gravity has {len(self.gravity)} entries; expected 3 (x, y, z)")
        for name, size in (("payload_center_of_mass", 3), ("payload_inertia", 6)):
            if len(getattr(self, name)) != size:
                raise ParameterError(f"{name} has {len(getattr(self, name))} entries; expected {size}")
        if self.payload_mass > 0.0 and not self.payload_frame:
            raise ParameterError("payload_mass is set without payload_frame; expected a link or frame of the robot")

    def apply(self, model: Model) -> Model:
        """Return the model with all this included; raises ParameterError where that cannot be."""
        losses = {"damping": self.include_damping, "friction": self.include_friction}
        model = self.with_rotors(model).with_joint_terms(armature=True, springs=True, **losses)
        return self.with_payload(model).with_gravity(self.gravity)

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

    @property
    def payload_link(self) -> str:
        """`payload_frame` without the slash that older nodes send."""
        return self.payload_frame.removeprefix("/")

    def with_payload(self, model: Model) -> Model:
        """Return the model with the payload; raises ParameterError where it cannot carry it."""
        if not self.payload_mass:
            return model
        xx, xy, xz, yy, yz, zz = self.payload_inertia
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        try:
            return model.with_payload(self.payload_link, self.payload_mass, self.payload_center_of_mass, inertia)
        except LieDynamicsError as error:
            raise ParameterError(f"payload: {error}") from error


@dataclass(frozen=True)
class StateAge(Parameters):
    """Limit of the age of a state."""

    state_timeout: float = parameter(
        0.1, "Joint states older than this, by their time stamp, are not answered [s]. 0: no limit.", high=3600.0
    )


@dataclass(frozen=True)
class EffortParameters(Parameters):
    """Parameters of nodes that command efforts."""

    driver_compensates_gravity: bool = parameter(
        False, "Leave gravity out of ~/joint_efforts and ~/commands, for drivers that add it themselves."
    )
    saturate_efforts: bool = parameter(
        True, "Limit the outputs to the effort limits of the URDF; limiting is reported."
    )
