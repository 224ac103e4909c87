"""A process that cannot be reached any more says so, and ends where it is told to."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.node import process as connectivity
from lie_dynamics_ros.ros.node.domain import PROFILE, DomainReservation, set_profile
from lie_dynamics_ros.ros.node.managed_node import ManagedNode
from lie_dynamics_ros.ros.node.process import INTERVAL, STUCK, ConnectivityWatchdog, networks
from lie_dynamics_ros.ros.outputs.diagnostics import ERROR, OK, WARN

HOME = {("lo", "127.0.0.1")}
LATE = ("eth0", "10.1.2.3")


@pytest.fixture
def world(monkeypatch):
    """What a `ConnectivityWatchdog` sees; `passes(seconds)` lets time pass and looks once."""
    found = SimpleNamespace(time=0.0, networks=set(HOME))
    monkeypatch.setattr(connectivity, "time", SimpleNamespace(monotonic=lambda: found.time))
    monkeypatch.setattr(connectivity, "networks", lambda: set(found.networks))
    found.hears = True
    nodes = [SimpleNamespace(state="inactive", hears=lambda: found.hears), SimpleNamespace()]
    found.watchdog = ConnectivityWatchdog(nodes, False)

    def passes(seconds):
        found.time += seconds
        found.watchdog.update()

    found.passes = passes
    return found


def test_networks_that_come_up_later_are_told_and_those_that_come_back_are_not(world):
    world.passes(INTERVAL)
    world.networks.clear()
    world.passes(INTERVAL)
    assert world.watchdog.left_out == ""
    world.networks.update({*HOME, LATE})
    world.passes(INTERVAL)
    assert "eth0 (10.1.2.3)" in world.watchdog.left_out and "lo" not in world.watchdog.left_out
    world.networks.discard(LATE)
    world.passes(INTERVAL)
    assert world.watchdog.left_out == ""


@pytest.mark.parametrize(("late", "hears", "ends"), [(True, False, True), (True, True, False), (False, False, False)])
def test_to_start_again_is_better_where_nothing_is_heard_and_a_network_is_left_out(world, late, hears, ends):
    world.hears = hears
    if late:
        world.networks.add(LATE)
    for _ in range(round(STUCK / INTERVAL)):
        assert world.watchdog.reason_to_end == ""
        world.passes(INTERVAL)
    assert bool(world.watchdog.reason_to_end) is ends
    world.hears = True
    world.passes(INTERVAL)
    assert world.watchdog.reason_to_end == ""


def test_networks_are_those_that_the_system_names():
    assert ("lo", "127.0.0.1") in networks()


@pytest.mark.parametrize(("hears", "left_out", "level"), [(True, "", OK), (True, "late", WARN), (False, "late", ERROR)])
def test_it_is_in_the_diagnostics(hears, left_out, level):
    said = []
    logger = SimpleNamespace(error=lambda text, **_: said.append(text))
    node = SimpleNamespace(state="active", failure="", describe=lambda *_: None, get_logger=lambda: logger)
    node.hears = lambda: hears
    node.watchdog = SimpleNamespace(left_out=left_out)
    report = ManagedNode.begin_report(node, 1.0)
    assert report.level == level
    assert said == [left_out] * bool(left_out) and set(said) <= set(report.reasons)


SCRIPT = """
import os, signal, sys, threading
from lie_dynamics_ros.ros.node import process as connectivity
from lie_dynamics_ros.ros.node.managed_node import ManagedNode, NodeParameters
from lie_dynamics_ros.ros.node.spinning import run

connectivity.INTERVAL, connectivity.STUCK = 0.05, 0.5

class Node(ManagedNode):
    def __init__(self):
        super().__init__("stuck", NodeParameters)
        self.released = threading.Event()

    def activate(self):
        self.create_timer(0.2, getattr(self, "{what}"))

    def wait_for_ever(self):
        self.released.wait()

    def configure_slowly(self):
        self.configure = lambda: self.released.wait(4.0 * connectivity.STUCK)
        for transition in (self.trigger_deactivate, self.trigger_cleanup, self.trigger_configure):
            transition()
        os.kill(os.getpid(), signal.SIGTERM)

sys.exit(run(Node, sys.argv))
"""


def start(what, end):
    reservation = DomainReservation()
    environment = dict(os.environ)
    reservation.apply(environment)
    command = [sys.executable, "-c", SCRIPT.format(what=what), "--ros-args", "-p", f"end_when_deaf:={end}"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    return process, reservation


@pytest.mark.parametrize(
    ("what", "code", "told"),
    [
        ("wait_for_ever", 1, "in wait_for_ever"),
        ("configure_slowly", 0, ""),  # of a node that was active at the last look
    ],
)
def test_a_process_that_is_stuck_ends_where_it_is_told_to(what, code, told):
    process, reservation = start(what, "true")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code and told in errors, errors
    reservation.release()


def test_a_callback_that_does_not_return_is_told():
    process, reservation = start("wait_for_ever", "false")
    try:
        assert any("in wait_for_ever" in line for line in process.stderr)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reservation.release()


def test_a_profile_of_the_user_is_kept():
    environment = {"ROS_DISTRO": "kilted", "FASTDDS_DEFAULT_PROFILES_FILE": "mine.xml"}
    set_profile(environment)
    assert environment["FASTDDS_DEFAULT_PROFILES_FILE"] == "mine.xml"
    del environment["FASTDDS_DEFAULT_PROFILES_FILE"]
    set_profile(environment)
    assert environment["FASTDDS_DEFAULT_PROFILES_FILE"] == str(PROFILE)
