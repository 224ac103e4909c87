"""After lengths out of reach one of them was, or is, wrong: covariances say so until the start is given anew."""

import numpy as np

from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import semi_regular_platform
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseCore, StewartPoseOptions

PLATFORM = semi_regular_platform(0.8, 0.55, np.radians(8), np.radians(8), height=0.85)
HOME = PLATFORM.home_pose
OPTIONS = StewartPoseOptions(
    leg_noise=(1e-5,), max_speed=(1.0, 3.0), length_error=5e-4, when_ambiguous="publish"
)


def follow(core, jumps):
    """The last answer to lengths at home, 5 ms apart, of which the third is off."""
    lengths = PLATFORM.leg_lengths(HOME)
    for jump in jumps:
        follow.stamp += 5_000_000
        answer = core.answer(LegState(follow.stamp, lengths + np.array([0.0, 0.0, jump, 0.0, 0.0, 0.0]), None))
    return answer


follow.stamp = 1_000_000_000


def distance(answer):
    """Standard deviations by which the pose that is told is off."""
    error = se3.log(np.linalg.inv(HOME) @ answer.tracked.pose)
    return float(np.sqrt(error @ np.linalg.solve(answer.tracked.covariance, error)))


def test_a_pose_after_a_contradiction_is_told_no_better_than_that_allows():
    core = StewartPoseCore(PLATFORM, [f"leg_{i}" for i in range(1, 7)], OPTIONS)
    before = follow(core, [0.0] * 5)
    assert before.tracked.certified and core.contradiction == 0.0
    later = follow(core, [0.04] * 20)
    assert core.refuted and later.refusal is None
    assert np.linalg.norm(later.tracked.pose[:3, 3] - HOME[:3, 3]) > 0.02
    assert distance(later) < 2.0
    changed = core.with_options(OPTIONS)
    assert distance(follow(changed, [0.04])) < 2.0
    core.start()
    again = follow(core, [0.0] * 3)
    np.testing.assert_allclose(again.tracked.covariance, before.tracked.covariance, rtol=1e-6, atol=1e-18)


def test_small_steps_within_reach_change_nothing():
    core = StewartPoseCore(PLATFORM, [f"leg_{i}" for i in range(1, 7)], OPTIONS)
    assert follow(core, [0.0, 1e-4, -1e-4, 0.0]).tracked.certified and core.contradiction == 0.0
