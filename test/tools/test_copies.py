"""With --copies the tests run on workers, each file on one of them, and all that there is to say of them is said."""

import subprocess
import sys
from pathlib import Path

CONFTEST = f"""
import os, sys
import pytest

sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from support.copies import Copies

def pytest_configure(config):
    config.pluginmanager.register(Copies(2), "copies")

@pytest.fixture(scope="module", autouse=True)
def note(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("of_a_module")
    yield
    assert folder.is_dir()
    with open("noted", "a") as file:
        file.write(f"{{os.getpid()}} {{request.node.name}}\\n")
"""
TESTS = """
import os, warnings
import pytest

def test_before():
    os.write(1, b"to a file of this worker's own")

def test_fails():
    print("said before")
    assert [1] == [2]

def test_warns():
    warnings.warn("careful")

def test_dies():
    assert {lives} or os._exit(3)

def test_skipped():
    pytest.skip("not today")
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-c", "none.ini", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    noted = [line.split() for line in (folder / "noted").read_text().splitlines()]
    return done, noted


def test_what_workers_find_is_told_and_one_that_dies_fails_its_test(tmp_path):
    (tmp_path / "none.ini").touch()
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, lives in (("a", True), ("b", False), ("c", True)):
        (tmp_path / f"test_{name}.py").write_text(TESTS.format(lives=lives))
    done, noted = run(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 failed, 8 passed, 3 skipped, 3 warnings" in done.stdout, done.stdout
    assert "the process of this test ended: exit code 3" in done.stdout
    assert done.stdout.count("At index 0 diff: 1 != 2") == 3 and "\nsaid before\n" in done.stdout
    assert done.stdout.count("UserWarning: careful") == 3 and "not today" in done.stdout
    assert "to a file of this worker's own" in done.stdout
    assert sorted(file for _, file in noted) == ["test_a.py", "test_b.py", "test_c.py"]  # each once, together

    done, _ = run(tmp_path, "-x", "test_a.py", "test_b.py")
    assert done.returncode == 1 and "stopping after" in done.stdout, done.stdout
    assert "test_skipped" not in done.stdout
