"""The packages for pip and a workspace of colcon: complete, and what is in them runs where no ROS is."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import dist  # noqa: E402

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not in a checkout")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the checkout, and the wheel made of its sdist."""
    place = tmp_path_factory.mktemp("dist")
    for name in ("checkout", "sdist", "unpacked", "wheel"):
        (place / name).mkdir()
    checkout = dist.copy_of_checkout(place / "checkout")
    sdist = dist.build("sdist", checkout, place / "sdist")
    return checkout, dist.build("wheel", dist.unpacked(sdist, place / "unpacked"), place / "wheel")


@pytest.mark.slow
def test_the_sdist_lacks_nothing(built, tmp_path):
    """What each run looks for is below: the files of the package in a wheel that is made at once."""
    checkout, wheel = built
    wheels = wheel, dist.build("wheel", checkout, tmp_path)
    contents = [{info.filename: info.CRC for info in zipfile.ZipFile(wheel).infolist()} for wheel in wheels]
    assert len(contents[0]) > 400
    differ = {name for name in contents[0] | contents[1] if contents[0].get(name) != contents[1].get(name)}
    assert not {name for name in differ if not name.endswith("/RECORD")}


def test_the_wheel_has_all_that_the_package_has(tmp_path):
    for name in ("checkout", "wheel"):
        (tmp_path / name).mkdir()
    wheel = dist.build("wheel", dist.copy_of_checkout(tmp_path / "checkout"), tmp_path / "wheel")
    held = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "lie_dynamics_ros"
    ours = {p.relative_to(ROOT).as_posix() for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {name for name in ours - held if not name.endswith(".md")} == set()
    shared = {path.name for folder in ("launch", "config") for path in (ROOT / folder).glob("*.*")}
    assert shared <= {name.rpartition("/")[2] for name in held if ".data/data/share/" in name}


@pytest.mark.slow
def test_the_wheel_runs_alone(built, tmp_path):
    """`make dist` tries that, too; without ROS each run imports the library in test/rooms."""
    zipfile.ZipFile(built[1]).extractall(tmp_path / "installed")
    command = [sys.executable, str(ROOT / "tools/try_installed.py")]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed"), "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": passed\n")


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


@pytest.mark.slow
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
