"""Actuators of simulated_stewart: limits, backlash, delay, stalls; and the loop of set points, actuators and pose."""

import dataclasses

import numpy as np
import pytest
from node_platforms import HOME, TEXT, lengths, pose_at

from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.stewart import OffsetPlatform, StewartPlatform
from lie_dynamics_ros.nodes.simulated_stewart.core import ActuatorOptions, LegActuators
from lie_dynamics_ros.nodes.stewart_command.core import CommandParameters, StewartCommandCore, StewartCommandOptions
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseCore, StewartPoseOptions
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS as POSE_SETTINGS

PLATFORM = StewartPlatform.from_yaml(TEXT + "\nleg_limits: [0.4, 0.7]\n")
IDEAL = ActuatorOptions(servo_rate=200.0)
GOAL = pose_at([0.02, -0.01, 0.53], [0.05, -0.04, 0.1])
STEP = 0.002


#: Legs on offset universal joints, which are screws.
SCREWS = OffsetPlatform(PLATFORM, [1.0, 0.2, 0.0], [0.0, 1.0, 0.1], 0.02, 0.03, 0.01)


def actuators(platform=PLATFORM, **options):
    return LegActuators(platform, HOME, dataclasses.replace(IDEAL, **options))


def settle(legs, seconds=1.0):
    """Lengths of the motors, step by step."""
    found = [legs.lengths.copy()]
    for _ in range(round(seconds / STEP)):
        legs.advance(STEP)
        found.append(legs.lengths.copy())
    return np.array(found)


def test_legs_go_where_they_are_told_within_rate_and_acceleration():
    legs = actuators(max_rate=0.1, max_acceleration=2.0, servo_rate=20.0)
    legs.command(lengths(GOAL), np.zeros(6))
    found = settle(legs, 2.0)
    rates = np.diff(found, axis=0) / STEP
    assert np.abs(rates).max() == pytest.approx(0.1, rel=1e-6)
    assert np.abs(np.diff(rates, axis=0) / STEP).max() <= 2.0 * (1.0 + 1e-6)
    assert np.abs(legs.lengths - lengths(GOAL)).max() < 1e-6
    assert np.abs(legs.pose - GOAL).max() < 1e-5
    assert np.abs(lengths(legs.pose) - legs.lengths).max() < 1e-9
    assert legs.held == ""


def test_set_points_have_effect_after_the_delay():
    legs = actuators(delay=0.05)
    legs.command(lengths(GOAL), np.zeros(6))
    found = settle(legs, 0.2)
    moved = np.abs(found - found[0]).max(axis=1) > 1e-9
    first = round(0.05 / STEP)
    assert moved[first + 1] and not moved[: first + 1].any()


def test_legs_follow_their_motors_behind_the_backlash():
    legs = actuators(backlash=1e-3)
    up, down = pose_at([0.0, 0.0, 0.52], [0, 0, 0]), pose_at([0.0, 0.0, 0.51], [0, 0, 0])
    for pose, sign in ((up, 1.0), (down, -1.0)):
        legs.command(lengths(pose), np.zeros(6))
        settle(legs)
        assert np.abs(legs.lengths - lengths(pose)).max() < 1e-9
        assert np.abs(legs.lengths - lengths(legs.pose) - sign * 0.5e-3).max() < 1e-8
    held = lengths(legs.pose)
    legs.command(lengths(down) + 0.9e-3, np.zeros(6))
    settle(legs)
    assert np.abs(lengths(legs.pose) - held).max() < 1e-12


def test_strokes_end_and_weak_legs_stall():
    legs = actuators()
    legs.command(np.full(6, 0.9), np.zeros(6))
    settle(legs)
    assert (legs.lengths <= 0.7).all() and (legs.lengths >= 0.4).all()
    assert "end of its stroke" in legs.held
    weak = actuators(max_force=20.0, mass=20.0)
    weak.command(lengths(GOAL), np.zeros(6))
    settle(weak, 0.1)
    assert np.abs(weak.pose - HOME).max() < 1e-9
    assert "stalls" in weak.held and "20 N" in weak.held
    strong = actuators(max_force=2000.0, max_acceleration=2.0, servo_rate=20.0, mass=20.0)
    strong.command(lengths(GOAL), np.zeros(6))
    settle(strong, 0.6)
    assert np.abs(strong.lengths - lengths(GOAL)).max() < 1e-4
    assert strong.held == ""


@pytest.mark.parametrize("wrong", [(1e308, 0.0), (-1e308, 1e308), (0.5, -1e308)])
def test_set_points_beyond_all_numbers_leave_finite_ones(wrong):
    for legs in (actuators(max_force=500.0, mass=20.0), actuators()):
        legs.command(*(np.full(6, number) for number in wrong))
        settle(legs, 0.02)
        assert np.isfinite([legs.lengths, legs.rates]).all() and np.isfinite(legs.pose).all()
        assert legs.held


def test_lengths_without_a_pose_are_not_taken_on():
    legs = actuators()
    legs.command(np.array([0.41, 0.69, 0.41, 0.69, 0.41, 0.69]), np.zeros(6))
    settle(legs)
    assert "cannot be so long" in legs.held
    assert np.isfinite(legs.pose).all() and not legs.rates.any()


@pytest.mark.parametrize(
    ("platform", "delay", "backlash"),
    [pytest.param(PLATFORM, 0.0, 0.0, marks=pytest.mark.slow), (PLATFORM, 0.02, 1e-4), (SCREWS, 0.0, 0.0)],
)
def test_the_loop_of_command_actuators_and_pose(platform, delay, backlash):
    """The core of stewart_command commands actuators, whose lengths the core of stewart_pose answers with the pose."""
    defaults = CommandParameters.defaults()
    core = StewartCommandCore(StewartCommandOptions.from_values(platform, defaults), PLATFORM_LEGS)
    legs = actuators(platform, delay=delay, backlash=backlash, max_rate=0.25, max_acceleration=3.0)
    values = {setting.name: setting.default for setting in POSE_SETTINGS}
    observer = StewartPoseCore(platform, PLATFORM_LEGS, StewartPoseOptions.from_values(values))
    assert core.begin(legs.lengths, legs.rates)
    core.take(core.ask(PathTarget(GOAL[None], (False,)), 0.02).make())
    worst = 0.0
    for k in range(600):
        points = core.step(STEP)
        legs.command(points.lengths, points.rates)
        legs.advance(STEP)
        core.watch(legs.lengths)
        worst = max(worst, float(np.abs(points.lengths - legs.lengths).max()))
        answer = observer.answer(LegState(k, legs.lengths.copy(), legs.rates.copy()))
        assert answer.refusal is None
    assert core.phase == "holding"
    assert worst < 0.25 * delay + 2e-3
    assert np.abs(answer.tracked.pose - GOAL).max() < 1e-5
    assert np.abs(legs.pose - GOAL).max() < 1e-5 + 5.0 * backlash


PLATFORM_LEGS = [f"leg_{k}" for k in range(1, 7)]
