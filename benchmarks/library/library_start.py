"""Library: from the start of a process to the first result, and compilation of all kernels."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from ..results import Figure, at_most

RUNS = 9
FIRST_RESULT = """
import time
started = time.perf_counter()
from lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics
imported = time.perf_counter()
from pathlib import Path
import json, lie_dynamics_ros
model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
loaded = time.perf_counter()
zero = model.zero_velocity
inverse_dynamics(model, zero, zero, zero)
done = time.perf_counter()
times = {"import": imported - started, "model from URDF": loaded - imported, "first call": done - loaded}
print(json.dumps(times), flush=True)
"""


def run() -> tuple[list[Figure], Any]:
    first_result()  # warms the disk cache of kernels, and the operating system's of files
    runs = [first_result() for _ in range(RUNS)]
    medians = {name: statistics.median(one[name] for one in runs) for name in runs[0]}
    both = statistics.median(one["import"] + one["first call"] for one in runs)
    cold = compile_everything()
    return [
        at_most("import and first call, warm cache", both, "s", 0.5),
        at_most("process start to first result, model from URDF included, warm cache", medians["process"], "s", 0.5),
        *(Figure(name, medians[name], "s") for name in ("import", "model from URDF", "first call")),
        Figure("an empty Python process", medians["empty process"], "s"),
        at_most("compilation of all kernels, empty cache, all cores", cold["wall"], "s", 45.0),
        Figure("compilation of all kernels, processor time", cold["processor"], "s"),
    ], {"runs": runs}


def first_result() -> dict[str, float]:
    """Times [s] within one fresh process, and of the process as a whole."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", FIRST_RESULT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()  # what follows is the end of the process
        whole = time.perf_counter() - start
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return json.loads(line) | {"process": whole, "empty process": time.perf_counter() - start}


def compile_everything() -> dict[str, float]:
    """Time [s] of compilation ahead, as set-up does it, into an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "lie_dynamics_ros.lie_dynamics.engine"],
            env={**os.environ, "LIE_DYNAMICS_CACHE_DIR": folder},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": wall, "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
