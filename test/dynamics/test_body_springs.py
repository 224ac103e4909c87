"""Springs and dampers between bodies: MuJoCo's spatial tendons, energy, differences, loops by virtual work."""

import pickle
import warnings

import mujoco
import numpy as np
import pytest

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints import (
    consistent_acceleration,
    consistent_velocity,
    constrained_forward_derivatives,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_derivatives,
    constrained_inverse_dynamics,
)
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, InputError
from lie_dynamics_ros.lie_dynamics.lie import SpatialInertia, so3
from lie_dynamics_ros.lie_dynamics.simulation import linearize, simulate

GEOM = 'contype="0" conaffinity="0"'
MJCF = f"""<mujoco><option timestep="1e-4" integrator="RK4"/><worldbody><site name="hook" pos=".3 .1 1.4"/>
<body name="a" pos="0 0 1"><joint name="ball" type="ball"/><geom type="box" size=".1 .05 .2" pos="0 0 -.2" {GEOM}/>
<site name="side" pos=".1 .05 -.1"/>
<body name="b" pos="0 0 -.4"><joint name="hinge" axis="0 1 0"/><geom type="sphere" size=".1" {GEOM}/>
<body name="c" pos=".1 0 -.2"><joint name="slide" type="slide" axis="1 0 .2"/><geom type="sphere" size=".08" {GEOM}/>
<site name="tip" pos="0 .1 -.1"/></body></body></body>
<body name="d" pos=".6 0 .6"><joint name="loose" type="free"/><geom type="box" size=".1 .1 .05" {GEOM}/>
<site name="eye" pos=".05 0 .05"/></body></worldbody><tendon>
<spatial name="shock" stiffness="90" damping="4" springlength=".35"><site site="side"/><site site="tip"/></spatial>
<spatial name="rope" stiffness="40" damping="1" springlength="0 .2"><site site="tip"/><site site="eye"/></spatial>
<spatial name="hanger" stiffness="70" springlength=".3"><site site="hook"/><site site="eye"/></spatial>
</tendon></mujoco>"""


@pytest.fixture(name="both", scope="module")
def _both():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ld.Model.from_mjcf(MJCF), mujoco.MjModel.from_xml_string(MJCF)


def state(model, there, rng):
    """The same random state of both: MuJoCo's quaternions have w first, its free joints turn in the body's axes."""
    q, qd = model.integrate(model.neutral(), 0.5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    place = model.joint("loose").q_slice
    q[place][4:] += [0.6, 0.0, 0.6]
    data = mujoco.MjData(there)
    for joint in model.joints:
        part = q[joint.q_slice]
        if joint.kind in ("spherical", "free"):
            turn = np.roll(part[:4], 1)
            part = turn if joint.kind == "spherical" else np.concatenate([part[4:], turn])
        at = there.jnt_qposadr[there.joint(joint.name).id]
        data.qpos[at : at + len(part)] = part
        rate = qd[joint.v_slice]
        if joint.kind == "free":
            R = ld.frame_pose(model, q, joint.body)[:3, :3]
            rate = np.concatenate([R @ rate[3:], rate[:3]])
        at = there.jnt_dofadr[there.joint(joint.name).id]
        data.qvel[at : at + len(rate)] = rate
    return q, qd, data


def test_tendons_are_those_of_mujoco(both, rng):
    model, there = both
    assert [spring.name for spring in model.body_springs] == ["shock", "rope", "hanger"]
    bare, full = model.with_joint_terms(), model.with_joint_terms(damping=True, springs=True)
    slack = 0
    for _ in range(6):
        q, qd, data = state(model, there, rng)
        mujoco.mj_forward(there, data)
        force = ld.inverse_dynamics(full, q, qd, np.zeros(model.nv)) - ld.inverse_dynamics(
            bare, q, qd, np.zeros(model.nv)
        )
        for joint in model.joints:
            at = there.jnt_dofadr[there.joint(joint.name).id]
            expected = -data.qfrc_passive[at : at + joint.type.nv]
            if joint.kind == "free":
                R = ld.frame_pose(model, q, joint.body)[:3, :3]
                expected = np.concatenate([expected[3:], R.T @ expected[:3]])
            assert force[joint.v_slice] == pytest.approx(expected, rel=1e-10, abs=1e-10)
        low, high = there.tendon_lengthspring.T
        beyond = data.ten_length - np.clip(data.ten_length, low, high)
        slack += int((beyond == 0.0).sum())
        assert ld.potential_energy(full, q) - ld.potential_energy(bare, q) == pytest.approx(
            0.5 * there.tendon_stiffness @ beyond**2, rel=1e-11
        )
        tau = rng.normal(size=model.nv)
        qdd = ld.forward_dynamics(full, q, qd, tau)
        assert ld.inverse_dynamics(full, q, qd, qdd) == pytest.approx(tau, abs=1e-9)
        given = np.arange(model.nv) % 2 == 0
        mixed = ld.hybrid_dynamics(full, q, qd, qdd, tau, given)
        assert mixed[0] == pytest.approx(qdd, abs=1e-8) and mixed[1] == pytest.approx(tau, abs=1e-8)
    assert np.array_equal(
        ld.inverse_dynamics(pickle.loads(pickle.dumps(full)), q, qd, qdd), ld.inverse_dynamics(full, q, qd, qdd)
    )
    many = np.stack([q, model.neutral()])
    assert ld.inverse_dynamics(full, many, np.stack([qd, qd]), np.stack([qdd, qdd]))[0] == pytest.approx(
        ld.inverse_dynamics(full, q, qd, qdd), abs=1e-12
    )


def test_derivatives_are_those_of_differences(both, rng):
    model = both[0].with_joint_terms(damping=True, springs=True)
    q, qd, _ = state(*both, rng)
    qdd, h = rng.normal(size=model.nv), 1e-6
    inverse = ld.inverse_dynamics_derivatives(model, q, qd, qdd)
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    forward = ld.forward_dynamics_derivatives(model, q, qd, tau)
    for k, unit in enumerate(h * np.eye(model.nv)):
        for found, at in (
            (inverse.dq, lambda s, u=unit: ld.inverse_dynamics(model, model.integrate(q, s * u), qd, qdd)),
            (inverse.dqd, lambda s, u=unit: ld.inverse_dynamics(model, q, qd + s * u, qdd)),
            (forward.dq, lambda s, u=unit: ld.forward_dynamics(model, model.integrate(q, s * u), qd, tau)),
            (forward.dqd, lambda s, u=unit: ld.forward_dynamics(model, q, qd + s * u, tau)),
        ):
            expected = (at(1) - at(-1)) / (2 * h)
            assert found[:, k] == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(found).max())
    for method in ("semi_implicit", "rkmk4"):
        step = linearize(model, q, qd, tau, 1e-3, integrator=method)
        for k, unit in enumerate(h * np.eye(model.nv)):
            ends = [
                simulate(model, model.integrate(q, s * unit), qd, tau, duration=1e-3, step=1e-3, method=method).qd[-1]
                for s in (-1, 1)
            ]
            assert step.A[model.nv :, k] == pytest.approx((ends[1] - ends[0]) / (2 * h), abs=1e-5)
    with pytest.raises(InputError, match="second derivatives know no springs between bodies"):
        ld.inverse_dynamics_second_derivatives(model, q, qd, qdd)


def bare(model):
    """The model with the springs, but not the dampers."""
    return model.with_joint_terms(springs=True)


def test_energy_goes_into_dampers_alone(both):
    model = both[0]
    q = model.neutral()
    q[model.joint("loose").q_slice][4:] += [0.6, 0.0, 0.5]
    for damped in (False, True):
        full = model.with_joint_terms(springs=True, damping=damped)
        motion = simulate(full, q, np.ones(model.nv), duration=0.03, step=1e-3, method="rkmk4")
        energy = ld.kinetic_energy(full, motion.q, motion.qd) + ld.potential_energy(full, motion.q)
        power = [v @ (ld.inverse_dynamics(full, x, v, 0 * v) - ld.inverse_dynamics(bare(full), x, v, 0 * v))
                 for x, v in zip(motion.q, motion.qd, strict=True)]  # fmt: skip
        lost = np.trapezoid(power, motion.time)
        assert energy[0] - energy[-1] == pytest.approx(lost, abs=3e-5)
        assert lost > 0.01 if damped else lost == 0.0


def test_in_loops(rng):
    """A spring from crank to crank of a five-bar: motors hold it by virtual work, dynamics and derivatives agree."""
    robot = five_bar()
    first, second = robot.model.body_names[0], robot.model.body_names[-1]
    spring = ld.BodySpring(first, second, 300.0, 0.1, 5.0, first_point=[0.1, 0.0, 0.02], second_point=[0.05, 0.01, 0.0])
    model, constraints, q = robot.model.with_body_springs([spring]), robot.constraints, robot.q

    def length(x):
        ends = [ld.frame_pose(model, x, frame) for frame, _ in spring.ends]
        a, b = (T[:3, :3] @ point + T[:3, 3] for T, (_, point) in zip(ends, spring.ends, strict=True))
        return np.linalg.norm(b - a)

    qd = consistent_velocity(model, constraints, q, rng.normal(size=model.nv))
    qdd = consistent_acceleration(model, constraints, q, qd, rng.normal(size=model.nv))
    motors = list(robot.actuated)
    found = constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=motors)
    without = constrained_inverse_dynamics(robot.model, constraints, q, qd, qdd, actuated=motors)
    h = 1e-6

    def rate(way):
        return (length(model.integrate(q, h * way)) - length(model.integrate(q, -h * way))) / (2 * h)

    pull = 300.0 * (length(q) - 0.1) + 5.0 * rate(qd)
    for along in np.eye(model.nv):
        way = consistent_velocity(model, constraints, q, along)
        assert (found.tau - without.tau) @ way == pytest.approx(pull * rate(way), abs=1e-6)
    again = constrained_forward_dynamics(model, constraints, q, qd, found.tau)
    assert again.qdd == pytest.approx(qdd, abs=1e-8)
    mixed = constrained_hybrid_dynamics(model, constraints, q, qd, qdd, np.zeros(model.nv), motors)
    assert mixed.tau == pytest.approx(found.tau, abs=1e-8)
    forward = constrained_forward_derivatives(model, constraints, q, qd, found.tau)
    inverse = constrained_inverse_derivatives(model, constraints, q, qd, qdd)
    for k, unit in enumerate(h * np.eye(model.nv)):
        ends = [constrained_forward_dynamics(model, constraints, q + s * unit, qd, found.tau).qdd for s in (-1, 1)]
        assert forward.qdd.dq[:, k] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-5, abs=1e-3)
        ends = [constrained_inverse_dynamics(model, constraints, q, qd + s * unit, qdd).tau for s in (-1, 1)]
        assert inverse.tau.dqd[:, k] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-5, abs=1e-5)


BALL = f"""<mujoco><worldbody><body name="a" pos="0 0 1" quat=".9 .1 -.2 .3">
<joint name="hip" type="hinge" axis="0 1 0"/><geom type="box" size=".1 .05 .2" pos="0 0 -.2" {GEOM}/>
<body name="b" pos="0 .1 -.4" quat=".8 .3 .1 -.2"><joint name="ball" type="ball" stiffness="12" damping="0.7"/>
<geom type="box" size=".1 .2 .05" pos=".1 0 0" {GEOM}/>
</body></body></worldbody></mujoco>"""


def test_torsion_springs_are_those_of_mujoco_s_balls(rng):
    """Across its ball; elsewhere forces are slopes of the energy, and slopes those of differences."""
    there = mujoco.MjModel.from_xml_string(BALL)
    there.qpos_spring[1:] = [0.9, 0.1, 0.2, np.sqrt(0.14)]
    rigid = ld.Model.from_mjcf(there)
    (spring,) = rigid.body_springs
    placed, rest = (so3.from_quaternion(np.roll(x, -1)) for x in (there.body_quat[2], there.qpos_spring[1:]))
    assert (spring.first, spring.second, spring.stiffness, spring.name) == ("a", "b", 12.0, "ball")
    assert np.abs(spring.rest - placed @ rest).max() < 1e-12
    model = rigid.with_joint_terms(springs=True, damping=True)
    zero = np.zeros(4)
    for _ in range(5):
        q, qd = rigid.integrate(rigid.neutral(), rng.normal(size=4)), rng.normal(size=4)
        data = mujoco.MjData(there)
        data.qpos[:], data.qvel[:] = np.concatenate([q[:1], np.roll(q[1:], 1)]), qd
        mujoco.mj_forward(there, data)
        force = ld.inverse_dynamics(model, q, qd, zero) - ld.inverse_dynamics(rigid, q, qd, zero)
        assert force == pytest.approx(-data.qfrc_passive, abs=1e-12)
    turn = so3.exp([0.3, -0.2, 0.4])
    line = ld.BodySpring("world", "b", 60.0, 0.3, second_point=[0.1, 0.2, 0.0])
    springs = [ld.TorsionSpring("world", "b", 5.0, turn), line]
    model, h = rigid.with_body_springs(springs), 1e-5
    tau = ld.inverse_dynamics(model, q, 0.0 * qd, zero) - ld.inverse_dynamics(rigid, q, 0.0 * qd, zero)
    more = ld.TorsionSpring("b", "world", 1.0, None, 3.0), ld.TorsionSpring("a", "b", 1.0)
    model = model.with_body_springs([*springs, *more])
    found = ld.inverse_dynamics_derivatives(model, q, qd, qd)
    for k, unit in enumerate(h * np.eye(4)):
        ends = [rigid.integrate(q, s * unit) for s in (-1, 1)]
        stored = [
            ld.potential_energy(rigid.with_body_springs(springs), x) - ld.potential_energy(rigid, x) for x in ends
        ]
        assert tau[k] == pytest.approx((stored[1] - stored[0]) / (2 * h), abs=1e-8)
        after = [ld.inverse_dynamics(model, x, qd, qd) for x in ends]
        assert found.dq[:, k] == pytest.approx((after[1] - after[0]) / (2 * h), abs=1e-6)
        after = [ld.inverse_dynamics(model, q, qd + s * unit, qd) for s in (-1, 1)]
        assert found.dqd[:, k] == pytest.approx((after[1] - after[0]) / (2 * h), abs=1e-6)


def test_what_is_left_out_or_refused(both):
    model = both[0]
    text = MJCF.replace('springlength=".3"', 'springlength=".3" frictionloss="1"')
    with pytest.warns(DescriptionWarning, match="tendons 'hanger'"):
        assert len(ld.Model.from_mjcf(text).body_springs) == 2
    for arguments, words in (
        ({"stiffness": -1.0}, "spring 'a-b': stiffness: a finite number"),
        ({"rest": (0.2, 0.1)}, "rest: .* two that ascend"),
        ({"damping": np.nan}, "damping: a finite"),
        ({"first_point": [0.0, 1.0]}, "first_point: three finite numbers"),
    ):
        with pytest.raises(DescriptionError, match=words):
            ld.BodySpring("a", "b", **arguments)
    for springs, words in (
        (3, "a sequence of BodySpring"),
        ([ld.BodySpring("a", "nowhere")], "'nowhere'"),
        ([ld.BodySpring("a", "side")], "spring 'a-side': ends on two bodies"),
    ):
        with pytest.raises(InputError, match=words):
            model.with_body_springs(springs)
    with pytest.raises(DescriptionError, match="spring 'shock': URDF has none"):
        model.to_urdf()
    for arguments, words in (
        ({"damping": -1.0}, "spring 'a-b': damping: a finite number"),
        ({"rest": 2.0 * np.eye(3)}, r"rest: a rotation \(3, 3\) expected"),
    ):
        with pytest.raises(DescriptionError, match=words):
            ld.TorsionSpring("a", "b", **arguments)
    builder = ld.ModelBuilder()
    one = SpatialInertia(1.0, np.zeros(3), np.eye(3))
    builder.add("a", joint=ld.joint_types.revolute([0, 0, 1]), inertia=one)
    builder.add("b", "a", ld.joint_types.revolute([0, 0, 1]), inertia=one, mimic=("a", 1.0, 0.0))
    T = np.eye(4)
    T[:3, 3] = 0.3, 0.1, 0.2
    builder.add("c", "b", ld.joint_types.revolute([1, 0, 0]), T, one)
    springs = [ld.BodySpring("a", "c", 90.0, 0.1, 3.0), ld.TorsionSpring("world", "c", 7.0, None, 2.0)]
    free = builder.build().with_body_springs(springs)
    q, qd, qdd = np.array([[0.3, 0.2], [0.4, -0.1], [0.5, 0.7]])
    wide = [x[[0, 0, 1]] for x in (q, qd, qdd)]  # b turns as a does
    for tied in (free.with_coupled_mimics(), builder.build().with_coupled_mimics().with_body_springs(springs)):
        tau = ld.inverse_dynamics(free, *wide)
        assert ld.inverse_dynamics(tied, q, qd, qdd) == pytest.approx([tau[0] + tau[1], tau[2]], abs=1e-12)
        assert ld.potential_energy(tied, q) == pytest.approx(ld.potential_energy(free, wide[0]), abs=1e-12)
        found = ld.inverse_dynamics_derivatives(tied, q, qd, qdd).dq
        for k, unit in enumerate(1e-6 * np.eye(2)):
            ends = [ld.inverse_dynamics(tied, q + s * unit, qd, qdd) for s in (-1, 1)]
            assert found[:, k] == pytest.approx((ends[1] - ends[0]) / 2e-6, abs=1e-6)
