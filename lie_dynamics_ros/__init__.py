"""Robot dynamics on Lie groups for ROS 2.

The library is `lie_dynamics_ros.lie_dynamics`; `Controller` is what the node ``computed_torque`` computes, without ROS.
"""

TYPE_CHECKING = False  # `typing` is not imported: until signals are quiet a node imports next to nothing

if TYPE_CHECKING:
    from .nodes.computed_torque.controller import Controller as Controller

__all__ = ["Controller"]


def __getattr__(name: str) -> object:
    """Import the controller on first use, so that the library alone loads fast."""
    if name == "Controller":
        from .nodes.computed_torque.controller import Controller

        globals()[name] = Controller
        return Controller
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names, those not imported yet included, for completion."""
    return sorted({*globals(), *__all__})
