"""The examples of tree dynamics run, say what they should, and draw their pictures."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("urdf_torques", [], r"panda_joint2 +to hold +-?\d+\.\d+ +to move"),
        ("hybrid_dynamics", ["--duration", "0.5"], r"accelerations given for 3 joints, torques for the other 4"),
        ("batch_evaluation", ["--states", "5000"], r"panda_joint2 +largest holding torque"),
    ],
)
def test_example(name, options, says, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path), *options])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert re.search(says, said), said
    for figure in re.findall(r"to (\d\.\de[-+]\d+) (?:N m|J)", said):  # what should agree does
        assert float(figure) < 1e-7
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
