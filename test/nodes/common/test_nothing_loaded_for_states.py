"""The first messages are answered like any other: no kernel is read from disk or compiled for them, in any node."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from driven import WAYS

TEST = Path(__file__).parents[2]
PROGRAM = """
import os
import sys
import rclpy
rclpy.init()
from driven import Driven
from node_harness import Bench
bench = Bench("bench", "/loads")
driven, opened = Driven(bench, sys.argv[1]), []
ends = (".nbi", ".nbc")
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" and str(args[0]).endswith(ends) else 0)
for _ in range(3):
    driven.answer()
print("opened:", opened, flush=True)
os._exit(bool(opened))
"""


@pytest.mark.parametrize("way", [way for way in WAYS if not way.startswith("viewer")])
def test_states_load_no_kernel(ros, way):
    paths = [TEST, TEST / "nodes", TEST / "nodes/common", *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    program = [sys.executable, "-c", PROGRAM, way]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
