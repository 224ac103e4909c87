"""The node contact without ROS, in lock step with arms in MuJoCo: a wall, noise measured at rest, a payload."""

import numpy as np
import pytest
from support.arms import load, physics
from support.compare import relative
from support.grids import every_run
from support.recorded_arm import Drives, exciting_motion, record

from lie_dynamics_ros.core.errors import ParameterError, RequestError
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import JointFriction, frame_pose, gravity_force, inverse_dynamics, jacobian
from lie_dynamics_ros.lie_dynamics.control import VelocityFilter
from lie_dynamics_ros.nodes.contact.core import ContactCore, ContactOptions, MotionRecording, find_payload, make_report

REST = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.6, 0.5])
S = 10**9
DEFAULTS = ContactOptions.defaults()


def core_of(friction=None, **values):
    return ContactCore(load("panda_arm").model, ContactOptions.from_values({**DEFAULTS, **values}), friction)


def state(k, q, qd, effort, **more):
    return RobotState(S + k * 10**6, q, qd, effort=effort, **more)


def resting(core, rng, count, first=0, push=0.0):
    gravity = gravity_force(core.model, REST)
    answers = []
    for k in range(first, first + count):
        v, e = 1e-3 * rng.normal(size=7), 0.02 * rng.normal(size=7)
        answers.append(core.answer(state(k, REST, v, gravity - push + e)))
    return answers


def test_nothing_is_told_until_noise_is_known_then_contacts_are():
    rng, core = np.random.default_rng(0), core_of(noise_time=0.5)
    assert not any(resting(core, rng, 500))
    assert core.noise is None
    found = resting(core, rng, 300, 500)
    assert core.noise is not None and all(x is not None and not x.found.touching for x in found[10:])
    force = np.array([0.0, 6.0, 0.0])
    J = jacobian(core.model, REST, "panda_link7", "aligned")
    pushed = resting(core, rng, 100, 800, J[3:].T @ force)
    begun = [k for k, x in enumerate(pushed) if x.found.begun]
    assert len(begun) == 1 and begun[0] <= 10
    last = pushed[-1]
    assert last.frame == "panda_link7" and core.touching
    axes = frame_pose(core.model, REST, "panda_link7")[:3, :3]
    assert np.abs(axes @ last.wrench.wrench[3:] - force).max() < 0.5
    report = make_report(last, "panda_link7")
    assert relative(report.wrench[:3], last.wrench.wrench[3:]) == 0.0 and not report.wrench[3:].any()
    assert report.wrench_covariance.shape == (36,) and report.effort_covariance.shape == (49,)


def test_noise_of_a_robot_that_moves_is_not_taken_and_the_reason_is_told():
    rng, core = np.random.default_rng(1), core_of(noise_time=0.3)
    for k in range(400):
        q = REST + 1e-3 * k * np.eye(7)[3]
        core.answer(state(k, q, np.zeros(7), gravity_force(core.model, q)))
    assert core.noise is None and "panda_joint4" in core.problem
    resting(core, rng, 700, 400)
    assert core.noise is not None and not core.problem
    core.measure_noise()
    assert core.noise is None and resting(core, rng, 1, 1100) == [None]


@pytest.mark.parametrize("bits", every_run((12, 18), (12, 14, 18)))
def test_steps_of_positions_that_do_not_show_at_rest_do_not_ring_in_motion(bits):
    """Brakes on while noise is measured, then all joints move; velocities are found in positions, 2^bits a turn."""
    core, filter_, judge = core_of(noise_time=0.5), VelocityFilter(7, 0.005), physics("panda_arm")
    most, begun, rng, step = 0.0, None, np.random.default_rng(3), 2.0 * np.pi / 2**bits
    t = 1e-3 * np.arange(-702, 1802)[:, None]
    swell = (t > 0.0) * (1.0 - np.exp(-((3.0 * t) ** 3)))
    motion = 0.2 * swell * np.sin(np.array([2.0, 3.0, 2.5, 3.5, 4.0, 3.0, 5.0]) * t)
    rates = np.gradient(motion, 1e-3, axis=0)
    for k, (x, qd, qdd) in enumerate(zip(motion, rates, np.gradient(rates, 1e-3, axis=0), strict=True)):
        effort = judge.inverse_dynamics(REST + x, qd, qdd) + 0.02 * rng.normal(size=7)
        q, found_rate = step * np.round((REST + x) / step), np.full(7, np.nan)
        filter_.fill(S + k * 10**6, q, found_rate, core.acceleration)
        pushed = effort - 2.0 * (k >= 2450)
        found = core.answer(state(k, q, found_rate, pushed, filter_time=0.005))
        if k < 2450:
            most = max(most, 0.0 if found is None else found.found.evidence)
        elif found.found.begun:
            begun = k
    assert 0.0 < most < 1.0, most
    assert begun is not None and begun < 2460


def test_options_change_under_way_without_measuring_again():
    rng, core = np.random.default_rng(2), core_of(noise_time=0.3)
    resting(core, rng, 400)
    changed = {**DEFAULTS, "contact_frame": "panda_link8", "false_alarms": 1.0}
    other = core.with_options(ContactOptions.from_values(changed))
    assert other.noise is core.noise and other.observer.threshold < core.observer.threshold
    assert resting(other, rng, 80, 400)[-1].frame == "panda_link8"
    with pytest.raises(ParameterError, match="nowhere"):
        core.with_options(ContactOptions.from_values({**DEFAULTS, "contact_frame": "nowhere"}))
    given = other.with_options(ContactOptions.from_values({**DEFAULTS, "velocity_noise": 1e-3, "effort_noise": 0.02}))
    assert np.isinf(given.noise.samples)
    assert given.with_options(ContactOptions.from_values(DEFAULTS)).noise is None  # it is to be measured
    with pytest.raises(ParameterError, match="velocity_noise and effort_noise"):
        core_of(velocity_noise=1e-3)
    with pytest.raises(ParameterError, match="offset_error"):
        core_of(offset_error=[1.0, 2.0])


def test_wrenches_that_are_known_and_what_a_driver_adds_are_not_felt():
    known = np.zeros((7, 6))
    known[6, 3:] = [0.0, 10.0, 5.0]
    core = core_of(velocity_noise=1e-3, effort_noise=0.02, driver_compensates_gravity=True)
    rest = np.zeros(7)
    pushed = jacobian(core.model, REST, "panda_link7")[3:].T @ known[6, 3:]
    for k in range(100):
        answer = core.answer(state(k, REST, rest, -pushed, wrenches=known))
        assert answer is None or not answer.found.touching
    for k in range(100, 110):
        answer = core.answer(state(k, REST, rest, -pushed))
    assert answer.found.touching


def test_windows_begin_afresh_after_a_gap_and_when_time_is_forgotten():
    core = core_of(velocity_noise=1e-3, effort_noise=0.02)
    gravity = gravity_force(core.model, REST)
    other = REST + 0.2
    for k in range(50):
        core.answer(state(k, REST, np.zeros(7), gravity))
    for k in range(1000, 1050):  # it was moved meanwhile
        answer = core.answer(state(k, other, np.zeros(7), gravity_force(core.model, other)))
        assert answer is None or not answer.found.touching
    core.forget()
    assert core.answer(state(0, REST, np.zeros(7), gravity)) is None


def test_efforts_of_drives_with_friction():
    friction = JointFriction(np.full(7, 2.0), np.full(7, 1.0))
    core = core_of(friction, velocity_noise=1e-3, effort_noise=0.02)
    rate = np.full(7, 0.3)
    model = core.model
    for k in range(200):
        q = REST + rate * k * 1e-3
        x = inverse_dynamics(model, q, rate, np.zeros(7))
        answer = core.answer(state(k, q, rate, x + friction.force(rate, x)))
        assert answer is None or not answer.found.touching
    assert np.abs(answer.found.torque).max() < 0.05

MS = 10**6
FRAME, MASS, COM = "panda_link7", 1.5, np.array([0.03, -0.02, 0.1])


def play(core, run, which, first=0):
    """Let the core see a recording, some states lost."""
    core.recorder.begin(which)
    for k, (q, effort) in enumerate(zip(run.q, run.effort, strict=True)):
        if k % 97:
            core.answer(state(first + k, q, np.zeros(7), effort))
    return core.recorder.end(which)


def test_a_payload_is_identified_within_its_deviations():
    arm, rng = load("panda_arm"), np.random.default_rng(4)
    drives, motion = Drives.of(arm, rng), exciting_motion(arm, rng, 4.0)
    core = core_of(noise_time=600.0, payload_frame=FRAME, payload_mass=0.3)
    for which, payload in (("unloaded", None), ("loaded", (FRAME, MASS, COM))):
        said = play(core, record(arm, drives, motion, rng, payload=payload), which)
        assert said.startswith("4.0 s of the " + which)
    found = find_payload(core.model, core.options, core.recorder.motions(), FRAME)
    assert found.inertia.mass == pytest.approx(MASS, rel=0.01)
    assert np.linalg.norm(found.inertia.com - COM) < 3e-3
    assert abs(found.inertia.mass - MASS) < 4.0 * found.mass_deviation


def test_recordings_that_are_none_are_refused():
    core = core_of(noise_time=600.0)
    with pytest.raises(RequestError, match="unloaded and loaded"):
        core.recorder.motions()
    with pytest.raises(RequestError, match="no recording of the loaded"):
        core.recorder.end("loaded")
    for which in ("unloaded", "loaded"):
        core.recorder.begin(which)
        for k in (*range(1000), *range(1000 + 200 * (which == "loaded"), 3000)):
            core.answer(state(k, np.zeros(7), np.zeros(7), np.zeros(7)))
        with pytest.raises(RequestError, match="still being recorded"):
            core.recorder.motions()
        core.recorder.end(which)
    with pytest.raises(RequestError, match=r"0.20 s without states"):
        core.recorder.motions()
    core.recorder.begin("loaded")
    core.recorder.end("loaded")
    with pytest.raises(RequestError, match=r"0.0 s; expected 2 s"):
        core.recorder.motions()


def test_states_that_come_in_pairs_are_as_many_when_even():
    recording = MotionRecording()
    for k in range(2400):
        stamp = 2 * MS * (k // 2) + MS // 20 * (k % 2)
        recording.add(stamp, np.array([1e-9 * stamp]), np.zeros(1))
    time, q, _ = recording.even()
    assert len(time) == 2400 and np.ptp(np.diff(time)) < 1e-9
    np.testing.assert_allclose(q[:, 0], time, rtol=0, atol=1e-12)
