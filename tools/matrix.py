"""Tests of the library with the oldest and newest Python, numba and numpy that setup.py claims: ``make matrix``.

For each Python: numba oldest and newest, each with the oldest and newest numpy and scipy that it takes; versions are
those that the package index has wheels of. Each combination has an environment of its own in .venv-matrix, made once.
There all kernels are compiled and `TESTS` are run, with calls past numba's dispatcher and then without them
(LIE_DYNAMICS_FAST_CALLS). A run of all Pythons and `TESTS` writes the table, benchmarks/results/matrix.md.

A Python that is neither on PATH nor in pyenv is fetched by uv; one that cannot be had has a row that says so.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.results import FOLDER, machine  # noqa: E402

HOME = ROOT / ".venv-matrix"
PYTHONS = ("3.10", "3.13")
CLAIMED = ("numba", "numpy", "scipy")
TOOLS = ("pytest<9", "pytest-xdist", "hypothesis", "mpmath", "sympy", "pyyaml")
TESTS = (
    "test/engine",
    *(f"test/dynamics/test_{name}.py" for name in ("batches", "columns", "dense", "hostile_arguments")),
    "test/constraints/test_forward.py",
    "test/stewart/test_stewart_forward_kinematics.py",
    "test/stewart/tracking/test_stewart_tracker.py",
    "test/geometry/test_curvature.py",
)
LIBRARY = "lie_dynamics_ros.lie_dynamics"
WAY = f"from {LIBRARY}.engine.fastcall import known_layout; print('direct' if known_layout() else 'dispatcher')"
PATHS = [*map(str, Path("~/.pyenv/versions").expanduser().glob("*/bin")), os.environ["PATH"]]
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in FOREIGN} | {"PATH": os.pathsep.join(PATHS)}


class FailedError(Exception):
    """A command that failed, and why, in one line."""


def said(*command: str | Path, text: str = "", **more: str) -> str:
    """Run a command and return what it said."""
    place: Any = {"cwd": ROOT, "env": ENVIRONMENT | more}
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, **place)
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise FailedError(next((x for x in lines if x.startswith("error")), lines[-1] if lines else "it said nothing"))
    return done.stdout


def uv(*arguments: str | Path, text: str = "") -> str:
    """Run uv, which is installed first where it is not there."""
    tool = HOME / "uv"
    if not (tool / "bin/uv").exists():
        venv.create(tool, with_pip=True)
        said(tool / "bin/python", "-m", "pip", "install", "uv")
    return said(tool / "bin/uv", *arguments, text=text)


def interpreter(version: str) -> str:
    """Return the path of a Python, which is fetched first where it is not there."""
    find = ("python", "find", "--system", "--no-project", version)
    try:
        return uv(*find).strip()
    except FailedError:
        uv("python", "install", version)
        return uv(*find).strip()


def resolved(version: str, wanted: list[str], newest: bool) -> dict[str, str]:
    """Return the newest or oldest versions of `CLAIMED` that satisfy what is wanted."""
    how = ("--python-version", version, "--resolution", "highest" if newest else "lowest-direct")
    plain = ("-q", "--no-header", "--no-annotate", "--only-binary", ":all:")
    found = uv("pip", "compile", *plain, *how, "-", text="\n".join(wanted))
    pins = dict(line.split("==") for line in found.split())
    return {name: pins[name] for name in CLAIMED}


def claims() -> list[str]:
    """Return what setup.py claims of `CLAIMED`."""
    for node in ast.walk(ast.parse((ROOT / "setup.py").read_text())):
        if isinstance(node, ast.keyword) and node.arg == "install_requires":
            return [claim for claim in ast.literal_eval(node.value) if claim.startswith(CLAIMED)]
    raise FailedError("setup.py claims nothing")


def combinations(version: str) -> list[dict[str, str]]:
    """Return the versions of `CLAIMED` in each environment of a Python: all oldest, all newest, then mixed."""
    ends = [resolved(version, claims(), newest) for newest in (False, True)]
    found = list(ends)
    for newest in (True, False):
        numba = f"numba=={ends[not newest]['numba']}"
        found.append(resolved(version, [*claims(), numba], newest))
    return [pins for k, pins in enumerate(found) if pins not in found[:k]]


def environment(python: str, version: str, pins: dict[str, str]) -> Path:
    """Return an environment's folder, made first where it is not there."""
    place = HOME / "-".join([version, *pins.values()])
    if not (place / "made").exists():
        uv("venv", "--clear", "--python", python, place)
        wanted = [*(f"{name}=={pin}" for name, pin in pins.items()), *TOOLS]
        uv("pip", "install", "--python", place, "--only-binary", ":all:", *wanted)
        (place / "made").touch()
    return place


class Row(NamedTuple):
    """A row of the table."""

    python: str
    numba: str = ""
    numpy: str = ""
    scipy: str = ""
    calls: str = ""
    result: str = ""
    passed: bool = False


def tested(place: Path, pins: dict[str, str], fast: str, tests: list[str]) -> Row:
    """Compile all kernels and run the tests in an environment."""
    python, log = place / "bin/python", place / f"tests-{fast}.log"
    more = {"LIE_DYNAMICS_FAST_CALLS": fast, "LIE_DYNAMICS_CACHE_DIR": str(place / "cache"), "PYTHONPATH": str(ROOT)}
    full = said(python, "-c", "import platform; print(platform.python_version())").strip()
    calls, passed = "", False
    try:
        calls = said(python, "-c", WAY, **more).strip()
        said(python, "-m", f"{LIBRARY}.engine", **more)
        pytest = [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--numprocesses=auto", "--dist=loadscope"]
        with log.open("w") as file:
            options: Any = {"cwd": ROOT, "env": ENVIRONMENT | more, "stdout": file, "stderr": file}
            passed = subprocess.run([*pytest, *tests], check=False, **options).returncode == 0
        result = log.read_text().rstrip().rpartition("\n")[2].partition(" in ")[0].strip("= ")
    except FailedError as error:
        result = str(error)
    return Row(full, *pins.values(), calls, result, passed)


def table(rows: list[Row], tests: list[str], where: dict[str, Any]) -> str:
    """Return the table as text."""
    lines = ["# Tests of the library with the oldest and newest Python, numba and numpy", ""]
    lines += ["| Python | numba | numpy | scipy | calls | tests |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row[:-1]) + " |" for row in rows]
    what = ", ".join(f"{name} {where[name]}" for name in ("processor", "cores", "AVX-512", "system"))
    return "\n".join([*lines, "", f"Tests: {', '.join(tests)}. Tested on: {what}.", ""])


def main() -> int:
    """Test all combinations, show and write the table; return 1 where something failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", metavar="X.Y", help="instead of the oldest and the newest")
    parser.add_argument("--first", type=int, metavar="N", help="only so many combinations of each Python; of 4")
    parser.add_argument("tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    HOME.mkdir(exist_ok=True)
    rows: list[Row] = []

    def add(row: Row) -> None:
        rows.append(row)
        print(*row[:-1], sep="  ", flush=True)

    for version in options.python or PYTHONS:
        try:
            python = interpreter(version)
            for pins in combinations(version)[: options.first]:
                place = environment(python, version, pins)
                for fast in "10":
                    add(tested(place, pins, fast, options.tests))
        except FailedError as error:
            add(Row(version, result=f"not tested: {error}"))
    text = table(rows, options.tests, machine())
    if not options.python and tuple(options.tests) == TESTS:
        (FOLDER / "matrix.md").write_text(text)
    print(text)
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
