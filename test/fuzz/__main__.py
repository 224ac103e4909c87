"""Run targets one after the other, each in a process of its own; see the package."""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from .target import MEMORY, Target, run_case

TARGETS = tuple(sorted(p.stem.removeprefix("target_") for p in Path(__file__).parent.glob("target_*.py")))
TIME_LIMIT = 600
"""Longest time of one case [s]."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run; returns 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"one or more of {', '.join(TARGETS)}")
    parser.add_argument("--seed", type=int, default=None, help="of the random numbers (default: from the clock)")
    parser.add_argument("--index", type=int, help="run this case alone, in this process")
    parser.add_argument("--count", type=int, help="cases of each target")
    parser.add_argument("--first", type=int, default=0, help="first case")
    options = parser.parse_args(argv)
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    seed = int(time.time()) if options.seed is None else options.seed
    targets = options.targets or TARGETS
    if options.index is not None:
        return _replay(targets[0], seed, options.index)
    if os.environ.get("FUZZ_CHILD"):
        return _run(targets[0], seed, options.first, options.count)
    failed = [name for name in targets if not _supervise(name, seed, options.first, options.count)]
    print(f"fuzz: seed {seed}: " + (f"failed: {', '.join(failed)}" if failed else "nothing found"))
    return 1 if failed else 0


def load(name: str) -> Target:
    """Return a target by its name, to be entered."""
    return importlib.import_module(f"fuzz.target_{name}").Subject()


def _replay(name: str, seed: int, index: int) -> int:
    with load(name) as target:
        run_case(target, seed, index)
    print(f"{name}, seed {seed}, index {index}: nothing found")
    return 0


def _supervise(name: str, seed: int, first: int, count: int | None) -> bool:
    """Run a target in a process of its own; says which case it was in where the process ends."""
    command = [sys.executable, "-m", "fuzz", name, "--seed", str(seed), "--first", str(first)]
    command += [] if count is None else ["--count", str(count)]
    with tempfile.NamedTemporaryFile() as place:
        child = subprocess.run(command, env={**os.environ, "FUZZ_CHILD": place.name}, check=False)
        index = place.read().decode().strip()
    if child.returncode not in (0, 1):
        print(f"\n{name}: the process ended with code {child.returncode} (-14: a case took over {TIME_LIMIT} s)")
        print(f"replay: make fuzz FUZZ_ARGS='{name} --seed {seed} --index {index}'")
    return child.returncode == 0


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))


def _run(name: str, seed: int, first: int, count: int | None) -> int:
    failures = 0
    place = os.open(os.environ["FUZZ_CHILD"], os.O_WRONLY)  # read where the process ends
    with load(name) as target:
        _limit_memory()
        last = first + (target.cases if count is None else count)
        shown = 0.0
        for index in range(first, last):
            if time.monotonic() - shown > 1.0:
                shown = time.monotonic()
                print(f"\r{name}: {index - first} of {last - first}, {failures} failed", end="", flush=True)
            os.pwrite(place, b"%12d" % index, 0)
            signal.alarm(TIME_LIMIT)
            try:
                run_case(target, seed, index)
            except Exception:
                failures += 1
                print(f"\n{traceback.format_exc()}replay: make fuzz FUZZ_ARGS='{name} --seed {seed} --index {index}'")
        signal.alarm(0)
        print(f"\r{name}: {last - first} of {last - first}, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
