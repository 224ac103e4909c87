"""From descriptions and parameters to models, friction and loops, with the library's warnings in the node's log."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.base.moving_base import MovingBase
from ...core.errors import ConfigurationError, ParameterError, RobotDescriptionError
from ...core.frame_names import check_prefix
from ...core.mechanism.tracked_mechanism import TrackedMechanism
from ...core.robot_options import Payload
from ...core.setting import Setting
from ...lie_dynamics import ConstraintSet, Coupling, JointFriction, LieDynamicsError, Loop, Model
from ...lie_dynamics.texts import quoted
from ...lie_dynamics.yaml_sections import is_yaml_text
from .mjcf_process import compile_mjcf
from .robot_description import check_text, locate

if TYPE_CHECKING:
    from ..wire.compatibility import Logger


# From the parameter friction_file to the friction of a robot's joints.

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


INERTIA_CHECK = Setting(
    "inertia_check",
    "error",
    "What to do with links whose inertia no body can have: refuse the robot, warn and use them as they are, or ignore.",
    "while unconfigured",
    choices=("error", "warn", "ignore"),
)
JOINT_PREFIX = Setting(
    "joint_prefix",
    "",
    "Put before the names of the joints in all messages, such as left_; the description and parameters are without it.",
    "while unconfigured",
)
FRAME_PREFIX = Setting(
    "frame_prefix",
    "",
    "Put before the names of links and frames in all messages, such as left/; the description and parameters are "
    "without it.",
    "while unconfigured",
)
MODEL_SOURCE_SETTINGS = (
    INERTIA_CHECK,
    JOINT_PREFIX,
    Setting(
        "base_link",
        "",
        "Take the joints below this link, and lock all others. Empty: all joints.",
        "while unconfigured",
    ),
    Setting(
        "locked_joints",
        [""],
        "Joints that do not move, and that no state names; what they carry counts as part of the body before them.",
        "while unconfigured",
    ),
    Setting(
        "locked_positions",
        [0.0],
        "Where the locked joints are [rad, m]. One number for all, or one for each of locked_joints.",
        "while unconfigured",
        low=-1e6,
        high=1e6,
    ),
)
"""What of a description becomes the model."""


def load_model(description: str, values: Mapping[str, Any], logger: Logger) -> Model:
    """Build the model of a URDF text, which must not be a path, by values of `MODEL_SOURCE_SETTINGS`.

    Its joints are named as in the text. See `Model.from_urdf` for the errors raised, besides ParameterError for values
    that make no sense together. Its size is not checked again: whoever took it in has a limit of its own.
    """
    check_text(description)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Model.from_urdf(
            description,
            inertia_check=values["inertia_check"],
            max_size=len(description),
            locked=locked_positions(values),
            base_link=values["base_link"] or None,
        )
    for warning in caught:
        logger.warning(str(warning.message))
    return model


_ROOTS = {"mujoco": "MJCF", "sdf": "SDF"}
_TAG = re.compile(r"<([a-z]+)[\s/>]")
_BEFORE_ROOT = (("<?", "?>"), ("<!--", "-->"))


def format_of(description: str) -> str:
    """Return the format of a text that begins as XML: "MJCF" or "SDF", and "URDF" for all else."""
    text, at = description.lstrip("\ufeff"), 0
    while True:
        while text[at : at + 1].isspace():
            at += 1
        end = next((end for start, end in _BEFORE_ROOT if text.startswith(start, at)), None)
        if end is None:
            tag = _TAG.match(text, at)
            return "URDF" if tag is None else _ROOTS.get(tag[1], "URDF")
        at = text.find(end, at)
        if at < 0:
            return "URDF"
        at += len(end)


def load_model_with_loops(description: str, values: Mapping[str, Any], logger: Logger) -> Model:
    """Build the model of a URDF, MJCF or SDF text, which must not be a path; see `load_model` for the first.

    MJCF may only be in the parameter: what it includes is read from files. An SDF includes nothing.

    Raises
    ------
    ParameterError
        MJCF came from the topic, or either with parameters that choose parts of a robot, or no SDF with `sdf_model`.
    LieDynamicsError
        The text makes no sense, or MuJoCo, which reads MJCF, is not installed; see `Model.from_mjcf`, `Model.from_sdf`.
    """
    kind, chosen = format_of(description), values["sdf_model"]
    if chosen and kind != "SDF":
        raise ParameterError(f"sdf_model: it is for SDF; expected none with {kind}, got {quoted(chosen)}")
    if kind == "URDF":
        return load_model(description, values, logger)
    if kind == "MJCF" and not values["robot_description"].strip():
        raise ParameterError("robot_description: MJCF is taken from the parameter, not from the topic")
    if values["base_link"] or any(values["locked_joints"]):
        raise ParameterError(f"base_link and locked_joints are for URDF; expected none with {kind}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if kind == "MJCF":
            model = Model.from_mjcf(compile_mjcf(description))
        else:
            check = values["inertia_check"]
            model = Model.from_sdf(description, inertia_check=check, max_size=len(description), model=chosen or None)
    for warning in caught:
        logger.warning(str(warning.message))
    return model


def load_base(description: str, values: Mapping[str, Any], model: Model) -> MovingBase | None:
    """Return what carries a model that `load_model` made of a text; None where nothing of that moves.

    By the values of `MODEL_SOURCE_SETTINGS`, of ``base_motion`` and of ``carrying_joints``. Its joints have their
    prefix, as those of the model have. Raises ConfigurationError.
    """
    base_link: str = values["base_link"]
    floating = values["base_motion"] == "odometry"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `load_model` has told them
        whole = Model.from_urdf(
            description,
            floating,
            inertia_check="ignore",
            max_size=len(description),
            locked=locked_positions(values),
            base_link=base_link or None,
            with_carriers=values["carrying_joints"] == "states",
        )
    whole = whole.with_joint_prefix(values["joint_prefix"])
    return MovingBase(model, whole, base_link, floating) if whole.nv > model.nv else None


def locked_positions(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the joints that are to be locked, and where; raises ParameterError for other numbers of both."""
    names, positions = [name for name in values["locked_joints"] if name], list(values["locked_positions"])
    if names and len(positions) not in (1, len(names)):
        raise ParameterError(f"locked_positions has {len(positions)} entries; expected 1 or {len(names)}")
    return dict(zip(names, positions * len(names) if len(positions) == 1 else positions, strict=False))


# Loops of a robot, and how it is followed.

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
