"""A node ends well when it is told to, also in the middle of a callback."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

TELLS_ITSELF = """
import os, signal, sys
from rclpy.node import Node
from lie_dynamics_ros.ros.spinning import run

class Told(Node):
    def __init__(self):
        super().__init__("told")
        self.declare_parameter("executor", "{executor}")
        self.create_timer(0.01, self.on_time)

    def on_time(self):
        os.kill(os.getpid(), signal.{how})
        for _ in range(1000):
            pass  # here the signal is heard
        print("finished", flush=True)

if "{when}" == "made":
    Told.__init__ = lambda self: os.kill(os.getpid(), signal.{how})
before = signal.getsignal(signal.SIGINT)
code = run(Told)
assert signal.getsignal(signal.SIGINT) is before
sys.exit(code)
"""


def run(**values):
    code = TELLS_ITSELF.format(**{"executor": "events", "how": "SIGINT", "when": "spinning", **values})
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("executor", ["events", "single_threaded"])
def test_a_signal_in_a_callback_lets_it_finish_and_ends_the_node(executor, how):
    done = run(executor=executor, how=how)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["finished"]), done.stderr
    assert "Traceback" not in done.stderr


def test_a_signal_while_the_node_is_made_ends_it():
    done = run(when="made")
    assert done.returncode == 0 and "finished" not in done.stdout, done.stderr
