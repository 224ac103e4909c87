"""Where a robot description comes from: URDF text, a file, a package, or a topic."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from urllib.parse import unquote

from .errors import DescriptionError

OWN_PACKAGE = "lie_dynamics_ros"


def is_text(source: str) -> bool:
    """Tell URDF text from a file path or a URI."""
    return source.lstrip().startswith("<")


def read_description(source: str) -> str:
    """Return the URDF text that a parameter stands for.

    Parameters
    ----------
    source : str
        URDF text; or a file path (``~`` allowed); or ``file:///path``; or ``package://name/path/in/share``.

    Raises
    ------
    DescriptionError
        The file or package does not exist or cannot be read, or is xacro source instead of its output.
    """
    if is_text(source):
        return source
    path = locate(source)
    if path.suffix == ".xacro":
        raise DescriptionError(f"{path} is xacro source; run xacro first and give its output")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"the robot description {source!r} cannot be read: {error}") from error
    if not text.strip():
        raise DescriptionError(f"the robot description {path} is empty")
    return text


def locate(source: str) -> Path:
    """Path of the file that a path, ``file://`` or ``package://`` URI stands for; see `read_description`."""
    scheme, separator, rest = source.strip().partition("://")
    if not separator:
        return Path(source.strip()).expanduser()
    if scheme == "package":
        package, _, path = rest.partition("/")
        return share_directory(package) / unquote(path)
    if scheme == "file":
        return Path(unquote(rest))
    raise DescriptionError(f"{source!r}: only package:// and file:// URIs, paths and URDF text are understood")


def share_directory(package: str) -> Path:
    """Share directory of a ROS package.

    This package's own files are found even where it is not in the ament index (installed by pip, or run from
    a checkout).

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
        raise DescriptionError(f"package {package!r} is not in the ament index (AMENT_PREFIX_PATH)") from error
