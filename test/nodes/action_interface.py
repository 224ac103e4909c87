"""The package control_msgs for tests: the installed one, or a stand-in of the same interface, built once and kept."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).with_name("control_msgs_stand_in")
ROOT = SOURCES.parents[2]


def provide(patch: pytest.MonkeyPatch) -> None:
    """Let control_msgs be imported, here and in processes that are started; skips the test where it cannot be built."""
    if importlib.util.find_spec("control_msgs") is not None:
        return
    prefix = _built()
    packages = next(prefix.glob("lib/python*/site-packages"))
    patch.syspath_prepend(str(packages))
    for name, path in (("PYTHONPATH", packages), ("LD_LIBRARY_PATH", prefix / "lib"), ("AMENT_PREFIX_PATH", prefix)):
        patch.setenv(name, os.pathsep.join(filter(None, [str(path), os.environ.get(name, "")])))
    left = list((prefix / "lib").glob("*.so"))  # this process has read LD_LIBRARY_PATH long ago
    for _ in range(len(left)):
        left = [library for library in left if not _loaded(library)]
    assert not left, f"libraries of control_msgs that cannot be loaded: {left}"


def _loaded(library: Path) -> bool:
    try:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _built() -> Path:
    """Return where the stand-in is, built against the ROS wheels of this environment as our own interfaces are."""
    files = sorted(path for path in SOURCES.rglob("*") if path.is_file())
    distro = os.environ.get("ROS_DISTRO", "jazzy")
    constraints = ROOT / "tools" / f"constraints-{distro}.txt"
    made_of = b"".join(path.read_bytes() for path in (*files, constraints))
    prefix = Path(sys.prefix) / "test_interfaces" / hashlib.sha256(made_of).hexdigest()[:16]
    if not prefix.is_dir():
        if shutil.which("c++") is None:
            pytest.skip("control_msgs is not installed, and there is no C++ compiler to build its stand-in")
        scratch = prefix.with_suffix(f".{os.getpid()}")
        relative = str(constraints.relative_to(ROOT))  # pip splits these at spaces, which our own path may have
        environment = {**os.environ, "PIP_CONSTRAINT": relative, "PIP_BUILD_CONSTRAINT": relative}
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--prefix", str(scratch), str(SOURCES)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(scratch, ignore_errors=True)
            pytest.skip(f"control_msgs is not installed, and its stand-in does not build: {done.stderr[-500:]}")
        try:
            scratch.rename(prefix)
        except OSError:  # another worker was first
            shutil.rmtree(scratch, ignore_errors=True)
    return prefix
