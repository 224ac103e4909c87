"""MJCF compiled in a process of its own, so that no text and no file that it includes keeps a node from its signals."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...lie_dynamics import DescriptionError
from ...lie_dynamics.errors import DescriptionWarning
from ...lie_dynamics.texts import quoted

#: Memory beyond that of the process at its start [bytes], time of its processor, and time that it may stand still [s].
COMPILE_MEMORY, PROCESSOR_TIME, STANDSTILL = 2**28, 10, 1.0
#: Time until the process has loaded MuJoCo [s].
STARTING = 60.0

#: Copies that <replicate>, and those within it, may make; files that are looked through for it, and their size [bytes].
COPIES, INCLUDED, INCLUDED_SIZE = 10**5, 100, 2**24

_REPLICATE = re.compile(
    r"""<replicate\b(?:[^>]*?\bcount\s*=\s*["']\s*(\d+))?[^>]*?(/?)>|</replicate\s*>|<!--.*?-->""", re.DOTALL
)
_INCLUDE = re.compile(r"""<include\b[^>]*?\bfile\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_PROGRAM = """
import json, os, resource, sys, warnings
import mujoco, numpy
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.lie_dynamics.model.mjcf import compiled_mjcf
text, (memory, seconds) = sys.stdin.buffer.read().decode("utf-8", "surrogatepass"), map(int, sys.argv[1:])
pages = int(open("/proc/self/statm").read().split()[0]) if os.path.exists("/proc/self/statm") else 2**21
memory += pages * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
spent = resource.getrusage(resource.RUSAGE_SELF)
seconds += int(spent.ru_utime + spent.ru_stime) + 1
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what MuJoCo prints is no answer
out.write(b"ready\\n")
out.flush()
error, data = "", b""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        model = compiled_mjcf(text)
        buffer = numpy.empty(mujoco.mj_sizeModel(model), numpy.uint8)
        mujoco.mj_saveModel(model, None, buffer)
        data = buffer.tobytes()
    except DescriptionError as refused:
        error = str(refused)
    except MemoryError:
        sys.exit(3)
out.write(json.dumps([error, [str(w.message) for w in caught]]).encode() + b"\\n" + data)
out.close()
"""


def compile_mjcf(text: str) -> Any:
    """Return the `mujoco.MjModel` of MJCF text, compiled within limits of time and memory.

    Raises
    ------
    DescriptionError
        What `Model.from_mjcf` refuses; and what needs more than the limits, such as files that do not answer.

    Warns
    -----
    DescriptionWarning
        Of what MuJoCo warns of.
    """
    try:
        import mujoco
    except ImportError as error:
        raise DescriptionError("MJCF is read by MuJoCo, which is not installed: pip install mujoco") from error
    for part in _with_included(text):
        _require_few_copies(part)
    command = [sys.executable, "-c", _PROGRAM, str(COMPILE_MEMORY), str(PROCESSOR_TIME)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            answer, still = _answer(process, text.encode("utf-8", "surrogatepass"))
        finally:
            process.kill()
    head, _, data = answer.partition(b"\n")
    if still or not head:
        reason = (
            "a file that it includes does not answer, as a FIFO or a device"
            if still
            else f"it needs more than {COMPILE_MEMORY >> 20} MB of memory or {PROCESSOR_TIME} s"
        )
        raise DescriptionError(f"MJCF: {reason}: files, and a robot of ordinary size, are expected")
    error, said = json.loads(head)
    if error:
        raise DescriptionError(error)
    for one in said:
        warnings.warn(one, DescriptionWarning, stacklevel=2)
    return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": data})


def _with_included(text: str) -> Iterator[str]:
    """Return a text and those of the files that it includes, as far as they can be read; MuJoCo names the others."""
    texts, seen = [text], set[str]()
    while texts:
        yield (part := texts.pop())
        for file in {first or second for first, second in _INCLUDE.findall(part)} - seen:
            seen.add(file)
            try:
                about = os.stat(file)
                if len(seen) <= INCLUDED and stat.S_ISREG(about.st_mode) and about.st_size <= INCLUDED_SIZE:
                    texts.append(Path(file).read_text("utf-8", "replace"))
            except (OSError, ValueError):
                continue


def _require_few_copies(text: str) -> None:
    """Refuse text whose <replicate> elements make too many copies, each within others counted as often as these."""
    copies = [1]
    for found in _REPLICATE.finditer(text):
        if found[0].startswith("</"):
            copies = copies[:-1] or [1]
        elif not found[0].startswith("<!") and not found[2]:
            count = found[1] or "1"
            copies.append(copies[-1] * int(count) if len(count) < 10 else COPIES + 1)
            if copies[-1] > COPIES:
                raise DescriptionError(
                    f"MJCF: <replicate> with count {quoted(count)} makes more than {COPIES} copies; expected fewer"
                )


def _answer(process: subprocess.Popen[bytes], text: bytes) -> tuple[bytes, bool]:
    """Return what a process writes after its first line, and whether it stood still until it was given up."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(text)
        process.stdin.close()
    except BrokenPipeError:
        return b"", False
    out, parts = process.stdout.fileno(), b""
    until, used, ready = time.monotonic() + STARTING, -1.0, False
    while True:
        if select.select([out], [], [], 0.1)[0]:
            piece = os.read(out, 1 << 20)
            if not piece:
                return parts, False
            parts += piece
            if not ready and b"\n" in parts:
                ready, parts = True, parts.partition(b"\n")[2]
        elif time.monotonic() > until:
            return b"", ready
        spent = _processor_time(process.pid)
        if ready and (spent is None or spent > used):
            used = used if spent is None else spent
            until = time.monotonic() + (STANDSTILL if spent is not None else PROCESSOR_TIME)


def _processor_time(pid: int) -> float | None:
    """Return the time of the processor that a process has had [ticks], or None where no system says it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return float(fields[11]) + float(fields[12])
    except (OSError, IndexError, ValueError):
        return None
