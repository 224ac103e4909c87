"""The demo starts when the kernels that it calls are compiled."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.demo.kernels import NEEDED
from lie_dynamics_ros.lie_dynamics.engine.ahead import load_all


def test_kernels_that_the_demo_calls_exist():
    assert {kernel.py_func.__name__ for kernel in load_all()} > NEEDED


@pytest.mark.slow
def test_the_demo_compiles_no_other_kernels(tmp_path):
    environment = {**os.environ, "LIE_DYNAMICS_CACHE_DIR": str(tmp_path / "cache")}

    def run(module, *options):
        command = [sys.executable, "-m", module, *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stdout + done.stderr
        return {path.name for path in (tmp_path / "cache").rglob("*.nbi")}

    compiled = run("lie_dynamics_ros.demo.kernels")
    assert len(compiled) >= len(NEEDED)
    assert run("lie_dynamics_ros.demo", "--output", str(tmp_path)) == compiled
