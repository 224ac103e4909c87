"""What the demo shows of control: its motion, its play, and what its judge finds."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.demo.control import ControlRecorder, draw, judge
from lie_dynamics_ros.demo.play import LEAD, Motion, Play
from lie_dynamics_ros.demo.processes import ShortfallError
from lie_dynamics_ros.demo.showcase import Answer
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.ros.inputs.model_loading import read_description

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
STARTS = (10**12, 10**12 + 7 * 10**9, 10**12 + 14 * 10**9)
ERRORS = (1e-3, 0.1, 0.1)


@pytest.fixture(scope="module")
def model():
    return Model.from_urdf(read_description(ARM))


@pytest.fixture(scope="module")
def play(model):
    return Play(model, 30.0)


@pytest.fixture
def recording(play):
    """A faultless recording: constant errors, which vanish in the second half of the adaptive act."""
    recorder = ControlRecorder()
    for act, start, size in zip(play.acts, STARTS, ERRORS, strict=True):
        times = np.round(np.arange(0.0, act.duration, 0.01), 9)
        for t, position in zip(times, play.motion.at(times, act.duration)[0], strict=True):
            stamp = start + round((LEAD + t) * 1e9)
            late = act.name == "adaptive" and t > 0.5 * act.duration
            error = np.full(7, size * (0.01 if late else 1.0))
            recorder.states[stamp] = position - error
            recorder.errors[stamp] = error
            recorder.answers[stamp] = Answer(position, 1e-3)
            if act.name == "adaptive":
                recorder.masses[stamp] = play.payload.own_mass + play.payload.mass * (1.001 if late else 0.5)
    return recorder


def test_motion_goes_from_rest_to_rest_within_the_limits(model):
    motion, duration = Motion(model), 9.0
    t = np.arange(-0.5, duration + 0.5, 1e-3)
    q, qd, qdd = motion.at(t, duration)
    for k in (0, -1):
        np.testing.assert_array_equal(q[k], motion.center)
        assert not qd[k].any() and not qdd[k].any()
    assert (q > model.limits.lower).all() and (q < model.limits.upper).all()
    assert (np.abs(qd) < model.limits.velocity).all()
    inner = slice(1, -1)
    np.testing.assert_allclose(qd[inner], (q[2:] - q[:-2]) / 2e-3, atol=1e-4)
    np.testing.assert_allclose(qdd[inner], (qd[2:] - qd[:-2]) / 2e-3, atol=0.1)


def test_play_is_within_its_time_and_names_the_last_link(play):
    assert play.payload.link == "panda_link7"
    assert 0.5 < play.payload.mass <= 1.5
    assert sum(act.duration for act in play.acts) < 30.0
    times, (position, velocity, acceleration) = play.points(play.acts[0].duration)
    assert times[0] == LEAD and (np.diff(times) > 0.0).all()
    assert position.shape == velocity.shape == acceleration.shape == (len(times), 7)


def test_play_says_why_it_cannot_be(model):
    with pytest.raises(ShortfallError, match="12 s at least"):
        Play(model, 5.0)


def test_accepts_a_faultless_recording_and_draws_it(recording, play, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the picture, is not installed")
    verdict = judge(recording, play, STARTS)
    assert verdict.shortfalls == []
    np.testing.assert_allclose(verdict.rms, [1e-3, 0.1, 1e-3], rtol=1e-6)
    draw(verdict, play, tmp_path / "control.png")
    assert (tmp_path / "control.png").read_bytes().startswith(b"\x89PNG")


def _add(recording, play, index, error):
    begin = STARTS[index]
    end = begin + (LEAD + play.acts[index].duration) * 1e9
    for stamp in recording.states:
        if begin <= stamp <= end:
            recording.states[stamp] = recording.states[stamp] - error
            recording.errors[stamp] = recording.errors[stamp] + error


@pytest.mark.parametrize(
    ("index", "error", "reason"),
    [(0, 0.02, "with the exact model"), (1, -0.0995, "the payload changes"), (2, 0.02, "the adaptive controller")],
)
def test_finds_errors_that_are_not_what_they_should_be(recording, play, index, error, reason):
    _add(recording, play, index, error)
    assert any(reason in shortfall for shortfall in judge(recording, play, STARTS).shortfalls)


def test_finds_a_wrong_payload(recording, play):
    for stamp in recording.masses:
        recording.masses[stamp] *= 1.05
    (shortfall,) = judge(recording, play, STARTS).shortfalls
    assert f"it is {play.payload.mass:g} kg" in shortfall


def test_only_remarks_on_what_another_robot_learns(recording, model):
    play = Play(model, 30.0, known=False)
    for stamp in recording.masses:
        recording.masses[stamp] *= 1.05
    verdict = judge(recording, play, STARTS)
    assert verdict.shortfalls == []
    assert f"it is {play.payload.mass:g} kg" in verdict.remarks[0]


def test_finds_a_controller_that_flatters_itself(recording, play):
    for stamp in list(recording.errors)[::7]:
        recording.errors[stamp] = 0.5 * recording.errors[stamp]
    (shortfall,) = judge(recording, play, STARTS).shortfalls
    assert "own tracking error is off" in shortfall


@pytest.mark.parametrize(("late", "found"), [(1.9e-3, []), (-1.9e-3, []), (2.2e-3, ["own tracking error is off"])])
def test_lets_the_controller_desire_the_motion_half_a_period_later(recording, play, late, found):
    act, begin = play.acts[1], STARTS[1] + round(LEAD * 1e9)
    for stamp in recording.errors:
        if begin <= stamp <= begin + act.duration * 1e9:
            desired = play.motion.at(np.array([(stamp - begin) * 1e-9 - late]), act.duration)[0][0]
            recording.errors[stamp] = desired - recording.states[stamp]
    shortfalls = judge(recording, play, STARTS).shortfalls
    assert [reason in shortfall for reason, shortfall in zip(found, shortfalls, strict=True)] == [True] * len(found)


def test_expects_of_another_robot_what_its_rehearsal_had(recording, play):
    _add(recording, play, 0, 0.02)
    (shortfall,) = judge(recording, play, STARTS, 0.015).shortfalls
    assert "at most 0.015 is expected" in shortfall
    assert judge(recording, play, STARTS, 0.03).shortfalls == []


def test_finds_numbers_that_are_none(recording, play):
    for stamp in list(recording.states)[::50]:
        recording.states[stamp] = recording.states[stamp] * np.nan
    assert len(judge(recording, play, STARTS).shortfalls) >= 3


def test_says_when_acts_are_missing(recording, play):
    with pytest.raises(ShortfallError, match="only 2 of 3"):
        judge(recording, play, STARTS[:2])
    recording.states.clear()
    with pytest.raises(ShortfallError, match="received 0 joint states in act exact"):
        judge(recording, play, STARTS)
