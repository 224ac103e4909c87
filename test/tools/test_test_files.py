"""Rules of the tests that a reader of a single test would not see broken, and skips that are failures."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
NODES = TESTS / "nodes"
HARNESS = ("node_harness.py", "node_services.py", "witness.py")
FILES = sorted(path for path in NODES.rglob("*.py") if path.name not in HARNESS)
RACES = {
    "create_publisher": "Bench.publisher, which waits for a listener",
    "create_subscription": "Bench.listen",
    "create_client": "Bench.call, call_once or start_call, which lose no answer",
    "sleep": "Bench.wait for what is expected",
}
"""What waits for nothing, or for time to pass, and what to use instead."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_tests_of_nodes_talk_to_them_through_the_harness(path):
    text = path.read_text()
    tree = ast.walk(ast.parse(text)) if any(word in text for word in RACES) else ()
    for name in (n for n in tree if isinstance(n, (ast.Attribute, ast.Name))):
        word = name.attr if isinstance(name, ast.Attribute) else name.id
        assert word not in RACES, f"{path.name}:{name.lineno}: {word}; use {RACES[word]}"


def test_test_files_have_names_of_their_own():
    """Files of tests are imported by their names alone."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
SOME_TESTS = """
import pytest

def test_passes():
    pass

def test_launch():
    pytest.skip("launch is not installed (not among the ROS 2 wheels)")

def test_oracle():
    pytest.importorskip("nothing_of_that_name", reason="the oracle is not installed")

@pytest.mark.skipif(True, reason="because")
def test_marked():
    pass

@pytest.mark.xfail(reason="not yet", strict=True)
def test_expected_to_fail():
    assert False
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-c", "none.ini", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_skip_without_a_good_reason_is_a_failure(tmp_path):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "none.ini").touch()
    (tmp_path / "test_some.py").write_text(SOME_TESTS)
    missing = "import pytest\npytest.importorskip('nothing_of_that_name', reason='gone')"
    (tmp_path / "test_missing.py").write_text(missing)
    usual = run(tmp_path)
    assert usual.returncode == 0 and "1 passed, 4 skipped, 1 xfailed" in usual.stdout, usual.stdout
    all_required = run(tmp_path, "--require-all", "--continue-on-collection-errors")
    assert all_required.returncode == 1
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors" in all_required.stdout, all_required.stdout
    for reason in ("the oracle is not installed", "because", "gone"):
        assert f"skipped, which it must not be: Skipped: {reason}" in all_required.stdout
