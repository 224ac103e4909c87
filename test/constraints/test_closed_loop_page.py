"""The YAML of the page on closed loops is read."""

import re
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import ConstraintSet, ModelBuilder, SpatialInertia, joint_types

ROOT = Path(__file__).resolve().parents[2]


def test_yaml_of_the_page():
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "doc" / "closed_loops.md").read_text(), re.DOTALL).group(1)
    builder, ball = ModelBuilder(world="base"), SpatialInertia(1.0, [0, 0, 0], 0.1 * np.eye(3))
    for name in ("coupler_tip", "finger_1", "finger_2", "left", "right", "carrier"):
        builder.add(name, None, joint_types.revolute(), inertia=ball)
    constraints = ConstraintSet.from_yaml(builder.build(), text)
    assert constraints.names == ("tip", "finger_2", "differential")
    assert constraints.size == 7
