"""The library as packages for pip: ``make dist`` builds them in dist/, installs them elsewhere and tries them.

The sdist is built from the files that git knows, the wheel from the sdist alone: so the sdist lacks nothing. The wheel
is installed with what it depends on in a new environment, where no ROS is, and tried there by tools/try_installed.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def copy_of_checkout(place: Path) -> Path:
    """Copy what git knows, new files too, so that nothing that lies about gets into a package."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build the "wheel" or the "sdist" of a source tree in a folder and return its path."""
    before = set(folder.iterdir())
    command = [sys.executable, "-c", BUILD, f"build_{kind}", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the {kind} cannot be built:\n{done.stderr}")
    (made,) = set(folder.iterdir()) - before
    return made


def unpacked(sdist: Path, place: Path) -> Path:
    """Unpack an sdist and return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (folder,) = place.iterdir()
    return folder


def main() -> int:
    """Build, install, try; return 1 where that failed."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for folder in ("checkout", "sdist"):
            (place / folder).mkdir()
        sdist = build("sdist", copy_of_checkout(place / "checkout"), dist)
        wheel = build("wheel", unpacked(sdist, place / "sdist"), dist)
        print(f"built dist/{sdist.name} and dist/{wheel.name}; installing in a new environment", flush=True)
        venv.create(place / "venv", with_pip=True)
        python = place / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", wheel], cwd=place, check=True)
        return subprocess.run([python, "-I", ROOT / "tools/try_installed.py"], cwd=place, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
