"""A few cases of each target that needs no nodes, with a seed of their own; ``make fuzz`` has the long run.

The short form of `messages` is in nodes/common/test_parameter_values.py, whose nodes it shares.
"""

import contextlib
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from support.preloaded import run_program

from .__main__ import TARGETS, load, main
from .target import run_case

COUNTS = {"functions": 40, "hostile": 3, "sdf": 8, "trajectories": 3, "urdf": 8, "yaml": 12}
MORE = {"functions": 1500, "hostile": 15, "sdf": 60, "trajectories": 60, "urdf": 60, "yaml": 80}
ROOM = Path(__file__).parent
NODES = {"lifecycle", "messages", "parameters", "services"}
"""Targets with real nodes, in the long run only."""


def test_all_targets_are_here():
    assert {*COUNTS, *NODES} == set(TARGETS)


@pytest.mark.parametrize("name", COUNTS)
def test_a_few_cases(name):
    with load(name) as target:
        for index in range(COUNTS[name]):
            run_case(target, 17, index)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_some_more_cases(name):
    with load(name) as target:
        for index in range(COUNTS[name], MORE[name]):
            run_case(target, 17, index)


def test_a_target_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no target nonsense; there are" in capsys.readouterr().err


def test_nodes_start_whatever_threads_blas_takes_and_end_with_whoever_started_them(monkeypatch):
    start = "PreloadedStarts().start('http.server', ['0'], pathlib.Path(os.devnull)).pid"
    imports = "import fuzz, os, pathlib; from support.preloaded import PreloadedStarts"
    code = f"{imports}; print({start}, flush=True); os._exit(0)"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOM.parent), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        handle = os.pidfd_open(int(done.stdout))
        ended, _, _ = select.select([handle], [], [], 60.0)
        os.close(handle)
        assert ended


def test_targets_with_nodes_find_what_they_share():
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    sources = [(ROOM / f"target_{name}.py").read_text() for name in NODES] + [(ROOM / "node_target.py").read_text()]
    imports = sorted(set(re.findall(r"^ +(from \w+ import .+)$", "\n".join(sources), re.MULTILINE)))
    assert len(imports) > 5
    done = run_program("\n".join([f"import sys; sys.path.insert(0, {str(ROOM.parent)!r})", "import fuzz", *imports]))
    assert done.returncode == 0, done.stderr
