"""Sources of a robot description: URDF text, a file, a package, or a topic."""

from __future__ import annotations

import importlib.resources
import os
import re
from pathlib import Path
from urllib.parse import unquote

from ...core.errors import RobotDescriptionError
from ...lie_dynamics.files import read_file
from ...lie_dynamics.model.urdf.reader import MAX_SIZE
from ...lie_dynamics.texts import quoted

OWN_PACKAGE = "lie_dynamics_ros"


def is_text(source: str) -> bool:
    """Tell URDF text from a file path or a URI."""
    return source.lstrip("\ufeff \t\r\n").startswith("<")


def check_text(text: str) -> None:
    """Raise DescriptionError where a text that somebody sent cannot be XML; a path never stands for a file here."""
    if not is_text(text):
        raise RobotDescriptionError(f"XML is expected, which begins with '<'; got {quoted(text)}")


def read_description(source: str, max_size: int = MAX_SIZE) -> str:
    """Return the URDF text that a parameter stands for.

    Parameters
    ----------
    source : str
        URDF text; or a file path (``~`` allowed); or ``file:///path``; or ``package://name/path/in/share``.
    max_size : int
        Largest text or file that is read [bytes].

    Raises
    ------
    DescriptionError
        The file or package does not exist, cannot be read, is too large or no regular file, or does not hold XML, of
        which nothing is quoted; or it is xacro source instead of its output.
    """
    if is_text(source):
        if len(source) > max_size:
            raise RobotDescriptionError(
                f"the robot description has {len(source)} characters; at most {max_size} are read"
            )
        return source
    path = locate(source)
    if path.suffix == ".xacro":
        raise RobotDescriptionError(f"{path} is xacro source; run xacro first and give its output")
    try:
        text = read_file(path, max_size).decode()
    except OSError as error:
        reason = error.strerror or str(error)
        raise RobotDescriptionError(f"the robot description {quoted(source)} cannot be read: {reason}") from error
    except UnicodeDecodeError:
        raise RobotDescriptionError(f"the robot description {quoted(source)} cannot be read: it is no UTF-8") from None
    if not text.strip():
        raise RobotDescriptionError(f"the robot description {quoted(source)} is empty")
    if not is_text(text):
        raise RobotDescriptionError(f"the robot description {quoted(source)} holds no XML, which begins with '<'")
    return text


def locate(source: str) -> Path:
    """Path of the file that a path, ``file://`` or ``package://`` URI stands for; see `read_description`."""
    scheme, separator, rest = source.strip().partition("://")
    if not separator:
        try:
            return Path(source.strip()).expanduser()
        except RuntimeError as error:
            raise RobotDescriptionError(f"{quoted(source)}: {error}") from error
    if scheme == "package":
        package, _, path = rest.partition("/")
        return share_directory(package) / unquote(path)
    if scheme == "file":
        return Path(unquote(rest))
    raise RobotDescriptionError(
        f"{quoted(source)}: only package:// and file:// URIs, paths and URDF text are understood"
    )


def share_directory(package: str) -> Path:
    """Share directory of a ROS package.

    Packages that are not in the ament index are looked for in the folders of ROS_PACKAGE_PATH. This package's own
    files are found in any case (installed by pip, or run from a checkout).

    Raises
    ------
    DescriptionError
        No such package.
    """
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        return Path(get_package_share_directory(package))
    except (PackageNotFoundError, OSError, ValueError) as error:  # OSError: AMENT_PREFIX_PATH is not set
        if package == OWN_PACKAGE:
            return Path(str(importlib.resources.files(OWN_PACKAGE)))
        for folder in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
            if re.fullmatch(r"[\w-]+", package) and (Path(folder) / package).is_dir():
                return Path(folder) / package
        raise RobotDescriptionError(
            f"package {quoted(package)} is neither in the ament index (AMENT_PREFIX_PATH) nor in ROS_PACKAGE_PATH"
        ) from error
