"""Rounds of a study, each in a process and a ROS domain of its own.

Fast DDS 3.2 can lock up in a participant that takes note of others who leave. Where that is the one that judges them,
it hears nothing any more, or never returns from a call, and says nothing of the nodes: the round is repeated, and told,
where it is certain that this happened and no node has failed. Whatever else goes wrong is a failure.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import re
import signal
import subprocess
import sys
import traceback
import uuid
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import witness
from node_harness import Bench, init_ros
from node_process import DEADLINE, NodeProcess
from std_msgs.msg import String

from lie_dynamics_ros.ros.node.domain import DomainReservation

REPEATS = 2
STUCK = 2 * DEADLINE
"""A call into ROS that takes longer does not return [s]."""
DEAF = 75
"""Exit code of a round whose own DDS hung."""


def judged_apart(module: str, function: str, *arguments: object) -> None:
    """Let ``module.function(bench, *arguments)`` be run in a process of its own; it gets the arguments as text.

    Raises
    ------
    AssertionError
        It failed, with all that it printed; or its own DDS hung each time.
    """
    what = f"{function}({', '.join(map(str, arguments))})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for _ in range(1 + REPEATS):
        namespace = f"/r{uuid.uuid4().hex[:10]}"
        command = [sys.executable, __file__, namespace, module, function, *map(str, arguments)]
        try:
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
        finally:
            _end_all(namespace)
        if done.returncode == 0:
            return
        assert own_dds_hung(done.returncode, done.stdout), f"{what} failed\n{done.stdout}"
        warnings.warn(f"{what} is repeated, for its own DDS hung\n{done.stdout}", stacklevel=2)
    raise AssertionError(f"{what}: its own DDS hung {1 + REPEATS} times")


def own_dds_hung(code: int, output: str) -> bool:
    """Whether a round says that it was deaf, or ended itself while its main thread was within rclpy."""
    innermost = re.findall(r'^Thread 0x.*\(most recent call first\):\n  File "([^"]*)"', output, re.MULTILINE)
    stuck = f"Timeout ({timedelta(seconds=STUCK)})!" in output and bool(innermost) and "/rclpy/" in innermost[-1]
    return code == DEAF or (code == 1 and stuck)


def _end_all(namespace: str) -> None:
    """End the nodes in this namespace: a round that hung leaves them behind."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"__ns:={namespace}".encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


class Round(Bench):
    """A bench that ends its process where a call into ROS does not return, and finds out whether it still hears."""

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace=namespace)
        self.started: list[NodeProcess] = []
        self._witnesses = self.listen(String, witness.TOPIC)

    def start(self, *arguments: Any, **parameters: Any) -> str:
        name = super().start(*arguments, fresh=True, **parameters)
        self.started.append(self.processes[-1])
        return name

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        def checked() -> Any:
            faulthandler.dump_traceback_later(STUCK, exit=True)
            return condition()

        return super().wait(checked, what)

    def deaf(self) -> bool:
        """Whether two new participants hear each other, but this one hears neither."""
        faulthandler.dump_traceback_later(STUCK, exit=True)
        command = [sys.executable, witness.__file__, self.namespace]
        witnesses = [subprocess.Popen([*command, name], stdout=subprocess.DEVNULL) for name in ("first", "second")]
        while not self._witnesses and any(process.poll() is None for process in witnesses):
            self.executor.spin_once(timeout_sec=0.02)
        for process in witnesses:
            process.kill()
        return not self._witnesses and all(process.wait() == 0 for process in witnesses)


def main(namespace: str, module: str, function: str, *arguments: str) -> None:
    """Run one round, and end without leaving DDS, which may hang, too."""
    DomainReservation().apply(os.environ)
    init_ros()
    bench = Round(namespace)
    code = 0
    try:
        getattr(importlib.import_module(module), function)(bench, *arguments)
    except Exception:
        traceback.print_exc()
        failed = any(process.process.poll() not in (None, 0) for process in bench.started)
        code = DEAF if not failed and bench.deaf() else 1
    for process in bench.started:
        if process.process.poll() is None:
            process.process.kill()
            process.process.wait()
        process.directory.cleanup()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
