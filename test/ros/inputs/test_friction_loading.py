"""The parameter friction_file: a file for the whole robot does for a part of it."""

from pathlib import Path

import pytest

import lie_dynamics_ros
from lie_dynamics_ros.core.errors import RobotDescriptionError
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.ros.inputs.model_loading import load_friction

ARM = (Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf").read_text()
FILE = "joints: {panda_joint1: {friction: 1}, panda_joint5: {friction: 2}}"


def load(file, base_link="", locked=("",)):
    model = Model.from_urdf(ARM, base_link=base_link or None, locked={name: 0.0 for name in locked if name})
    values = {"friction_file": file, "base_link": base_link, "locked_joints": list(locked)}
    return load_friction(ARM, values, model)


def test_joints_that_are_locked_may_be_in_the_file():
    assert load(FILE).friction[0].tolist() == [1, 0, 0, 0, 2, 0, 0]
    assert load(FILE, "panda_link3").friction[0].tolist() == [0, 2, 0, 0]
    assert load(FILE, locked=("panda_joint1",)).friction[0].tolist() == [0, 0, 0, 2, 0, 0]
    assert load(" ") is None


def test_joints_that_the_robot_does_not_have_may_not(tmp_path):
    for base in ("", "panda_link3"):
        with pytest.raises(RobotDescriptionError, match=r"friction_file: .*no joint 'panda_joint9' that moves"):
            load("joints: {panda_joint9: {friction: 1}}", base)
    with pytest.raises(RobotDescriptionError, match=r"friction_file: file .* cannot be read"):
        load(str(tmp_path / "missing.yaml"))
