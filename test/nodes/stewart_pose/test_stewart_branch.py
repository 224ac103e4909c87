"""The branch that stewart_pose keeps: where it starts, when it refuses, how it goes on, and that it never guesses."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from node_harness import stamp_of
from node_platforms import BRANCH, HOME, LEGS, TEXT, TRUE, as_numbers, lengths, matrix_of, motion
from std_srvs.srv import Trigger


@pytest.fixture
def shared(start):
    """The node with a platform whose legs have limits."""
    return start(platform=TEXT + "\nleg_limits: [0.1, 0.9]\n")


def go(bench, poses, T):
    return bench.ask(lambda: bench.make_state(LEGS, lengths(T)), poses)


def near(answer, T, atol=1e-12):
    np.testing.assert_allclose(matrix_of(answer.pose.pose), T, rtol=0, atol=atol)


def changed(leg, by):
    values = lengths(TRUE)
    values[leg] += by
    return values


REFUSED = {
    "NaN": (changed(2, np.nan), "leg_3", "not finite"),
    "negative": (-lengths(TRUE), "leg_1", "not positive"),
    "too long": (changed(4, 0.5), "leg_5", "outside leg limits"),
    "too short": (changed(1, -0.53), "leg_2", "outside leg limits"),
    # 0.35 m less than in the true pose: no pose has these lengths.
    "no pose": (changed(3, -0.35), "leg_", "no such pose"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refuses_lengths_that_cannot_be_and_goes_on_when_they_return(shared, what):
    bench, node, poses = shared
    bad, leg, kind = REFUSED[what]
    go(bench, poses, TRUE)
    stamps = set()

    def send():
        message = bench.make_state(LEGS, bad)
        stamps.add(stamp_of(message))
        bench.states.publish(message)

    def told(status, values):
        return values[f"dropped: {kind}"] and values["tracking"].startswith("kept") and leg in status.message

    status = bench.send_until(send, lambda: bench.reported(node, told), f"{what} in the diagnostics")
    assert status.level == b"\x02"
    near(go(bench, poses, TRUE), TRUE)
    assert not stamps & {stamp_of(pose) for pose in poses}


def test_follows_a_jump_across_the_workspace_by_the_way_that_is_proven(shared):
    bench, _, poses = shared
    for T in (TRUE, HOME, motion(0.3), motion(2.3), TRUE):
        near(go(bench, poses, T), T)


def test_starts_from_the_pose_it_is_given(start):
    bench, node, poses = start(start_pose=as_numbers(BRANCH))
    assert np.abs(lengths(BRANCH) - lengths(TRUE)).max() < 1e-4  # the same lengths
    near(go(bench, poses, TRUE), BRANCH, atol=1e-4)
    # From the home pose, the same lengths mean the other one; but not before the next start.
    assert bench.set(node, start_pose=[0.0]).successful
    near(go(bench, poses, TRUE), BRANCH, atol=1e-4)
    assert bench.set(node, start_pose=as_numbers(BRANCH)).successful


def test_reset_starts_again_from_the_start_pose(start):
    bench, node, poses = start()
    near(go(bench, poses, TRUE), TRUE)
    assert bench.set(node, start_pose=as_numbers(BRANCH)).successful
    near(go(bench, poses, TRUE), TRUE)
    answer = bench.call(Trigger, f"{node}/reset", Trigger.Request())
    assert answer.success and "start_pose" in answer.message
    near(go(bench, poses, TRUE), BRANCH, atol=1e-4)


def test_reset_says_no_while_there_is_no_platform(one):
    shared, _ = one
    bench, node = shared.bench, shared.name
    shared.end()
    answer = bench.call(Trigger, f"{node}/reset", Trigger.Request())
    assert not answer.success and "not configured" in answer.message


def test_assumes_a_level_pose_where_nobody_gives_one_and_says_so(start):
    text = "\n".join(line for line in TEXT.splitlines() if not line.startswith("home_pose"))
    bench, node, poses = start(platform=text)
    near(go(bench, poses, TRUE), TRUE)
    bench.wait_status(node, lambda s, v: s.level >= b"\x01" and "level pose, assumed" in s.message, "an assumption")


def test_an_old_message_does_not_restart_the_branch_but_a_recording_that_begins_again_does(bench):
    for timeout, restarts in ((0.5, "0"), (0.0, "1")):
        node = bench.start("stewart_pose", f"timeout_{restarts}", state_timeout=timeout)
        poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
        go(bench, poses, TRUE)
        old = bench.now() - 10**10

        status = bench.send_until(
            lambda old=old: bench.states.publish(bench.make_state(LEGS, lengths(TRUE), stamp=old)),
            lambda node=node: bench.reported(node, lambda _, values: values["dropped: time ran backwards"]),
            "an old message",
        )
        assert {v.key: v.value for v in status.values}["restarts"] == restarts
        bench.processes.pop().stop()


class Agreement:
    """Holds each pose against the truth of the same time, once: on a busy machine much is said at a time."""

    def __init__(self, bench, driver, node):
        topics = ((PoseStamped, f"{driver}/true_pose"), (PoseWithCovarianceStamped, f"{node}/pose"))
        self.heard = [bench.listen(type_, topic, 1000) for type_, topic in topics]
        self.truth, self.poses = {}, {}
        self.begin(0)

    def begin(self, since):
        """Count from a time on [ns]: what one that was killed has sent may still be on its way."""
        self.since, self.count = since, 0

    def found(self, count=20):
        """Whether so many poses could be compared with the truth; they agree within the noise."""
        for messages, by_stamp in zip(self.heard, (self.truth, self.poses), strict=True):
            by_stamp.update((stamp_of(message), message) for message in messages)
            messages.clear()
        for stamp in self.truth.keys() & self.poses.keys():
            true, pose = self.truth.pop(stamp), self.poses.pop(stamp)
            deviation = np.sqrt(pose.pose.covariance.reshape(6, 6).diagonal())
            error = (matrix_of(pose.pose.pose) - matrix_of(true.pose))[:3, 3]
            assert (np.abs(error) < 8.0 * deviation[:3]).all()
            self.count += stamp > self.since
        return self.count >= count


@pytest.mark.slow
def test_finds_the_pose_again_when_it_or_the_driver_is_killed_and_started_again(bench):
    driver, node = bench.start("simulated_stewart", rate=50.0), bench.start("stewart_pose")
    agreement = Agreement(bench, driver, node)
    bench.wait(agreement.found, "poses that agree with the truth")
    for module in ("stewart_pose", "simulated_stewart"):
        process = next(p for p in bench.processes if f"nodes.{module}" in p.process.args[2])
        bench.processes.remove(process)
        process.stop(signal.SIGKILL)
        if module == "simulated_stewart":
            bench.wait_status(node, lambda s, v: "stale" in s.message, "silence")
        bench.start(module, **({"rate": 50.0} if module == "simulated_stewart" else {}))
        agreement.begin(bench.now())
        bench.wait(agreement.found, f"poses after {module} was killed")
