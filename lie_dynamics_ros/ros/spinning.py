"""Running a node until it is told to stop."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from .errors import NodeError

SPIN_TIMEOUT = 0.2
"""Longest wait of one spin [s]; finite, because an unlimited spin of the EventsExecutor can starve."""

EXECUTORS = ("events", "single_threaded")


def make_executor(kind: str, context: rclpy.Context | None = None) -> Executor:
    """Make the executor a user chose: "events", the fastest, where this rclpy has it; else "single_threaded"."""
    if kind == "events":
        try:
            from rclpy.experimental import EventsExecutor
        except ImportError:
            pass
        else:
            return EventsExecutor(context=context)
    return SingleThreadedExecutor(context=context)


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT, SIGTERM or shutdown of the context.

    Parameters
    ----------
    make_node : callable
        Makes the node; where it has a parameter ``executor``, that chooses the executor.
    args : sequence of str, optional
        Command line, ROS arguments included; by default that of the process.

    Returns
    -------
    int
        Exit code: 0, or 1 where the node could not be made (the reason is printed).
    """
    interrupt = _Interrupt()
    rclpy.init(args=args)
    node: Node | None = None
    executor: Executor | None = None
    try:
        node = make_node()
        kind = node.get_parameter("executor").value if node.has_parameter("executor") else EXECUTORS[0]
        executor = make_executor(kind)
        executor.add_node(node)
        interrupt.spinning = True
        while rclpy.ok():
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (NodeError, ParameterException) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except Exception:
        if rclpy.ok():
            raise
        # A callback was under way when the context ended, and could no longer publish: that is no failure.
    finally:
        if executor is not None:
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        interrupt.restore()
    return 0


class _Interrupt:
    """What SIGINT does besides what rclpy, which hears of it first, does: it shuts the context down.

    While the node is made, it raises KeyboardInterrupt; while it spins, nothing: an exception from within a callback
    is a failure to an executor, which may have raised it before the context is shut down.
    """

    def __init__(self) -> None:
        self.spinning = False
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        if not self.spinning:
            raise KeyboardInterrupt

    def restore(self) -> None:
        """Restore the handler that was there before."""
        if self._main:
            signal.signal(signal.SIGINT, self._before)
