"""From a robot description to a model, with the library's warnings in the node's log."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.base.moving_base import MovingBase
from ...core.errors import ParameterError
from ...core.setting import Setting
from ...lie_dynamics import Model
from ...lie_dynamics.texts import quoted
from .mjcf_process import compile_mjcf
from .robot_description import check_text

if TYPE_CHECKING:
    from ..wire.compatibility import Logger

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
