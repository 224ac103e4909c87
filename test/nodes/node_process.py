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

DEADLINE = 180.0
"""Longest wait for anything [s]; only a failing test waits that long."""

LEFT_BY_FORCE = "Timeout (0:00:05)!"
"""What a process prints that ends itself because it hung while leaving DDS, see `spinning.LEAVING`."""


class NodeProcess:
    """One node in a process of its own."""

    def __init__(
        self, module: str, name: str, namespace: str, parameters: dict[str, Any], arguments: Sequence[str] = ()
    ):
        self.directory = tempfile.TemporaryDirectory()
        file = Path(self.directory.name) / "parameters.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}) if parameters else "{}")
        self.log = Path(self.directory.name) / "log"
        command = [sys.executable, "-m", f"lie_dynamics_ros.nodes.{module}.node", "--ros-args"]
        command += ["-r", f"__ns:={namespace}", "-r", f"__node:={name}"]
        command += ["--params-file", str(file)] if parameters else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """End the process and return its exit code; 0 also where Fast DDS hung while it left, which it says itself."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            code = self.process.wait(DEADLINE)
            return 0 if code == 1 and LEFT_BY_FORCE in self.output else code
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise
