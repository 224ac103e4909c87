"""The controller without ROS: its state machine, stops, changes at run time, limits, refusals, what it tells."""

import numpy as np
import pytest
from core_loop import EVERY, MIDDLE, ZERO, Loop, S, panda
from support.cores import options
from support.grids import every_run

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.errors import MessageError, ParameterError
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import (
    Model,
    coriolis_product,
    gravity_force,
    inverse_dynamics,
    mass_matrix,
)
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore
from lie_dynamics_ros.nodes.computed_torque.efforts import EffortLimiter
from lie_dynamics_ros.nodes.computed_torque.options import CONTROL_MODES
from lie_dynamics_ros.nodes.computed_torque.report import make_report
from lie_dynamics_ros.nodes.computed_torque.tool_options import TOOL_MODES

ALIGNED = np.array([0.3, 0.0, -0.4, -1.5, 0.2, 1.8, 0.5])


@pytest.mark.parametrize(
    ("rate", "delay", "mode"),  # in every run all modes come to rest in the next test
    every_run(
        [(250.0, 1, mode) for mode in ("computed_torque", "adaptive", "operational_space")],
        [(*loop, mode) for loop in ((250.0, 1), (1000.0, 0)) for mode in CONTROL_MODES],
    ),
)
def test_a_stop_brings_the_robot_to_rest_and_holds_it(mode, rate, delay):
    rng, limits = np.random.default_rng(len(mode)), panda().limits
    q = rng.uniform(0.8 * limits.lower, 0.8 * limits.upper)
    q[1] = 1e-3  # axes 1 and 3 line up
    loop = Loop(q, rng.uniform(-1, 1, 7) * limits.velocity, rate=rate, delay=delay, mode=mode)
    loop.core.stop("told to")
    loop.run(1.0)
    rest = loop.run(0.3)
    assert max(np.abs(a.velocity).max() for a in rest) < 1e-3
    assert np.ptp([a.total for a in rest], axis=0).max() < 0.1
    assert {(a.phase, a.reason) for a in rest} == {("stopped", "told to")}
    with pytest.raises(MessageError, match=r"after a stop \(told to\)"):
        loop.follow([1.0], [MIDDLE])
    assert "told to" in loop.core.hold()
    assert loop.step().phase == "holding"


WRIST = """<robot name="wrist"><link name="base"/><link name="ring"/><link name="fork"/><link name="hand"><inertial>
    <origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
    """ + "".join(
    f"""<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>
    <limit lower="-3" upper="3" effort="50" velocity="2"/></joint>"""
    for k, (parent, child, axis) in enumerate(
        [("base", "ring", "0 0 1"), ("ring", "fork", "0 1 0"), ("fork", "hand", "0 0 1")]
    )
) + "</robot>"  # fmt: skip


@pytest.mark.parametrize("mode", CONTROL_MODES)
def test_massless_links_whose_axes_line_up_are_controlled_and_stopped(mode):
    """No effort has a finite acceleration there: what asks for one does without."""
    core = ComputedTorqueCore(Model.from_urdf(WRIST), options(mode=mode))
    core.start()
    rest, stamps = np.zeros(3), iter(range(S, 4 * S, S // 500))
    core.answer(RobotState(next(stamps), rest, rest))
    if mode in ("computed_torque", "passivity_based", "adaptive"):
        core.follow(JointPoints(np.arange(3), np.array([0.01, 0.03]), np.array([[0.001] * 3, [0.0] * 3])))
        assert {core.answer(RobotState(next(stamps), rest, rest)).phase for _ in range(12)} == {"following"}
    core.stop("told to")
    for k in range(350):
        answer = core.answer(RobotState(next(stamps), rest, np.array([0.3 * (k < 10), 0.0, 0.0])))
    assert answer.phase == "stopped" and np.isfinite(answer.total).all()


def learned_delay(loop):
    """Return the delay of efforts that motions whose accelerations jump told a core [periods]."""
    for _ in range(4):
        at = loop.core.player.desired.position if loop.core.player else MIDDLE
        loop.follow([0.1, 0.2, 0.3], [at + 0.02, at - 0.02, at], [ZERO, ZERO, ZERO])
        loop.run(0.4)
    return loop.core.lead / (loop.period * S) - 0.5


@pytest.mark.parametrize("how", ["gap", "time", "start"])
def test_the_delay_of_efforts_is_forgotten_where_another_driver_may_come(how):
    loop = Loop(delay=0)
    loop.run(0.1)
    assert learned_delay(loop) < 0.2
    if how == "gap":
        loop.k += round(1.0 / loop.period)
        loop.step()
    else:
        loop.core.forget() if how == "time" else loop.core.start()
    assert loop.core.lead == round(loop.period * S)


def test_a_stop_holds_a_payload_that_the_model_does_not_know():
    loaded = panda().with_payload("panda_link7", 1.5, [0, 0, 0.1])
    loop = Loop(true=loaded, qd=0.5 * panda().limits.velocity, rate=250.0)
    loop.core.stop("")
    loop.run(2.0)
    still = loop.run(1.0)
    assert np.ptp([a.position for a in still], axis=0).max() < 1e-5


def test_phases_follow_the_motion():
    loop = Loop(mode="computed_torque")
    assert (loop.core.phase, loop.step().phase) == ("off", "holding")
    loop.follow([0.2], [MIDDLE + 0.05], [ZERO])
    assert {a.phase for a in loop.run(0.19)} == {"following"}
    assert loop.run(0.1)[-1].phase == "holding"
    loop.core.end()
    assert loop.core.phase == "off"


def test_a_trajectory_right_after_a_change_of_mode_is_followed():
    loop = Loop()
    loop.run(0.1)
    loop.change(mode="passivity_based")
    loop.follow([0.5], [MIDDLE + 0.1], [ZERO])
    np.testing.assert_allclose(loop.run(1.0)[-1].position, MIDDLE + 0.1, atol=1e-4)


def test_too_large_an_error_too_high_a_speed_and_leaving_the_range_stop():
    upper = panda().limits.upper
    for q, qd, reason in (
        (MIDDLE + 0.6 * np.eye(7)[2], ZERO, "panda_joint3 is farther from its desired position"),
        (MIDDLE, 4.0 * np.eye(7)[5], "panda_joint6 moves faster"),
    ):
        core = ComputedTorqueCore(panda(), options())
        core.start()
        core.answer(RobotState(S, MIDDLE, ZERO))
        answer = core.answer(RobotState(S + 10**6, q, qd))
        assert answer.phase in ("stopping", "stopped") and reason in answer.reason
        with pytest.raises(MessageError, match="trajectory"):
            core.follow(JointPoints(EVERY, np.array([1.0]), MIDDLE[None]))
    core = ComputedTorqueCore(panda(), options(mode="gravity_compensation"))
    core.start()
    out = np.where(EVERY == 0, upper + 0.06, MIDDLE)
    assert core.answer(RobotState(S, out, ZERO)).phase == "holding"  # whoever starts there may guide the robot back
    assert "panda_joint1 moves on beyond" in core.answer(RobotState(2 * S, out, 0.1 * np.eye(7)[0])).reason


def test_efforts_that_are_not_finite_become_gravity_compensation_and_a_stop():
    core = ComputedTorqueCore(panda(), options(state_timeout=0.0))
    core.start()
    core.answer(RobotState(S, MIDDLE, ZERO))
    answer = core.answer(RobotState(S + 10**6, MIDDLE, ZERO, np.full((7, 6), 1e308)))
    assert answer.phase in ("stopping", "stopped") and "no finite effort" in answer.reason
    np.testing.assert_allclose(answer.effort, gravity_force(panda(), MIDDLE), atol=1e-9)


CHANGES = (
    {"mode": "passivity_based"}, {"mode": "adaptive"}, {"mode": "gravity_compensation"}, {"kp": [400.0], "kd": [40.0]},
    {"ki": [500.0]}, {"payload_frame": "panda_link7", "payload_mass": 2.0}, {"gravity": [0.0, 0.0, -5.0]},
)  # fmt: skip


@pytest.mark.parametrize("changes", every_run(CHANGES[2:6:3] + CHANGES[4:5], CHANGES))  # others: test_scenarios
def test_no_change_at_run_time_steps_the_efforts(changes):
    """The first answer is the one before; then at most 3 (total change) h / (2 blend_time) a period."""
    loop = Loop(true=panda().with_payload("panda_link7", 1.0, [0, 0, 0.1]), rate=250.0)
    loop.run(0.8)
    last = loop.answers[-1].total
    loop.change(**changes)
    first = loop.step()
    np.testing.assert_allclose(first.total, last, atol=1e-2)  # the robot has moved on by a period
    steps = np.abs(np.diff([last, first.total, *(a.total for a in loop.run(1.0))], axis=0)) / loop.core.limit
    assert steps.max() < 0.05
    assert not loop.answers[-1].blend.any()


def test_another_model_takes_over_smoothly():
    loop = Loop()
    last = loop.run(0.1)[-1].total
    other = ComputedTorqueCore(panda().with_payload("panda_link7", 3.0, [0, 0, 0.1]), options())
    other.start()
    other.take_over_from(loop.core)
    np.testing.assert_allclose(other.answer(RobotState(loop.k * S, MIDDLE, ZERO)).total, last, atol=1e-6)


@pytest.mark.slow
def test_adaptive_mode_on_defaults_learns_a_payload_without_a_step():
    """In every run an arm with a light wrist does in MuJoCo (test_scenarios.py)."""
    pace = 2 * np.pi * np.array([0.23, 0.31, 0.37, 0.41, 0.29, 0.47, 0.53])
    swing = 0.6 * np.array([0.6, 0.5, 0.6, 0.5, 0.8, 0.8, 0.9])
    true = panda().with_payload("panda_link7", 1.5, [0.02, 0.01, 0.12], 0.0015 * np.eye(3))
    loop = Loop(true=true, learn_drives=False)
    loop.run(1.5)
    assert np.abs(loop.answers[-1].error).max() > 0.05  # the payload pulls the arm down
    last = loop.answers[-1].total
    loop.change(mode="adaptive")
    settle = loop.run(1.0)
    t = np.arange(0.0, 14.0, 0.05)[:, None]
    sine, cosine = np.sin(pace * t), np.cos(pace * t)
    home = settle[-1].desired.position
    motion = np.array([home + swing * sine, swing * pace * cosine, -swing * pace**2 * sine])
    rest = np.array([home, ZERO, ZERO])[:, None]
    loop.follow(np.append(1.0 + t[:, 0], 18.0), *np.concatenate([motion, rest], axis=1))
    masses = []
    for _ in range(round(13.0 / loop.period)):
        loop.step()
        masses.append(loop.core.estimate()[1].mass)
    own = panda().inertia("panda_link7").mass
    assert np.abs([a.error for a in loop.answers[-round(1.5 / loop.period) :]]).max() < 3e-3
    assert masses[-1] - own == pytest.approx(1.5, rel=0.05)
    assert min(masses) > 0.0 and max(masses) - own < 1.8  # no swing
    steps = np.abs(np.diff([last, *(a.total for a in settle)], axis=0)) / loop.core.limit
    assert steps.max() < 0.01


def test_gains_that_the_loop_cannot_carry_are_refused_or_brought_down():
    with pytest.raises(ParameterError, match="a loop of 100 Hz with a delay of 1 periods cannot carry"):
        options(kp=[2500.0], kd=[100.0], rate=100.0)
    with pytest.raises(ParameterError, match="unstable at any rate"):
        options(kp=[100.0], kd=[0.0])
    loop = Loop(rate=50.0, kp=[2500.0], kd=[100.0], error_limit=0.0, state_timeout=1.0)
    loop.run(0.5)
    gains, report = loop.core.gains, loop.core.loop()
    assert gains.period == pytest.approx(0.02) and gains.factor < 0.5 and report.radius < 1.0
    np.testing.assert_allclose(gains.kp[0] / gains.kd[0] ** 2, 0.25)  # as critically damped as before
    loop.follow([1.0], [MIDDLE + 0.2], [ZERO])
    assert np.abs(loop.run(3.0)[-1].error).max() < 1e-4


@pytest.mark.parametrize("mode", CONTROL_MODES)
def test_the_loop_is_stable_at_random_and_at_aligned_poses(mode):
    rng = np.random.default_rng(5)
    core = ComputedTorqueCore(panda(), options(mode=mode))
    for rate in (250.0, 500.0, 1000.0):
        core.start()
        for k in range(12):
            core.answer(RobotState(S + round(k * S / rate), MIDDLE, ZERO))
        assert core.gains.period == pytest.approx(1.0 / rate)
        for k in range(6):
            q = panda().random(rng) if k else ALIGNED
            core.answer(RobotState(2 * S + round((20 + k) * S / rate), q, ZERO))
            report = core.loop()
            assert report.radius < 1.0 + 1e-9 and report.rate < report.allowed
            core.start() if core.phase == "stopped" else None


def test_a_guided_joint_is_braked_before_its_limit():
    loop = Loop(mode="gravity_compensation", position_tolerance=0.0, guiding_damping=[0.0])
    loop.arm.reset(np.where(EVERY == 0, panda().limits.upper - 0.4, MIDDLE), np.where(EVERY == 0, 1.5, 0.0))
    loop.run(1.5)
    assert loop.core.phase == "holding"
    assert max(a.position[0] for a in loop.answers) < panda().limits.upper[0]


def test_efforts_change_no_faster_than_told():
    loop = Loop(kp=[400.0], kd=[40.0], effort_rate_limit=[50.0])
    loop.run(0.1)
    loop.follow([0.4], [MIDDLE + 0.15], [ZERO])
    totals = np.array([a.total for a in loop.run(0.6)])
    steps = np.abs(np.diff(totals, axis=0)).max()
    assert 0.099 < steps <= 50.0 * loop.period * (1 + 1e-9)


def test_limits_bind_at_once_where_efforts_may_change_but_slowly():
    stage = EffortLimiter(np.array([10.0, 20.0]))
    for saturate in (False, True):
        stage = stage.with_options(saturate, "scale", np.array([50.0, 0.0]))
        wanted = np.zeros(2) if saturate else np.array([1e176, -5.0])
        found = stage.update(0, wanted, lambda: np.zeros(2), lambda: np.eye(2), 0.01)
        np.testing.assert_allclose(found.total, [9.5, -4.75] if saturate else [1e176, -5.0])


@pytest.mark.parametrize("mode", CONTROL_MODES)
def test_anybody_can_compute_an_answer_again(mode):
    loop = Loop(mode=mode, payload_frame="panda_link7", payload_mass=0.5, blend_time=0.0, yield_to_wrenches=False)
    model = panda().with_payload("panda_link7", 0.5, [0, 0, 0])
    loop.step()
    if mode in TOOL_MODES:
        loop.core.drive("", np.full(6, 0.1))
    elif mode != "gravity_compensation":
        loop.follow([0.5], [MIDDLE + 0.1], [ZERO], [ZERO], np.full((1, 7), 0.2))
    wrenches = np.zeros((7, 6))
    wrenches[6] = 0.1, 0.2, -0.3, 1.0, 2.0, -3.0
    loop.run(0.1)
    for stopping in (False, True):
        q, qd = loop.arm.q.copy(), loop.arm.qd + 0.01
        if stopping:
            loop.core.stop("")
        loop.core.conclude()
        estimated = loop.core.learner.estimated_model()
        state = RobotState(S + round(loop.k * loop.period * S), q, qd, wrenches)
        told = make_report(loop.core, loop.core.answer(state), np.array)
        loop.k += 1
        used = told.desired_position - told.position_error, told.desired_velocity - told.velocity_error
        if stopping or mode in ("gravity_compensation", *TOOL_MODES):
            np.testing.assert_allclose(used, (told.position, told.velocity), atol=1e-12)
        else:  # where the desired motion takes the state until the effort acts
            assert (np.abs(used[0] - told.position) > 1e-6).all()
        if stopping or mode == "computed_torque":
            law = inverse_dynamics(model, *used, told.reference_acceleration)
        elif mode == "gravity_compensation":
            law = gravity_force(model, q)
        else:
            own = estimated if mode == "adaptive" else model
            law = mass_matrix(own, used[0]) @ told.reference_acceleration + gravity_force(own, used[0])
            law = law + coriolis_product(own, *used, told.reference_velocity)
        if stopping and mode != "gravity_compensation":
            assert not told.feed_forward_effort.any()
        expected = law + told.damping_effort + told.feed_forward_effort - told.wrench_effort
        np.testing.assert_allclose(told.effort_before_limits, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(told.effort, told.effort_before_limits + told.blend_effort, rtol=1e-12)
        np.testing.assert_allclose(told.gravity_effort, gravity_force(model, q), rtol=1e-12)
        assert told.wrench_effort.any() and told.scale == 1.0


@pytest.mark.parametrize("mode", every_run(("computed_torque", "adaptive", "impedance"), CONTROL_MODES))
def test_learning_before_the_next_state_or_with_it_is_the_same(mode):
    """A node learns from an answer once it is out; who does not ask for it gets it with the next answer."""
    efforts = []
    for early in (False, True):
        loop = Loop(mode=mode, true=panda().with_payload("panda_link7", 1.0, [0, 0, 0]), rate=250.0)
        if early:
            answer, conclude = loop.core.answer, loop.core.conclude
            loop.core.answer = lambda state, answer=answer, conclude=conclude: (answer(state), conclude())[0]
        loop.step()
        if mode in TOOL_MODES:
            loop.core.drive("", np.full(6, 0.05))
        elif mode != "gravity_compensation":
            loop.follow([0.3], [MIDDLE + 0.1], [ZERO])
        efforts.append([a.total for a in loop.run(0.3)])
    np.testing.assert_array_equal(*efforts)
