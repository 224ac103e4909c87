"""Twists that stewart_command follows: while they count, of any size, and up to limits."""

import numpy as np
import pytest
from stewart_command_runs import PLATFORM, Run, core_of

from lie_dynamics_ros.nodes.stewart_command.targets import TwistTarget


def test_a_twist_is_followed_while_it_counts():
    run = Run(core_of(twist_timeout=0.2))
    twist = np.array([0.0, 0.0, 0.1, 0.05, 0.0, 0.0])
    for _ in range(10):
        run.ask(TwistTarget(twist, "base"))
        run.tick(25)
    expected = PLATFORM.leg_rates(run.core.pose, twist, "aligned")
    assert np.abs(run.rates[-1] - expected).max() < 2e-3
    run.until_rest()
    run.check()
    assert run.core.phase == "holding"


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e3, 1e6])
def test_twists_of_any_size_keep_limits_and_directions(size):
    run = Run(core_of(tool_pose=[0.1, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0]))
    twist = size * np.array([0.0, 0.0, 1.0, 0.2, 0.0, 0.0])
    for _ in range(8):
        run.ask(TwistTarget(twist, "tool"))
        run.tick(20)
    moved = run.core.pose
    run.until_rest()
    run.check()
    turn = np.arctan2(moved[1, 0], moved[0, 0])
    assert turn > 0.02 if size >= 1.0 else abs(turn) < 1e-8
    assert np.abs(moved[2, :2]).max() < 1e-9


def test_a_twist_into_a_limit_ends_before_it():
    run = Run(core_of())
    for _ in range(30):
        run.ask(TwistTarget(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.2]), "base"))
        run.tick(40)
    run.until_rest()
    run.check()
    gap = 0.7 - np.max(run.lengths)
    assert 0.0 <= gap < 2e-3
    assert "limit" in run.core.refusal
