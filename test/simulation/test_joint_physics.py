"""Damping, friction and stops against closed forms; prescribed accelerations; determinism; bad input."""

from pathlib import Path

import numpy as np
import pytest
from simulation_robots import mixed_tree, pendulum, slider, state
from support import sample_trees

import lie_dynamics_ros
from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.errors import GroupError, InputError, SimulationError, SingularityError
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, Simulator, simulate

METHODS = ["semi_implicit", "rkmk4", "variational"]


def physics(model, **values):
    arrays = {k: v if k == "friction_speed" else np.full(model.nv, v, float) for k, v in values.items()}
    return JointPhysics.none(model).changed(**arrays)


@pytest.mark.parametrize("method", METHODS)
def test_damping_slows_exponentially(method):
    model = slider(2.0)
    motion = simulate(model, [0.0], [3.0], duration=1.0, method=method, joints=physics(model, damping=4.0))
    assert motion.qd[-1, 0] == pytest.approx(3.0 * np.exp(-2.0), rel=3e-3 if method == "semi_implicit" else 1e-6)


def test_any_damping_is_stable_with_implicit_steps():
    model = pendulum()
    motion = simulate(model, [1.0, 0.5], [0, 0], duration=0.5, step=1e-2, joints=physics(model, damping=1e6))
    assert np.abs(motion.qd).max() < 1e-3


def test_a_sliding_box_stops_where_it_should_and_stays():
    """v^2 = 2 (f / m) d; then at rest to the bit, also under a force below f."""
    model, joints = slider(2.0), physics(slider(2.0), friction=3.0)
    motion = simulate(model, [0.0], [1.0], duration=1.0, step=1e-4, joints=joints)
    assert motion.q[-1, 0] == pytest.approx(1.0 / (2 * 1.5), rel=1e-3)
    assert (motion.qd[6700:] == 0.0).all() and (motion.q[6700:] == motion.q[-1]).all()
    held = simulate(model, [0.0], [0.0], [2.999], duration=1.0, joints=joints)
    assert (held.qd == 0.0).all() and (held.q == 0.0).all()
    pushed = simulate(model, [0.0], [0.0], [5.0], duration=1.0, joints=joints)
    assert np.allclose(pushed.qd[:, 0], pushed.time * (5.0 - 3.0) / 2.0, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("method", ["rkmk4", "variational"])
def test_regularised_friction_creeps_below_its_speed(method):
    model = slider(2.0)
    joints = physics(model, friction=3.0, friction_speed=1e-2)
    held = simulate(model, [0.0], [0.0], [2.0], duration=1.0, method=method, joints=joints)
    assert held.qd[-1, 0] == pytest.approx(1e-2 * 2.0 / np.sqrt(9.0 - 4.0), rel=1e-3)


def test_friction_in_a_chain_only_takes_energy_and_obeys_coulombs_law():
    model = pendulum(4)
    joints = physics(model, friction=6.0)
    motion = simulate(model, [1.2, -0.5, 0.8, 0.3], np.zeros(4), duration=15.0, step=2e-4, joints=joints)
    E = ld.kinetic_energy(model, motion.q, motion.qd) + ld.potential_energy(model, motion.q)
    assert np.diff(E).max() < 1e-4 * (E[0] - E[-1])
    assert (motion.qd[-1] == 0.0).all()  # hangs at an angle that friction can hold
    friction = ld.inverse_dynamics(model, motion.q[:-1], motion.qd[:-1], np.diff(motion.qd, axis=0) / 2e-4)
    assert np.abs(friction).max() <= 6.0 * (1 + 1e-6)
    slipping = motion.qd[1:] != 0.0
    assert np.allclose(friction[slipping], -6.0 * np.sign(motion.qd[1:][slipping]), atol=1e-6)
    both = slipping.any(axis=1) & ~slipping.all(axis=1)
    assert both.sum() > 100  # some joints stuck while others moved


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_holds_a_joint_at_the_depth_that_its_stiffness_gives(method):
    model = slider(2.0)
    joints = physics(model, upper=0.1, lower=-1.0, stop_stiffness=5e3, stop_damping=200.0, damping=1.0)
    motion = simulate(model, [0.0], [0.0], [10.0], duration=2.0, step=5e-4, method=method, joints=joints)
    assert motion.q[-1, 0] == pytest.approx(0.1 + 10.0 / 5e3, abs=1e-6)
    assert motion.q.max() < 0.12
    back = simulate(model, [0.102], [0.0], [-1.0], duration=0.05, step=5e-4, method=method, joints=joints)
    assert back.qd[-1, 0] < 0.0  # the stop lets go


def test_stops_from_limits_hold_full_effort_at_any_step():
    model = _panda()
    joints = JointPhysics.from_model(model)
    limits = model.limits
    for sign in (1.0, -1.0):
        for step in (1e-3, 5e-3):
            q = 0.5 * (limits.lower + limits.upper)
            motion = simulate(model, q, np.zeros(7), sign * limits.effort, duration=4.0, step=step, joints=joints)
            beyond = np.maximum(motion.q[-1] - limits.upper, limits.lower - motion.q[-1])
            assert beyond.max() < 0.02
            assert np.abs(motion.qd[-1]).max() < 1e-2


def _panda():
    return ld.Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")


@pytest.mark.parametrize("method", METHODS)
def test_prescribed_accelerations_are_followed_and_their_forces_drive_the_same_motion(method):
    model = mixed_tree()
    q, qd = state(model, 21, 0.3)
    rng = np.random.default_rng(4)
    given = rng.random(model.nv) < 0.5
    qdd, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    joints = physics(model, damping=0.3)
    step = 1e-4
    motion = simulate(
        model, q, qd, tau, duration=0.05, step=step, method=method, joints=joints, qdd=qdd, prescribed=given
    )
    assert np.allclose(motion.qd[-1][given], (qd + 0.05 * qdd)[given], rtol=1e-10, atol=1e-12)
    replay = simulate(model, q, qd, motion.tau, duration=0.05, step=step, method=method, joints=joints)
    allowed = {"semi_implicit": 1e-4, "rkmk4": 1e-3, "variational": 1e-4}[method]  # forces are held over each step
    assert np.abs(model.difference(motion.q[-1], replay.q[-1])).max() < allowed
    loss = np.where(given, 0.0, -joints.damping * qd)
    expected = ld.hybrid_dynamics(model, q, qd, qdd, tau + loss, given)[1] + np.where(given, joints.damping * qd, -loss)
    assert np.abs(motion.tau[0] - expected).max() < {"variational": 5e-3}.get(method, 2e-4) * np.abs(expected).max()


@pytest.mark.parametrize("method", METHODS)
def test_same_bits_again_and_in_pieces(method):
    model = mixed_tree()
    q, qd = state(model, 31)
    tau = np.random.default_rng(0).normal(size=(40, model.nv))
    dry = np.full(model.nv, 0.2)
    for joint in model.joints:
        if joint.kind == "free":  # along whose position friction acts along the axes of the world
            dry[joint.v_slice.start + 3 : joint.v_slice.stop] = 0.0
    joints = physics(model, damping=0.1, friction=dry)
    whole = simulate(model, q, qd, tau, duration=0.04, method=method, joints=joints)
    again = simulate(model, q, qd, tau, duration=0.04, method=method, joints=joints)
    assert (whole.q == again.q).all() and (whole.qd == again.qd).all()
    pieces = Simulator(model, q, qd, method=method, joints=joints)
    for row in tau:
        pieces.advance(row)
    asked = simulate(model, q, qd, lambda t, _q, _qd: tau[round(t / 1e-3)], duration=0.04, method=method, joints=joints)
    for other in (pieces.q, asked.q[-1]):
        if method == "variational":  # a fresh call starts its Newton iteration elsewhere
            assert np.allclose(other, whole.q[-1], rtol=0, atol=1e-9)
        else:
            assert (other == whole.q[-1]).all()
    assert pieces.time == pytest.approx(0.04)


def test_external_wrench_acts_in_the_body_frame():
    box = ld.SpatialInertia(2.0, np.zeros(3), np.eye(3))
    model = ld.ModelBuilder((0, 0, 0)).add("box", joint=ld.joint_types.free(), inertia=box).build("box")
    for method in METHODS:
        motion = simulate(
            model, model.neutral(), np.zeros(6), duration=1.0, method=method, f_ext=[[0, 0, 0, 4.0, 0, 0]]
        )
        assert motion.q[-1, 4] == pytest.approx(1.0, rel=2e-3)


def test_user_defined_and_coupled_joints_take_the_general_way():
    rng = np.random.default_rng(5)
    custom = sample_trees.to_model(sample_trees.chain(rng, ["revolute", "custom_rail"]))
    q, qd = state(custom, 2, 0.3)
    motion = simulate(custom, q, qd, duration=0.3, method="rkmk4")
    E = ld.kinetic_energy(custom, motion.q, motion.qd) + ld.potential_energy(custom, motion.q)
    assert np.ptp(E) < 1e-7 * np.abs(E).max()
    damped = simulate(custom, q, qd, duration=0.1, joints=physics(custom, damping=2.0))
    assert ld.kinetic_energy(custom, damped.q, damped.qd)[-1] < ld.kinetic_energy(custom, motion.q, motion.qd)[100]
    with pytest.raises(InputError, match="variational"):
        simulate(custom, q, qd, duration=0.1, method="variational")


def test_joint_terms_of_the_model_count():
    model = slider(2.0)
    terms = ld.ModelBuilder((0, 0, 0)).add(
        "box", joint=ld.joint_types.prismatic([1, 0, 0]), inertia=ld.SpatialInertia(1.5, np.zeros(3), np.eye(3)),
        damping=4.0, armature=0.5,
    ).build("slider").with_joint_terms(armature=True, damping=True)  # fmt: skip
    for method in METHODS:
        a = simulate(model, [0.0], [3.0], duration=0.1, method=method, joints=physics(model, damping=4.0))
        b = simulate(terms, [0.0], [3.0], duration=0.1, method=method)
        assert b.q[-1] == pytest.approx(a.q[-1], rel=1e-12)


def test_bad_input_is_refused_by_name():
    model = mixed_tree()
    q, qd = state(model, 1)
    for arguments, error, said in [
        ({"method": "euler"}, InputError, "method"),
        ({"step": 0.0}, InputError, "step"),
        ({"tau": np.zeros(3)}, InputError, "tau"),
        ({"tau": np.full(model.nv, np.nan)}, InputError, "joint revolute 0"),
        ({"qd": qd * np.inf}, InputError, "qd"),
        ({"q": 2 * q}, GroupError, "quaternion"),
        ({"f_ext": np.zeros((2, 6))}, InputError, "f_ext"),
        ({"prescribed": [True]}, InputError, "prescribed"),
        ({"tau": np.full(model.nv, 1e200)}, SimulationError, "bounds"),
    ]:
        with pytest.raises(error, match=said):
            simulate(**{"model": model, "q": q, "qd": qd, "duration": 0.01, **arguments})
    with pytest.raises(InputError, match="friction"):
        physics(model, friction=-1.0)
    with pytest.raises(SimulationError, match="no solution"):
        simulate(model, q, 500 * qd, duration=0.1, step=0.1, method="variational")
    massless = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute([1, 0, 0])).build("massless")
    with pytest.raises(SingularityError, match="a"):
        simulate(massless, [0.0], [0.0], duration=0.01)
