"""Goals to follow trajectories, without ROS: how each comes to its end, in lock step with a simulated arm."""

from pathlib import Path

import numpy as np
import pytest
from core_loop import EVERY, MIDDLE, Loop, S, panda

import lie_dynamics_ros
from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.nodes.computed_torque.trajectories.goals import (
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
    Goal,
    GoalError,
    Tolerance,
    read_bounds,
)
from lie_dynamics_ros.nodes.computed_torque.trajectories.trajectory_player import FarError, PastError

NAMES = panda().joint_names
CANCELED = (SUCCESSFUL, "canceled; comes to rest along the path", True)
PANDA = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
SWING = 0.4 * np.array([1.0, -0.7, 0.8, 0.9, -1.0, 0.6, 1.0])


def pursue(loop, points, start=0, path=(), end=(), patience=0.5):
    """Let the core take a goal, as the action does."""
    names = [NAMES[k] for k in points.joints]
    none, usual = np.zeros(len(names)), np.full(len(names), 0.02)
    goal = Goal(object(), names, read_bounds("path", path, names, none), None, patience)
    goal.end = read_bounds("goal", end, names, usual)
    loop.core.take(loop.core.prepare(points, start), goal)
    return goal


def moved(times, *offsets, joints=EVERY):
    position = np.array([(MIDDLE + x)[joints] for x in offsets])
    return JointPoints(np.array(joints), np.array(times, float), position, 0 * position, 0 * position)


def result(loop, goal):
    """Return code, text and whether it was canceled of a goal that has ended."""
    (found,) = [r for r in loop.core.goals.results if r.goal is goal]
    assert goal not in loop.core.goals.active
    return found[1:]


@pytest.fixture
def loop(request):
    loop = Loop(rate=getattr(request, "param", 250.0))
    loop.run(0.05)
    return loop


def test_a_goal_ends_with_success_at_the_end_of_its_trajectory_and_not_before(loop):
    goal = pursue(loop, moved([0.0, 1.0], 0.0, SWING))
    loop.run(0.99)
    assert not loop.core.goals.results and loop.core.goals.active == [goal]
    loop.run(0.05)
    assert result(loop, goal) == (SUCCESSFUL, "", False)


def test_path_tolerances_abort_and_stop(loop):
    goal = pursue(loop, moved([1.0], SWING), path=[Tolerance(NAMES[3], 1e-5, 0.0)])
    loop.run(1.5)
    code, text, _ = result(loop, goal)
    assert code == PATH_TOLERANCE_VIOLATED and NAMES[3] in text and "1e-05" in text
    last = loop.answers[-1]
    assert last.phase == "holding" and not last.desired.velocity.any()
    assert np.abs(last.position - MIDDLE).max() < 0.2  # stopped long before the end


def test_goal_tolerances_wait_for_their_time(loop):
    goal = pursue(loop, moved([0.5], 0.2 * SWING), end=[Tolerance(NAMES[0], 1e-12, 0.0)], patience=0.25)
    loop.run(0.7)
    assert loop.core.goals.active == [goal]
    loop.run(0.1)
    code, text, _ = result(loop, goal)
    assert code == GOAL_TOLERANCE_VIOLATED and NAMES[0] in text and "0.25 s" in text
    goal = pursue(loop, moved([0.5], 0.0), end=[Tolerance(NAMES[0], -1.0, 0.0)])
    loop.run(0.6)
    assert result(loop, goal)[0] == SUCCESSFUL


def test_velocities_have_tolerances_of_their_own():
    bounds = read_bounds("goal", [Tolerance("a", 0.0, 0.3)], ["a", "b"], np.array([0.1, 0.0]))
    assert bounds.broken(["a", "b"], np.array([0.05, 9.0]), np.array([0.1, 9.0])) == ""
    assert "velocity of joint a" in bounds.broken(["a", "b"], np.zeros(2), np.array([-0.4, 0.0]))
    assert "position of joint a is off by 0.2" in bounds.broken(["a", "b"], np.array([-0.2, 0.0]), np.zeros(2))


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("a", -2.0, INVALID_GOAL), ("a", np.nan, INVALID_GOAL), ("a", np.inf, INVALID_GOAL)],
)
def test_tolerances_that_are_none_are_refused(name, value, code):
    for tolerance in (Tolerance(name, value, 0.0), Tolerance(name, 0.0, value)):
        with pytest.raises(GoalError, match=name) as error:
            read_bounds("goal", [tolerance], ["a"], np.zeros(1))
        assert error.value.code == code


def test_tolerances_of_strangers_are_not_looked_at():
    bounds = read_bounds("goal", [Tolerance("x", 0.01, -1.0)], ["a"], np.array([0.1]))
    assert bounds.position == 0.1 and bounds.velocity == np.inf


def test_a_cancelled_goal_ends_at_once_and_another_takes_over_before_rest(loop):
    first = pursue(loop, moved([2.0], SWING))
    loop.run(0.5)
    loop.core.cancel(first)
    assert result(loop, first) == CANCELED  # before any later goal can be sent, whose client may mix them up
    second = pursue(loop, moved([1.5], 0.0))
    loop.run(0.002)
    assert loop.core.goals.active == [second] and loop.answers[-1].desired.velocity.any()
    loop.run(1.6)
    assert result(loop, first) == CANCELED and result(loop, second)[0] == SUCCESSFUL


def test_a_far_first_point_has_the_code_of_the_path_tolerance(loop):
    with pytest.raises(FarError, match=r"joint panda_joint[0-9]; start_tolerance") as error:
        pursue(loop, moved([0.0, 1.0], 0.3, 0.0))
    assert error.value.code == PATH_TOLERANCE_VIOLATED


def test_what_is_desired_at_a_time_can_be_asked(loop):
    with pytest.raises(MessageError, match="before the last state"):
        loop.core.desired_at(loop.answers[-1].stamp - S)
    pursue(loop, moved([1.0], SWING))
    loop.run(0.1)
    now = loop.answers[-1]
    ahead = loop.core.desired_at(now.stamp + S // 5)
    np.testing.assert_array_equal(loop.core.desired_at(0).position, now.desired.position)
    loop.run(0.2)
    np.testing.assert_allclose(loop.answers[-1].desired.position, ahead.position, rtol=0, atol=1e-12)
    np.testing.assert_allclose(loop.answers[-1].desired.velocity, ahead.velocity, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loop", [500.0], indirect=True)
def test_a_later_goal_takes_over_and_what_is_left_of_the_first_comes_to_rest(loop):
    first = pursue(loop, moved([2.0], SWING))
    loop.run(1.0)
    before = loop.answers[-1].desired
    second = pursue(loop, moved([1.5], 0.0, joints=[0, 1, 2]))
    loop.run(0.002)
    assert result(loop, first)[:2] == (INVALID_GOAL, "a later trajectory has taken over its joints")
    assert np.abs(loop.answers[-1].desired.velocity - before.velocity).max() < 0.02
    loop.run(1.6)
    assert result(loop, second)[0] == SUCCESSFUL
    last = loop.answers[-1].desired
    np.testing.assert_allclose(last.position[:3], MIDDLE[:3], atol=1e-9)
    assert not last.velocity.any() and (np.abs(last.position - MIDDLE - SWING)[3:] > 0.05).all()


def test_a_goal_that_waits_begins_in_its_time_or_is_told_why_not(loop):
    goal = pursue(loop, moved([0.5], SWING), start=loop.answers[-1].stamp + S // 2)
    far = pursue(loop, moved([0.0, 1.0], 0.3, 0.0), start=loop.answers[-1].stamp + 2 * S)
    loop.run(0.9)
    assert loop.core.goals.active == [goal, far]
    loop.run(0.2)
    assert result(loop, goal)[0] == SUCCESSFUL
    loop.run(1.0)
    code, text, _ = result(loop, far)
    assert code == INVALID_GOAL and "start_tolerance" in text
    replaced = pursue(loop, moved([0.5], 0.0), start=loop.answers[-1].stamp + S)
    other = pursue(loop, moved([0.5], 0.0))
    loop.run(0.6)
    assert result(loop, replaced)[0] == INVALID_GOAL and result(loop, other)[0] == SUCCESSFUL
    with pytest.raises(PastError):
        pursue(loop, moved([0.1], 0.0), start=S // 2)


def test_cancelling_before_under_way_and_twice(loop):
    waiting = pursue(loop, moved([0.5], SWING), start=loop.answers[-1].stamp + S)
    loop.core.cancel(waiting)
    loop.step()
    assert result(loop, waiting) == CANCELED
    goal = pursue(loop, moved([2.0], SWING))
    loop.run(1.0)
    loop.core.cancel(goal)
    loop.core.cancel(goal)
    assert result(loop, goal) == CANCELED
    assert loop.run(0.25)[-1].desired.velocity.any()
    assert not loop.run(0.1)[-1].desired.velocity.any()


@pytest.mark.parametrize("event", ["hold", "stop", "mode", "gap", "forget", "end", "robot"])
def test_whatever_ends_a_trajectory_ends_its_goal_with_the_reason(loop, event):
    goal = pursue(loop, moved([2.0], SWING))
    loop.run(0.5)
    core = loop.core
    if event == "hold":
        core.hold()
    elif event == "stop":
        core.stop("somebody said so")
    elif event == "mode":
        loop.change(mode="passivity_based")
        loop.step()
    elif event == "gap":
        loop.k += round(1.3 / loop.period)
        loop.step()
    elif event == "robot":
        loop.core = type(core)(panda().with_payload("panda_link7", 1.0, [0, 0, 0.1]), core.options)
        loop.core.take_over_from(core)
    else:
        getattr(core, event)()
    expected = {"hold": "hold", "stop": "somebody said so", "mode": "mode", "gap": "no state for 1.30",
                "forget": "time", "end": "not active", "robot": "description"}[event]  # fmt: skip
    code, text, canceled = result(loop, goal)
    assert code == (INVALID_GOAL if event == "end" else PATH_TOLERANCE_VIOLATED)
    assert expected in text and not canceled


#: Of its speed that the robot keeps in each mode while states are silent, in every run; with -m slow the others. So is
#: `passivity_based`, of which `adaptive` is the same law and more.
SHARES = {"computed_torque": 0.5, "passivity_based": 1.0, "adaptive": 0.0}


@pytest.mark.parametrize(
    ("mode", "share"),
    [
        pytest.param(mode, share, marks=() if usual == share != 1.0 else pytest.mark.slow)
        for mode, usual in SHARES.items()
        for share in sorted(SHARES.values())
    ],
)
def test_a_short_silence_of_states_pauses_a_goal(mode, share):
    loop = Loop(rate=1000.0, mode=mode)
    loop.run(0.05)
    goal = pursue(loop, moved([1.0], SWING))
    loop.run(0.5)
    before = loop.answers[-1].desired
    loop.k += 300  # the robot is where it was
    loop.arm.qd *= share
    first = loop.step()
    assert "0.301 s: motions paused" in loop.core.note
    np.testing.assert_array_equal(first.desired.position, before.position)
    np.testing.assert_allclose(first.desired.velocity, share * before.velocity, atol=0.02)
    begun = len(loop.answers)
    loop.run(1.1)
    assert result(loop, goal)[:2] == (SUCCESSFUL, "")
    again = loop.answers[begun:]
    steps = np.abs(np.diff([a.total for a in again], axis=0)) / loop.core.limit
    assert steps.max() < 0.01  # of the limits, at 1 kHz
    assert max(np.abs(a.error).max() for a in again) < 0.01


def test_a_robot_that_has_moved_off_in_a_silence_goes_on_with_nothing(loop):
    goal = pursue(loop, moved([1.0], SWING))
    loop.run(0.5)
    loop.k += 150
    loop.arm.q[2] += 0.11
    loop.step()
    code, text, canceled = result(loop, goal)
    assert code == PATH_TOLERANCE_VIOLATED and "panda_joint3 has moved 0.1" in text and not canceled
    np.testing.assert_array_equal(loop.answers[-1].desired.position, loop.answers[-1].position)


def test_silence_is_no_time_to_come_within_a_tolerance_in():
    loop = Loop(rate=1000.0)
    loop.run(0.05)
    goal = pursue(loop, moved([0.5], SWING), end=[Tolerance(NAMES[0], 1e-9, 0.0)], patience=1.0)
    loop.run(0.6)
    assert goal.ended is not None
    for _ in range(3):
        loop.k += 900
        loop.run(0.1)
    assert loop.core.goals.active == [goal]
    loop.run(0.7)
    assert result(loop, goal)[0] == GOAL_TOLERANCE_VIOLATED


def test_a_change_of_gains_leaves_goals_alone(loop):
    goal = pursue(loop, moved([1.0], SWING))
    loop.run(0.5)
    loop.change(kp=[200.0], kd=[30.0])
    loop.run(0.6)
    assert result(loop, goal)[0] == SUCCESSFUL


@pytest.mark.parametrize("loop", [500.0], indirect=True)
def test_a_goal_waits_while_speed_is_scaled_down_and_the_pause_outlasts_changes(loop):
    goal = pursue(loop, moved([1.0], SWING))
    loop.run(0.3)
    loop.core.scale_speed(0.0)
    loop.run(2.0)
    loop.change(kp=[200.0], kd=[30.0])
    assert not loop.run(0.5)[-1].desired.velocity.any() and loop.core.goals.active == [goal]
    steps = np.abs(np.diff([a.total for a in loop.answers], axis=0)) / loop.core.limit
    assert steps.max() < 0.01  # of the limits, at 1 kHz
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(MessageError, match="0 to 1"):
            loop.core.scale_speed(bad)
    loop.core.scale_speed(1.0)
    loop.run(1.5)
    assert result(loop, goal)[0] == SUCCESSFUL


@pytest.mark.parametrize(
    ("end", "before", "wanted"),
    [
        pytest.param(end, *speeds, marks=() if (j + k) % 2 else pytest.mark.slow)
        for j, end in enumerate(("cancel", "hold"))
        for k, speeds in enumerate([(1.0, 0.0), (1.0, 0.01), (0.05, 1.0)])
    ],
)
def test_what_ends_while_its_speed_changes_comes_to_rest_and_stays_there(loop, end, before, wanted):
    goal = pursue(loop, moved([2.5], SWING))
    loop.core.scale_speed(before)
    loop.run(1.25)
    loop.core.scale_speed(wanted)
    loop.run(0.15)
    count = len(loop.answers)
    loop.core.cancel(goal) if end == "cancel" else loop.core.hold()
    loop.run(1.7 if wanted == 0.0 else 0.45)
    rest = loop.answers[-1].desired.position
    assert result(loop, goal)[2] == (end == "cancel") and loop.answers[-1].phase == "holding"
    speeds = np.array([np.abs(a.desired.velocity).max() for a in loop.answers[count - 1 :]])
    assert speeds[-1] == 0.0 and speeds.max() <= max(2.0 * speeds[0], 0.05)
    loop.core.scale_speed(1.0)
    np.testing.assert_array_equal(loop.run(0.5)[-1].desired.position, rest)


def test_trajectories_without_goals_leave_nothing_behind(loop):
    for _ in range(5):
        loop.core.follow(moved([0.5], 0.01))
        loop.step()
    assert loop.core.player.count == 1 and not loop.core.player.begun


def test_what_was_prepared_for_another_robot_is_refused(loop):
    prepared = loop.core.prepare(moved([1.0], SWING))
    other = type(loop.core)(panda().with_payload("panda_link7", 1.0, [0, 0, 0.1]), loop.core.options)
    other.take_over_from(loop.core)
    loop.core = other
    loop.step()
    other.take(prepared)  # the same joints
    renamed = Model.from_urdf(PANDA.read_text().replace("panda_joint1", "shoulder"))
    loop.core = type(other)(renamed, other.options)
    loop.core.take_over_from(other)
    loop.step()
    with pytest.raises(MessageError, match="another robot description"):
        loop.core.take(prepared)
    assert loop.core.player.count == 0
