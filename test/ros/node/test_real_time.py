"""What a process asks of the system, what it is granted, and what it is told where that is refused."""

import gc
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.node import process as garbage
from lie_dynamics_ros.ros.node.process import GarbageBetweenCallbacks, freeze_gc, unfreeze_gc

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
