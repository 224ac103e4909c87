"""Ends of the demo: by signals, which are not lost, and of its child processes, which end with it however that ends.

As a program this is such a child; arguments: process id of the parent, module of the node, ROS arguments.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from ..lie_dynamics.files import write_file


class ShortfallError(Exception):
    """A figure fell short, named in the message."""


_deferred = False
_requested = False


class Interruption(KeyboardInterrupt):
    """A signal ended this process.

    A type of its own: where a plain KeyboardInterrupt passes through code that is compiled from text at run time, as
    dataclasses and named tuples are, Python ends by SIGINT at last, although the exception was caught.
    """


def catch_signals() -> None:
    """End by `Interruption` on SIGINT, SIGTERM and SIGHUP."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _on_signal)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let signals wait for `check_signals`: an exception in a callback is a failure of the executor, or is lost."""
    global _deferred
    _deferred = True
    try:
        yield
    finally:
        _deferred = False


def check_signals() -> None:
    """Raise `Interruption` where a signal waits."""
    if _requested:
        raise Interruption


def _on_signal(*_: object) -> None:
    global _requested
    _requested = True
    if not _deferred:
        raise Interruption


PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Ask the system to send SIGTERM to this process when its parent dies (Linux; elsewhere nothing happens)."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    except (AttributeError, OSError):
        return
    if os.getppid() != parent:
        sys.exit("the parent has ended already")


GRACE = 30.0
"""Time for a child to end [s]; one that hangs while it leaves DDS ends itself sooner."""


class Children:
    """Nodes as child processes, with files in a directory; a context manager that ends them all."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._told: set[str] = set()  # to end

    def start(
        self,
        node: str,
        parameters: Mapping[str, object],
        remappings: Mapping[str, str],
        module: str | None = None,
        label: str | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        """Start a node: a module with a function ``main``, by default the one of that name among the nodes.

        ``label`` tells nodes of the same name apart. ``prefix`` is a command that runs the rest of its line in its own
        place, as ``ip netns exec`` does.
        """
        import yaml

        label = label or node
        file = self._directory / f"{label}.yaml"
        write_file(file, yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}))
        command = [*prefix, sys.executable, "-m", "lie_dynamics_ros.demo.processes", str(os.getpid())]
        command += [module or f"lie_dynamics_ros.nodes.{node}.node"]
        command += ["--ros-args", "--params-file", str(file)]
        for source, target in remappings.items():
            command += ["-r", f"{source}:={target}"]
        self._log(label).unlink(missing_ok=True)
        with self._log(label).open("xb") as log:
            # A session of its own: Ctrl-C in the terminal reaches only the demo, which then ends its children.
            self._processes[label] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _log(self, node: str) -> Path:
        return self._directory / f"{node}.log"

    def ended(self) -> list[str]:
        """Nodes that have ended by themselves."""
        return [n for n, process in self._processes.items() if n not in self._told and process.poll() is not None]

    def process_id(self, node: str) -> int:
        """Process id of a node."""
        return self._processes[node].pid

    def exit_code(self, node: str, timeout: float = 0.0) -> int | None:
        """Wait for a node to end [s]; returns its exit code, or None while it runs."""
        try:
            return self._processes[node].wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def output(self, node: str) -> str:
        """Last lines that a node printed."""
        return "\n".join(self._log(node).read_text(errors="replace").splitlines()[-8:])

    def stop(self, nodes: Sequence[str] | None = None) -> dict[str, int]:
        """End some nodes, or all: politely, then by force. Returns their exit codes; a negative one is a signal."""
        ending = {node: self._processes[node] for node in (self._processes if nodes is None else nodes)}
        for node, process in ending.items():
            if process.poll() is None:
                self._told.add(node)
                process.send_signal(signal.SIGINT)
        codes = {}
        for node, process in ending.items():
            try:
                codes[node] = process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                codes[node] = process.wait()
        return codes

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    module = importlib.import_module(sys.argv[2])
    sys.exit(module.main(sys.argv[2:]))
