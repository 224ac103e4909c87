"""From a parameter to a Stewart platform, with the library's warnings in the node's log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.errors import ParameterError, RobotDescriptionError
from ...core.frames import check_prefix
from ...core.parameters import Parameters, parameter
from ...core.platform import LEGS
from ...lie_dynamics.files import read_file
from ...lie_dynamics.stewart import OffsetPlatform, PlatformSensors, StewartPlatform
from ...lie_dynamics.stewart.geometry.any_platform import Platform, PointJointed, any_platform, points_of
from ...lie_dynamics.texts import quoted
from ...lie_dynamics.yaml_sections import MAX_SIZE, is_yaml_text
from .model_loading import locate, warnings_logged

if TYPE_CHECKING:
    from ..wire.compatibility import Logger

P = TypeVar("P")
KEYS = (b"base_points", b"platform_points", b"semi_regular")
"""Keys of which the file of a platform has at least one."""


@dataclass(frozen=True)
class PlatformParameters(Parameters):
    """The platform, the names of its legs and its frames."""

    platform: str = parameter(
        "package://lie_dynamics_ros/platforms/reference_platform.yaml",
        "Geometry of the platform: YAML text, a file path, file:///path or package://name/path.",
        "while unconfigured",
    )
    legs: tuple[str, ...] = parameter(
        [f"leg_{i}" for i in range(1, LEGS + 1)],
        "Names of the six legs in joint states, in the order of the rows of the platform's file.",
        "while unconfigured",
    )
    base_frame: str = parameter(
        "stewart_base", "Frame of the base joints, in which poses are given.", "while unconfigured"
    )
    platform_frame: str = parameter(
        "stewart_platform", "Frame of the platform joints, whose pose it is.", "while unconfigured"
    )
    frame_prefix: str = parameter(
        "",
        "Put before both frames, such as left/: so platforms of the same kind do not share frames.",
        "while unconfigured",
    )
    joint_prefix: str = parameter("", "Put before the names of the legs, such as left_.", "while unconfigured")

    def check(self) -> None:
        """Check the names of legs and frames; raises ParameterError."""
        super().check()
        if len(self.legs) != LEGS or len(set(self.legs)) != LEGS or not all(self.legs):
            raise ParameterError(f"legs is {list(self.legs)}; expected six different names")
        for name, frame in (("base_frame", self.base_frame), ("platform_frame", self.platform_frame)):
            if not frame or frame.startswith("/"):
                raise ParameterError(f"{name} is {frame!r}; expected a frame without a leading slash")
        check_prefix(self.frame_prefix)
        if self.base_frame == self.platform_frame:
            raise ParameterError(f"base_frame and platform_frame are both {self.base_frame!r}")


def _check_content(source: str) -> None:
    """Raise DescriptionError where a file is not one of a platform."""
    try:
        content = read_file(locate(source), MAX_SIZE)
    except OSError:
        return  # what reads it says why
    if not any(key in content for key in KEYS):
        keys = ", ".join(key.decode() for key in KEYS)
        raise RobotDescriptionError(f"the platform {quoted(source)} has none of the keys {keys}")


def frames_of(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the base frame and the platform frame, with their prefix."""
    prefix = values["frame_prefix"]
    return prefix + values["base_frame"], prefix + values["platform_frame"]


def legs_of(values: Mapping[str, Any]) -> list[str]:
    """Return the names of the legs in messages, with their prefix."""
    return [values["joint_prefix"] + leg for leg in values["legs"]]


def load_platform(source: str, logger: Logger) -> StewartPlatform:
    """Read the platform that the parameter ``platform`` stands for.

    Raises
    ------
    DescriptionError
        The package does not exist, the URI is none that is understood, or the file holds something else, of which
        nothing is quoted.
    StewartError
        The file cannot be read, or its platform cannot be used; it has offset joints.
    """
    return _load(source, logger, StewartPlatform.from_yaml)


def load_any_platform(source: str, logger: Logger) -> Platform:
    """Read a platform on legs of any kind; else as `load_platform`."""
    return _load(source, logger, any_platform)


def load_legs(source: str, logger: Logger) -> PointJointed:
    """Read a platform on point joints, its legs sliding or rotary; else as `load_platform`."""
    platform = load_any_platform(source, logger)
    return load_platform(source, logger) if isinstance(platform, OffsetPlatform) else platform


def _load(source: str, logger: Logger, read: Callable[[str], P]) -> P:
    if source == PlatformParameters.platform:
        logger.info("the parameter platform is not set: this is the reference platform of the package")
    text = is_yaml_text(source)
    if not text:
        _check_content(source)
    with warnings_logged(logger):
        return read(source if text else locate(source))


def load_sensors(source: str, platform: Platform) -> PlatformSensors:
    """Read the sensors in the file of a platform, which has been read; raises StewartError."""
    return PlatformSensors.from_yaml(source if is_yaml_text(source) else locate(source), points_of(platform))
