"""What is in drives comes out of a recording; a small arm, whose efforts are made without regressors."""

import numpy as np
import pytest
from known_robots import ARM, guess_of, waves
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.identification import exciting_motion, filtered_motion, identify, identify_robot

TREE = branched(np.random.default_rng(3), ["revolute", "prismatic", "revolute"], [None, 0, 1])
RATE, NOISE = 200.0, 0.02


def run(rng, *, seconds=30.0, gain=1.0, law=lambda v, x: 0.0 * v, noise=NOISE, rotor=0.0):
    """Return the robot, a guess of it, times, positions and efforts."""
    model = to_model(TREE)
    time = np.arange(0.0, seconds, 1.0 / RATE)
    sizes = rng.uniform(0.2, 0.6, (4, 1, 3)) * np.array([1.0, 0.4, 1.0])
    q, qd, qdd = waves(rng, time, 3, (0.07, 0.17, 0.31, 0.5), sizes)
    bodies = ld.inverse_dynamics(model, q, qd, qdd)
    effort = bodies + law(qd, bodies) + rotor * qdd
    scale = np.sqrt((bodies**2).mean(axis=0))
    return model, guess_of(model, rng, 0.2), time, q, gain * effort + noise * scale * rng.normal(size=q.shape)


def test_friction_by_direction_load_and_speed():
    level, lean, m = np.array([0.5, 2.0, 0.3]), np.array([0.1, -0.5, 0.0]), np.array([0.0, 0.08, 0.1])

    def law(v, x):
        side = np.tanh(v / 1e-3)
        stick = level * np.exp(-((v / (0.1 * np.abs(v).max(axis=0))) ** 2))
        return 0.4 * v + side * (level + stick + m * np.abs(x)) + lean * np.abs(side)

    _, guess, time, q, effort = run(np.random.default_rng(0), law=law, rotor=0.2)
    found = identify_robot(guess, time, q, effort)
    friction = found.friction
    assert (found.prediction.error < 0.01).all()
    assert friction.damping == pytest.approx([0.4] * 3, abs=0.1)
    assert friction.load_friction == pytest.approx(m, abs=0.02)
    np.testing.assert_allclose(friction.friction, [level + lean, level - lean], atol=0.15)
    assert found.model.limits.armature[1:] == pytest.approx(0.2, abs=0.05)


def test_gains_against_each_other():
    gain = np.array([0.8, 1.1, 1.3])
    _, guess, time, q, effort = run(np.random.default_rng(1), gain=gain, law=lambda v, x: 0.5 * np.tanh(v / 1e-2))
    found = identify_robot(guess, time, q, effort, gains=True)
    assert found.gain / found.gain[0] == pytest.approx(gain / gain[0], rel=0.03)
    assert (found.prediction.error < 0.02).all()
    ratio = found.gain.mean() / gain.mean()
    assert found.friction.friction[0] == pytest.approx(0.5 / ratio, rel=0.1)
    assert 0.5 < ratio < 2.0  # the common size is that of the masses given
    plain = identify_robot(guess, time, q, effort)
    assert plain.prediction.error.max() > 1.5 * found.prediction.error.max()


@pytest.mark.slow  # in every run recordings without one
def test_a_push_in_the_recording_does_little():
    model, guess, time, q, effort = run(np.random.default_rng(2))
    pushed = effort.copy()
    pushed[(time > 8.0) & (time < 9.0)] += 5.0 * effort.std(axis=0)
    clean, found = (identify_robot(guess, time, q, e) for e in (effort, pushed))
    assert not clean.problems
    assert {p.kind for p in found.problems} == {"outliers"} and not any(p.fatal for p in found.problems)
    assert (found.prediction.error < clean.prediction.error + 0.01).all()
    # Least squares, which believe all of it, predict the recording without the push far worse.
    past, free = (filtered_motion(model, time, q, e, clean.cutoff) for e in (pushed, effort))
    terms = ("damping", "friction", "armature", "offset")
    plain = identify(guess, past.q, past.qd, past.qdd, past.tau, terms=terms, slide=past.slide)
    worse = plain.predict(free.q, free.qd, free.qdd, free.slide) - free.tau
    told = found.predict(time, q, effort)
    assert np.square(told.predicted - told.measured).mean() < 0.01 * np.square(worse).mean()


def test_deviations_of_sums_are_those_of_the_errors():
    """Squares of normalised errors over many recordings, with noise that lasts for many samples."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        model, guess, time, q, effort = run(rng, noise=0.0)
        slow = np.convolve(rng.normal(size=len(time) * 3), np.ones(20) / 20**0.5, "same").reshape(len(time), 3)
        robot = identify_robot(guess, time, q, effort + 0.05 * effort.std(axis=0) * slow)
        error = (robot.base_values - robot.base.values(_parameters(model, robot))) / robot.base_deviations
        found.append(np.mean(error[: np.sum(np.array(robot.base.independent) < 30)] ** 2))  # of bodies
    assert 0.2 < np.mean(found) < 2.0


def _parameters(model, robot):
    """The robot's own parameters, with nothing in its drives."""
    own = np.ravel([model.inertia(b).parameters() for b in range(model.n_bodies)])
    return np.concatenate([own, np.zeros(len(robot.base.names) - len(own))])


def test_a_motion_that_hides_a_joint_says_so():
    model, guess, time, q, _ = run(np.random.default_rng(4))
    at = np.tile(q[:1], (len(q), 1))
    at[:, 0] = q[:, 0]
    rate, hurry = np.gradient(at, time, axis=0), np.gradient(np.gradient(at, time, axis=0), time, axis=0)
    found = identify_robot(guess, time, at, ld.inverse_dynamics(model, at, rate, hurry))
    assert {p.kind for p in found.problems} == {"motion"}
    assert not any(p.fatal for p in found.problems)


def test_joints_that_are_none_of_one_coordinate_are_refused():
    ball = ld.SpatialInertia(1.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3))
    time = 0.01 * np.arange(500)
    for kind in ("spherical", "universal"):
        model = ld.ModelBuilder().add("a", None, getattr(ld.joint_types, kind)(), inertia=ball).build("arm")
        q = np.tile(model.neutral(), (500, 1))
        with pytest.raises(ld.DescriptionError, match="'a'"):
            identify_robot(model, time, q, np.zeros((500, model.nv)))
        with pytest.raises(ld.DescriptionError, match="'a'"):
            exciting_motion(model)
    table = ld.ModelBuilder().build("table")
    with pytest.raises(ld.DescriptionError, match="table"):
        identify_robot(table, time, np.zeros((500, 0)), np.zeros((500, 0)))


def test_one_joint():
    model = ld.Model.from_urdf(ARM, locked={"turn": 0.3, "bend": 0.5})
    rng = np.random.default_rng(5)
    time = np.arange(0.0, 12.0, 0.005)
    q = np.sin(1.5 * time[:, None]) + 0.4 * np.cos(4.0 * time[:, None])
    qd, qdd = np.gradient(q, time, axis=0), np.gradient(np.gradient(q, time, axis=0), time, axis=0)
    effort = ld.inverse_dynamics(model, q, qd, qdd) + 0.3 * np.tanh(qd / 1e-3) + 0.05 * rng.normal(size=q.shape)
    found = identify_robot(guess_of(model, rng, 0.2), time, q, effort)
    assert found.prediction.error[0] < 0.01
    assert found.friction.friction[:, 0] == pytest.approx([0.3, 0.3], abs=0.05)
