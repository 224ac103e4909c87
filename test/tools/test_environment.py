"""The set-up script says what is missing, before it installs anything."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "environment.sh"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="not in a checkout")


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the script reads, in a path with a space."""
    checkout = tmp_path / "a checkout"
    shutil.copytree(ROOT / "tools", checkout / "tools")
    shutil.copy(ROOT / "setup.py", checkout)
    (checkout / "lie_dynamics_interfaces").mkdir()
    (checkout / "lie_dynamics_ros/lie_dynamics").mkdir(parents=True)
    return checkout


@pytest.fixture
def commands(tmp_path):
    """A folder with the commands that the script may use, and no Python."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for name in (
        *("sh", "cat", "cksum", "cut", "date", "dirname", "du", "env", "find", "flock", "grep", "rm", "sleep", "sort"),
        *("tail", "tr"),
    ):
        path = shutil.which(name)
        if path:
            (folder / name).symlink_to(path)
    return folder


def fake(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(checkout, commands, *command, **variables):
    environment = {"PATH": str(commands), "HOME": os.environ.get("HOME", "/"), **variables}
    script = str(checkout / "tools/environment.sh")
    return subprocess.run([script, *command], env=environment, capture_output=True, text=True, check=False)


def make_ready(checkout, distro="jazzy"):
    """Make an environment that looks complete, so that nothing is installed."""
    binaries = checkout / f".venv-{distro}/bin"
    binaries.mkdir(parents=True)
    fake(binaries, "python", "echo the python of the environment")
    wanted = f'{{ cat "tools/requirements-{distro}.txt" setup.py; printf %s "{checkout}"; }} | cksum'
    interfaces = (
        f'{{ cat "tools/constraints-{distro}.txt"; sort /dev/null; }} | cksum'  # no compiler among the commands
    )
    stamps = {"stamp": wanted, "interfaces-stamp": interfaces, "kernels-stamp": "sort /dev/null | cksum"}
    for name, text in stamps.items():
        value = subprocess.run(["sh", "-c", text], cwd=checkout, capture_output=True, text=True, check=True).stdout
        (checkout / f".venv-{distro}" / name).write_text(value)


def test_the_demo_waits_for_nothing_that_others_need(checkout, commands):
    make_ready(checkout)
    here = checkout / ".venv-jazzy"
    (checkout / "lie_dynamics_ros/lie_dynamics/engine").mkdir()
    (checkout / "lie_dynamics_ros/lie_dynamics/engine/__main__.py").touch()
    fake(here / "bin", "python", '[ "$1" != -c ] || shift 2; echo "$@" >>asked')
    for name in ("stamp", "kernels-stamp"):
        (here / name).write_text("of before\n")
    for part, program in (("demo", "tools/kernels.py demo"), ("", "tools/kernels.py")):
        assert "compiling" in run(checkout, commands, FOR=part).stderr
        asked = (checkout / "asked").read_text()
        (checkout / "asked").unlink()
        assert f"{program}\n" in asked and "tools/requirements-jazzy.txt" in asked
        assert ("test,lint" in asked) == (not part)
        assert not run(checkout, commands, FOR=part).stderr
    assert not run(checkout, commands, FOR="demo").stderr


def test_no_python(checkout, commands):
    result = run(checkout, commands, "true")
    assert result.returncode == 1
    assert "no Python found" in result.stderr and "python3.11" in result.stderr


def test_python_that_does_not_run_or_is_too_old(checkout, commands):
    fake(commands, "python3.11", "exit 127")
    fake(commands, "python3", "exit 1")
    assert "no Python found" in run(checkout, commands, "true").stderr
    result = run(checkout, commands, "true", PYTHON="python3")
    assert result.returncode == 1 and "PYTHON=python3 does not run" in result.stderr


def test_no_venv_module(checkout, commands):
    fake(commands, "python3.12", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    result = run(checkout, commands, "true")
    assert result.returncode == 1
    assert "without the venv module" in result.stderr and "python3.12-venv" in result.stderr


def test_pip_that_fails_shows_its_reason_and_the_next_run_starts_afresh(checkout, commands):
    fake(
        commands,
        "python3.11",
        'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo made >>made; fi\n'
        'if [ "$2" = pip ]; then echo "ERROR: Temporary failure in name resolution"; exit 1; fi',
    )
    for name in ("mkdir", "cp"):
        (commands / name).symlink_to(shutil.which(name))
    for attempt in (1, 2):
        result = run(checkout, commands, "true")
        assert result.returncode == 1
        assert "Temporary failure in name resolution" in result.stderr
        assert "needs a network" in result.stderr and "no C++ compiler" in result.stderr
        assert (checkout / "made").read_text().count("made") == attempt


def test_unsupported_distribution(checkout, commands):
    result = run(checkout, commands, "true", ROS_DISTRO="humble")
    assert result.returncode == 1
    assert "ROS_DISTRO=humble is not supported" in result.stderr and "kilted" in result.stderr


def test_a_sourced_ros_is_told_apart_and_kept_out(checkout, commands):
    make_ready(checkout)
    result = run(
        checkout,
        commands,
        "sh",
        "-c",
        'echo "[$ROS_DISTRO] [$PYTHONPATH] [$LD_LIBRARY_PATH] [$AMENT_PREFIX_PATH]"; python',
        ROS_DISTRO="humble",
        ROS_VERSION="2",
        PYTHONPATH="/opt/ros/humble/lib",
        LD_LIBRARY_PATH="/opt/ros/humble/lib",
        AMENT_PREFIX_PATH="/opt/ros/humble",
    )
    assert result.returncode == 0, result.stderr
    assert "a sourced ROS installation says ROS_DISTRO=humble" in result.stderr
    assert result.stdout == f"[jazzy] [] [] [{checkout}/.venv-jazzy]\nthe python of the environment\n"


@pytest.mark.parametrize("distro", ["kilted", "jazzy"])
def test_a_complete_environment_is_used_at_once(checkout, commands, distro):
    make_ready(checkout, distro)
    result = run(checkout, commands, "python", ROS_DISTRO=distro)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "the python of the environment\n"


def test_the_exit_code_of_the_command_is_passed_on(checkout, commands):
    make_ready(checkout)
    assert run(checkout, commands, "sh", "-c", "exit 42").returncode == 42


def test_messages_are_built_once_a_compiler_is_there_and_a_failure_is_told(checkout, commands):
    make_ready(checkout)
    (checkout / "lie_dynamics_interfaces/package.xml").write_text("<package/>")
    for name in ("mkdir", "cp"):
        (commands / name).symlink_to(shutil.which(name))
    binaries = checkout / ".venv-jazzy/bin"
    fake(commands, "c++", "true")
    shift = '[ "$1" != -c ] || shift 2'
    fake(binaries, "python", f'{shift}; echo "$@" "with $PIP_CONSTRAINT" >>asked; echo "ERROR: no such header"; exit 1')
    result = run(checkout, commands, "sh", "-c", "echo done")
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert "no such header" in result.stderr and "The nodes run without services" in result.stderr
    fake(binaries, "python", f'{shift}; echo "$@" "with $PIP_CONSTRAINT" >>asked')
    assert "building messages and services" in run(checkout, commands, "true").stderr
    assert run(checkout, commands, "sh", "-c", ":").stderr == ""
    asked = (checkout / "asked").read_text().splitlines()
    built = [a for a in asked if a.endswith("./lie_dynamics_interfaces with tools/constraints-jazzy.txt")]
    assert len(built) == 2 and len(asked) == 3 and "/interfaces/" in asked[2]  # what was built is installed
    (checkout / "lie_dynamics_interfaces/package.xml").write_text("<package>changed</package>")
    assert "building messages and services" in run(checkout, commands, "true").stderr
