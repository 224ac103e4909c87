"""The stewart_pose node: poses, covariances and twists of leg lengths, in the right frames and orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from node_harness import stamp_of
from node_platforms import HOME, LEGS, TRUE, jacobian, lengths, matrix_of, motion
from visualization_msgs.msg import Marker, MarkerArray


@pytest.fixture
def bench(module_bench):
    return module_bench


@pytest.fixture
def shared(start):
    """The node with noise of its own for each leg."""
    return start(leg_noise=[1e-5, 2e-5, 1e-5, 3e-5, 1e-5, 1e-5])


def go(bench, poses, T, velocity=()):
    """Send the lengths of a pose until they are answered."""
    return bench.ask(lambda: bench.make_state(LEGS, lengths(T), velocity), poses)


@pytest.mark.parametrize("T", [HOME, TRUE, motion(0.3), motion(0.7)], ids=["home", "true", "a", "b"])
def test_publishes_the_pose_and_its_covariance_in_the_base_frame(shared, T):
    bench, _, poses = shared
    answer = go(bench, poses, T)
    assert answer.header.frame_id == "stewart_base"
    np.testing.assert_allclose(matrix_of(answer.pose.pose), T, rtol=0, atol=1e-12)
    inverse = np.linalg.inv(jacobian(T))
    expected = inverse @ np.diag(np.array([1, 2, 1, 3, 1, 1]) ** 2 * 1e-10) @ inverse.T
    # 1e-7: the Jacobian is made of differences, good to 1e-9.
    np.testing.assert_allclose(
        answer.pose.covariance.reshape(6, 6), expected, rtol=0, atol=1e-7 * np.abs(expected).max()
    )


def test_matches_legs_by_name_among_others(shared):
    bench, _, poses = shared
    T = motion(0.5)
    order = [4, 2, 0, 5, 1, 3]
    names = ["elbow", *(LEGS[i] for i in order), "leg_7"]
    position = [math.nan, *lengths(T)[order], -1.0]
    answer = bench.ask(lambda: bench.make_state(names, position), poses)
    np.testing.assert_allclose(matrix_of(answer.pose.pose), T, rtol=0, atol=1e-12)


def test_publishes_the_same_pose_stamped_and_the_twist_in_the_base_frame(shared):
    bench, node, poses = shared
    bare = bench.listen(PoseStamped, f"{node}/pose_stamped")
    twists = bench.listen(TwistStamped, f"{node}/twist")
    t, h = 0.4, 1e-5
    before, now, after = motion(t - h), motion(t), motion(t + h)
    rates = (lengths(after) - lengths(before)) / (2.0 * h)
    _, same, moving = bench.ask(lambda: bench.make_state(LEGS, lengths(now), rates), poses, bare, twists)
    np.testing.assert_allclose(matrix_of(same.pose), now, rtol=0, atol=1e-12)
    assert {m.header.frame_id for m in (*bare, *twists)} == {"stewart_base"}
    velocity = (after[:3, 3] - before[:3, 3]) / (2.0 * h)
    spin = (after[:3, :3] - before[:3, :3]) / (2.0 * h) @ now[:3, :3].T
    twist = moving.twist
    # 1e-8: expected values are differences.
    np.testing.assert_allclose([twist.linear.x, twist.linear.y, twist.linear.z], velocity, rtol=0, atol=1e-8)
    omega = [spin[2, 1], spin[0, 2], spin[1, 0]]
    np.testing.assert_allclose([twist.angular.x, twist.angular.y, twist.angular.z], omega, rtol=0, atol=1e-8)


@pytest.mark.parametrize("velocity", [(), [math.nan] * 6, [0.1, 0.1, math.inf, 0.1, 0.1, 0.1]])
def test_without_leg_rates_there_is_a_pose_but_no_twist(bench, start, velocity):
    _, node, poses = start()
    twists = bench.listen(TwistStamped, f"{node}/twist")
    bench.ask(lambda: bench.make_state(LEGS, lengths(HOME), [0.0] * 6), poses, twists)
    without = set()

    def send():
        message = bench.make_state(LEGS, lengths(HOME), velocity)
        without.add(stamp_of(message))
        bench.states.publish(message)

    bench.send_until(send, lambda: bench.reported(node, lambda s, v: "no twist" in s.message), "absent rates")
    # Rates that were no numbers leave no trace.
    _, again = bench.ask(lambda: bench.make_state(LEGS, lengths(HOME), [0.01] * 6), poses, twists)
    assert np.isfinite([again.twist.linear.z, again.twist.angular.x]).all()
    assert without & {stamp_of(pose) for pose in poses} and not without & {stamp_of(twist) for twist in twists}


def test_adds_offsets_to_what_the_encoders_say(bench, start):
    offsets = [0.3, 0.31, 0.32, 0.33, 0.34, 0.35]
    _, _, poses = start(length_offsets=offsets)
    answer = bench.ask(lambda: bench.make_state(LEGS, lengths(TRUE) - offsets), poses)
    np.testing.assert_allclose(matrix_of(answer.pose.pose), TRUE, rtol=0, atol=1e-12)


def test_uses_the_names_and_frames_it_is_given(bench, start):
    legs = [f"actuator_{c}" for c in "abcdef"]
    _, _, poses = start(legs=legs, base_frame="floor", platform_frame="cabin")
    answer = bench.ask(lambda: bench.make_state(legs, lengths(HOME)), poses)
    assert answer.header.frame_id == "floor"


def test_orientation_does_not_change_its_sign(shared):
    bench, _, poses = shared
    answers = [go(bench, poses, motion(t)) for t in np.linspace(0.0, 1.0, 60)]
    q = np.array([[getattr(p.pose.pose.orientation, c) for c in "xyzw"] for p in answers])
    assert (np.einsum("ij,ij->i", q[1:], q[:-1]) > 0.9).all()


def test_publishes_tf(bench, start):
    messages = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed (not among the ROS 2 wheels)")
    _, _, poses = start(platform_frame="cabin")
    transforms = bench.listen(messages.TFMessage, "/tf")
    bench.wait(lambda: go(bench, poses, TRUE) and transforms, "a transform")
    (transform,) = transforms[-1].transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ("stewart_base", "cabin")
    assert transform.transform.translation.z == pytest.approx(0.5, abs=1e-12)
    # Rotation of the true pose: yaw -30 degrees after roll 20 degrees.
    assert transform.transform.rotation.w == pytest.approx(math.cos(math.radians(10)) * math.cos(math.radians(15)))


def test_publishes_markers(shared):
    bench, node, poses = shared
    arrays = bench.listen(MarkerArray, f"{node}/markers")
    go(bench, poses, TRUE)
    first = bench.stamp

    def shown():
        """Markers of a state from now on; not every state has some."""
        return next((a.markers for a in arrays if stamp_of(a.markers[0]) >= first), None)

    markers = bench.send_until(lambda: bench.states.publish(bench.make_state(LEGS, lengths(TRUE))), shown, "markers")
    legs = next(m for m in markers if m.type == Marker.LINE_LIST)
    ends = np.array([[p.x, p.y, p.z] for p in legs.points]).reshape(6, 2, 3)
    np.testing.assert_allclose(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), lengths(TRUE), rtol=1e-12)
    assert {m.header.frame_id for m in markers} == {"stewart_base"}


def test_reports_how_it_tracks(shared):
    bench, node, poses = shared
    go(bench, poses, TRUE, [0.0] * 6)
    status = bench.wait_status(
        node,
        lambda s, v: v.get("tracking") == "continued" and v.get("condition number", "").startswith("5.7"),
        "tracking",
    )
    values = {v.key: v.value for v in status.values}
    assert float(values["step h"]) < 0.5
    assert float(values["residual [m]"]) < 1e-12
    assert values["starts from"] == "home pose of the platform"


def test_warns_near_a_singular_pose(bench, start):
    _, node, poses = start(condition_warning=5.0)
    bench.send_until(
        lambda: go(bench, poses, TRUE, [0.0] * 6),
        lambda: bench.reported(node, lambda s, v: s.level == b"\x01" and "singular pose" in s.message),
        "a singular pose near",
    )
