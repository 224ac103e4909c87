"""The arms that the benchmark control_robustness judges by are what they say: rotors, springs, sensors and delays."""

import numpy as np
import pytest
from support.control.imperfect_arm import (
    ROBOTS,
    STEP,
    ImperfectArm,
    Imperfection,
    LockStep,
    draw_pose,
    limits_of,
    model_of,
    plain_pds,
    told_description,
    told_parameters,
)

from lie_dynamics_ros.lie_dynamics import JointFriction, Model, gravity_force, mass_matrix


@pytest.mark.parametrize("name", ROBOTS)
def test_ideal_arm_is_the_model(name):
    arm, q = ImperfectArm(name, Imperfection()), draw_pose(name, np.random.default_rng(0))
    np.testing.assert_allclose(arm.gravity(q), gravity_force(model_of(name), q), atol=1e-5 * limits_of(name).max())


def test_told_rotors_are_in_the_description():
    what = Imperfection(rotors=0.01, told=True)
    told, q = Model.from_urdf(told_description("ur5", what)).with_joint_terms(armature=True), np.zeros(6)
    more = mass_matrix(told, q) - mass_matrix(model_of("ur5"), q)
    np.testing.assert_allclose(more, np.diag(0.01 * limits_of("ur5")), atol=1e-9)


def test_rotor_swings_on_its_gear():
    """A light rotor behind a spring, against the heavy arm: pulse sqrt(K / I)."""
    what = Imperfection(rotors=1e-4, gears=100.0)
    arm, q = ImperfectArm("ur5", what), draw_pose("ur5", np.random.default_rng(1))
    arm.put(q)
    held = arm.gravity(q)
    push = np.zeros(6)
    push[1] = 1.0
    for _ in range(4):
        arm.step(held + push)
    rates = []
    for _ in range(400):
        arm.step(held)
        rates.append(arm.qd[1])
    turns = np.flatnonzero(np.diff(np.sign(rates)) != 0)
    period = 2.0 * np.diff(turns).mean() * STEP
    assert 2.0 * np.pi / period == pytest.approx(np.sqrt(100.0 / 1e-4), rel=0.05)


def test_delay_and_lag():
    """An effort arrives after the delay, and grows as a drive of first order lets it."""

    class Step:
        phase, reason, desired_position = "following", "", np.zeros(6)

        def update(self, time, position, velocity):
            self.effort = held + (np.eye(6)[0] if time > 0.0199 else 0.0)
            return self

    what = Imperfection(rate=500.0, delay=1.5, lag=4e-3)
    arm = ImperfectArm("ur5", what)
    arm.put(np.zeros(6))
    held, seen = arm.gravity(np.zeros(6)), []
    loop, step = LockStep(arm, Step(), limits_of("ur5"), what), arm.step
    arm.step = lambda effort: (seen.append(effort[0] - held[0]), step(effort))
    loop.run(0.05)
    first = int(np.flatnonzero(np.array(seen) > 1e-9)[0])
    assert first * STEP == pytest.approx(0.023, abs=1.01 * STEP)
    assert seen[first + round(4e-3 / STEP)] == pytest.approx(1.0 - np.exp(-1.0), abs=0.04)


def test_plain_pd_holds_the_ideal_arm():
    q, what = draw_pose("ur5", np.random.default_rng(2)), Imperfection(delay=0.0, rate=1000.0)
    arm = ImperfectArm("ur5", what)
    arm.put(q)
    pd = plain_pds("ur5", lambda t: q, q, what)[1]
    assert LockStep(arm, pd, limits_of("ur5"), what).run(0.3).rms < 1e-6


def test_load_is_taken_up_and_friction_told():
    what = Imperfection(payload=0.5, payload_at=0.01, dry=0.02, viscous=0.01, told_friction=1.5)
    arm, q = ImperfectArm("ur5", what), draw_pose("ur5", np.random.default_rng(0))
    arm.put(q)
    before = arm.gravity(q)
    for _ in range(100):
        arm.step(before)
    loaded = ImperfectArm("ur5", Imperfection(payload=0.5)).gravity(q)
    np.testing.assert_allclose(before, gravity_force(model_of("ur5"), q), atol=1e-3)
    np.testing.assert_allclose(arm.gravity(q), loaded, atol=1e-6)
    told = JointFriction.from_yaml(told_parameters("ur5", what)["friction_file"], model_of("ur5"))
    np.testing.assert_allclose(told.friction, 0.03 * np.tile(limits_of("ur5"), (2, 1)))
