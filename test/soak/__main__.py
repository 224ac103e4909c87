"""Run, disturb, and report; see the package."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.results import machine
from lie_dynamics_ros.demo.processes import Children, catch_signals

from .disturbances import Event, disturb
from .findings import CONTROL, DRIVER, Findings
from .link import Link
from .processes import Processes
from .pulse import pulse
from .report import write
from .samples import Sampler
from .schedule import KINDS, NODES, QUIET, Disturbance, draw
from .stalls import watchers

PRIORITY = 60
"""Of this process, above the nodes; it sleeps nearly always."""
LOOK = 0.5
"""Between two looks at what has ended [s]."""
REST = 3.0
"""Between two disturbances at least, also where one took longer than drawn [s]."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run; returns 1 where something that is judged does not hold."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="how long; fractions allowed")
    parser.add_argument("--seed", type=int, default=None, help="of the disturbances (default: from the clock)")
    parser.add_argument("--output", type=Path, default=Path("soak_output"), help="folder of the report")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), help="kinds of disturbances")
    parser.add_argument("--rate", type=float, default=1000.0, help="of the states [Hz]; less where processors are slow")
    peers = "processes know each other's addresses, as ROS_STATIC_PEERS; no multicast"
    parser.add_argument("--static-peers", action="store_true", help=peers)
    options = parser.parse_args(argv)
    if not options.hours > 0.0:
        parser.error(f"--hours is {options.hours}; expected a positive number")
    if not options.rate > 0.0:
        parser.error(f"--rate is {options.rate}; expected a positive number")
    seed = int(time.time()) if options.seed is None else options.seed
    catch_signals()
    with contextlib.suppress(OSError):  # a harness that waits for its turn would time itself; children begin as usual
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    output = options.output.resolve()
    logs = output / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    os.environ["ROS_LOG_DIR"] = str(logs / "ros")
    print(f"soak: seed {seed}, {options.hours:g} h", flush=True)
    where = ", ".join(f"{key} {value}" for key, value in machine().items() if value)
    try:
        with (
            Link() as link,
            pulse(link, logs / "pulse.jsonl"),
            watchers(logs / "stalls.jsonl"),
            Children(logs) as children,
        ):
            processes = Processes(logs, children, link, options.static_peers, options.rate)
            findings = _run(draw(seed, options.hours * 3600.0, options.only), options.hours * 3600.0, processes, link)
        reason = f"Link cuts are left out: no network namespaces here: {link.reason}"
    except KeyboardInterrupt:
        print("soak: interrupted")
        return 130
    (logs / "samples.json").write_text(json.dumps(findings.samples))
    (logs / "events.json").write_text(json.dumps([asdict(event) for event in findings.events]))
    findings.read(logs)
    load = f"Measured on: {where}; load at the end {os.getloadavg()[1]:.1f}."
    good = write(findings, output, seed, options.hours, [load, *([reason] if link.reason else [])])
    print(f"soak: {output / 'report.md'}")
    return 0 if good else 1


def _run(drawn: Sequence[Disturbance], duration: float, processes: Processes, link: Link) -> Findings:
    """Let it run for ``duration`` [s], disturbed."""
    findings = Findings([], {name: [] for name in (*NODES, CONTROL, DRIVER)}, processes.ended, processes.rate)
    processes.first_state()
    start = time.monotonic()

    def wait_until(end: float) -> None:
        while time.monotonic() < min(end, start + duration):
            processes.check()
            time.sleep(LOOK)

    with Sampler(processes, findings.samples):
        for what in drawn:
            wait_until(max(start + what.at, time.monotonic() + REST))
            if time.monotonic() > start + duration - QUIET / 2:
                break  # disturbances took longer than drawn
            event = disturb(what, processes, link)
            if isinstance(event, Event):
                findings.events.append(event)
                print(f"soak: {time.monotonic() - start:7.1f} s: {what.kind}, {what.lasts:.2f} s", flush=True)
        wait_until(start + duration)
        time.sleep(2.0)  # for what the listener still has to judge
    processes.look_for_faults()
    findings.dropped = {"driver": processes.dropped(DRIVER), "nodes": processes.dropped(NODES[0])}
    return findings


if __name__ == "__main__":
    sys.exit(main())
