"""The examples of control run and write their pictures."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("adaptive_payload", ["--duration", "2"], "estimated payload"),
        ("gravity_compensation", [], "before the push the arm moves by"),
    ],
)
def test_example(name, options, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path), *options])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert said in capsys.readouterr().out
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
