"""Computed torque with a model identified from a recording tracks nearly as well as with the true one.

In every run `test_robot_from_recording` foretells tracking errors of an identified arm from its efforts.
"""

import numpy as np
import pytest
from support import arms
from support.control.control_loop import ControlLoop
from support.cores import make_core, sine
from support.recorded_arm import DrivenArm, Drives, exciting_motion, record, wrong_inertias

from lie_dynamics_ros.lie_dynamics import JointFriction, Model
from lie_dynamics_ros.lie_dynamics.identification import identify_robot


def tracking(arm, drives, model, friction, seconds=2.0):
    """Root mean square of the errors of position of all joints, in MuJoCo, delayed by a period."""
    simulated = DrivenArm(arm, drives)
    middle = 0.5 * (arm.lower + arm.upper)
    simulated.set(middle, np.zeros(model.nv))
    loop = ControlLoop(simulated, make_core(model.with_joint_terms(armature=True), friction, rate=250.0), 250.0, 1.0)
    loop.run(0.1)
    loop.core.follow(sine(middle, np.full(model.nv, 0.3), np.linspace(0.3, 0.7, model.nv), seconds))
    return np.sqrt((loop.run(seconds).error ** 2).mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda_arm", "ur5", "xarm7"])
def test_tracking_with_the_identified_model(name, tmp_path):
    arm, rng = arms.load(name), np.random.default_rng(1)
    drives = Drives.of(arm, rng)
    past = record(arm, drives, exciting_motion(arm, rng, 12.0), rng)
    wrong = arm.model
    for body, inertia in wrong_inertias(wrong, rng).items():
        wrong = wrong.with_inertia(body, inertia)
    found = identify_robot(wrong, past.time, past.q, past.effort)
    urdf, friction = found.write(tmp_path, arm.text)
    read = Model.from_urdf(urdf, inertia_check="warn")  # as a node does, by the files
    identified = tracking(arm, drives, read, JointFriction.from_yaml(friction, read))
    true = tracking(arm, drives, arm.model.with_armature(drives.armature), drives.law())
    before = tracking(arm, drives, wrong, None)
    assert identified < 1.5 * true
    assert identified < 0.5 * before
