"""The example of closed loops runs and writes its picture; the page's YAML is read."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import ConstraintSet, ModelBuilder, SpatialInertia, joint_types

ROOT = Path(__file__).resolve().parents[2]


def test_five_bar(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["five_bar", "--output", str(tmp_path), "--duration", "0.2"])
    runpy.run_path(str(ROOT / "examples" / "five_bar.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "one motor: model 'five_bar': 3 independent constraints cannot hold 4" in said
    assert "loop closed to" in said
    assert (tmp_path / "five_bar.png").read_bytes().startswith(b"\x89PNG")


def test_yaml_of_the_page():
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "doc" / "closed_loops.md").read_text(), re.DOTALL).group(1)
    builder, ball = ModelBuilder(world="base"), SpatialInertia(1.0, [0, 0, 0], 0.1 * np.eye(3))
    for name in ("coupler_tip", "finger_1", "finger_2", "left", "right", "carrier"):
        builder.add(name, None, joint_types.revolute(), inertia=ball)
    constraints = ConstraintSet.from_yaml(builder.build(), text)
    assert constraints.names == ("tip", "finger_2", "differential")
    assert constraints.size == 7
