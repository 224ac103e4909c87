"""A ROS workspace: colcon builds the package with links and without, and what it installs is found and runs."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import dist  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not in a checkout"),
]
COLCON = "import sys; from colcon_core.command import main; sys.exit(main())"
EXECUTABLES = {p.parent.name for p in (ROOT / "lie_dynamics_ros/nodes").glob("*/node.py")}
EXECUTABLES |= {"demo", "identify", "calibrate_stewart"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A workspace with a clone in its src, and colcon from the package index."""
    place = tmp_path_factory.mktemp("colcon")
    venv.create(place / "colcon", with_pip=True)
    pip = [place / "colcon/bin/python", "-m", "pip", "install", "-q", "colcon-common-extensions"]
    subprocess.run(pip, check=True)
    source = place / "workspace/src/lie_dynamics_ros"
    source.mkdir(parents=True)
    dist.copy_of_checkout(source)
    return place / "workspace"


def build(workspace, *options):
    """Build by this Python, which the installed programs then run by, with colcon's packages."""
    (packages,) = (workspace.parent / "colcon").glob("lib/python*/site-packages")
    command = [sys.executable, "-c", COLCON, "build", "--event-handlers", "console_direct+", *options]
    path = os.pathsep.join([str(packages), *sys.path[1:]])
    done = subprocess.run(
        command, cwd=workspace, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return workspace / "install/lie_dynamics_ros"


@pytest.mark.parametrize("options", [("--symlink-install",), ()], ids=["links", "copies"])
def test_a_workspace_is_built_and_runs(workspace, options):
    installed = build(workspace, *options)
    programs = installed / "lib/lie_dynamics_ros"  # where `ros2 run` and launch files look
    assert {p.name for p in programs.iterdir() if os.access(p, os.X_OK)} == EXECUTABLES
    share = installed / "share/lie_dynamics_ros"
    for folder, pattern in (("launch", "*.launch.py"), ("config", "*.yaml")):
        held = {p.name: p for p in (share / folder).glob(pattern)}
        assert set(held) == {p.name for p in (ROOT / folder).glob(pattern)}
        assert all(p.is_symlink() == bool(options) for p in held.values())
    for name in sorted(EXECUTABLES):
        command = f". {workspace}/install/setup.sh; exec {programs / name} --help"
        done = subprocess.run(["sh", "-c", command], cwd=workspace, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout.strip() and not done.stderr, (name, done.stderr)
