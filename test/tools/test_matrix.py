"""The matrix of versions: what setup.py claims is what the table says passed, and nothing is passed over."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "benchmarks" / "results" / "matrix.md"


@pytest.fixture
def matrix(monkeypatch, tmp_path):
    specification = importlib.util.spec_from_file_location("matrix", ROOT / "tools" / "matrix.py")
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setattr(sys, "path", list(sys.path))
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "HOME", tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["matrix.py"])
    return module


def rows():
    lines = [line.strip("| ").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def test_what_is_claimed_is_what_passed(matrix):
    assert {row["calls"] for row in rows()} == {"direct", "dispatcher"}
    for row in rows():
        assert re.fullmatch(r"[1-9]\d* passed(, \d+ (skipped|deselected|warnings?))*", row["tests"]), row
    for claim in matrix.claims():
        name, oldest = re.match(r"(\w+)>=([\d.]+)", claim).groups()
        found = sorted({tuple(map(int, row[name].split("."))) for row in rows()})
        assert found[0][:2] == tuple(map(int, oldest.split(".")))[:2], claim
    for python in matrix.PYTHONS:
        assert {row["calls"] for row in rows() if row["Python"].startswith(python)} == {"direct", "dispatcher"}
    claimed = re.search(r'python_requires=">=3.(\d+),<3.(\d+)"', (ROOT / "setup.py").read_text())
    assert [f"3.{claimed[1]}", f"3.{int(claimed[2]) - 1}"] == list(matrix.PYTHONS)


def test_a_python_that_cannot_be_had_is_told_and_fails(matrix, monkeypatch, capsys):
    def uv(*arguments, text=""):
        raise matrix.FailedError("error: no such Python")

    monkeypatch.setattr(matrix, "uv", uv)
    assert matrix.main() == 1
    table = (matrix.FOLDER / "matrix.md").read_text()
    for python in matrix.PYTHONS:
        assert f"| {python} |  |  |  |  | not tested: error: no such Python |" in table
    assert "not tested" in capsys.readouterr().out


def test_each_end_of_numba_meets_each_end_of_numpy(matrix, monkeypatch):
    def uv(*arguments, text=""):
        newest = arguments[arguments.index("--resolution") + 1] == "highest"
        numba = re.search(r"numba==(\S+)", text)
        return f"numba=={numba[1] if numba else ('9' if newest else '1')}\nnumpy=={8 if newest else 2}\nscipy==3\n"

    monkeypatch.setattr(matrix, "uv", uv)
    found = [(pins["numba"], pins["numpy"]) for pins in matrix.combinations("3.10")]
    assert found == [("1", "2"), ("9", "8"), ("1", "8"), ("9", "2")]
