"""Springs on joints: a parallelogram against its equation of one angle, MuJoCo, energy, differences, virtual work."""

import warnings

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, InputError
from lie_dynamics_ros.lie_dynamics.simulation import linearize, simulate, simulate_constrained

MJCF = """<mujoco><option timestep="1e-4" integrator="RK4"/><worldbody><body name="a" pos="0 0 1">
<joint name="hinge" axis="0 1 0" stiffness="7" springref="25" damping="0.3" ref="10"/>
<geom type="box" size=".1 .05 .2" pos="0 0 -.2" contype="0" conaffinity="0"/>
<body name="b" pos="0 0 -.4"><joint name="slide" type="slide" axis="1 0 .2" stiffness="60" springref=".05" damping="1"/>
<geom type="sphere" size=".1" contype="0" conaffinity="0"/></body></body></worldbody></mujoco>"""
SPRINGS = {0: (3.0, 0.4), 1: (5.0, -0.9), 2: (2.0, 1.1)}


def with_springs(robot):
    names = robot.model.joint_names
    return robot.model.with_springs({names[k]: spring for k, spring in SPRINGS.items()})


@pytest.fixture(name="loop", scope="module")
def _loop():
    robot = five_bar()
    model = with_springs(robot)
    rng = np.random.default_rng(5)
    qd = ld.consistent_velocity(model, robot.constraints, robot.q, rng.normal(size=model.nv))
    return model, robot.constraints, robot.q, qd, rng.normal(size=model.nv)


def test_springs_of_mjcf_are_those_of_mujoco(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ld.Model.from_mjcf(MJCF).with_joint_terms(damping=True, springs=True)
    there = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(there)
    for _ in range(5):
        data.qpos[:], data.qvel[:] = q, qd = rng.normal(size=(2, 2))
        mujoco.mj_forward(there, data)
        assert ld.forward_dynamics(model, q, qd, [0.0, 0.0]) == pytest.approx(data.qacc, rel=1e-11, abs=1e-11)
        assert ld.potential_energy(model, q) - ld.potential_energy(model.with_joint_terms(), q) == pytest.approx(
            0.5 * 7.0 * (q[0] - np.deg2rad(25.0)) ** 2 + 0.5 * 60.0 * (q[1] - 0.05) ** 2, rel=1e-12
        )
    data.qpos[:], data.qvel[:] = [0.5, 0.1], [0.0, 0.0]
    mujoco.mj_step(there, data, 3000)
    end = simulate(model, [0.5, 0.1], [0.0, 0.0], duration=0.3, step=1e-3, method="rkmk4").q[-1]
    assert end == pytest.approx(data.qpos, abs=1e-8)
    assert ld.gravity_force(model, q) == pytest.approx(ld.gravity_force(model.with_joint_terms(), q), abs=1e-14)
    slopes = ld.gravity_force_derivatives(model, q), ld.gravity_force_derivatives(model.with_joint_terms(), q)
    assert slopes[0] == pytest.approx(slopes[1], abs=1e-14)


def test_what_has_no_spring_says_so():
    loose = '<joint name="loose" type="free" stiffness="3"/><geom size=".1" contype="0" conaffinity="0"/>'
    with pytest.warns(DescriptionWarning, match="springs of free joints 'loose'"):
        ld.Model.from_mjcf(f"<mujoco><worldbody><body>{loose}</body></worldbody></mujoco>")
    with pytest.raises(DescriptionError, match="'ball': a spherical joint has no spring"):
        ld.ModelBuilder().add("ball", joint=ld.joint_types.spherical(), stiffness=1.0)
    robot = four_bar()
    name = robot.model.joint_names[0]
    for bad in ((-1.0, 0.0), (1.0, np.nan), (1.0,)):
        with pytest.raises(InputError, match=f"springs: joint '{name}'"):
            robot.model.with_springs({name: bad})
    with pytest.raises(InputError, match="a mapping of joints' names"):
        robot.model.with_springs([(name, 1.0, 0.0)])


def test_springs_of_sdf():
    inertia = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
    spring = "<dynamics><damping>.5</damping><spring_stiffness>8</spring_stiffness>"
    spring += "<spring_reference>-.3</spring_reference></dynamics>"
    text = f"""<sdf version="1.9"><model name="m"><link name="a">{inertia}</link><joint name="j" type="revolute">
    <parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz>{spring}</axis></joint></model></sdf>"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ld.Model.from_sdf(text)
    assert ld.inverse_dynamics(model.with_joint_terms(springs=True), [0.2], [0.0], [0.0]) == pytest.approx(8.0 * 0.5)
    assert (ld.inverse_dynamics(model, [0.2], [0.0], [0.0]) == 0.0).all()


def test_a_parallelogram_with_springs_swings_like_its_pendulum():
    """Rods of 1 kg: (2/3 + 1) m a^2 th'' = -2 m g a cos(th) - sum k (q - q0) dq/dth; joints turn by th and -th."""
    a, duration = 0.3, 0.5
    robot = four_bar((1.0, a, 1.0, a), crank=0.6)
    model = with_springs(robot)
    turns = ld.consistent_velocity(model, robot.constraints, robot.q, [1.0, 0.0, 0.0])
    turns = np.round(turns / turns[0])
    assert set(np.abs(turns)) == {1.0}

    def slope(_t, y):
        moment = sum(-k * (robot.q[j] + turns[j] * (y[0] - 0.6) - rest) * turns[j] for j, (k, rest) in SPRINGS.items())
        return y[1], (moment - 2.0 * 9.81 * a * np.cos(y[0])) / (5.0 / 3.0 * a * a)

    end = solve_ivp(slope, (0.0, duration), [0.6, 0.0], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    motion = simulate_constrained(model, robot.constraints, robot.q, np.zeros(3), duration=duration)
    assert motion.q[-1, 0] == pytest.approx(end[0], abs=1e-7)
    assert motion.qd[-1, 0] == pytest.approx(end[1], abs=1e-6)
    energy = ld.kinetic_energy(model, motion.q, motion.qd) + ld.potential_energy(model, motion.q)
    assert np.ptp(energy) < 1e-6 * np.ptp(ld.potential_energy(model, motion.q))


def test_efforts_are_virtual_work_and_dynamics_agree(loop):
    """A motor holds what the springs of all joints do along its motion; forward and hybrid dynamics give it back."""
    model, constraints, q, qd, push = loop
    bare = model.with_joint_terms()
    names = model.joint_names[:2]
    motors = np.isin(model.joint_names, [names[0], model.joint_names[2]])
    qdd = ld.consistent_acceleration(model, constraints, q, qd, push)
    found = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=motors)
    without = ld.constrained_inverse_dynamics(bare, constraints, q, qd, qdd, actuated=motors)
    pull = np.zeros(model.nv)
    for k, (stiffness, rest) in SPRINGS.items():
        pull[k] = stiffness * (q[k] - rest)
    for along in np.eye(model.nv):
        way = ld.consistent_velocity(model, constraints, q, along)
        assert (found.tau - without.tau) @ way == pytest.approx(pull @ way, abs=1e-10)
    again = ld.constrained_forward_dynamics(model, constraints, q, qd, found.tau)
    assert again.qdd == pytest.approx(qdd, abs=1e-9)
    mixed = ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, np.zeros(model.nv), motors)
    assert mixed.tau == pytest.approx(found.tau, abs=1e-9)


def test_derivatives_are_those_of_differences(loop):
    model, constraints, q, qd, push = loop
    forward = ld.constrained_forward_derivatives(model, constraints, q, qd, push)
    inverse = ld.constrained_inverse_derivatives(model, constraints, q, qd, push)
    tree = ld.inverse_dynamics_derivatives(model, q, qd, push)
    h = 1e-6
    for k, unit in enumerate(h * np.eye(model.nv)):
        ends = [ld.constrained_forward_dynamics(model, constraints, q + s * unit, qd, push).qdd for s in (-1, 1)]
        assert forward.qdd.dq[:, k] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-5, abs=1e-5)
        ends = [ld.constrained_inverse_dynamics(model, constraints, q + s * unit, qd, push).tau for s in (-1, 1)]
        assert inverse.tau.dq[:, k] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-5, abs=1e-5)
        ends = [ld.inverse_dynamics(model, q + s * unit, qd, push) for s in (-1, 1)]
        assert tree.dq[:, k] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("method", ["semi_implicit", "rkmk4"])
def test_steps_are_linearized_with_springs(loop, method):
    model, _, q, qd, push = loop
    found = linearize(model, q, qd, push, 1e-3, integrator=method)
    h, n = 1e-6, model.nv
    for k, unit in enumerate(h * np.eye(n)):
        ends = [simulate(model, q + s * unit, qd, push, duration=1e-3, step=1e-3, method=method) for s in (-1, 1)]
        rate = (ends[1].qd[-1] - ends[0].qd[-1]) / (2 * h)
        assert found.A[n:, k] == pytest.approx(rate, abs=1e-6)


def test_followers_bring_their_springs_along():
    """Springs of a leader and of what follows it with ratio -2 and offset 0.3 act as one."""
    builder = ld.ModelBuilder()
    builder.add("a", joint=ld.joint_types.revolute([0, 0, 1]), stiffness=3.0, spring_reference=0.2)
    builder.add(
        "b", "a", ld.joint_types.revolute([0, 0, 1]), mimic=("a", -2.0, 0.3), stiffness=5.0, spring_reference=0.7
    )
    full = builder.build().with_joint_terms(springs=True)
    coupled = full.with_coupled_mimics()
    for model in (coupled, builder.build().with_coupled_mimics().with_joint_terms(springs=True)):
        force = ld.inverse_dynamics(model, [0.9], [0.0], [0.0])
        assert force == pytest.approx(3.0 * 0.7 - 2.0 * 5.0 * (-1.8 + 0.3 - 0.7), rel=1e-12)
