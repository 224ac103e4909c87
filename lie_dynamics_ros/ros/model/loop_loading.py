"""From parameters to the constraints of a robot with loops, and to how it is followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import ConfigurationError, RobotDescriptionError
from ...core.frame_names import check_prefix
from ...core.mechanism.tracked_mechanism import TrackedMechanism
from ...core.robot_options import Payload
from ...lie_dynamics import ConstraintSet, Coupling, JointFriction, LieDynamicsError, Loop, Model
from ...lie_dynamics.yaml_sections import is_yaml_text
from .friction_loading import load_friction
from .mjcf_process import compile_mjcf
from .model_loading import format_of, load_model_with_loops
from .robot_description import locate


def load_mechanism(
    description: str, values: Mapping[str, Any], logger: Any
) -> tuple[Model, JointFriction | None, TrackedMechanism]:
    """Return the tree of a robot with loops, the friction of its joints, and how it is followed.

    Raises the errors of what it calls, and ConfigurationError where the measured joints do not do.
    """
    prefix = values["joint_prefix"]
    check_prefix(values["frame_prefix"])
    model = load_model_with_loops(description, values, logger)
    friction = load_friction(description, values, model)
    Payload.from_values(values).put_on(model)  # as it will be, where it is not held yet
    constraints = load_constraints(values["loops"], model, prefix, description, values["sdf_model"])
    model = model.with_joint_prefix(prefix)
    try:
        closed = format_of(description) == "SDF"
        return model, friction, TrackedMechanism.from_values(model, constraints, values, closed)
    except LieDynamicsError as error:
        raise ConfigurationError(f"the mechanism cannot be tracked: {error}") from error


def load_constraints(
    source: str, model: Model, prefix: str, description: str = "", sdf_model: str = ""
) -> ConstraintSet:
    """Return loops and couplings from YAML text, a file path or a URI; none where it is empty.

    The text names joints as `model` does; the constraints are those of the model whose joints have the prefix. Those
    of the MJCF or SDF that the model was made of count besides, those of `sdf_model` where it has several.

    Raises
    ------
    DescriptionError
        It cannot be read, or does not fit the robot; begins with the parameter's name.
    """
    named = model.with_joint_prefix(prefix)
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    try:
        kind = format_of(description)
        sets = [ConstraintSet.from_mjcf(model, compile_mjcf(description))] if kind == "MJCF" else []
        if kind == "SDF":
            sets.append(ConstraintSet.from_sdf(model, description, max_size=len(description), robot=sdf_model or None))
        if source.strip():
            sets.append(ConstraintSet.from_yaml(model, source if is_yaml_text(source) else locate(source)))
    except (LieDynamicsError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"loops: {error}") from error
    for found in sets:
        loops += found.loops
        couplings += [
            Coupling({prefix + joint: value for joint, value in one.coefficients.items()}, one.offset, one.name)
            for one in found.couplings
        ]
    return ConstraintSet(named, [*loops, *couplings])
