"""What stewart_pose says of its poses: certified, continued, AMBIGUOUS; what it withholds, what lies ahead."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from node_harness import SharedNode, stamp_of
from node_platforms import HOME, LEGS, as_numbers, lengths, pose_at, rotation
from std_srvs.srv import Trigger

from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS

SPEED = {"max_speed": [1.0, 4.0], "length_error": 0.0, "state_timeout": 0.0}
STEP = 2_000_000  # between time stamps [ns]


def crossing(t):
    """A motion through a singular pose at t = 1.566."""
    T = pose_at([0.05 * np.sin(2 * t), 0.0, 0.5], [0.0, 0.0, 0.0])
    T[:3, :3] = rotation([0.0, 0.0, t]) @ rotation([0.2 * np.sin(t), 0.0, 0.0])
    return T


class Follower:
    """Sends leg lengths at times of its own and hears what becomes of each."""

    def __init__(self, bench):
        self.bench = bench
        self.shared = SharedNode(bench, "stewart_pose", SETTINGS)
        self.node = self.shared.name
        self.poses = bench.listen(PoseWithCovarianceStamped, f"{self.node}/pose", 1000)
        self.statuses = bench.listen(DiagnosticArray, f"{self.node}/status", 1000)

    def begin(self, **parameters):
        """Let the node begin afresh with these parameters."""
        self.shared.begin(**parameters)
        self.poses.clear()
        self.statuses.clear()
        self.stamp = self.bench.now()

    def go(self, T, rates=()):
        """Send the lengths of a pose until they are heard of; return the status and its values."""
        self.stamp += STEP
        tries = {self.stamp}

        def publish():
            # Lengths that got lost are sent again a little later; the speed stays the same.
            tries.add(self.stamp)
            self.bench.states.publish(self.bench.make_state(LEGS, lengths(T), rates, stamp=self.stamp))
            self.stamp += 1000

        status = self.bench.send_until(
            publish, lambda: next((s for s in self.statuses if stamp_of(s) in tries), None), "a status"
        )
        self.stamp = stamp_of(status)
        return status.status[0], {v.key: v.value for v in status.status[0].values}


@pytest.fixture(scope="module")
def bench(module_bench):
    return module_bench


@pytest.fixture(scope="module")
def follower(bench):
    return Follower(bench)


def test_certified_with_a_bound_and_continued_without(bench, follower):
    for parameters, word in ((SPEED, "certified"), ({"state_timeout": 0.0}, "continued")):
        follower.begin(**parameters)
        for x in np.linspace(0.0, 0.01, 11):
            status, values = follower.go(pose_at([x, 0.0, 0.5], [0.0, 0.0, 0.0]))
            assert status.message == word
            assert values["certified"] == str(word == "certified").lower() and values["continued"] == "true"
            assert values["status"] == "TRACKED"
        bench.wait_status(follower.node, lambda s, v, word=word: v.get("tracking") == word, word)


@pytest.mark.parametrize("choice", ["withhold", "publish"])
def test_ambiguous_poses_are_withheld_or_flagged(bench, follower, choice):
    times = np.arange(1.5, 1.58, 0.002)
    follower.begin(**SPEED, when_ambiguous=choice, start_pose=as_numbers(crossing(times[0])))
    words = []
    for t in times:
        status, values = follower.go(crossing(t))
        words.append(values["status"])
        assert status.message == {"TRACKED": "certified", "AMBIGUOUS": "AMBIGUOUS, continued"}[values["status"]]
    assert words[0] == "TRACKED" and words[-1] == "AMBIGUOUS"
    kinds = {stamp_of(m): {v.key: v.value for v in m.status[0].values}["status"] for m in follower.statuses}
    last = max(stamp for stamp, kind in kinds.items() if kind == ("AMBIGUOUS" if choice == "publish" else "TRACKED"))
    bench.wait(lambda: any(stamp_of(pose) == last for pose in follower.poses), "the last pose")
    published = {kinds[stamp_of(pose)] for pose in follower.poses if stamp_of(pose) in kinds}
    assert published == ({"TRACKED", "AMBIGUOUS"} if choice == "publish" else {"TRACKED"})

    def told(status, values):
        return status.level == b"\x02" and "AMBIGUOUS" in values.get("tracking", "") and "reach" in status.message

    bench.wait_status(follower.node, told, "an ambiguity")


def test_lengths_out_of_reach_are_refused_and_reset_begins_anew(bench, follower):
    follower.begin(**SPEED)
    follower.go(HOME)
    status, values = follower.go(crossing(0.5))
    assert values["status"] == "OUT_OF_REACH" and "kept at the last good pose" in status.message
    for _ in range(3):  # lengths that are followed again prove nothing: which were wrong, nobody knows
        status, values = follower.go(HOME)
        assert status.level == b"\x02" and status.message == "continued, refuted" and values["refuted"] == "true"
    assert bench.set(follower.node, max_steps=500).successful
    assert follower.go(HOME)[1]["refuted"] == "true"
    assert bench.call(Trigger, f"{follower.node}/reset", Trigger.Request()).success
    status, values = follower.go(crossing(0.5))
    assert values["certified"] == "true" and values["refuted"] == "false"


def test_a_changed_option_keeps_what_is_not_known(bench, follower):
    times = np.arange(1.55, 1.58, 0.002)
    follower.begin(**SPEED, when_ambiguous="publish", start_pose=as_numbers(crossing(times[0])))
    for t in times:
        _, values = follower.go(crossing(t))
    assert values["status"] == "AMBIGUOUS"
    assert bench.set(follower.node, leg_noise=[2e-5], max_steps=500).successful
    _, values = follower.go(crossing(times[-1] + 0.002))
    assert values["status"] == "AMBIGUOUS"


def test_announces_a_singular_pose_ahead(bench, follower):
    follower.begin(**SPEED, start_pose=as_numbers(crossing(1.4)))
    for t in np.arange(1.4, 1.44, 0.002):
        # What got lost is sent again: without rates the platform would seem to stand still.
        follower.go(crossing(t), (lengths(crossing(t + 1e-6)) - lengths(crossing(t - 1e-6))) / 2e-6)

    def told(status, values):
        left = values.get("time to singularity [s]", "none ahead")
        return "to a singular pose" in status.message and left != "none ahead" and 0.05 < float(left) < 0.3

    bench.wait_status(follower.node, told, "a singular pose ahead")


def test_frames_have_their_prefix(bench, follower):
    follower.begin(state_timeout=0.0, frame_prefix="left/")
    follower.go(HOME)
    bench.wait(lambda: follower.poses, "a pose")
    assert follower.poses[-1].header.frame_id == "left/stewart_base"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_speed": [1.0]}, "max_speed is [1.0]"),
        ({"max_speed": [1.0, 0.0]}, "max_speed is [1.0, 0.0]"),
        ({"when_ambiguous": "guess"}, "when_ambiguous is"),
        ({"frame_prefix": "/left/"}, "frame_prefix is"),
    ],
)
def test_bad_parameters_are_refused_by_name(bench, follower, parameters, words):
    follower.shared.end()
    answer = bench.set(follower.node, **parameters)
    assert not answer.successful and words in answer.reason
