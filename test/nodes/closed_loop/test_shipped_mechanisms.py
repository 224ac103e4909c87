"""The node closed_loop with the parameter files of all mechanisms by name: what it makes of them, without ROS."""

from pathlib import Path

import numpy as np
import pytest
import yaml

import lie_dynamics_ros
from lie_dynamics_ros.core.mechanism import MechanismParameters, TrackedMechanism
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import ConstraintSet, Model, mechanism
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS
from lie_dynamics_ros.nodes.closed_loop.core import ClosedLoopCore, ClosedLoopOptions

SHARE = Path(lie_dynamics_ros.__file__).parent
DEFAULTS = {
    **ClosedLoopOptions.defaults(), **MechanismParameters.defaults(), "estimated_wrench": [""], "platform_frame": "",
}  # fmt: skip
FILES = sorted(path for path in (SHARE / "mechanisms").glob("*.yaml") if not path.stem.endswith("_loops"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_the_motors_move_is_found(path):
    values = yaml.safe_load(path.read_text())["/**"]["closed_loop"]["ros__parameters"]
    model = Model.from_urdf(SHARE.parent / values["robot_description"].removeprefix("package://"))
    constraints = ConstraintSet.from_yaml(model, SHARE.parent / values["loops"].removeprefix("package://"))
    values = {**DEFAULTS, "joint_prefix": "", **values}
    made = mechanism(path.stem)
    tracked = TrackedMechanism.from_values(model, constraints, values)
    core = ClosedLoopCore(model, ClosedLoopOptions.from_values(values), None, tracked)
    positions = made.motors(made.q) + 1e-3
    state = RobotState(10**9, positions, np.zeros(len(positions)), None, arrival=10**9)
    answer = core.answer(state)
    assert answer.refusal is None
    modes = made.assembly_modes(positions)
    pose = answer.tracked.pose(values["platform_frame"])
    assert min(np.abs(made.pose(q) - pose).max() for q in modes.q) < 1e-9
    assert np.abs(pose - made.pose(made.q)).max() < 1e-2


def test_all_are_here():
    assert len(FILES) == len(MECHANISMS)
