"""The first messages are answered like any other: no kernel is read from disk or compiled for them, in any node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from driven import WAYS

TEST = Path(__file__).parents[2]
PROGRAM = """
import json
import os
import sys
import rclpy
from driven import Driven
from node_harness import Bench

def opened_by(way):
    rclpy.init()
    driven, opened = Driven(Bench("bench", "/loads"), way), []
    ends = (".nbi", ".nbc")
    take = lambda event, args: opened.append(args[0]) if event == "open" and str(args[0]).endswith(ends) else 0
    sys.addaudithook(take)
    for _ in range(3):
        driven.answer()
    return opened

for way in json.loads(sys.argv[1]):  # each in a process that has imported the modules, and loaded no kernel
    child = os.fork()
    if not child:
        try:
            opened = opened_by(way)
        except BaseException as error:
            opened = repr(error)
        print(json.dumps([way, opened]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_states_load_no_kernel(ros):
    ways = [way for way in WAYS if not way.startswith("viewer")]
    paths = [TEST, TEST / "nodes", TEST / "nodes/common", *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    program = [sys.executable, "-c", PROGRAM, json.dumps(ways)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[\"")]
    assert found == [[way, []] for way in ways], done.stdout + done.stderr
