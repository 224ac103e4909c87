"""Messages and services of this project, where the package that holds them is installed."""

from __future__ import annotations

import importlib
from types import ModuleType

INTERFACE_PACKAGE = "lie_dynamics_interfaces"
BUILD_IT = (
    "a plain colcon build leaves it out: "
    f"colcon build --base-paths src/lie_dynamics_ros src/lie_dynamics_ros/{INTERFACE_PACKAGE}"
)
"""It lies inside the other package, where colcon does not look."""


def interfaces(kind: str) -> ModuleType | None:
    """Return the module of this project's messages ("msg") or services ("srv"); None where it is not installed."""
    try:
        module = importlib.import_module(f"{INTERFACE_PACKAGE}.{kind}")
    except ImportError:
        return None
    return module if module.__file__ else None  # in a checkout, its sources look like a package without content
