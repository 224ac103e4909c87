"""The process of nodes: what it asks of the system, garbage, and its end where it cannot be reached any more."""

import gc
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.node import process as connectivity
from lie_dynamics_ros.ros.node import process as garbage
from lie_dynamics_ros.ros.node.domain import PROFILE, DomainReservation, set_profile
from lie_dynamics_ros.ros.node.managed_node import ManagedNode
from lie_dynamics_ros.ros.node.process import (
    INTERVAL,
    STUCK,
    ConnectivityWatchdog,
    GarbageBetweenCallbacks,
    freeze_gc,
    networks,
    unfreeze_gc,
)
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

ASK = """
import json, os, sys, threading
from lie_dynamics_ros.ros.node.process import apply_real_time, usual_scheduling
from lie_dynamics_ros.ros.node.worker import work_beside

def threads():
    return [int(t) for t in os.listdir("/proc/self/task")]

class Beside(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.ready = threading.Event()
        self.start()
        self.ready.wait()

    def run(self):
        work_beside()
        self.number = threading.get_native_id()
        self.ready.set()
        wake.wait()

wake = threading.Event()
beside = [Beside()]
threading.Thread(target=wake.wait, daemon=True).start()
outcome = apply_real_time(json.loads(sys.argv[1]))
threading.Thread(target=wake.wait, daemon=True).start()
beside.append(Beside())
found = {
    "beside": [os.sched_getparam(thread.number).sched_priority for thread in beside],
    "granted": outcome.granted, "refused": outcome.refused, "threads": len(threads()),
    "schedulers": [os.sched_getscheduler(t) for t in threads()],
    "priorities": [os.sched_getparam(t).sched_priority for t in threads()],
    "processors": [sorted(os.sched_getaffinity(t)) for t in threads()],
}
usual_scheduling()
found["afterwards"] = [os.sched_getscheduler(t) for t in threads()]
wake.set()
print(json.dumps(found))
"""
NOTHING = {"thread_priority": 0, "cpu_affinity": [-1], "lock_memory": False}


def ask(**values):
    command = [sys.executable, "-c", ASK, json.dumps({**NOTHING, **values})]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_threads_get_the_priority_or_the_refusal_is_told():
    found = ask(thread_priority=7)
    assert found["threads"] >= 3
    if found["granted"]:
        assert found["granted"] == ["SCHED_FIFO priority 7"] and not found["refused"]
        assert set(found["schedulers"]) == {os.SCHED_FIFO}
        assert sorted(found["priorities"])[2:] == [7] * (found["threads"] - 2) and found["beside"] == [6, 6]
    else:
        assert "SCHED_FIFO priority 7" in found["refused"][0] and "not permitted" in found["refused"][0]
        assert set(found["schedulers"]) == {os.SCHED_OTHER}
    assert set(found["afterwards"]) == {os.SCHED_OTHER}


def test_nothing_asked_for_changes_nothing():
    found = ask()
    assert not found["granted"] and not found["refused"]
    assert set(found["schedulers"]) == {os.sched_getscheduler(0)}
    assert found["processors"][0] == sorted(os.sched_getaffinity(0))


def test_all_threads_run_on_the_chosen_processors():
    chosen = max(os.sched_getaffinity(0))
    found = ask(cpu_affinity=[chosen])
    assert found["granted"] == [f"processors {chosen}"]
    assert all(processors == [chosen] for processors in found["processors"])


def test_a_processor_that_is_not_there_is_refused_by_number():
    found = ask(cpu_affinity=[4095])
    assert not found["granted"] and "processor 4095" in found["refused"][0]
    assert found["processors"][0] == sorted(os.sched_getaffinity(0))


def test_memory_is_locked_or_the_refusal_is_told():
    found = ask(lock_memory=True)
    assert found["granted"] == ["locked memory"] or "locked memory" in found["refused"][0]


class Ring:
    """Garbage that only the collector finds."""

    alive = 0

    def __init__(self):
        Ring.alive += 1
        self.self = self

    def __del__(self):
        Ring.alive -= 1


def test_garbage_is_collected_between_callbacks_and_not_inside():
    gc.collect()
    with GarbageBetweenCallbacks() as collector:
        assert not gc.isenabled()
        for _ in range(5000):
            Ring()
        assert Ring.alive == 5000  # however much there is
        collector.collect()
        assert Ring.alive == 0
    assert gc.isenabled()


class FakeCollector:
    """What `garbage` asks of Python's collector; freezing and unfreezing the real one would slow all other tests."""

    def __init__(self, frozen):
        self.frozen = frozen

    def collect(self):
        """Nothing is garbage here."""

    def freeze(self):
        self.frozen += 10

    def unfreeze(self):
        self.frozen = 0

    def get_freeze_count(self):
        return self.frozen


@pytest.mark.parametrize("by_others", [0, 100_000])
def test_what_is_settled_is_searched_again_once_all_have_left(monkeypatch, by_others):
    collector = FakeCollector(by_others)
    monkeypatch.setattr(garbage, "gc", collector)
    monkeypatch.setattr(garbage, "_settled", set())  # nodes of other tests of this process may have settled theirs
    first, second = object(), object()
    freeze_gc(first)
    freeze_gc(second)
    unfreeze_gc(first)
    unfreeze_gc(first)
    assert collector.frozen == by_others + 20
    unfreeze_gc(second)
    unfreeze_gc(second)  # nodes do so when they are deactivated and when they are destroyed
    assert collector.frozen == (by_others + 20 if by_others else 0)
