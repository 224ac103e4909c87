"""Robot dynamics on Lie groups for ROS 2.

The library is `lie_dynamics_ros.lie_dynamics`; `Controller` is what the node ``computed_torque`` computes, without ROS.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .nodes.computed_torque.controller import Controller as Controller

__all__ = ["Controller"]


def __getattr__(name: str) -> Any:
    """Import the controller when it is asked for first: who needs the library alone does not wait for it."""
    if name == "Controller":
        from .nodes.computed_torque.controller import Controller

        globals()[name] = Controller
        return Controller
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
