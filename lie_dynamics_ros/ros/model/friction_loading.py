"""From the parameter friction_file to the friction of a robot's joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import RobotDescriptionError
from ...lie_dynamics import JointFriction, LieDynamicsError, Model
from ...lie_dynamics.yaml_sections import is_yaml_text
from .robot_description import locate


def load_friction(description: str, values: Mapping[str, Any], model: Model) -> JointFriction | None:
    """Return the joints' friction from YAML text, a file path or a URI; None where nothing is given.

    A file for the whole robot does where `model` is part of that: joints of the URDF text that are locked are left out.

    Raises
    ------
    DescriptionError
        It cannot be read, or does not fit the robot; begins with the parameter's name.
    """
    source = values["friction_file"]
    if not source.strip():
        return None
    locked: tuple[str, ...] = ()
    try:
        if values["base_link"] or any(values["locked_joints"]):
            locked = Model.from_urdf(description, inertia_check="ignore", max_size=len(description)).joint_names
        return JointFriction.from_yaml(source if is_yaml_text(source) else locate(source), model, locked)
    except (LieDynamicsError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"friction_file: {error}") from error
