"""The robots of the package example-robot-data, where it is installed."""

import os
import sys
from pathlib import Path

REASON = "example-robot-data is not installed"


def folder():
    """The folder that holds all robots, or None."""
    roots = [Path(entry) / "cmeel.prefix" / "share" for entry in sys.path]
    roots += [Path(prefix) / "share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    roots.append(Path(sys.prefix) / "share")
    for root in roots:
        if (root / "example-robot-data" / "robots").is_dir():
            return root / "example-robot-data" / "robots"
    return None


def urdf_files():
    """Names of all URDF files, relative to the folder; empty where it is not installed."""
    return sorted(str(path.relative_to(folder())) for path in folder().rglob("*.urdf")) if folder() else []
