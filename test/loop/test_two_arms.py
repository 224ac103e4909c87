"""Two arms on one torso in MuJoCo, each with a controller of its own that takes the joints below its base link."""

from pathlib import Path

import numpy as np
import pytest
from support import cores
from support.mujoco_arm import MujocoArm

import lie_dynamics_ros
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import Model

TEXT = (Path(lie_dynamics_ros.__file__).parent / "urdf" / "two_pandas.urdf").read_text()
READY = np.array([0.3, -0.6, 0.2, -2.0, -0.3, 1.7, 0.6])
RATE, STEPS = 500.0, 4
HEIGHT = 0.25


@pytest.mark.parametrize("mode", ["computed_torque", pytest.param("passivity_based", marks=pytest.mark.slow)])
def test_each_arm_follows_its_trajectory_beside_the_other(mode):
    """The lift does not give way; the other arm's motion reaches an arm through the torso alone, which stands still."""
    whole = Model.from_urdf(TEXT)
    names = list(whole.joint_names)
    rotor = np.zeros(15)
    rotor[names.index("torso_lift")] = 1e9  # holds the lift where it is
    physics = MujocoArm(TEXT, names, armature=rotor)
    q = np.zeros(15)
    q[names.index("torso_lift")] = HEIGHT
    arms = {}
    for side, mirror in (("left", 1.0), ("right", -1.0)):
        model = Model.from_urdf(TEXT, base_link=f"{side}_panda_link0", locked={"torso_lift": HEIGHT})
        own = [names.index(name) for name in model.joint_names]
        assert [names[k] for k in own] == [f"{side}_panda_joint{k}" for k in range(1, 8)]
        q[own] = READY * np.array([mirror, 1, mirror, 1, mirror, 1, mirror])
        arms[side] = own, cores.make_core(model, mode=mode)
    physics.set(q, np.zeros(15))
    stamp, largest = 10**9, 0.0
    for tick in range(1100):
        effort = physics.gravity(physics.q)
        for side, (own, core) in arms.items():
            answer = core.answer(RobotState(stamp, physics.q[own], physics.qd[own]))
            effort[own] = answer.effort
            largest = max(largest, float(np.abs(answer.error).max()))
            if tick == 50:
                frequency = np.linspace(0.5, 0.8, 7) if side == "left" else np.linspace(0.9, 0.4, 7)
                core.follow(cores.sine(q[own], np.full(7, 0.25), frequency, 2.0), stamp)
        if tick < 50:  # at rest the efforts are those of MuJoCo's own gravity
            np.testing.assert_allclose(effort, physics.gravity(physics.q), atol=0.05)
        physics.advance(effort, STEPS)
        stamp += round(1e9 / RATE)
    assert {core.phase for _, core in arms.values()} == {"holding"}
    assert largest < 2e-3 and np.abs(physics.q - q).max() < 2e-3
