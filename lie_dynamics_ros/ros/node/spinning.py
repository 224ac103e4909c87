"""Running nodes until a signal to stop."""

from __future__ import annotations

import atexit
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ...core.errors import NodeError, start_problem
from ..wire.compatibility import events_executor
from ..workarounds import enabled, shared_memory_warning, shutdown_with_deadline
from .domain import set_profile
from .process import ConnectivityWatchdog, GarbageBetweenCallbacks, all_active, request_real_time, usual_scheduling

# Signals that end a process, taken as a wish and not as an exception.
#
# rclpy's own handlers shut the context down first: what a node then has to say, such as the command that holds a robot
# up, is lost. Exceptions by signals would come in the middle of anything.

SIGNALS = (signal.SIGINT, signal.SIGTERM)

ONE_WISH = 1.0
"""Signals within this time after the first are the same wish [s]: a supervisor signals launch and the nodes, and
launch signals the nodes too. What a node publishes at its end must not be lost by that."""

ONE_STROKE = 0.05
"""The same signal again, later than this after the first [s], is somebody who does not want to wait."""


class EndSignals:
    """Notes the first signal that ends a process; one more than `ONE_WISH` later ends it at once. A context manager.

    Once it is left, later signals are handled as before it; one that only repeats the wish is still ignored, also
    while the interpreter ends, which takes their handlers away before all else.

    Attributes
    ----------
    heard, hurry : bool
        Whether one has come, and whether it came again: then what takes time at the end is left out, but for last
        words.
    """

    def __init__(self) -> None:
        self.heard = self.hurry = False
        self._first = 0
        self._since = 0.0
        self._before: dict[signal.Signals, Any] = {}
        self._left = False

    def __enter__(self) -> EndSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {which: signal.signal(which, self._note) for which in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._left = True
        if self.heard:  # the process is about to end, and launch may be telling it so right now
            atexit.register(_ignore)
            return
        for which, handler in self._before.items():
            signal.signal(which, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.heard:
            self.heard, self._since, self._first = True, time.monotonic(), number
            return
        self.hurry |= number == self._first and time.monotonic() - self._since > ONE_STROKE
        if time.monotonic() - self._since > ONE_WISH:
            for which in SIGNALS:
                signal.signal(which, self._before[which] if self._left else signal.SIG_DFL)
            signal.raise_signal(number)


def _ignore() -> None:
    for which in SIGNALS:
        signal.signal(which, signal.SIG_IGN)


# Spinning.

SPIN_TIMEOUT = 0.2
"""Longest wait of one spin [s]; finite, because an unlimited spin of the EventsExecutor can starve."""

REST_TIME, REST_CHECK = 1.0, 0.005
"""Longest time in which a robot comes to rest before its node ends, and how often that is looked at [s]."""

LAST_TASKS = 5.0
"""Longest time for each node to publish its final command, and for the executor to end [s]."""

EXECUTORS = ("events", "single_threaded")


def make_executor(kind: str, context: rclpy.Context | None = None) -> Executor:
    """Make the executor a user chose: "events", the fastest, where this rclpy has it; else "single_threaded"."""
    events = events_executor() if kind == "events" else None
    return (events or SingleThreadedExecutor)(context=context)


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT, SIGTERM or shutdown of the context, see `run_all`; or print the help requested."""
    if asks_for_help(args):
        print(help_of(sys.modules[make_node.__module__], make_node.__doc__ or ""))
        return 0
    return run_all([make_node], args)


def asks_for_help(args: Sequence[str] | None) -> bool:
    """Return whether the command line, by default that of the process, asks for help."""
    for_ros = False  # arguments between --ros-args and --, which rcl reads
    for word in sys.argv[1:] if args is None else args:
        if word in ("--ros-args", "--"):
            for_ros = word == "--ros-args"
        elif not for_ros and word in ("-h", "--help"):
            return True
    return False


def help_of(module: Any, title: str) -> str:
    """Return the help of a node: its parameters are `SETTINGS` of its module."""
    name = module.__name__.split(".")[-2]
    lines = [f"usage: {name} [--ros-args [-p NAME:=VALUE ...] [--params-file FILE] [-r FROM:=TO ...]]", "", title, ""]
    lines.append("Parameters (`ros2 param describe` shows ranges), with defaults:")
    for setting in module.SETTINGS:
        default = "true" if setting.default is True else "false" if setting.default is False else setting.default
        lines.append(f"  {setting.name} = {default if default != '' else repr('')}\n      {setting.description}")
    return "\n".join(lines)


def run_all(make_nodes: Sequence[Callable[[], Node]], args: Sequence[str] | None = None) -> int:
    """Run nodes on one executor until SIGINT, SIGTERM or shutdown of the context; return the exit code.

    At the end a node's ``end``, where it has one, is called while it can still publish. The parameter ``executor`` of
    the first node that has it chooses the executor; likewise those of real time. ``args`` is the command line, ROS
    arguments included, by default that of the process. The code is 0, or 1 where ROS refuses the arguments or a node
    could not be made (the reason is printed, in one line) or the executor failed.
    """
    set_profile(os.environ)
    if enabled() and (warning := shared_memory_warning()):
        print(f"warning: {warning}", file=sys.stderr, flush=True)
    with EndSignals() as signals:
        try:
            rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        except RuntimeError as error:  # arguments or parameter files that rcl cannot read
            print(f"error: {start_problem(error)}", file=sys.stderr)
            return 1
        nodes: list[Node] = []
        made, code = False, 0
        try:
            for make in make_nodes:
                nodes.append(make())
            made = True
            if not signals.heard:
                _spin(nodes, signals)
        except ExternalShutdownException:
            pass
        except (NodeError, ParameterException) as error:
            print(f"error: {start_problem(error)}", file=sys.stderr)
            code = 1
        except Exception:
            if rclpy.ok():  # else a callback was under way when the context ended, and could no longer publish
                traceback.print_exc()
                code = 1
        finally:
            for node in nodes:
                _say_last(node)
            # Where one leaves under SCHED_FIFO, others lock up in Fast DDS that have to take note of it (2 of 66 times;
            # under the usual scheduling 0 of 112).
            with suppress(OSError):
                usual_scheduling()
            shutdown_with_deadline(nodes if made else [*nodes, *_half_made(nodes)], code)
            gc.freeze()  # Python would search all that it still holds several times as it ends, for 0.3 s
    return code


def _spin(nodes: Sequence[Node], signals: EndSignals) -> None:
    executor = make_executor(_first(nodes, "executor", EXECUTORS[0]))
    end_when_deaf = _first(nodes, "end_when_deaf", False)
    watchdog = ConnectivityWatchdog(nodes, end_when_deaf)
    try:
        for node in nodes:
            executor.add_node(node)
            if hasattr(node, "watchdog"):
                node.watchdog, node.told_to_end = watchdog, lambda: signals.heard
        preparing = True  # reading robots and compiling kernels must not take the machine from those who answer
        with GarbageBetweenCallbacks() as garbage:
            while rclpy.ok() and not signals.heard:
                executor.spin_once(timeout_sec=SPIN_TIMEOUT)
                garbage.collect()
                if preparing and all_active(nodes):
                    preparing = False
                    request_real_time(nodes[0])
                watchdog.update()
                if end_when_deaf and watchdog.reason_to_end:
                    raise NodeError(watchdog.reason_to_end)
            _come_to_rest(nodes, executor, signals)
        for node in nodes:
            executor.remove_node(node)
    finally:
        faulthandler.dump_traceback_later(LAST_TASKS * (1 + len(nodes)), exit=True)  # until `shutdown_with_deadline`
        executor.shutdown()


def _come_to_rest(nodes: Sequence[Node], executor: Executor, signals: EndSignals) -> None:
    """Go on until what the nodes command is at rest: `REST_TIME` at most, or until a second signal."""
    moving = [node.rest for node in nodes if hasattr(node, "rest") and node.rest.begin()]
    while rclpy.ok() and not signals.hurry and any(rest.awaited() for rest in moving):
        executor.spin_once(timeout_sec=REST_CHECK)


def _first(nodes: Sequence[Node], name: str, otherwise: Any) -> Any:
    """Return the parameter of the first node that has it."""
    return next((node.get_parameter(name).value for node in nodes if node.has_parameter(name)), otherwise)


def _say_last(node: Node) -> None:
    """Let a node end while it can still publish; the others do whatever comes of that."""
    try:
        if hasattr(node, "end") and rclpy.ok():
            node.end()
    except Exception:
        traceback.print_exc()


def _half_made(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes that somebody began to make, and nobody holds.

    They would stay participants: threads of DDS that are still at work can crash a process that ends.
    """
    return [found for found in gc.get_objects() if issubclass(type(found), Node) and found not in nodes]
