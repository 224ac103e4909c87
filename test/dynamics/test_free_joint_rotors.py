"""Armature, damping friction of free joints: against MuJoCo, particles on the world's axes, and differences."""

import numpy as np
import pytest
from support.compare import central, relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.control import slotine_li_force
from lie_dynamics_ros.lie_dynamics.dynamics.losses import joint_losses
from lie_dynamics_ros.lie_dynamics.geometry import coriolis_product
from lie_dynamics_ros.lie_dynamics.identification import regression
from lie_dynamics_ros.lie_dynamics.model.joint_types import free, revolute, spherical
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, linearize, simulate

A, D = 0.7, 0.3  # armature and damping of the free joint
INERTIA = ld.SpatialInertia(1.5, [0.1, -0.05, 0.02], np.diag([0.3, 0.2, 0.25]))


def machine(armature=A, damping=D):
    builder = ld.ModelBuilder()
    losses = {"damping": damping, "friction": 0.4}
    builder.add("torso", None, free(), inertia=INERTIA, joint_name="f", armature=armature, **losses)
    arm = np.eye(4)
    arm[:3, 3] = [0.2, 0.1, -0.3]
    builder.add("arm", "torso", revolute([0.0, 0.6, 0.8]), arm, INERTIA, armature=0.2, damping=0.1)
    builder.add("hand", "arm", spherical(), arm, INERTIA, armature=0.4, damping=0.2)
    return builder.build()


BARE = machine()
MODEL = BARE.with_joint_terms(armature=True, damping=True)
MJCF = """
<mujoco><option gravity=".5 -1 -9"/><worldbody><body pos="1 2 3">
  <joint name="f" type="free" armature=".7" damping=".3"/>
  <inertial mass="1.5" pos=".1 -.05 .02" fullinertia=".5 .6 .7 .1 .02 -.1"/>
  <body pos=".2 .1 -.3"><joint type="hinge" axis="0 .6 .8" armature=".2" damping=".1"/>
    <inertial mass="1" pos=".2 0 .1" diaginertia=".1 .2 .15"/>
    <body pos=".1 0 .3"><joint type="ball" armature=".4" damping=".2"/>
      <inertial mass=".7" pos="0 .2 .1" diaginertia=".1 .12 .15"/></body></body></body></worldbody></mujoco>"""


@pytest.fixture
def state(rng):
    return MODEL.random(rng), *rng.normal(size=(2, MODEL.nv))


def force_of_particle(q, qd, qdd):
    """Return what a mass A that only the world's axes know, at the joint's origin, asks of the joint; typed afresh."""
    R = ld.frame_pose(MODEL, q, "torso")[:3, :3]
    rate_of_R = R @ np.cross(np.eye(3), qd[:3])
    tau = np.zeros(MODEL.nv)
    tau[3:6] = A * R.T @ (R @ qdd[3:6] + rate_of_R @ qd[3:6])
    return tau


def test_inverse_dynamics_are_those_of_particles_on_the_axes_of_the_world(state):
    q, qd, qdd = state
    armature, damping = BARE.limits.armature.copy(), BARE.limits.damping
    armature[3:6] = 0.0
    expected = ld.inverse_dynamics(BARE, q, qd, qdd) + armature * qdd + damping * qd + force_of_particle(q, qd, qdd)
    assert relative(ld.inverse_dynamics(MODEL, q, qd, qdd), expected) < 1e-13
    three = (np.stack([a] * 3) for a in state)
    assert relative(ld.inverse_dynamics(MODEL, *three), np.stack([expected] * 3)) < 1e-13
    rotors = BARE.with_armature(BARE.limits.armature)
    assert relative(ld.inverse_dynamics(rotors, q, qd, qdd), expected - damping * qd) < 1e-13
    assert relative(ld.bias_force(MODEL, q, qd) + ld.mass_matrix(MODEL, q) @ qdd, expected) < 1e-13


def test_mujoco_has_the_same_forces_and_accelerations(rng):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")
    model = ld.Model.from_mjcf(MJCF).with_joint_terms(armature=True, damping=True)
    compiled = mujoco.MjModel.from_xml_string(MJCF)
    compiled.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    data = mujoco.MjData(compiled)
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, model.nv))
    R = ld.frame_pose(model, q, model.joint("f").body)[:3, :3]

    def theirs(v, along):
        return np.concatenate([R @ (v[3:6] + along), v[:3], v[6:]])

    data.qpos[:] = [*q[4:7], q[3], *q[:3], q[7], q[11], *q[8:11]]
    data.qvel[:], data.qacc[:] = theirs(qd, 0.0), theirs(qdd, np.cross(qd[:3], qd[3:6]))
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    mujoco.mj_inverse(compiled, data)
    assert relative(theirs(tau, 0.0), data.qfrc_inverse) < 1e-12
    data.qfrc_applied[:] = theirs(tau, 0.0)
    mujoco.mj_forward(compiled, data)
    assert relative(theirs(ld.forward_dynamics(model, q, qd, tau), np.cross(qd[:3], qd[3:6])), data.qacc) < 1e-12


def test_forward_and_hybrid_dynamics_invert_inverse_dynamics(state, rng):
    q, qd, qdd = state
    tau = ld.inverse_dynamics(MODEL, q, qd, qdd)
    assert relative(ld.forward_dynamics(MODEL, q, qd, tau), qdd) < 1e-12
    for _ in range(4):
        given = rng.random(MODEL.nv) < 0.5
        found = ld.hybrid_dynamics(MODEL, q, qd, np.where(given, qdd, np.nan), np.where(given, np.nan, tau), given)
        assert relative(found[0], qdd) < 1e-12 and relative(found[1], tau) < 1e-12


def test_coriolis_matrices_give_the_bias_and_conserve_energy(state):
    q, qd, v = state
    losses = MODEL.limits.damping * qd
    for method in ("christoffel", "ploen"):
        C = ld.coriolis_matrix(MODEL, q, qd, method)
        assert relative(C @ qd + ld.gravity_force(MODEL, q) + losses, ld.bias_force(MODEL, q, qd)) < 1e-13
        rate = central(lambda t: ld.mass_matrix(MODEL, MODEL.integrate(q, t * qd)), 1)[..., 0]
        assert np.abs(rate - C - C.T).max() < 1e-9
        assert relative(coriolis_product(MODEL, q, qd, v, method), C @ v) < 1e-13
        sliding = slotine_li_force(MODEL, q, qd, qd, v, method)
        assert relative(sliding, ld.inverse_dynamics(MODEL, q, qd, v)) < 1e-13
    free_of_losses = BARE.with_joint_terms(armature=True).with_gravity([0.0, 0.0, 0.0])
    power = ld.mass_matrix(free_of_losses, q) @ ld.forward_dynamics(free_of_losses, q, qd, np.zeros(MODEL.nv)) @ qd
    change = central(lambda t: ld.kinetic_energy(free_of_losses, free_of_losses.integrate(q, t * qd), qd), 1)
    assert abs(power + change[0]) < 1e-9


def test_first_derivatives_are_differences(state, rng):
    q, qd, qdd = state
    n, tau = MODEL.nv, ld.inverse_dynamics(MODEL, *state)
    found = ld.inverse_dynamics_derivatives(MODEL, q, qd, qdd)
    assert np.abs(found.dqd - central(lambda e: ld.inverse_dynamics(MODEL, q, qd + e, qdd), n)).max() < 1e-9
    assert (
        np.abs(found.dq - central(lambda e: ld.inverse_dynamics(MODEL, MODEL.integrate(q, e), qd, qdd), n)).max() < 1e-8
    )
    forward = ld.forward_dynamics_derivatives(MODEL, q, qd, tau)
    assert np.abs(forward.dqd - central(lambda e: ld.forward_dynamics(MODEL, q, qd + e, tau), n)).max() < 1e-8
    given = rng.random(n) < 0.5
    given[[1, 4]] = True, False
    hybrid = ld.hybrid_dynamics_derivatives(MODEL, q, qd, qdd, tau, given)
    for part, which in ((hybrid.dqdd_dqd, 0), (hybrid.dtau_dqd, 1)):
        moved = central(lambda e, w=which: ld.hybrid_dynamics(MODEL, q, qd + e, qdd, tau, given)[w], n)
        assert np.abs(part - moved).max() < 1e-8


def test_second_derivatives_are_differences_of_first(state):
    q, qd, qdd = state
    n, tau = MODEL.nv, ld.inverse_dynamics(MODEL, *state)
    second = ld.inverse_dynamics_second_derivatives(MODEL, q, qd, qdd)
    moved = central(lambda e: ld.inverse_dynamics_derivatives(MODEL, q, qd + e, qdd).dqd, n)
    assert np.abs(second.dqd_dqd - moved).max() < 1e-9
    weights = np.arange(1.0, n + 1.0)
    one = ld.inverse_dynamics_second_derivatives(MODEL, q, qd, qdd, weights)
    assert relative(one.dqd_dqd, np.einsum("i,ijk->jk", weights, second.dqd_dqd)) < 1e-12
    forward = ld.forward_dynamics_second_derivatives(MODEL, q, qd, tau)
    moved = central(lambda e: ld.forward_dynamics_derivatives(MODEL, q, qd + e, tau).dqd, n)
    assert np.abs(forward.dqd_dqd - moved).max() < 1e-7


def test_sensitivities_to_rotors_and_rates(state):
    q, qd, qdd = state
    for part in (1, 4):
        found = ld.inverse_dynamics_sensitivity(MODEL, q, qd, qdd, ld.Parameter.qd("f", part))
        assert relative(found, ld.inverse_dynamics_derivatives(MODEL, q, qd, qdd).dqd[:, part]) < 1e-12
    parts = [ld.inverse_dynamics_sensitivity(MODEL, q, qd, qdd, ld.Parameter.armature("f", part)) for part in (3, 4, 5)]
    assert relative(A * np.sum(parts, axis=0), force_of_particle(q, qd, qdd)) < 1e-13


def test_identification_has_the_column_of_the_rotor(state):
    q, qd, qdd = state
    Y = regression(BARE, q, qd, qdd, ("armature",))
    found = Y[:, -MODEL.nv :] @ BARE.limits.armature
    model = BARE.with_joint_terms(armature=True)
    assert relative(found, ld.inverse_dynamics(model, q, qd, qdd) - ld.inverse_dynamics(BARE, q, qd, qdd)) < 1e-12


SLIDING = BARE.with_joint_terms(armature=True, damping=True, friction=True)


def test_dry_friction_is_that_of_mujoco_on_the_axes_of_the_world(rng):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")
    text = MJCF.replace("armature='.7'", "").replace('damping=".3"', 'frictionloss=".4"')
    model = ld.Model.from_mjcf(text).with_joint_terms(friction=True)
    compiled = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(compiled)
    for _ in range(4):
        q, qd = model.random(rng), rng.choice([-1.0, 1.0], model.nv) * rng.uniform(1.0, 2.0, model.nv)
        R = ld.frame_pose(model, q, model.joint("f").body)[:3, :3]
        qd[3:6] = R.T @ qd[3:6]
        data.qpos[:] = [*q[4:7], q[3], *q[:3], q[7], q[11], *q[8:11]]
        data.qvel[:] = [*(R @ qd[3:6]), *qd[:3], *qd[6:]]
        mujoco.mj_forward(compiled, data)
        ours = joint_losses(model, q, qd)
        assert relative(-data.qfrc_constraint, np.concatenate([R @ ours[3:6], ours[:3], ours[6:]])) < 1e-12
        assert np.abs(data.qfrc_constraint[:6]).min() == pytest.approx(0.4)  # all of them slide


def test_dry_friction_in_all_dynamics_and_their_derivatives(rng):
    q, qd, qdd = SLIDING.random(rng), *rng.normal(size=(2, SLIDING.nv))
    n, tau = SLIDING.nv, ld.inverse_dynamics(SLIDING, q, qd, qdd)
    R = ld.frame_pose(SLIDING, q, "torso")[:3, :3]
    dry = np.zeros(n)
    dry[:3], dry[3:6] = 0.4 * np.sign(qd[:3]), R.T @ (0.4 * np.sign(R @ qd[3:6]))
    assert relative(tau, ld.inverse_dynamics(MODEL, q, qd, qdd) + dry) < 1e-13
    assert relative(ld.forward_dynamics(SLIDING, q, qd, tau), qdd) < 1e-12
    three = (np.stack([a] * 3) for a in (q, qd, qdd))
    assert relative(ld.inverse_dynamics(SLIDING, *three), np.stack([tau] * 3)) < 1e-13
    given = np.arange(n) % 3 == 0
    both = ld.hybrid_dynamics(SLIDING, q, qd, qdd, tau, given)
    assert relative(both[0], qdd) < 1e-12 and relative(both[1], tau) < 1e-12

    def moved(e):
        return SLIDING.integrate(q, e)

    found = ld.inverse_dynamics_derivatives(SLIDING, q, qd, qdd)
    assert np.abs(found.dq - central(lambda e: ld.inverse_dynamics(SLIDING, moved(e), qd, qdd), n)).max() < 1e-8
    forward = ld.forward_dynamics_derivatives(SLIDING, q, qd, tau)
    assert np.abs(forward.dq - central(lambda e: ld.forward_dynamics(SLIDING, moved(e), qd, tau), n)).max() < 1e-7
    hybrid = ld.hybrid_dynamics_derivatives(SLIDING, q, qd, qdd, tau, given)
    for part, which in ((hybrid.dqdd_dq, 0), (hybrid.dtau_dq, 1)):
        change = central(lambda e, w=which: ld.hybrid_dynamics(SLIDING, moved(e), qd, qdd, tau, given)[w], n)
        assert np.abs(part - change).max() < 1e-7
    second = ld.inverse_dynamics_second_derivatives(SLIDING, q, qd, qdd).dq_dq
    plain = ld.inverse_dynamics_second_derivatives(MODEL, q, qd, qdd).dq_dq

    def bent(e):
        turned = ld.frame_pose(SLIDING, moved(e), "torso")[:3, :3]
        return turned.T @ (0.4 * np.sign(R @ qd[3:6]))

    h = 1e-3
    for j in range(3):
        for k in range(3):
            a, b = h * np.eye(n)[j], h * np.eye(n)[k]
            expected = (bent(a + b) - bent(a - b) - bent(b - a) + bent(-a - b)) / (4.0 * h * h)
            assert np.abs((second - plain)[3:6, j, k] - expected).max() < 1e-5
    turn = ld.inverse_dynamics_sensitivity(SLIDING, q, qd, qdd, ld.Parameter.q("f", 1))
    assert relative(turn, found.dq[:, 1]) < 1e-12
    parts = [ld.inverse_dynamics_sensitivity(SLIDING, q, qd, qdd, ld.Parameter.friction("f", k)) for k in range(6)]
    assert relative(0.4 * np.sum(parts, axis=0), dry) < 1e-13
    Y = regression(BARE, q, qd, qdd, ("friction",))
    assert relative(Y[:, -n:] @ BARE.limits.friction, dry) < 1e-13


@pytest.mark.parametrize("method", ["semi_implicit", pytest.param("rkmk4", marks=pytest.mark.slow)])
def test_a_sliding_body_stops_on_each_axis_of_the_world_by_itself(method):
    builder = ld.ModelBuilder()
    builder.add("box", None, free(), inertia=ld.SpatialInertia(2.0, [0, 0, 0], 0.1 * np.eye(3)), friction=1.0)
    model = builder.build().with_joint_terms(friction=True).with_gravity([0.0, 0.0, 0.0])
    q = np.array([0.0, 0.0, np.sin(0.3), np.cos(0.3), 0.0, 0.0, 0.0])
    R = ld.frame_pose(model, q, "box")[:3, :3]
    end = simulate(model, q, np.r_[0, 0, 0, R.T @ [1.0, 0.25, 0.0]], duration=1.0, step=2e-3, method=method)
    reached, speed = end.q[-1, 4:], R @ end.qd[-1, 3:]
    assert np.allclose(speed, [0.5, 0.0, 0.0], atol=2e-3) and np.allclose(reached, [0.75, 0.0625, 0.0], atol=2e-3)


def test_linearized_steps_of_a_sliding_body(state):
    q, qd, _ = state
    n, tau = MODEL.nv, np.ones(MODEL.nv)
    joints = JointPhysics.from_model(BARE, stops=False).changed(friction_speed=0.3)
    for integrator in ("semi_implicit", "rkmk4"):
        found = linearize(BARE, q, qd, tau, 0.01, integrator, joints=joints)

        def after(e, integrator=integrator):
            settings = {"duration": 0.01, "step": 0.01, "joints": joints, "method": integrator}
            return simulate(BARE, BARE.integrate(q, e[:n]), qd + e[n:], tau, **settings).qd[-1]

        assert np.abs(found.A[n:] - central(after, 2 * n)).max() < 1e-7


@pytest.mark.parametrize(
    ("method", "seconds"),
    [("rkmk4", 0.06), *(pytest.param(method, 1.0, marks=pytest.mark.slow) for method in ("semi_implicit", "rkmk4"))],
)
def test_a_spinning_body_without_forces_goes_straight(method, seconds):
    builder = ld.ModelBuilder()
    builder.add("ball", None, free(), inertia=ld.SpatialInertia(1.0, [0, 0, 0], 0.1 * np.eye(3)), armature=A)
    model = builder.build().with_joint_terms(armature=True).with_gravity([0.0, 0.0, 0.0])
    q, qd = model.neutral(), np.array([0.3, -0.2, 1.0, 0.5, 0.1, 0.2])
    end = simulate(model, q, qd, duration=seconds, step=1e-3, method=method)
    R = ld.frame_pose(model, end.q[-1], "ball")[:3, :3]
    assert np.abs(R @ end.qd[-1, 3:] - qd[3:]).max() < {"semi_implicit": 1e-3, "rkmk4": 1e-12}[method]


def test_linearized_steps_are_differences_of_steps(state):
    q, qd, _ = state
    n, tau = MODEL.nv, np.ones(MODEL.nv)
    found = linearize(MODEL, q, qd, tau, 0.01)

    def after(e):
        return simulate(MODEL, q, qd + e, tau, duration=0.01, step=0.01).qd[-1]

    moved = central(after, n)
    assert np.abs(found.A[n:, n:] - moved).max() < 1e-8
