"""One node under test in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from support.preloaded import preloaded_starts

DEADLINE = 180.0
"""Longest wait for anything [s]; only a failing test waits that long."""


class NodeProcess:
    """One node in a process of its own: a copy of one that has imported the library, or a fresh one."""

    def __init__(
        self,
        module: str,
        name: str,
        namespace: str,
        parameters: dict[str, Any],
        arguments: Sequence[str] = (),
        fresh: bool = False,
    ):
        self.directory = tempfile.TemporaryDirectory()
        file = Path(self.directory.name) / "parameters.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}) if parameters else "{}")
        self.log = Path(self.directory.name) / "log"
        options = ["--ros-args", "-r", f"__ns:={namespace}", "-r", f"__node:={name}"]
        options += ["--params-file", str(file)] if parameters else []
        self.log.touch()
        self.process = self._start(f"lie_dynamics_ros.nodes.{module}.node", [*options, *arguments], fresh)

    def _start(self, module: str, arguments: Sequence[str], fresh: bool) -> Any:
        if not fresh and preloaded_starts().fit():
            return preloaded_starts().start(module, arguments, self.log)
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", module, *arguments]
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """End the process and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise
