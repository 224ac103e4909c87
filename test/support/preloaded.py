"""Processes that are copies of one that has imported all but the nodes and loaded kernels: a third of a node's start.

Run as a program this is that process. It has begun nothing of ROS, and no thread but two of LTTng, which wait for
somebody who traces, and which copies lack; a copy goes on as ``python -m`` would, in a session and with an output and
an environment of its own. The first copy of each program leaves as any Python program does, the others at once.
Nodes in copies report four times as often as others: tests wait for that.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import inspect
import json
import os
import pkgutil
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

OF_ROS = ("ROS_", "RMW_", "FASTDDS_", "FASTRTPS_", "PYTEST_")
"""How variables begin that only count when a node begins with ROS; others may change what is imported."""

MESSAGES = ("action", "builtin_interfaces", "diagnostic", "geometry", "lifecycle", "nav", "rcl_interfaces", "rosgraph")
MESSAGES += ("sensor", "service", "std", "trajectory", "type_description_interfaces", "visualization")
"""Packages of messages that nodes import."""
SERVICES = ("lifecycle_msgs", "rcl_interfaces", "std_srvs", "type_description_interfaces")
"""Packages of services that nodes import, beside the own one."""
KERNELS = frozenset((
    "add_state", "bear", "constrained_dynamics", "coriolis", "count_growing", "count_turns", "fastest", "feel",
    "felt_wrench", "follows", "fuse", "hybrid_dynamics", "hybrid_dynamics_unloaded", "jacobian", "judge_windows",
    "loop_quantities", "loosen", "mark_hulls", "mend", "model", "needed_wrenches", "pass_edges", "rates_at",
    "reachable", "sensed_contact", "smooth_state", "spread_noise", "write_motion",
))  # fmt: skip
"""Names of the kernels that nodes call, beside those that the demo calls."""
REPORTS = 0.25
"""Period of the diagnostics of nodes in copies [s]; a second as users have it."""


class PreloadedStarts:
    """Starts node processes, all with this process's environment of now, but for ROS's part."""

    def __init__(self) -> None:
        self._environment = imports_depend_on()
        self._started: list[int] = []
        self.codes: dict[int, int] = {}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # BLAS begins threads when it is imported
            start_new_session=True,  # what ends the tests, as Ctrl-C in a terminal, is theirs: they end the nodes
        )
        atexit.register(self._process.communicate)

    def fit(self) -> bool:
        """Whether this environment is the one that they start with."""
        return imports_depend_on() == self._environment

    def start(self, program: str, arguments: Sequence[str], output: Path, errors: Path | None = None) -> Copy:
        """Run a module as a program, or lines of code; what it prints is appended to files."""
        assert self._process.stdin
        told = [program, [*arguments], str(output), str(errors or output), dict(os.environ)]
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        while not self._started:
            self.hear(None)
        return Copy([sys.executable, "-m", program, *arguments], self._started.pop(), self)

    def hear(self, timeout: float | None) -> bool:
        """Take in what is told next, a start or the exit code of an end, within a time [s]; tell whether it came."""
        assert self._process.stdout
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            return False
        pid, *code = map(int, self._process.stdout.readline().split())
        if code:
            self.codes[pid] = code[0]
        else:
            self._started.append(pid)
        return True


class Copy:
    """A process that was started so; what is used of `subprocess.Popen`."""

    def __init__(self, args: list[str], pid: int, starts: PreloadedStarts) -> None:
        self.args, self.pid, self.returncode = args, pid, None
        self._starts = starts

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        while self._starts.hear(0.0):
            pass
        return self._take()

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, once it has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._take() is None:
            if not self._starts.hear(None if end is None else max(end - time.monotonic(), 0.0)):
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self.returncode

    def _take(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._starts.codes.pop(self.pid, None)
        return self.returncode

    def send_signal(self, which: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and that is about to be told
                os.kill(self.pid, which)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@functools.cache
def preloaded_starts() -> PreloadedStarts:
    """Return those of this process."""
    return PreloadedStarts()


def run_program(code: str, *arguments: str, timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run lines of code as ``python -c`` does, in a copy; a time [s] in which it must have ended."""
    command = [sys.executable, "-c", code, *arguments]
    if not preloaded_starts().fit():
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    with tempfile.TemporaryDirectory() as folder:
        output, errors = (Path(folder, name) for name in ("output", "errors"))
        process = preloaded_starts().start(code, arguments, output, errors)
        try:
            ended = process.wait(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(command, ended, output.read_text(), errors.read_text())


def imports_depend_on() -> dict[str, str]:
    """Return the variables that imports may depend on."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OF_ROS)}


def threads() -> int:
    """Return how many threads this process has; 0 where that is not told."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else 0


def preload() -> None:
    """Import what nodes import, but for the programs themselves; load the kernels that most of them call."""
    from lie_dynamics_ros import nodes, ros
    from lie_dynamics_ros.demo import NEEDED
    from lie_dynamics_ros.lie_dynamics.engine.ahead import load_all

    for kernel in load_all():
        if kernel.py_func.__name__ in NEEDED | KERNELS:
            kernel.compile_all()
    at_first = threads()
    from rclpy.experimental import events_executor  # noqa: F401
    from rclpy.type_support import check_for_type_support

    of_rclpy = threads()
    from lie_dynamics_ros.ros.outputs import diagnostics

    for room in (ros, nodes):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not module.name.endswith(".node"):
                import_module(module.name)
    packages = [f"{package}.msg" if package.endswith("interfaces") else f"{package}_msgs.msg" for package in MESSAGES]
    packages += [f"{package}.srv" for package in SERVICES]
    if find_spec("lie_dynamics_interfaces"):
        packages += ["lie_dynamics_interfaces.msg", "lie_dynamics_interfaces.srv"]
    for package in packages:
        for type_ in vars(import_module(package)).values():
            if isinstance(type_, type):
                check_for_type_support(type_)
    assert at_first <= 1 and threads() == of_rclpy, "copies would lack the other threads"
    diagnostics.PERIOD = REPORTS
    inspect.getmodule(sys._getframe())  # which the first line that a node logs does, for 0.15 s
    gc.freeze()
    frozen = gc.get_freeze_count()
    gc.get_freeze_count = lambda: frozen  # each node asks, and they are counted one by one, for 30 ms


def copy(program: str, arguments: list[str], output: str, errors: str, environment: dict[str, str]) -> int:
    """Be a program from now on; return its exit code, unless it ends by an error."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in ((1, output), (2, errors)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    code = "\n" in program
    sys.argv = ["-c" if code else program, *arguments]
    try:
        if code:
            sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))
        else:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        return end.code or 0
    return 0


def leave(code: int) -> NoReturn:
    """End as Python does, libraries' own ends among it, but do not take modules apart: half of a short node's time."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.PyDLL(None).exit(code)


def serve() -> None:
    """Start a copy for each line that comes in, and tell its number, and that and the exit code of each that ends.

    Copies that still run when nobody is there any more to start others are killed.
    """
    running: set[int] = set()
    known: set[str] = set()

    def reap(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                running.discard(pid)
                os.write(1, f"{pid} {os.waitstatus_to_exitcode(status)}\n".encode())

    signal.signal(signal.SIGCHLD, reap)
    for line in sys.stdin:
        told = json.loads(line)
        pid = os.fork()
        if not pid:
            code = copy(*told)
            (leave if told[0] in known else sys.exit)(code)
        known.add(told[0])
        running.add(pid)
        os.write(1, f"{pid}\n".encode())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in running:
        with contextlib.suppress(ChildProcessError):  # it has ended, and that has been told
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.argv, sys.path[0] = ["-m"], os.getcwd()  # as for ``python -m``, of which imports take note
    preload()
    serve()
