"""The judgement of a soak finds what is wrong, and the link leaves nothing behind; the soak itself is run on demand."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
from pathlib import Path

import pytest

from soak.findings import Findings
from soak.judgement import Answers, Unfounded, first_answer, slope
from soak.link import DRIVER, NODES, Link
from soak.schedule import KINDS, RESTARTS, draw

MS = 1_000_000
START = 1_000_000 * MS


def test_answers_to_old_states_with_nan_and_after_silence_are_found():
    answers = Answers()
    for k in range(100):
        answers.add(START + k * MS, START + k * MS - MS, finite=True)
    assert answers.take() == {"count": 100, "wrong": 0, "stale": [], "gaps": [], "last": START + 99 * MS}
    answers.add(START + 300 * MS, START + 199 * MS, finite=False)
    answers.add(START + 301 * MS, START + 402 * MS, finite=True)
    found = answers.take()
    assert found["stale"] == [(START + 300 * MS, 101 * MS), (START + 301 * MS, -101 * MS)]
    assert found["wrong"] == 1
    assert found["gaps"] == [(START + 99 * MS, START + 300 * MS)]


def test_commands_without_a_fresh_state_are_found():
    unfounded = Unfounded()
    unfounded.command(START - 500 * MS)
    for k in range(100):
        unfounded.state(START + k * MS, START + k * MS)
        unfounded.command(START + k * MS + MS)
    unfounded.state(START + 150 * MS, START + 2150 * MS)  # a wrong clock: stands behind nothing
    unfounded.command(START + 199 * MS)
    unfounded.command(START + 250 * MS)
    unfounded.command(START + 2150 * MS)
    assert unfounded.take(START + 600 * MS) == [(START - 500 * MS, -1)]
    assert unfounded.take(START + 4000 * MS) == [(START + 250 * MS, 151 * MS), (START + 2150 * MS, 2051 * MS)]
    assert unfounded.take(START + 9000 * MS) == []


def test_the_first_answer_is_timed_from_when_it_is_due():
    gaps = [(START, START + 400 * MS), (START + 900 * MS, START + 950 * MS)]
    last = START + 1000 * MS
    assert first_answer(START + 300 * MS, gaps, last) == pytest.approx(0.1)
    assert first_answer(START + 500 * MS, gaps, last) == 0.0
    assert first_answer(START + 1001 * MS, gaps, last) == math.inf


def test_the_slope_of_memory_is_per_hour():
    assert slope([0.0, 1800.0, 3600.0], [50.0, 51.0, 52.0]) == pytest.approx(2.0)
    assert slope([5.0], [50.0]) == 0.0


def test_a_schedule_follows_from_its_seed_and_holds_every_kind():
    drawn = draw(7, 3600.0)
    assert drawn == draw(7, 3600.0) != draw(8, 3600.0)
    assert {d.kind for d in drawn} == set(KINDS) == {d.kind for d in draw(7, 180.0)}
    for before, after in itertools.pairwise(drawn):
        assert before.at + before.lasts < after.at
    assert max(d.at for d in drawn if d.kind == "node restarted") < RESTARTS * 3600.0


def test_what_does_not_hold_is_said(tmp_path: Path):
    record = tmp_path / "record.jsonl"
    found = '{"count": 600, "wrong": 1, "stale": [[5, 4]], "gaps": [[1, 2000000001]], "last": 6000000000}'
    names = ("computed_torque", "computed_torque commands", "inverse_dynamics", "stewart_pose")
    answers = ", ".join(f'"{name}": {found}' for name in names)
    states = '{"count": 0, "gaps": []}'
    record.write_text(
        f'{{"time": 20000000000, "states": {states}, "phases": [], "answers": {{{answers}}}, "unfounded": [[7, -1]]}}\n'
    )
    (tmp_path / "stalls.jsonl").write_text("[1, 500000000, 1500000000]\n")
    samples = [(k * 10**9, 1, 50.0 + k, 0.25 * k, 0) for k in range(3600)]
    findings = Findings([], {"stewart_pose": samples}, ["it"])
    findings.read(tmp_path)
    verdicts = {what: (value, holds) for what, value, _, holds in findings.verdicts()}
    assert [holds for _, holds in verdicts.values()] == [False] * 7
    assert [value for value, _ in verdicts.values()][:6] == ["5", "1", "4", "1", "3", "3"]
    assert verdicts["stewart_pose: memory over 59 min"] == ("3600.00 MB/h", False)
    assert findings.shares() == pytest.approx({"stewart_pose": 0.25})
    assert findings.cause(1, 10**9) == "processor 1 stood still for 0.500 s; under way: nothing"


def test_a_silence_is_the_drivers_where_it_was_silent():
    findings = Findings([], {}, [])
    findings.gaps["inverse_dynamics"] = [(START, START + 1500 * MS)]
    assert [node for node, *_ in findings.silences()] == ["inverse_dynamics"]
    findings.driver = [(START - 100 * MS, START + 400 * MS), (START + 300 * MS, START + 600 * MS)]
    assert findings.silences() == []
    assert findings.cause(START, START + 1500 * MS).startswith("no state of the driver came for 0.600 s")


def test_a_link_can_be_cut_and_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), Link() as link:
        if link.reason:
            pytest.skip(f"no network namespaces here: {link.reason}")
        for side in (DRIVER, NODES):
            assert " state UP " in _ip("-n", link.prefix(side)[3], "-oneline", "link", "show", side)
        for up in (True, False, True):
            link.set(up=up)
            shown = _ip("-n", link.prefix(NODES)[3], "link", "show", NODES)
            assert ("NO-CARRIER" in shown) is not up
        assert link.prefix(DRIVER)[3] in _ip("netns", "list")
        raise ZeroDivisionError
    assert link.prefix(DRIVER) == []
    assert not any(line.startswith(f"soak-{os.getpid()}-") for line in _ip("netns", "list").splitlines())


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True).stdout
