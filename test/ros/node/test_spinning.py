"""A node ends well when it is told to, also in the middle of a callback."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from support.preloaded import run_program

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String

from lie_dynamics_ros.ros.node.domain import DomainReservation

TELLS_ITSELF = """
import os, signal, sys
from rclpy.node import Node
from lie_dynamics_ros.ros.node import spinning
from lie_dynamics_ros.ros.node.spinning import run

spinning.ONE_WISH = 60.0

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
os.kill(os.getpid(), signal.{how})  # the same wish once more
spinning.ONE_WISH = -1.0
try:
    os.kill(os.getpid(), signal.SIGINT)
    [None for _ in range(1000)]
    sys.exit("not heard")
except KeyboardInterrupt:
    assert signal.getsignal(signal.SIGINT) is before
sys.exit(code)
"""


def run(**values):
    return run_program(TELLS_ITSELF.format(**{"executor": "events", "how": "SIGINT", "when": "spinning", **values}))


@pytest.mark.parametrize(
    ("executor", "how"),
    [
        ("events", "SIGINT"),
        ("single_threaded", "SIGTERM"),
        pytest.param("events", "SIGTERM", marks=pytest.mark.slow),
        pytest.param("single_threaded", "SIGINT", marks=pytest.mark.slow),
    ],
)
def test_a_signal_in_a_callback_lets_it_finish_and_ends_the_node(executor, how):
    done = run(executor=executor, how=how)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["finished"]), done.stderr
    assert "Traceback" not in done.stderr


def test_a_signal_while_the_node_is_made_ends_it():
    done = run(when="made")
    assert done.returncode == 0 and "finished" not in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("moment", "how"),
    [
        pytest.param(moment, how, marks=() if (k + j) % 2 else pytest.mark.slow)
        for k, moment in enumerate((0.05, 0.2, 0.35, 0.5, 0.8))
        for j, how in enumerate((signal.SIGINT, signal.SIGTERM))
    ],
)
def test_no_traceback_at_any_moment_from_import_to_exit(how, moment):
    """Where a signal strikes is left to chance; nothing of what is asserted depends on it.

    What Python prints where it is told to end before it runs anything of ours is its own.
    """
    begin = "import sys; sys.argv = ['inverse_dynamics']; import lie_dynamics_ros.nodes; print('begun', flush=True)"
    code = f"{begin}; from lie_dynamics_ros.nodes.inverse_dynamics.node import main; sys.exit(main())"
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout.readline() == "begun\n"
    wake = threading.Timer(moment, process.send_signal, [how])
    wake.start()
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        wake.cancel()
    assert "Traceback" not in output and "Exception" not in output, output
    assert process.returncode == 0


LAST_WORDS = """
import os, signal, sys
from std_msgs.msg import String
from lie_dynamics_ros.ros.node import spinning
from lie_dynamics_ros.ros.node.managed_node import ManagedNode, NodeParameters
from lie_dynamics_ros.ros.outputs.output import Output
from lie_dynamics_ros.ros.node.spinning import run

class Talker(ManagedNode):
    def __init__(self):
        super().__init__("talker", NodeParameters)
        self.output = Output(self, String, "words")
        self.create_timer(0.01, self.on_time)

    def on_time(self):
        self.output.send(String(data="word"))
        if {faulty} and self.output.heard:
            raise ArithmeticError("nobody foresaw this")

    def deactivate(self):
        if not {faulty}:
            os.kill(os.getpid(), signal.SIGINT)  # a supervisor and launch both tell it
        self.output.send(String(data="last"))

spinning.ONE_WISH = 1000.0
sys.exit(run(Talker))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), None])
def test_the_last_words_of_a_node_reach_those_who_listen(how):
    """Ended by a signal that comes twice, or deactivated by a fault in a callback, which does not end the process."""
    reservation = DomainReservation()
    environment = dict(os.environ)
    reservation.apply(environment)
    context = rclpy.Context()
    with patch.dict(os.environ, environment):
        rclpy.init(context=context, domain_id=reservation.domain)
        node = rclpy.create_node("listener", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        heard = []
        node.create_subscription(String, "words", lambda message: heard.append(message.data), 1000)
        process = subprocess.Popen([sys.executable, "-c", LAST_WORDS.format(faulty=how is None)], text=True)
    try:

        def listen_until(condition):
            end = time.monotonic() + 120.0
            while not condition():
                assert time.monotonic() < end, heard[-10:]
                executor.spin_once(timeout_sec=0.02)

        listen_until(lambda: heard)
        if how is None:
            listen_until(lambda: "last" in heard)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
        else:
            process.send_signal(how)
        listen_until(lambda: process.poll() is not None)
        listen_until(lambda: heard[-1] == "last")
        assert process.returncode == 0 and heard.count("last") == 1
    finally:
        process.kill()
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
        reservation.release()


def test_another_signal_later_on_ends_a_process_at_once():
    code = (
        "import os, signal\nfrom lie_dynamics_ros.ros.node import spinning\nspinning.ONE_WISH = -1.0\n"
        "with spinning.EndSignals() as told:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print(told.heard, flush=True)\n    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('survived', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "True\n"), done.stderr


@pytest.mark.parametrize("told", [True, False])
def test_a_signal_that_repeats_the_wish_while_the_interpreter_ends_is_not_heard(told):
    code = (
        "import os, signal\nfrom lie_dynamics_ros.ros.node.spinning import EndSignals\n"
        "class Last:\n"
        "    def __del__(self, kill=os.kill, me=os.getpid(), how=signal.SIGTERM):\n"
        "        kill(me, how)\n"
        "last = Last()\n"
        f"with EndSignals():\n    {told} and os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == (0 if told else -signal.SIGTERM), done.stderr


WAITS = """
import os, signal, sys
from lie_dynamics_ros.nodes.inverse_dynamics.node import InverseDynamicsNode
from lie_dynamics_ros.ros.node import description_source
from lie_dynamics_ros.ros.node.spinning import run

class Node(InverseDynamicsNode):
    def __init__(self):
        super().__init__()
        self.create_timer(0.01, self.trigger_configure)

description_source.take_message = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
sys.exit(run(Node, sys.argv))
"""


def test_a_node_that_waits_for_a_description_in_a_transition_ends_when_it_is_told_to():
    parameters = ["-p", "autostart:=false", "-p", "robot_description_timeout:=600.0"]
    reservation = DomainReservation()
    environment = dict(os.environ)
    reservation.apply(environment)
    with patch.dict(os.environ, environment):
        done = run_program(WAITS, "--ros-args", *parameters)
    reservation.release()
    assert done.returncode == 0, done.stderr


SLIPS = {
    "mixed": ("gravity: [0, 0, -9.81]", ["line_num 4", "decimal point: 0.0, not 0"]),
    "integers": ("gravity: [0, 0, -9]", ["'gravity'", "decimal point: 0.0, not 0"]),
    "integer": ("gravity: 1", ["'gravity'", "INTEGER"]),
    "open": ("gravity: [0.0", ["near line 4"]),
    "none": (None, ["Error opening YAML file"]),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_parameter_file_is_one_line(slip, tmp_path):
    text, words = SLIPS[slip]
    file = tmp_path / "parameters.yaml"
    if text is not None:
        file.write_text(f"/**:\n  slipped:\n    ros__parameters:\n      {text}\n")
    code = (
        "import sys\nfrom rclpy.node import Node\nfrom lie_dynamics_ros.ros.node.spinning import run\n"
        "class Slipped(Node):\n"
        "    def __init__(self):\n"
        "        super().__init__('slipped')\n"
        "        self.declare_parameter('gravity', [0.0, 0.0, -9.81])\n"
        f"sys.exit(run(Slipped, ['--ros-args', '--params-file', {str(file)!r}]))\n"
    )
    done = run_program(code)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[")]  # rcl has a line of its own
    assert (done.returncode, len(lines)) == (1, 1), done.stderr
    for word in ("error: ", *words):
        assert word in lines[0]


def test_until_signals_are_quiet_next_to_nothing_is_imported():
    """Without `site`, which imports what it likes."""
    code = "import sys; import lie_dynamics_ros.nodes; print(*sys.modules)"
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=root)
    ours = {name for name in done.stdout.split() if name.startswith("lie_dynamics_ros.")}
    assert ours == {"lie_dynamics_ros.core", "lie_dynamics_ros.nodes"}
    assert not {"pathlib", "typing", "threading", "numpy", "rclpy"} & set(done.stdout.split())


DESTROYED = """
import gc
import rclpy
from lie_dynamics_ros.ros.node.managed_node import ManagedNode, NodeParameters

rclpy.init()
node = ManagedNode("destroyed", NodeParameters)
assert node.trigger_configure().name == node.trigger_activate().name == "SUCCESS"
assert gc.get_freeze_count() > 0
node.destroy_node()
assert gc.get_freeze_count() == 0
"""


def test_an_active_node_that_is_destroyed_leaves_garbage_collection_as_it_was():
    done = subprocess.run([sys.executable, "-c", DESTROYED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


TRANSITIONS = """
import importlib, sys
import numpy as np
import rclpy
import rclpy.service
from lifecycle_msgs.srv import ChangeState
from lie_dynamics_ros.nodes.together.node import NODE_CLASSES

sent = []
rclpy.service.Service.send_response = lambda self, response, header: sent.append(response)

def ask(node, request):
    service = node._service_change_state
    service.send_response(service.callback(request, ChangeState.Response()), None)
    return sent.pop()

rclpy.init(args=["--ros-args", "-p", "autostart:=false"])
rng, ids, made = np.random.default_rng(0), [*range(5), *range(8, 12), 20, 30, 40, 50, 60, 99, 255], 0
labels = ("configure", "cleanup", "activate", "deactivate", "create", "destroy", "transition_error", "none", "\\u00e4")
for name, kind in {**NODE_CLASSES, "viewer": "ViewerNode"}.items():
    node = getattr(importlib.import_module(f"lie_dynamics_ros.nodes.{name}.node"), kind)()
    for _ in range(int(sys.argv[1])):
        request = ChangeState.Request()
        if rng.random() < 0.5:
            request.transition.id = int(rng.choice(ids))
        else:
            request.transition.label = str(rng.choice(labels))
        before = node.state
        answer = ask(node, request)
        assert node.state in ("unconfigured", "inactive", "active", "finalized"), (name, node.state)
        assert answer.success or node.state in (before, "unconfigured"), (name, before, node.state)
        made += 1
    request = ChangeState.Request()
    request.transition.label = "shutdown"
    for wanted in (True, False):
        assert ask(node, request).success is wanted, name
    node.destroy_node()
print("asked", made)
"""


def test_no_request_for_a_transition_ends_any_node():
    """What a client may send, over all nodes, at random; through the callback of the service, as executors call it."""
    done = run_program(TRANSITIONS, "12")
    assert done.returncode == 0 and done.stdout.startswith("asked 1"), done.stdout + done.stderr[-4000:]
