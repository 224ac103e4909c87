"""How late efforts act, found from the errors of motions that are integrated here, apart from it."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.control.effort_delay import LONGEST_STEP, LateErrors

M = np.array([[1.0, 0.9], [0.9, 1.0]])  # axes that nearly line up
KP, KD, H, FINE = np.full(2, 100.0), np.full(2, 20.0), 0.004, 8
AMPLITUDE, OMEGA = np.array([0.4, 0.3]), np.array([6.0, 8.4])
MOST = 0.002


def motion(t):
    """Return position, velocity and acceleration of both joints; they begin at rest."""
    angle = OMEGA * t
    return AMPLITUDE * (angle - np.sin(angle)), AMPLITUDE * OMEGA * (1 - np.cos(angle)), (
        AMPLITUDE * OMEGA**2 * np.sin(angle)
    )  # fmt: skip


def run(late, lead=lambda t: 0.0, other=lambda t: 0.0, seconds=3.0, put_back=0.0, found=None, learn=True):
    """Follow it while efforts act `late` more than in the middle, and return what was found, errors and bounds.

    They are commanded for a `lead` later than in the middle; `other` (2,) moves joints besides.
    """
    found = LateErrors(2) if found is None else found
    e, rate, errors, bounds, t, shift = np.zeros(2), np.zeros(2), [], [], 0.0, 0.0
    for k in range(round(seconds / H)):
        for _ in range(FINE):
            t += H / FINE
            at = t - shift
            acts = motion(at - late + lead(t))[2] if at > 0 else np.zeros(2)
            pull = np.linalg.solve(M, M @ (motion(at)[2] - acts) + other(t))
            rate = rate + H / FINE * (pull - KP * e - KD * rate)
            e = e + H / FINE * rate
        _, qd, qdd = motion(t - shift)
        bounds.append(found.note(M, M @ qdd, (KP, KD), e, (lead(t), MOST), H, learn))
        errors.append(e)
        if put_back and k == 100:
            found.put_back(put_back, qd, qdd)
            shift, e, rate = shift + put_back, e - put_back * qd, rate - put_back * qdd
    return found, np.array(errors), np.array(bounds)


@pytest.mark.parametrize("late", [-0.002, -0.0007, 0.0, 0.001, 0.002, 0.005])
def test_errors_tell_how_late_efforts_act(late):
    found, errors, bounds = run(late)
    assert found.sure > 0.9 or late == 0.0
    assert found.found == pytest.approx(late, abs=0.03 * abs(late) + 1e-6)
    if abs(late) <= MOST:
        assert (np.abs(errors) <= bounds + 0.1 * np.abs(errors).max()).all()


def test_it_goes_on_as_efforts_are_commanded_for_another_time_and_as_the_motion_is_put_back():
    found, errors, bounds = run(0.0015, lambda t: min(0.01 * t, 0.0015))
    assert found.found == pytest.approx(0.0015, rel=0.03) and found.sure > 0.9
    assert np.abs(errors[-200:]).max() < 0.05 * np.abs(errors).max()
    assert (np.abs(errors) <= bounds + 0.1 * np.abs(errors).max()).all()
    assert run(0.0015, put_back=0.001)[0].found == pytest.approx(0.0015, rel=0.05)


@pytest.mark.parametrize(
    "other",
    [
        lambda t: 0.02 * motion(t)[2],  # rotors
        lambda t: np.array([0.3, 0.05]) * motion(t)[1],  # viscous friction
        lambda t: 0.1 * np.sign(motion(t)[1]),
        lambda t: np.array([0.5, -0.2]),  # a load
    ],
    ids=["rotors", "friction", "dry friction", "load"],
)
def test_errors_of_another_model_tell_nothing(other):
    found = run(0.0, other=other)[0]
    assert found.sure * abs(found.found) < 0.1 * MOST


@pytest.mark.parametrize("friction", [1.0, 3.0, 10.0])
def test_friction_of_one_joint_counts_less_the_more_it_is_no_lateness_that_can_be(friction):
    """Beside a single sine both leave the same errors; 0.2 of it is all that is possible at the least."""
    found, e, rate, h, omega = LateErrors(1), np.zeros(1), np.zeros(1), 0.004, 6.0
    for k in range(1000):
        t = k * h
        rate = rate + h * (friction * 0.4 * np.cos(omega * t) - 100.0 * e - 20.0 * rate)
        e = e + h * rate
        effort = np.array([-0.4 * omega * np.sin(omega * t)])
        found.note(np.eye(1), effort, (np.full(1, 100.0), np.full(1, 20.0)), e, (0.0, MOST), h, True)
    assert found.sure == 0.0


def test_a_motion_that_stands_still_takes_nothing_away():
    found = run(0.0015)[0]
    before = found.sure
    for _ in range(5000):
        found.note(M, np.zeros(2), (KP, KD), 1e-5 * np.ones(2), (0.0, MOST), H, True)
    assert found.sure > 0.95 * before and found.found == pytest.approx(0.0015, rel=0.1)


def test_what_was_found_stays_after_a_pause_and_where_nothing_is_learned_and_can_be_forgotten():
    found = run(0.0015)[0]
    before = found.found
    found.pause()
    run(-0.0015, found=found, learn=False)
    assert found.found == before and found.sure > 0.9
    run(-0.0015, found=found, seconds=6.0)
    assert found.found == pytest.approx(-0.0015, rel=0.15)  # what was seen before fades in 2 s
    found.forget()
    assert found.found == found.sure == 0.0


def test_gaps_matrices_that_are_none_and_a_delay_that_is_told_end_nothing():
    found, q = LateErrors(2), np.zeros(2)
    note = (KP, KD), 1e-3 * np.ones(2), (0.0, MOST)
    assert not found.note(M, q, *note, H, True).any()
    assert not found.note(M, q + 1, *note, 2 * LONGEST_STEP, True).any()  # the change over a gap says nothing
    assert found.note(M, q, *note, H, True).any()
    assert np.isfinite(found.note(np.zeros((2, 2)), q, *note, H, True)).all()
    found = LateErrors(2)
    for k in range(200):
        assert not found.note(M, np.sin(0.1 * k) + q, (KP, KD), 1e-3 * np.ones(2), (0.0, 0.0), H, True).any()
    assert found.sure == 0.0
