"""A few cases of each target that needs no nodes, with a seed of their own; ``make fuzz`` has the long run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .__main__ import TARGETS, load, main
from .target import run_case

COUNTS = {"functions": 1500, "trajectories": 60, "urdf": 60, "yaml": 80}
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


def test_a_target_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no target nonsense; there are" in capsys.readouterr().err


def test_targets_with_nodes_start_them_whatever_threads_blas_takes(monkeypatch):
    code = "import fuzz, preloaded; print(preloaded.PreloadedStarts()._process.communicate(timeout=60)[0])"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOM.parent), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "b''\n", "")


def test_targets_with_nodes_find_what_they_share():
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    sources = [(ROOM / f"target_{name}.py").read_text() for name in NODES] + [(ROOM / "node_target.py").read_text()]
    imports = sorted(set(re.findall(r"^ +(from \w+ import .+)$", "\n".join(sources), re.MULTILINE)))
    assert len(imports) > 5
    code = "import fuzz\n" + "\n".join(imports)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOM.parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
