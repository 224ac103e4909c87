"""How the demo starts: it waits for its nodes by what they say, and compiles just the kernels that it calls."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from lie_dynamics_ros.demo import NEEDED, watch
from lie_dynamics_ros.demo.processes import ShortfallError
from lie_dynamics_ros.demo.watch import Reports
from lie_dynamics_ros.lie_dynamics.engine.ahead import load_all
from lie_dynamics_ros.ros.node.description_source import BEING_READ


def waited(monkeypatch, read_until, answers_at):
    """Let ten seconds pass at each look; return how long it was waited for answers [s]."""
    now, reports = [0.0], Reports()

    def listen(*_):
        now[0] += 10.0
        message = BEING_READ if now[0] <= read_until else "ok"
        reports.on_message(DiagnosticArray(status=[DiagnosticStatus(name="node", message=message)]))

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watch, "_listen", listen)
    showcase = SimpleNamespace(title="arm", ready=lambda: now[0] >= answers_at)
    watch._await_answers([showcase], reports, (), SimpleNamespace(ended=list))
    return now[0]


@pytest.mark.parametrize(("read_until", "answers_at"), [(0.0, 100.0), (900.0, 1000.0), (1700.0, 1750.0)])
def test_it_waits_as_long_as_a_robot_is_being_read(monkeypatch, read_until, answers_at):
    assert waited(monkeypatch, read_until, answers_at) == answers_at


@pytest.mark.parametrize(("read_until", "given_up"), [(0.0, 130.0), (500.0, 630.0), (1e9, 1810.0)])
def test_it_gives_up_where_nothing_is_under_way_any_more(monkeypatch, read_until, given_up):
    with pytest.raises(ShortfallError, match="no answers came from: arm"):
        waited(monkeypatch, read_until, 1e9)
    assert watch.time.monotonic() == given_up


@pytest.mark.parametrize(("opens_at", "ended_at"), [(5.0, None), (300.0, None), (None, 30.0), (None, None)])
def test_a_page_is_waited_for_as_long_as_its_node_runs_and_that_is_said(monkeypatch, capsys, opens_at, ended_at):
    now = [0.0]

    def passed(at):
        return at is not None and now[0] >= at

    children = SimpleNamespace(
        start=lambda *_: None,
        output=lambda _: "the page is at http://there" if passed(opens_at) else "compiling",
        ended=lambda: ["viewer"] if passed(ended_at) else [],
    )

    def sleep(seconds):
        now[0] += 20.0 * seconds

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    if opens_at:
        assert watch.start_view([], children) == "http://there"
    else:
        with pytest.raises(ShortfallError, match=r"no page was opened.*\n.*compiling"):
            watch.start_view([], children)
    over = opens_at or ended_at or watch.PATIENCE
    assert now[0] == pytest.approx(over, abs=2.0)
    assert capsys.readouterr().out.count("waiting for the page") == pytest.approx(over / watch.SAID, abs=1.0)


@pytest.mark.parametrize("at", [None, 0.0, 5.0])
def test_the_show_begins_when_the_page_is_open_or_after_a_minute(monkeypatch, capsys, at):
    now, read = [0.0], []

    def wait(streams, _w, _x, seconds):
        now[0] += seconds
        return ([streams[0]] if at is not None and now[0] > at else [], [], [])

    keys = SimpleNamespace(isatty=lambda: True, readline=lambda: read.append(True))
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watch, "select", SimpleNamespace(select=wait))
    monkeypatch.setattr(watch, "sys", SimpleNamespace(stdin=keys))
    watch.await_browser()
    assert now[0] == pytest.approx(watch.OPENING if at is None else at, abs=0.5) and len(read) == (at is not None)
    assert "press Enter" in capsys.readouterr().out
    keys.isatty = lambda: False
    watch.await_browser()
    assert not capsys.readouterr().out


def test_kernels_that_the_demo_calls_exist():
    assert {kernel.py_func.__name__ for kernel in load_all()} > NEEDED


@pytest.mark.slow
def test_the_demo_compiles_no_other_kernels(tmp_path):
    environment = {**os.environ, "LIE_DYNAMICS_CACHE_DIR": str(tmp_path / "cache")}

    def run(*command):
        command = [sys.executable, *command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stdout + done.stderr
        return {path.name for path in (tmp_path / "cache").rglob("*.nbi")}

    compiled = run("tools/kernels.py", "demo")
    assert len(compiled) >= len(NEEDED)
    assert run("-m", "lie_dynamics_ros.demo", "--output", str(tmp_path)) == compiled
