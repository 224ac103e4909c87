"""Bases that move, in MuJoCo: an arm on a torso that turns and leans, and a robot that nothing holds."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import cores
from support.mujoco_arm import MujocoArm, _spec, mujoco
from support.two_arms import CARRIERS, LEANING, LEFT, RIGHT

from lie_dynamics_ros.core.moving_base import MovingBase
from lie_dynamics_ros.core.robot_state import BaseState, RobotState
from lie_dynamics_ros.lie_dynamics import Model, hybrid_dynamics

READY = np.array([0.3, -0.6, 0.2, -2.0, -0.3, 1.7, 0.6])
BEGIN, SPEED = np.array([0.1, 0.0, 0.2]), np.array([0.05, 1.5, 0.2])
LINK = "left_panda_link0"


def errors(mode, told):
    """Largest tracking error of an arm while its torso lifts, turns and leans at constant speeds [rad]."""
    names = [*CARRIERS, *LEFT, *RIGHT]
    physics = MujocoArm(LEANING, names, armature=[1e9] * 3 + [0.0] * 14)
    physics.set([*BEGIN, *READY, *READY], [*SPEED, *np.zeros(14)])
    model = Model.from_urdf(LEANING, base_link=LINK, locked=dict(zip(CARRIERS, BEGIN, strict=True)))
    core = cores.make_core(model, mode=mode, error_limit=0.0, velocity_tolerance=100.0, learn_drives=False)
    if told:
        core.mount_on(MovingBase(model, Model.from_urdf(LEANING, base_link=LINK, with_carriers=True), LINK))
    stamp, largest = 10**9, 0.0
    for tick in range(850):
        q, qd = physics.q, physics.qd
        base = BaseState(q[:3], qd[:3], np.zeros(3)) if told else None
        state = RobotState(stamp, q[3:10], qd[3:10], base=base)
        core.update_base(state)
        answer = core.answer(state)
        if tick == 200:  # until then it comes to rest beside the torso, which moves from the first state on
            core.follow(cores.sine(answer.desired.position, np.full(7, 0.25), np.linspace(0.5, 0.8, 7), 2.0), stamp)
        if tick > 200:
            largest = max(largest, float(np.abs(answer.error).max()))
        effort = physics.inverse_dynamics(q, qd, np.zeros(17))  # holds the other arm, and the torso's speed
        effort[3:10] = answer.effort
        physics.advance(effort, 4)
        stamp += 2 * 10**6
    np.testing.assert_allclose(physics.qd[:3], SPEED, atol=1e-3)
    return largest


@pytest.mark.parametrize("mode", ["computed_torque", pytest.param("passivity_based", marks=pytest.mark.slow)])
def test_an_arm_follows_its_trajectory_on_a_torso_that_moves(mode):
    """As closely as on one that stands still (`test_two_arms`), and far closer than where nobody tells it."""
    told = errors(mode, True)
    assert told < 2e-3
    assert told < 0.1 * errors(mode, False)


def test_a_robot_that_nothing_holds_moves_as_in_mujoco(rng):
    """Accelerations of base and joints under efforts; MuJoCo's free joint has its velocity in the world's axes."""
    spec = _spec(LEANING)
    spec.body("stand").add_freejoint()
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    physics = spec.compile()
    physics.jnt_limited[:] = 0
    data = mujoco.MjData(physics)
    model = Model.from_urdf(LEANING)
    base = MovingBase(model, Model.from_urdf(LEANING, floating_base=True), "", True).with_options(_Bare(), model)
    ids = [mujoco.mj_name2id(physics, mujoco.mjtObj.mjOBJ_JOINT, name) for name in model.joint_names]
    at_q, at_v = physics.jnt_qposadr[ids], physics.jnt_dofadr[ids]
    for _ in range(5):
        turn, place = Rotation.random(random_state=rng), rng.normal(size=3)
        twist, q, qd, effort = rng.normal(size=6), *rng.normal(size=(3, 17))
        data.qpos[:7] = [*place, *turn.as_quat(scalar_first=True)]
        data.qvel[:6] = [*turn.apply(twist[3:]), *twist[:3]]
        data.qpos[at_q], data.qvel[at_v], data.qfrc_applied[at_v] = q, qd, effort
        mujoco.mj_forward(physics, data)
        rate = np.concatenate((data.qacc[3:6], turn.inv().apply(data.qacc[:3]) - np.cross(twist[:3], twist[3:])))
        told = BaseState(np.concatenate((turn.as_quat(), place)), twist, np.zeros(6))
        state = RobotState(0, q, qd, base=told)
        _, gravity = base.gravity_on(state, np.array([0.0, 0.0, -9.81]), False)
        root, joints, _ = base.released(state, np.zeros(17), effort, np.zeros(17, dtype=bool), gravity)
        scale = np.abs(data.qacc).max()
        np.testing.assert_allclose(root, rate, atol=1e-9 * scale)
        np.testing.assert_allclose(joints, data.qacc[at_v], atol=1e-9 * scale)
        # The same as a base that moves as told, whose joints it pushes.
        told.acceleration[:] = root
        turned = model.with_gravity(base.gravity_on(state, np.array([0.0, 0.0, -9.81]), False)[0])
        pushed = hybrid_dynamics(turned, q, qd, np.zeros(17), effort + base.push(state), np.zeros(17, dtype=bool))
        np.testing.assert_allclose(pushed[0], joints, atol=1e-8 * scale)


@dataclass(frozen=True)
class _Bare:
    """Options that change nothing."""

    rotors: tuple[float, ...] = (0.0,)

    def apply(self, model):
        return model
