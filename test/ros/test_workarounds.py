"""What is left of a node that has ended, and files that a killed process left in shared memory."""

import itertools
import json
import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.nodes.together.node import NODE_CLASSES
from lie_dynamics_ros.ros.workarounds import (
    LONGEST_CREATION,
    SHARED_MEMORY,
    SWITCH,
    shared_memory_warning,
    unfinished_files,
)

LEAVES = """
import contextlib, functools, importlib, json, os, pathlib, signal

from lie_dynamics_ros.nodes.together.node import NODE_CLASSES
from lie_dynamics_ros.ros.node.spinning import run, run_all


def at_work():
    # Fast DDS lets one thread watch over its shared memory as long as the process lives.
    names = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            names.append((task / "comm").read_text().strip())
    return [name for name in names if name.startswith("dds.") and name != "dds.shm.wdog"]


def told_to_end(kind):
    node = kind()
    assert at_work()
    os.kill(os.getpid(), signal.SIGTERM)
    return node


def fails_late(kind):
    class Late(kind):
        def __init__(self):
            super().__init__()
            raise OSError("made, and then not")

    return Late()


bad = ["--ros-args", "-p", "thread_priority:=1000"]
place = "lie_dynamics_ros.nodes.{}.node"
classes = {**NODE_CLASSES, "viewer": "ViewerNode"}
made = {name: getattr(importlib.import_module(place.format(name)), kind) for name, kind in classes.items()}
found = {}
for name, kind in made.items():
    found[name, "told to end"] = run(functools.partial(told_to_end, kind)), at_work()
for name, kind in list(made.items())[:3]:  # what all have from the same lines
    found[name, "refuses a parameter"] = run(kind, bad), at_work()
    found[name, "fails late"] = run(functools.partial(fails_late, kind)), at_work()


class Clings:
    def close(self):
        raise OSError("not to be closed")


def clings(kind):
    node = told_to_end(kind)
    node.own(Clings())
    return node


first, second, *_ = made.values()
found["clings", "told to end"] = run(functools.partial(clings, first)), at_work()
found["two", "the second fails"] = run_all([first, functools.partial(fails_late, second)]), at_work()
print(json.dumps([[*key, *value] for key, value in found.items()]))
"""


def test_no_node_leaves_anything_at_work():
    done = subprocess.run([sys.executable, "-c", LEAVES], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 15 and {name for name, *_ in found} >= {*NODE_CLASSES, "viewer"}
    assert [each for each in found if each[3] or each[2] != (0 if each[1] == "told to end" else 1)] == []


HANGS = """
import ctypes, os, signal, sys
from rclpy.node import Node
from lie_dynamics_ros.ros import workarounds
from lie_dynamics_ros.ros.node.spinning import run

if not {timers}:
    workarounds._CLOCK_MONOTONIC = 12345

class Hanging(Node):
    def __init__(self):
        super().__init__("hanging")
        self.create_timer(0.01, self.end)
        print("said")

    def end(self):
        if {faulty}:
            raise ArithmeticError("nobody foresaw this")
        os.kill(os.getpid(), signal.SIGINT)

    def destroy_node(self):
        ctypes.PyDLL(None).sleep(1000)  # as in a deadlock below Python: nothing of Python runs any more

sys.exit(run(Hanging))
"""


def test_a_process_that_hangs_while_it_leaves_ends_as_it_was_to_end_and_says_where():
    """With exit code 1 where the system has no timers that can end it with another; all hang at the same time."""
    cases = list(itertools.product([False, True], repeat=2))
    commands = [[sys.executable, "-c", HANGS.format(faulty=faulty, timers=timers)] for timers, faulty in cases]
    started = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for c in commands]
    for (timers, faulty), process in zip(cases, started, strict=True):
        stdout, stderr = process.communicate(timeout=120)
        assert (process.returncode, stdout) == (int(faulty or not timers), "said\n"), stderr
        assert "Timeout (0:00:04)!" in stderr and "destroy_node" in stderr
        assert ("ArithmeticError" in stderr) == faulty

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
