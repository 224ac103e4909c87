"""With --require-all a test that is skipped without a good reason is a failure."""

import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
TESTS = """
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
    (tmp_path / "test_some.py").write_text(TESTS)
    missing = "import pytest\npytest.importorskip('nothing_of_that_name', reason='gone')"
    (tmp_path / "test_missing.py").write_text(missing)
    usual = run(tmp_path)
    assert usual.returncode == 0 and "1 passed, 4 skipped, 1 xfailed" in usual.stdout, usual.stdout
    all_required = run(tmp_path, "--require-all", "--continue-on-collection-errors")
    assert all_required.returncode == 1
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors" in all_required.stdout, all_required.stdout
    for reason in ("the oracle is not installed", "because", "gone"):
        assert f"skipped, which it must not be: Skipped: {reason}" in all_required.stdout
