"""From the parameter friction_file to the friction of a robot's joints."""

from __future__ import annotations

from ...core.errors import DescriptionError
from ...lie_dynamics import JointFriction, LieDynamicsError, Model
from ...lie_dynamics.yaml_text import is_yaml_text
from .robot_description import locate


def load_friction(source: str, model: Model) -> JointFriction | None:
    """Return what YAML text, a file path or a URI says of the joints' friction; None where nothing is given.

    Raises
    ------
    DescriptionError
        It cannot be read, or does not fit the robot; begins with the parameter's name.
    """
    if not source.strip():
        return None
    try:
        return JointFriction.from_yaml(source if is_yaml_text(source) else locate(source), model)
    except (LieDynamicsError, DescriptionError) as error:
        raise DescriptionError(f"friction_file: {error}") from error
