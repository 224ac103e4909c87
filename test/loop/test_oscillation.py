"""Oscillation that feedback feeds, of rotors on elastic gears in MuJoCo, is ended by lower gains and said."""

import numpy as np
import pytest
from support import arms
from support.control.control_loop import ControlLoop
from support.cores import make_core, sine

from lie_dynamics_ros.lie_dynamics import gravity_force
from lie_dynamics_ros.lie_dynamics.control import SoftLimits
from lie_dynamics_ros.nodes.computed_torque.gains import lowered
from lie_dynamics_ros.nodes.computed_torque.oscillation_watch import CALM, LEAST_FACTOR, SWING, TURNS, OscillationWatch
from lie_dynamics_ros.nodes.computed_torque.trajectories.trajectory_piece import Desired

PERIOD = 0.002


def shaken(watch, hertz, size, seconds):
    """Feed a watch a sine; return whether gains were lowered, and after what time."""
    for k in range(round(seconds / PERIOD)):
        if watch.update(size * np.sin(2.0 * np.pi * hertz * k * PERIOD) * np.ones(2), PERIOD) and watch.factor < 1.0:
            return k * PERIOD
    return None


@pytest.mark.parametrize("hertz", [15.0, 40.0, 100.0, 240.0])
def test_an_oscillation_lowers_gains_after_few_turns(hertz):
    watch = OscillationWatch(np.array([1.0, 5.0]))
    after = shaken(watch, hertz, 0.1, 3.0)
    assert after is not None and after < (TURNS + 8.0) / hertz + 0.1


@pytest.mark.parametrize(("hertz", "size"), [(40.0, 0.4 * SWING), (2.0, 0.5), (0.5, 1.0)])
def test_small_efforts_and_slow_motions_do_not(hertz, size):
    assert shaken(OscillationWatch(np.ones(2)), hertz, size, 5.0) is None


@pytest.mark.parametrize(("hertz", "fed"), [(20.0, "slow"), (80.0, "quick")])
def test_a_stop_lowers_what_feeds_an_oscillation_by_its_phase(hertz, fed):
    """Efforts that are 6 ms late: a damper damps what is slower than some 40 Hz, and feeds what is faster."""
    watch = OscillationWatch(np.ones(2))
    watch.begin(stop=True)
    for k in range(round(0.6 / PERIOD)):
        watch.update(0.004 * np.sin(2.0 * np.pi * hertz * k * PERIOD) * np.array([1.0, 0.0]), PERIOD, late=0.006)
    quick, slow = watch.state.quick, watch.state.slow
    assert quick[1] == 1.0
    assert (quick[0] > 1.0 > slow) if fed == "slow" else (quick[0] < 1.0 == slow)
    assert watch.factor < 1.0


def test_gains_rise_again_after_a_calm_time_but_not_to_where_they_were():
    watch = OscillationWatch(np.ones(2))
    for k in range(500):
        watch.update(np.sin(2.0 * np.pi * 50.0 * k * PERIOD) * np.ones(2), PERIOD)
    lowest = watch.factor
    assert LEAST_FACTOR <= lowest < 0.5
    for _ in range(round(0.9 * CALM / PERIOD)):
        watch.update(np.zeros(2), PERIOD)
    assert watch.factor == lowest
    for _ in range(round(10.0 / PERIOD)):
        watch.update(np.zeros(2), PERIOD)
    assert lowest < watch.factor < 1.0
    watch.reset()
    assert watch.factor == 1.0


def test_joints_that_do_not_swing_keep_their_feedback():
    """The second swings along by its share of turns, the third stays as it is, at first too."""
    watch = OscillationWatch(np.ones(3))
    watch.reset(careful=True)
    for k in range(round(1.0 / PERIOD)):
        swing = 0.1 * np.sin(2.0 * np.pi * 50.0 * k * PERIOD) * np.array([1.0, k * PERIOD < 0.12, 0.0])
        watch.update(swing, PERIOD)
    quick = watch.state.quick
    assert quick[0] < quick[1] < quick[2] == 1.0 and watch.factor == quick[0]
    np.testing.assert_array_equal(watch.state.first, 1.0)
    for _ in range(round(12.0 / PERIOD)):
        watch.update(np.zeros(3), PERIOD)
    np.testing.assert_array_equal(watch.state.quick, watch.state.most)
    assert watch.state.most[2] == 1.0 > watch.state.most.min()


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("ur5", 500.0),
        pytest.param("panda_arm", 1000.0, marks=pytest.mark.slow),
        pytest.param("ur5", 1000.0, marks=pytest.mark.slow),
        pytest.param("panda_arm", 500.0, marks=pytest.mark.slow),
    ],
)
def test_a_stop_with_elastic_gears_comes_to_rest(name, rate):
    """Rotors of 0.5 % of the effort limits, gears of 500 limits a radian, which the model does not know."""
    arm = arms.load(name)
    simulated = arm.simulated(armature=0.005 * arm.limit, gears=500.0 * arm.limit, step=2.5e-4)
    q = arm.random_pose(np.random.default_rng(1), 0.3)
    simulated.set(q, 0.05 * np.ones(len(q)))
    loop = ControlLoop(simulated, make_core(arm.model), rate, 1.0)
    loop.run(0.2)
    loop.core.stop("asked to")
    loop.run(1.0)
    record = loop.run(0.4)
    assert record.speed.max() < 5e-3
    assert (np.ptp(record.effort, axis=0) < 0.05 * arm.limit).all()
    assert str(record.phase[-1]) == "stopped"


@pytest.mark.parametrize(
    ("name", "rotors", "gears"),
    [pytest.param("panda_arm", 0.0017, 400.0, marks=pytest.mark.slow), ("ur5", 0.0008, 90.0)],
)
def test_motions_go_on_where_full_gains_would_shake_soft_gears(name, rotors, gears):
    """Light rotors that nobody told, 250 Hz: gains are lowered before joints are fast, and the motion is followed."""
    arm = arms.load(name)
    simulated = arm.simulated(armature=rotors * arm.limit, gears=gears * arm.limit, step=2.5e-4)
    q = arm.random_pose(np.random.default_rng(4), 0.3)
    simulated.set(q, 0.0 * q)
    loop = ControlLoop(simulated, make_core(arm.model), 250.0, 1.0)
    loop.run(0.2)
    loop.core.follow(sine(q, 0.2 * np.minimum(1.0, arm.speed), np.linspace(0.4, 0.8, len(q)), 3.0), loop.stamp)
    record = loop.run(2.0)
    assert set(record.phase) == {"following"} and loop.core.feedback_factor < 1.0, loop.core.reason
    assert np.sqrt(np.mean(np.square(record.error))) < 0.02


@pytest.mark.parametrize("mode", [pytest.param("passivity_based", marks=pytest.mark.slow), "adaptive"])
def test_lowered_gains_are_named_in_the_reason(mode):
    """Two periods of delay on elastic gears: gains feed an oscillation."""
    arm = arms.load("ur5")
    simulated = arm.simulated(armature=0.005 * arm.limit, gears=100.0 * arm.limit, step=2.5e-4)
    simulated.set(arm.random_pose(np.random.default_rng(1), 0.3), 0.05 * np.ones(6))
    core = make_core(arm.model, mode=mode, error_limit=0.0)
    loop, told = ControlLoop(simulated, core, 500.0, 2.0), []
    for _ in range(300):
        loop.step()
        told.append((core.feedback_factor, core.reason))
    assert any(factor < 1.0 for factor, _ in told)
    for factor, reason in told:
        percent = [int(word) for word in reason.partition("; oscillation: gains at ")[2].split()[:1]]
        assert percent == [] if factor == 1.0 else abs(percent[0] - 100.0 * factor) <= 10.0
    core.stop("asked to")
    loop.run(0.5)
    assert core.reason.startswith("asked to") and core.reason.count("oscillation") == (core.feedback_factor < 1.0)
    core.start()
    assert "oscillation" not in core.reason


@pytest.mark.parametrize("share", [1e-4, 1e-2])
def test_rotors_that_the_model_gives_bound_the_damper_of_stops(share):
    """The damper of a stop that no low-pass holds back is, on the rotor alone, no faster than the loop carries."""
    arm = arms.load("ur5")
    rotors = share * arm.limit
    given = make_core(arm.model.with_armature(rotors)).gains.stop
    unknown = make_core(arm.model).gains.stop
    assert (given.direct <= given.cap * rotors * (1.0 + 1e-12)).all()
    assert (np.sign(given.direct - unknown.direct) == np.sign(share - 1e-3)).all()


def test_stopped_is_left_when_joints_move():
    arm = arms.load("ur5")
    simulated = arm.simulated()
    q = arm.random_pose(np.random.default_rng(1), 0.3)
    simulated.set(q, np.zeros(len(q)))
    loop = ControlLoop(simulated, make_core(arm.model), 250.0, 1.0)
    loop.step()
    loop.core.stop("asked to")
    loop.run(0.3)
    assert loop.core.phase == "stopped"
    loop.push = 0.9 * arm.limit
    loop.run(0.1)
    assert loop.core.phase == "stopping"
    loop.push = None
    loop.run(1.0)
    assert loop.core.phase == "stopped"


def followed(arm, mode):
    """Follow sines on default parameters, rotors of 1 % of the limits unknown; return the record."""
    simulated, q = arm.simulated(armature=0.01 * arm.limit), arm.random_pose(np.random.default_rng(5), 0.3)
    simulated.set(q, 0.0 * q)
    loop = ControlLoop(simulated, make_core(arm.model, mode=mode), 500.0, 1.0)
    loop.step()
    loop.core.follow(sine(q, 0.2 * np.minimum(1.0, arm.speed), np.linspace(0.4, 0.8, len(q)), 2.0))
    return loop.run(2.0)


def pd_with_gravity(arm, record):
    """Return errors of PD with the model's gravity on the same motion, efforts a period late as well."""
    simulated, errors = arm.simulated(armature=0.01 * arm.limit), []
    simulated.set(record.q[0], record.qd[0])
    late, stiffness = gravity_force(arm.model, record.q[0]), 4.0 * arm.limit
    bodies = np.diag(simulated.mass_matrix(record.q[0]))
    damping = np.minimum(2.0 * np.sqrt(stiffness * bodies), 150.0 * bodies)
    for position, velocity in zip(record.desired, record.desired_rate, strict=True):
        q, qd = simulated.q, simulated.qd
        errors.append(position - q)
        effort = gravity_force(arm.model, q) + stiffness * errors[-1] + damping * (velocity - qd)
        simulated.advance(late, 4)
        late = np.clip(effort, -arm.limit, arm.limit)
    return np.array(errors)


@pytest.mark.parametrize(
    ("name", "mode", "share"),
    [("panda_arm", "passivity_based", 0.3), pytest.param("xarm7", "computed_torque", 1.0, marks=pytest.mark.slow)],
)
def test_learned_rotors_follow_closer_than_pd_with_gravity(name, mode, share):
    arm = arms.load(name)
    record = followed(arm, mode)
    assert not {"stopping", "stopped"} & set(record.phase)
    learned, pd = (np.sqrt(np.mean(np.square(x))) for x in (record.error, pd_with_gravity(arm, record)))
    assert learned < share * pd, (learned, pd)


def test_efforts_of_any_layout_are_watched():
    """Strided arrays, and one number for the noise of all joints."""
    plain, strided = OscillationWatch(np.ones(3)), OscillationWatch(np.ones(3))
    wide = np.zeros((3, 2))
    for k in range(200):
        wide[:, 0] = (-1.0) ** (k // 3)
        plain.update(wide[:, 0].copy(), 0.002)
        strided.update(wide[:, 0], 0.002, noise=0.0)
    assert strided.factor == plain.factor < 1.0


def test_joints_whose_feedback_is_lowered_brake_before_limits_as_gently():
    """The first joint of a Panda is fed an oscillation; both of the first two are beyond their way to rest."""
    model = arms.load("panda_arm").model
    core = make_core(model)
    parts = core.control.parts
    gains, factor = parts.timing.gains, np.where(np.arange(model.nv) == 0, 0.2, 1.0)
    q = np.where(np.arange(model.nv) < 2, model.limits.upper - 1e-3, model.neutral())
    desired = Desired(q, np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv))
    qd = 0.5 * (np.arange(model.nv) < 2)
    found = []
    parts.laws.set_gains(lowered(gains, factor, factor))
    for soft in (parts.laws.soft, SoftLimits(-np.inf * q**0, np.inf * q**0)):
        parts.laws.soft = soft
        found.append(parts.laws.wanted("computed_torque", q, qd, desired, 0.0, False).acceleration)
    braking = (found[0] - found[1])[:2]
    assert braking[1] < 0.0
    assert braking[0] / braking[1] == pytest.approx(factor[0] ** 2, rel=1e-2)
