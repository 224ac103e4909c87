"""Shared parts of the nodes' cores: values, errors, joints by name, a robot with its options. No ROS in here.

It imports next to nothing itself: until signals are quiet, those that come while a node is being imported, and a ROS
that is not there, are tracebacks.
"""

import os
import signal
import sys

WITHOUT_ROS = (
    "the nodes need ROS 2 (rclpy), which this Python lacks: run them in a ROS 2 workspace, or by tools/environment.sh "
    "in a clone of the repository. The library, lie_dynamics_ros.lie_dynamics, needs no ROS."
)

PREFIX = "lie_dynamics_"
"""Prefix of the programs that pip puts on PATH; see setup.py."""


def end_quietly_while_importing(programs: tuple[str, ...], code: int = 0) -> None:
    """Let signals end a process that is started as one of these programs, or by ``python -m``, with this exit code.

    Nodes that are told to end have not failed, however early. Whatever else imports the package keeps its handlers. A
    program without ROS ends with one line.
    """
    started = os.path.basename(sys.argv[0]).removeprefix(PREFIX) if sys.argv else ""
    if started != "-m" and started not in programs:
        return
    for which in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(which) in (signal.SIG_DFL, signal.default_int_handler):
            try:
                signal.signal(which, lambda *_: os._exit(code))
            except ValueError:  # only the main thread may
                return
    _end_without_ros()


def _end_without_ros() -> None:
    from importlib.machinery import PathFinder

    needs = os.path.basename(sys.argv[0]) != "-m" or any(word.endswith((".node", ".demo")) for word in sys.orig_argv)
    if needs and PathFinder.find_spec("rclpy") is None:
        sys.exit(WITHOUT_ROS)
