"""Robots identified from what MuJoCo's arms record: 12-bit positions, noisy and late efforts, rotors, friction."""

import numpy as np
import pytest
from support import arms
from support.grids import every_run
from support.recorded_arm import Drives, exciting_motion, record, wrong_inertias

from lie_dynamics_ros.lie_dynamics import JointFriction, Model
from lie_dynamics_ros.lie_dynamics.identification import identify_robot

DELAYS = {"panda_arm": 3e-3, "ur5": 5e-3, "xarm7": 1e-3}


@pytest.fixture(scope="module", params=every_run(["panda_arm"], DELAYS))
def case(request):
    """An arm, what is in its drives, a recording, another one, the wrong model, and what was identified."""
    arm, rng = arms.load(request.param), np.random.default_rng(1)
    drives, delay = Drives.of(arm, rng), DELAYS[request.param]
    past, new = (record(arm, drives, exciting_motion(arm, rng, t), rng, delay=delay) for t in (12.0, 6.0))
    wrong = arm.model
    for name, inertia in wrong_inertias(wrong, rng).items():
        wrong = wrong.with_inertia(name, inertia)
    told = []
    found = identify_robot(wrong, past.time, past.q, past.effort, progress=lambda *now: told.append(now))
    assert [now[0] for now in told] == sorted(now[0] for now in told)
    assert told[-1][:2] == (1.0, 0.0)
    return arm, drives, delay, new, wrong, found


def test_efforts_of_another_motion_are_predicted(case):
    _, _, _, new, _, found = case
    told = found.predict(new.time, new.q, new.effort)
    assert (told.error < 0.02).all()
    assert told.error_before.max() > 0.1
    # What MuJoCo exerted, without noise and delay, by the same filter: held for a sample, in whose middle it is.
    exact = found.predict(new.time, new.q, new.exact)
    middle = np.array([np.interp(exact.time - 0.5e-3 - found.delay, exact.time, x) for x in exact.measured.T]).T[1:]
    error = np.sqrt(((middle - exact.predicted[1:]) ** 2).mean(axis=0)) / np.ptp(middle, axis=0)
    assert (error < 0.02).all()
    assert (found.prediction.error < 0.02).all()  # and of the part of the recording that was not used


def test_drives_and_delay_are_those_of_the_arm(case):
    _, drives, delay, _, _, found = case
    assert found.delay == pytest.approx(delay, abs=1.5e-3)
    assert found.friction.friction.mean(axis=0) == pytest.approx(drives.friction, rel=0.15)
    assert found.model.limits.armature[2:] == pytest.approx(drives.armature[2:], rel=0.25)
    assert not found.problems


def test_bodies_can_exist_and_are_closer_to_the_truth(case):
    arm, _, _, _, wrong, found = case
    for body in range(arm.model.n_bodies):
        found.model.inertia(body).check()
    truth, before, after = (
        found.base.combinations[:, : 10 * arm.model.n_bodies]
        @ np.ravel([m.inertia(b).parameters() for b in range(m.n_bodies)])
        for m in (arm.model, wrong, found.model)
    )
    known = found.base_deviations < 0.05 * np.abs(truth)
    error = np.abs(after - truth)[known], np.abs(before - truth)[known]
    assert np.median(error[0]) < 0.3 * np.median(error[1])
    after, before = found.prediction.tracking_error(20.0)[::-1]
    assert (after < 0.2 * before).all()


def test_what_is_written_is_what_was_found(case, tmp_path):
    arm, _, _, _, _, found = case
    urdf, friction = found.write(tmp_path / "new", arm.text)
    read = Model.from_urdf(urdf, inertia_check="warn")
    for body in range(read.n_bodies):
        own = found.model.inertia(body)
        np.testing.assert_allclose(read.inertia(body).parameters(), own.parameters(), atol=1e-8 * max(own.mass, 1.0))
    np.testing.assert_allclose(read.limits.armature, found.model.limits.armature, rtol=1e-9)
    law = JointFriction.from_yaml(friction, read)
    qd = np.linspace(-1.0, 1.0, 9)[:, None] * np.ones(read.nv)
    np.testing.assert_allclose(law.force(qd, 3.0), found.friction.force(qd, 3.0), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", DELAYS)
@pytest.mark.parametrize("seed", range(10, 20))
def test_many_drives_and_motions(name, seed):
    """The first test with other arms: the law of friction that is chosen never does harm elsewhere."""
    arm, rng = arms.load(name), np.random.default_rng(seed)
    drives, delay = Drives.of(arm, rng), rng.uniform(1e-3, 5e-3)
    past, new = (record(arm, drives, exciting_motion(arm, rng, t), rng, delay=delay) for t in (16.0, 8.0))
    wrong = arm.model
    for body, inertia in wrong_inertias(wrong, rng).items():
        wrong = wrong.with_inertia(body, inertia)
    found = identify_robot(wrong, past.time, past.q, past.effort)
    assert (found.predict(new.time, new.q, new.effort).error < 0.02).all()
    assert found.delay == pytest.approx(delay, abs=1e-3)
