"""From a robot description to a model, with the library's warnings in the node's log."""

from __future__ import annotations

import warnings

from ...core.setting import Setting
from ...lie_dynamics import Model
from ..wire.rclpy_private import Logger
from .robot_description import check_text

INERTIA_CHECK = Setting(
    "inertia_check",
    "error",
    "What to do with links whose inertia no body can have: refuse the robot, warn and use them as they are, or ignore.",
    "while unconfigured",
    choices=("error", "warn", "ignore"),
)


def load_model(description: str, inertia_check: str, logger: Logger) -> Model:
    """Build the model of a URDF text, which must not be a path; see `Model.from_urdf` for the errors raised.

    Its size is not judged again: whoever took it in has a limit of its own.
    """
    check_text(description)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Model.from_urdf(description, inertia_check=inertia_check, max_size=len(description))
    for warning in caught:
        logger.warning(str(warning.message))
    return model
