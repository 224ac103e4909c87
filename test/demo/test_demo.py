"""The demo: passes on a good run, fails on a bad one with the reason, and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("matplotlib", reason="matplotlib, which draws the demo's picture, is not installed")

from lie_dynamics_ros.demo.check import judge
from lie_dynamics_ros.demo.recorder import Answer, Recorder, ShortfallError
from lie_dynamics_ros.demo.view import Figures, View
from lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics
from lie_dynamics_ros.ros.robot_description import read_description

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
DEADLINE = 120.0


@pytest.fixture(scope="module")
def model():
    return Model.from_urdf(read_description(ARM))


class Silent:
    """Stands in for a node that subscribes."""

    def create_subscription(self, *_):
        pass


@pytest.fixture
def recording(model):
    """A faultless recording: 100 states, each answered with the acceleration that came just before it."""
    rng = np.random.default_rng(1)
    recorder = Recorder(Silent())
    recorder.names = list(reversed(model.joint_names))
    for k in range(100):
        q, qd, qdd = rng.uniform(-1, 1, (3, 7))
        recorder.accelerations.append(qdd)
        recorder.states[k + 1] = (list(model.joint_names), q, qd)
        recorder.answers[k + 1] = Answer(inverse_dynamics(model, q, qd, qdd)[::-1], 1e-3, k + 1)
    return recorder


def test_accepts_a_faultless_recording(recording, model):
    verdict = judge(recording, model)
    assert verdict.shortfalls == []
    assert (verdict.states, verdict.answered) == (100, 100)
    assert verdict.error < 1e-14


def test_finds_one_torque_that_is_off(recording, model):
    recording.answers[40].efforts[3] *= 1.0 + 1e-9
    (shortfall,) = judge(recording, model).shortfalls
    assert "1 of 100 torque messages differ" in shortfall


def test_finds_torques_that_are_not_numbers(recording, model):
    recording.answers[40].efforts[3] = np.nan
    assert "differ" in judge(recording, model).shortfalls[0]


def test_finds_unanswered_states(recording, model):
    for stamp in range(10, 90):
        del recording.answers[stamp]
    (shortfall,) = judge(recording, model).shortfalls
    assert "only 20 of 100" in shortfall


def test_says_when_there_is_nothing_to_judge(recording, model):
    recording.answers.clear()
    with pytest.raises(ShortfallError, match="heard 100 joint states and 0 answers"):
        judge(recording, model)


class Terminal:
    def __init__(self, tty):
        self.tty, self.text = tty, ""

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("tty", [True, False])
def test_shows_the_largest_torque(model, tty):
    out = Terminal(tty)
    efforts = np.array([0.0, -41.5, 3.0, 0.0, 0.0, 0.0, 0.0])
    figures = Figures(1.0, 10.0, 500.0, 0.995, (2e-4, 5e-4), np.zeros(7), efforts)
    View(model, out).show(figures)
    assert "-41.5" in out.text and "panda_joint2" in out.text
    assert " 99.5 % answered" in out.text and "p50 200 us" in out.text
    assert ("\x1b" in out.text) == tty


# The whole demo.


def run(*arguments, cwd):
    command = [sys.executable, "-m", "lie_dynamics_ros.demo", "--seconds", "2", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def children_of(pid):
    """Process ids of the demo's nodes; they name their parent on the command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"lie_dynamics_ros.demo.child" in arguments and str(pid).encode() in arguments:
                found.append(int(entry.name))
    return found


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def test_passes_and_draws(tmp_path):
    demo = run(cwd=tmp_path)
    output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == 0, output
    assert "demo passed" in output
    assert (tmp_path / "demo_output/torques.png").read_bytes().startswith(b"\x89PNG")
    assert not children_of(demo.pid)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "No such file"), ("<robot name='r'><link name='l'/></robot>", "at least one moving joint")],
)
def test_fails_with_the_reason(tmp_path, text, reason):
    path = tmp_path / "my robot.urdf"
    if text:
        path.write_text(text)
    demo = run("--urdf", path.name, cwd=tmp_path)
    output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == 1
    assert "demo failed" in output and reason in output and "Traceback" not in output


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finding processes needs /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_leaves_no_process_behind(tmp_path, how):
    demo = run("--seconds", "600", cwd=tmp_path)
    wait_for(lambda: len(children_of(demo.pid)) == 2, "both nodes")
    os.kill(demo.pid, how)
    demo.communicate(timeout=DEADLINE)
    assert demo.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    wait_for(lambda: not children_of(demo.pid), "the nodes to end")


def test_fails_when_a_node_dies(tmp_path):
    demo = run("--seconds", "600", cwd=tmp_path)
    wait_for(lambda: len(children_of(demo.pid)) == 2, "both nodes")
    os.kill(children_of(demo.pid)[0], signal.SIGKILL)
    output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == 1
    assert "ended unexpectedly" in output
    assert not children_of(demo.pid)
