"""Models read from SDF against Drake, which reads the same files by libsdformat: poses, mass matrix, efforts."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros.lie_dynamics import Model, frame_pose, inverse_dynamics, mass_matrix
from lie_dynamics_ros.lie_dynamics.errors import DescriptionWarning
from lie_dynamics_ros.lie_dynamics.lie import so3

ROBOTS = Path(__file__).parent / "robots"
DRAKE = json.loads((ROBOTS / "drake.json").read_text())
"""Answers of Drake 1.51.1; see ask_drake.py."""


def quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return Model.from_sdf(source, **options)


@pytest.mark.parametrize("name", DRAKE)
def test_the_same_as_drake(name):
    model, answers = quietly(ROBOTS / f"{name}.sdf").with_joint_terms(damping=True), DRAKE[name]
    q, qd, qdd, tau = model.neutral(), *np.zeros((3, model.nv))
    order, turn = np.zeros(model.nv, dtype=int), np.eye(model.nv)
    for joint in model.joints:
        told = answers["joints"][joint.name.rpartition("::")[2]]
        order[joint.v_slice] = told["at"] + np.arange(joint.type.nv)
        qd[joint.v_slice], qdd[joint.v_slice], tau[joint.v_slice] = told["v"], told["vdot"], told["tau"]
        if "rotation" in told:  # our rates are in the frame of the child
            rotation = np.array(told["rotation"])
            q[joint.q_slice] = so3.to_quaternion(rotation)
            turn[joint.v_slice, joint.v_slice] = rotation.T
        else:
            q[joint.q_slice] = told["q"]
    for body, pose in answers["poses"].items():
        link = body.partition("::")[2]
        if body.partition("::")[0] not in ("floor", "WorldModelInstance"):
            assert relative(frame_pose(model, q, link), pose) < 1e-12, link
    M = np.array(answers["mass_matrix"])[np.ix_(order, order)]
    assert relative(mass_matrix(model, q), turn @ M @ turn.T) < 1e-12
    assert relative(inverse_dynamics(model, q, turn @ qd, turn @ qdd), turn @ tau) < 1e-11
