"""Unfinished files of Fast DDS in shared memory are named before a process waits for them, and none is touched."""

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.workarounds import (
    LONGEST_CREATION,
    SHARED_MEMORY,
    SWITCH,
    shared_memory_warning,
    unfinished_files,
)

UNFINISHED, FINISHED = bytes(64), (2).to_bytes(4, "little") + bytes(60)


@pytest.fixture
def place(tmp_path):
    """A folder with unfinished files, and others that look alike."""
    unfinished = {"fastdds_port7015": UNFINISHED, "fastrtps_port7017": b"", "fastdds_port7": b"\1" + bytes(63)}
    others = {
        "fastdds_port7019": FINISHED,
        "fastdds_port7019_el": b"",
        "fastdds_0a35caab491234d0": UNFINISHED,
        "mine": b"",
    }
    before = time.time() - 2.0 * LONGEST_CREATION
    for name, content in {**unfinished, **others}.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (before, before))
    (tmp_path / "fastdds_port7021").write_bytes(UNFINISHED)  # it is just being made
    (tmp_path / "fastdds_port7023").symlink_to(tmp_path / "mine")
    return tmp_path, sorted(str(tmp_path / name) for name in unfinished)


def test_unfinished_files_are_found_and_left_alone(place):
    folder, unfinished = place
    before = {file.name for file in folder.iterdir()}
    assert unfinished_files(folder) == unfinished
    assert {file.name for file in folder.iterdir()} == before
    assert unfinished_files(folder / "nowhere") == []


def test_the_warning_names_files_owners_and_remedy(place):
    folder, unfinished = place
    text = shared_memory_warning(folder)
    assert all(f"{file} (user {os.getuid()})" in text for file in unfinished) and "fastdds shm clean" in text
    assert shared_memory_warning(folder / "nowhere") == ""


START = """
import pathlib, sys
from lie_dynamics_ros.ros.workarounds import shared_memory_warning
shared_memory_warning.__defaults__ = (pathlib.Path(sys.argv[1]),)
from lie_dynamics_ros.ros.node import spinning
spinning.rclpy.init = lambda **_: (_ for _ in ()).throw(RuntimeError("DDS was reached"))
sys.exit(spinning.run_all([], []))
"""


@pytest.mark.parametrize(("switch", "told"), [("1", True), ("0", False)])
def test_a_process_names_them_before_it_touches_dds(place, switch, told):
    folder, unfinished = place
    environment = {**os.environ, SWITCH: switch}
    run = subprocess.run(
        [sys.executable, "-c", START, folder], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    before, _, _ = run.stderr.partition("DDS was reached")
    assert all((file in before) is told for file in unfinished), run.stderr
    assert folder != SHARED_MEMORY
