"""The examples run and write their pictures."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "said", "pictures"),
    [
        ("closed_form_geodesics", [], "3R arm", ["closed_form_geodesics_2r.png", "closed_form_geodesics_3r.png"]),
        ("torque_optimal_motion", [], "weak motors: ", ["torque_optimal_motion.png"]),
        ("closed_form_curvature", ["--points", "9"], "with counterweights: flat", ["closed_form_curvature.png"]),
    ],
)
def test_example(name, options, said, pictures, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path), *options])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert said in capsys.readouterr().out
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
