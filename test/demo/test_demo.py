"""The whole demo: its exit code and its picture, and that it leaves no process behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.preloaded import run_program

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("matplotlib", reason="matplotlib, which draws the demo's picture, is not installed")

import lie_dynamics_ros.demo.__main__ as whole
from lie_dynamics_ros.demo import processes
from lie_dynamics_ros.demo import watch as view
from lie_dynamics_ros.demo.__main__ import main
from lie_dynamics_ros.demo.arm import ArmShowcase
from lie_dynamics_ros.demo.play import SHORTEST
from lie_dynamics_ros.demo.processes import Children
from lie_dynamics_ros.demo.stewart import StewartShowcase
from lie_dynamics_ros.demo.watch import Reports

DEADLINE = 600.0
"""Longest wait for a whole demo [s]; only a failing test waits that long."""
NODES = 6


def test_a_signal_waits_for_the_callback_under_way(monkeypatch):
    monkeypatch.setattr(processes, "_requested", False)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    processes.catch_signals()
    try:
        processes.check_signals()
        with processes.signals_deferred():
            signal.raise_signal(signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                processes.check_signals()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(number, handler)


INTERRUPTED = """
import signal, sys
from lie_dynamics_ros.demo import processes
processes.catch_signals()
try:
    exec({statement!r})
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("where", ["{}", "with processes.signals_deferred(): {}\nprocesses.check_signals()"])
def test_the_exit_code_is_the_same_wherever_a_signal_strikes(tmp_path, how, where):
    """In code compiled from text, too: there a plain KeyboardInterrupt makes ``python -m`` end by the signal."""
    statement = where.format(f"signal.raise_signal(signal.{how})")
    (tmp_path / "interrupted.py").write_text(INTERRUPTED.format(statement=statement))
    assert subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False).returncode == 130


# The whole demo.


def run(*arguments, cwd):
    command = [sys.executable, "-m", "lie_dynamics_ros.demo", "--seconds", "2", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def children_of(pid):
    """Process ids of the demo's nodes; they name their parent on the command line."""
    told, found = {b"lie_dynamics_ros.demo.processes", str(pid).encode()}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if told <= {*(entry / "cmdline").read_bytes().split(b"\0")}:
                    found.append(int(entry.name))
    return found


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def passes_and_draws(demo, folder, pictures):
    """Let the whole demo run to its end; return what it says."""
    output, _ = demo.communicate(timeout=DEADLINE)
    check_passed(demo.returncode, output, folder, pictures)
    assert not children_of(demo.pid)
    return output


def check_passed(code, output, folder, pictures):
    assert code == 0, output
    assert "demo passed" in output
    drawn = {path.name: path.read_bytes() for path in (folder / "demo_output").iterdir()}
    assert sorted(drawn) == pictures
    assert all(picture.startswith(b"\x89PNG") for picture in drawn.values())


WITH_COPIES = """
import os, subprocess, sys, time
folder, tests = sys.argv[1:]
sys.path.insert(0, tests)
os.chdir(folder)
from support import preloaded
from lie_dynamics_ros.demo import processes
from lie_dynamics_ros.demo.__main__ import main

class Copy:
    made = []

    def __init__(self, command, stdin, stdout, stderr, start_new_session):
        assert command[1] == "-m" and start_new_session
        self.made.append(self)
        self.returncode, self.pid = None, os.fork()
        if not self.pid:
            preloaded.leave(preloaded.copy(command[2], command[3:], stdout.name, stdout.name, dict(os.environ)))

    def poll(self):
        if self.returncode is None and (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode

    def wait(self, timeout):
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, which):
        os.kill(self.pid, which)

processes.subprocess.Popen = Copy
code = main(["--seconds", "1"])
assert len(Copy.made) == 4 and not [one for one in Copy.made if one.returncode is None]
sys.exit(code)
"""


def test_passes_and_draws(tmp_path):
    """As it comes, but too short for control to be shown; it and its nodes are copies of one that has imported them.

    Both are as users have them in the studies below; nodes that are programs of their own also where one dies.
    """
    done = run_program(WITH_COPIES, str(tmp_path), str(Path(__file__).parents[1]), timeout=DEADLINE)
    check_passed(done.returncode, done.stdout + done.stderr, tmp_path, ["stewart.png", "torques.png"])
    assert "control is not shown: it takes 12 s" in done.stdout


@pytest.mark.slow
def test_passes_and_draws_as_users_start_it(tmp_path):
    passes_and_draws(run(cwd=tmp_path), tmp_path, ["stewart.png", "torques.png"])


@pytest.mark.slow
def test_passes_and_draws_with_control(tmp_path):
    """As short as control can be shown."""
    pictures = ["control.png", "stewart.png", "torques.png"]
    demo = run("--seconds", f"{SHORTEST:g}", cwd=tmp_path)
    assert "payload found" in passes_and_draws(demo, tmp_path, pictures)


WEAK = """<robot name="weak"><link name="base"/>
<link name="a"><inertial><mass value="1"/><origin xyz="0 0 0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" velocity="1" effort="0.1"/></joint></robot>"""


def test_skips_control_with_the_reason_where_it_cannot_be_shown(tmp_path, monkeypatch, capsys):
    """What is started and judged, without the processes and what they would have done."""
    (tmp_path / "weak.urdf").write_text(WEAK)
    monkeypatch.chdir(tmp_path)
    started, watched, concluded = [], [], []
    monkeypatch.setattr(processes, "catch_signals", lambda: None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(Children, "start", lambda self, node, *_, **__: started.append(node))
    monkeypatch.setattr(whole, "watch", lambda showcases, *_: watched.extend(showcases) or Reports())
    monkeypatch.setattr(whole, "_conclude", lambda showcases, *_: concluded.extend(showcases) or 0)
    assert main(["--urdf", "weak.urdf"]) == 0
    assert "control is not shown: its effort limits" in capsys.readouterr().out
    assert [type(showcase) for showcase in watched] == [ArmShowcase, StewartShowcase] and concluded == watched
    assert sorted(started) == ["inverse_dynamics", "simulated_robot", "simulated_stewart", "stewart_pose"]


@pytest.mark.slow
def test_passes_where_control_cannot_be_shown(tmp_path):
    (tmp_path / "weak.urdf").write_text(WEAK)
    demo = run("--urdf", "weak.urdf", "--seconds", f"{SHORTEST:g}", cwd=tmp_path)
    output = passes_and_draws(demo, tmp_path, ["stewart.png", "torques.png"])
    assert "control is not shown: its effort limits" in output


def test_says_what_a_page_needs(monkeypatch, capsys):
    monkeypatch.setattr(view.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(processes, "catch_signals", lambda: None)
    assert main(["--view"]) == 1
    assert "pip install 'viser" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "No such file"), ("<robot name='r'><link name='l'/></robot>", "at least one moving joint")],
)
def test_fails_with_the_reason(tmp_path, monkeypatch, capsys, text, reason):
    path = tmp_path / "my robot.urdf"
    if text:
        path.write_text(text)
    monkeypatch.setattr(processes, "catch_signals", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert main(["--urdf", path.name]) == 1
    output = capsys.readouterr().err
    assert output.startswith("\ndemo failed: ") and reason in output


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finding processes needs /proc")
@pytest.mark.parametrize("how", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL])  # SIGINT: below
def test_leaves_no_process_behind(tmp_path, how):
    demo = run("--seconds", "600", cwd=tmp_path)
    wait_for(lambda: len(children_of(demo.pid)) == NODES, "all nodes")
    os.kill(demo.pid, how)
    output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130), output
    wait_for(lambda: not children_of(demo.pid), "the nodes to end")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finding processes needs /proc")
def test_shows_itself_on_a_page_and_leaves_no_process_behind(tmp_path):
    """It goes on until the page has been seen: a busy machine may show little in the time of a whole demo."""
    pytest.importorskip("viser", reason="viser, which serves the viewer's page, is not installed")
    from support.page.page_watcher import Watcher

    demo = run("--view", "--seconds", "600", cwd=tmp_path)
    said = next((line for line in demo.stdout if line.startswith(("watch it at ", "demo failed"))), "")
    assert "http" in said, said
    watcher, places = Watcher(said.split()[-1]), set()

    def shown():
        watcher.read(1.0)
        places.add(str(watcher.nodes.get("/robot/7", {}).get("position")))
        return len(places) > 3 and "/platform/legs" in watcher.nodes and "from computed_torque" in watcher.text

    wait_for(shown, "a moving arm, its efforts and a platform")
    watcher.close()
    demo.send_signal(signal.SIGINT)
    output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == 130, output
    wait_for(lambda: not children_of(demo.pid), "the nodes to end")


def test_fails_when_a_node_dies(tmp_path):
    demo = run("--seconds", "600", cwd=tmp_path)
    wait_for(lambda: len(children_of(demo.pid)) == NODES, "all nodes")
    os.kill(children_of(demo.pid)[0], signal.SIGKILL)
    output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == 1
    assert "ended unexpectedly" in output
    assert not children_of(demo.pid)
