"""Makes the picture of the page `viewer`: python test/nodes/viewer/picture.py doc/figures/viewer.png (wants chromium).

What it shows is the demo, as `make demo VIEW=1` has it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser

SHOWN_AT = 12.0
"""Seconds of motion in the traces [s]."""


def main(path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lie_dynamics_ros.demo", "--view", "--seconds", "600", "--output", folder]
        demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            url = next(line.split()[-1] for line in demo.stdout if line.startswith("watch it at"))
            with Browser(Path(folder) / "profile") as browser:
                browser.open(url)
                browser.wait(lambda: "live" in browser.text, "the robot")
                end = time.monotonic() + SHOWN_AT
                browser.wait(lambda: time.monotonic() > end, "some motion")
                browser.do(
                    "Runtime.evaluate",
                    expression="document.querySelectorAll('.mantine-Notification-root').forEach(e => e.remove())",
                )
                Path(path).write_bytes(browser.picture())
        finally:
            demo.terminate()
            demo.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
