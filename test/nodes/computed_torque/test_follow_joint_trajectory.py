"""The action follow_joint_trajectory, by a client that does what MoveIt's does: goals, preemption, cancels, aborts."""

import numpy as np
import pytest
from action_interface import provide
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from controlled_robot import MIDDLE, Loop, trajectory
from node_harness import stamp_of
from node_robots import ARM_JOINTS
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from lie_dynamics_ros.ros.wire import qos

ZERO = np.zeros(7)
CANCELED, ABORTED, SUCCEEDED = GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_SUCCEEDED


@pytest.fixture(scope="module")
def loop(ros, module_bench):
    with pytest.MonkeyPatch.context() as patch:
        provide(patch)
        yield Client(Loop(module_bench, rate=500.0, kp=[400.0], kd=[40.0], feedback_rate=100.0))


class Client:
    """A client of the action, and the loop that it drives."""

    def __init__(self, loop):
        from control_msgs.action import FollowJointTrajectory
        from control_msgs.msg import JointTolerance

        self.loop, self.bench = loop, loop.bench
        self.type, self.tolerance = FollowJointTrajectory, JointTolerance
        self.client = ActionClient(
            loop.bench.node, FollowJointTrajectory, f"{loop.control}/follow_joint_trajectory",
            goal_service_qos_profile=qos.REQUESTS, result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
        )  # fmt: skip
        self.bench.wait(self.client.server_is_ready, "the action")
        self.feedback = []
        self.speed = self.bench.publisher(Float64, f"{loop.control}/speed_scaling")

    def send(self, message, **fields):
        """Send a goal; returns its handle, accepted, and the future of its result."""
        goal = self.type.Goal(trajectory=message, **fields)
        sent = self.client.send_goal_async(goal, feedback_callback=lambda m: self.feedback.append(m.feedback))
        self.bench.wait(sent.done, "the answer to a goal")
        assert sent.result().accepted
        return sent.result(), sent.result().get_result_async()

    def result(self, future):
        """Return status, code and text."""
        self.bench.wait(future.done, "a result")
        found = future.result()
        return found.status, found.result.error_code, found.result.error_string

    def move(self, times, position, **fields):
        """Send a goal for all joints, at rest at its end."""
        velocity = np.zeros((len(times), 7))
        return self.send(trajectory(ARM_JOINTS, times, position, velocity, velocity), **fields)

    def home(self):
        assert self.result(self.move([1.5], [MIDDLE])[1])[:2] == (SUCCEEDED, 0)

    def under_way(self, joint=0, speed=0.05):
        """Wait until the robot is desired to move."""
        first = len(self.feedback)

        def fast():
            return any(abs(f.desired.velocities[joint]) > speed for f in self.feedback[first:])

        self.bench.wait(fast, "a motion under way")


def test_a_goal_succeeds_and_is_told_of_on_the_way(loop):
    loop.home()
    loop.feedback.clear()
    goal = MIDDLE + 0.4
    _, future = loop.move([2.0], [goal])
    assert loop.result(future) == (SUCCEEDED, loop.type.Result.SUCCESSFUL, "")
    assert len(loop.feedback) > 2
    for told in loop.feedback:
        assert list(told.joint_names) == list(ARM_JOINTS)
        np.testing.assert_allclose(
            told.error.positions, np.subtract(told.desired.positions, told.actual.positions), atol=1e-12
        )
        assert np.abs(told.error.positions).max() < 5e-3
    passed = [f.desired.time_from_start.sec + 1e-9 * f.desired.time_from_start.nanosec for f in loop.feedback]
    assert passed == sorted(passed) and passed[0] >= 0.0 and passed[-1] <= 2.01
    np.testing.assert_allclose(loop.loop.position(), goal, atol=5e-3)


@pytest.mark.slow
def test_a_new_goal_takes_over_the_motion_under_way(loop):
    loop.home()
    _, first = loop.move([12.0], [MIDDLE + 0.6])
    loop.under_way()
    here = np.array(loop.feedback[-1].desired.positions)
    _, second = loop.send(  # as planners do: from where the robot was seen, at rest
        trajectory(ARM_JOINTS, [0.0, 1.0, 2.5], [here, MIDDLE + 0.2, MIDDLE], [ZERO, ZERO - 0.1, ZERO], [ZERO] * 3)
    )
    status, code, text = loop.result(first)
    assert (status, code) == (ABORTED, loop.type.Result.INVALID_GOAL) and "later trajectory" in text
    loop.feedback.clear()
    assert loop.result(second)[:2] == (SUCCEEDED, 0)
    assert max(np.abs(f.error.positions).max() for f in loop.feedback) < 5e-3


@pytest.mark.slow
def test_a_cancelled_goal_comes_to_rest(loop):
    loop.home()
    handle, future = loop.move([12.0], [MIDDLE + 0.7])
    loop.under_way()
    cancelled = handle.cancel_goal_async()
    loop.bench.wait(cancelled.done, "the answer to a cancel request")
    assert cancelled.result().goals_canceling
    loop.feedback.clear()
    status, _, text = loop.result(future)
    assert status == CANCELED and "comes to rest" in text
    loop.bench.wait(lambda: np.abs(loop.loop.states[-1].velocity).max() < 1e-4, "rest")
    before = loop.loop.position()
    loop.bench.together(loop.loop.states)
    np.testing.assert_allclose(loop.loop.position(), before, atol=2e-3)
    assert (before > MIDDLE + 0.05).all() and (before < MIDDLE + 0.65).all()
    assert all(np.abs(f.error.positions).max() < 2e-3 for f in loop.feedback)


@pytest.mark.slow
def test_goals_that_cannot_be_followed_are_rejected_or_aborted_with_code_and_text(loop):
    loop.home()
    codes, end = loop.type.Result, [MIDDLE + 0.1]
    old = trajectory(ARM_JOINTS, [1.0], end, [ZERO], stamp=1)
    names = [*ARM_JOINTS[:-1], "nobody"]
    negative = loop.tolerance(name=names[0], position=-2.0)
    for message in (
        trajectory(ARM_JOINTS, [], []),
        trajectory(names, [1.0], end, [ZERO]),
        trajectory([*names[:-1], names[0]], [1.0], end),
        trajectory(ARM_JOINTS, [1.0], end, [ZERO + 0.1]),
    ):
        sent = loop.client.send_goal_async(loop.type.Goal(trajectory=message))
        loop.bench.wait(sent.done, "the answer to a goal")
        assert not sent.result().accepted
    for goal, code, text in (
        ({"message": old}, codes.OLD_HEADER_TIMESTAMP, "past"),
        ({"message": trajectory(ARM_JOINTS, [0.05], end, [ZERO])}, codes.INVALID_GOAL, "a velocity of"),
        (
            {"message": trajectory(ARM_JOINTS, [1.0], end), "path_tolerance": [negative]},
            codes.INVALID_GOAL, "expected 0 for the default",
        ),
    ):  # fmt: skip
        status, found, why = loop.result(loop.send(**goal)[1])
        assert (status, found) == (ABORTED, code) and text in why, why
    np.testing.assert_allclose(loop.loop.position(), MIDDLE, atol=2e-3)


@pytest.mark.slow
def test_tolerances_abort_goals_and_say_which_joint(loop):
    loop.home()
    codes = loop.type.Result
    tight = [loop.tolerance(name=ARM_JOINTS[1], position=1e-7)]
    status, code, text = loop.result(loop.move([1.0], [MIDDLE + 0.3], path_tolerance=tight)[1])
    assert (status, code) == (ABORTED, codes.PATH_TOLERANCE_VIOLATED) and ARM_JOINTS[1] in text
    loop.home()
    never = [loop.tolerance(name=ARM_JOINTS[2], position=1e-13)]
    wait = Duration(nanosec=200_000_000)
    goal = loop.move([1.0], [MIDDLE + 0.2], goal_tolerance=never, goal_time_tolerance=wait)
    status, code, text = loop.result(goal[1])
    assert (status, code) == (ABORTED, codes.GOAL_TOLERANCE_VIOLATED) and ARM_JOINTS[2] in text
    free = [loop.tolerance(name=name, position=-1.0) for name in ARM_JOINTS]
    assert loop.result(loop.move([1.0], [MIDDLE], goal_tolerance=free)[1])[:2] == (SUCCEEDED, 0)


@pytest.mark.slow
def test_a_pause_holds_a_goal_and_a_safety_stop_aborts_it(loop):
    loop.home()
    _, future = loop.move([12.0], [MIDDLE + 0.5])
    loop.under_way()
    loop.speed.publish(Float64(data=0.0))
    loop.bench.wait(lambda: np.abs(loop.feedback[-1].desired.velocities).max() == 0.0, "a pause")
    held = loop.feedback[-1].desired.positions
    count = len(loop.feedback)
    loop.bench.wait(lambda: len(loop.feedback) > count + 3, "feedback in the pause")
    assert not future.done() and loop.feedback[-1].desired.positions == held
    loop.speed.publish(Float64(data=1.0))
    assert loop.result(future)[:2] == (SUCCEEDED, 0)
    _, future = loop.move([12.0], [MIDDLE])
    loop.under_way()
    loop.bench.set(loop.loop.control, error_limit=1e-6)
    status, code, text = loop.result(future)
    assert status == ABORTED and code == loop.type.Result.PATH_TOLERANCE_VIOLATED
    assert "farther from its desired position than error_limit" in text
    loop.bench.set(loop.loop.control, error_limit=0.5)
    loop.bench.wait(lambda: loop.loop.call(f"{loop.loop.control}/hold").success, "control after the stop")


@pytest.mark.slow
def test_topics_and_services_of_the_joint_trajectory_controller(loop):
    """State, query and speed scaling: as feedback of the action tells the same motion."""
    from control_msgs.msg import JointTrajectoryControllerState, SpeedScalingFactor
    from control_msgs.srv import QueryTrajectoryState

    loop.home()
    bench, control = loop.bench, loop.loop.control
    states = bench.listen(JointTrajectoryControllerState, f"{control}/controller_state")
    efforts = bench.listen(JointState, f"{control}/joint_efforts")
    bench.wait(lambda: states and efforts, "states of the controller")
    _, future = loop.move([6.0], [MIDDLE + 0.5])
    loop.under_way()
    state, effort = bench.together(states, efforts)
    assert tuple(state.joint_names) == ARM_JOINTS and state.speed_scaling_factor == 1.0
    assert list(state.output.effort) == list(effort.effort)
    for field in ("positions", "velocities"):
        ends = (getattr(point, field) for point in (state.reference, state.feedback, state.error))
        wanted, seen, error = map(np.array, ends)
        np.testing.assert_allclose(error, wanted - seen, rtol=0, atol=1e-12)

    def query(time):
        request = QueryTrajectoryState.Request()
        request.time.sec, request.time.nanosec = divmod(time, 10**9)
        return bench.call(QueryTrajectoryState, f"{control}/query_state", request)

    at = stamp_of(states[-1]) + 10**9
    told = query(at)
    assert told.success and tuple(told.name) == ARM_JOINTS
    late = bench.wait(lambda: [s for s in states if stamp_of(s) >= at], "a second")[0]
    late_by = (stamp_of(late) - at) * 1e-9
    np.testing.assert_allclose(
        np.array(late.reference.positions) - late_by * np.array(late.reference.velocities), told.position, atol=1e-4
    )
    past = query(at - 60 * 10**9)
    assert not past.success and "before the last state" in past.message
    speed = bench.publisher(SpeedScalingFactor, f"{control}/speed_scaling_input")
    speed.publish(SpeedScalingFactor(factor=0.0))
    bench.wait(lambda: not np.any(states[-1].reference.velocities), "a pause")
    assert states[-1].speed_scaling_factor == 0.0 and not future.done()
    speed.publish(SpeedScalingFactor(factor=1.0))
    assert loop.result(future)[:2] == (SUCCEEDED, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_in_a_storm_of_goals_each_gets_one_result_and_the_arm_goes_on(loop, seed):
    """Sent and cancelled without waiting for anything, in whole and in part, now and later, good and bad; holds."""
    loop.home()
    rng, bench = np.random.default_rng(seed), loop.bench
    sent, cancels = [], []
    for _ in range(60):
        joints = rng.permutation(7)[: rng.integers(1, 8)]
        names = [ARM_JOINTS[k] for k in joints]
        end = MIDDLE[joints] + rng.uniform(-0.3, 0.3, len(joints))
        times = [rng.choice([0.001, 0.5, 1.0, 2.0])]
        message = trajectory(names, times, [end], [0.0 * end])
        if rng.random() < 0.2:
            now = stamp_of(bench.together(loop.loop.states)) + round(1e9 * rng.uniform(-0.1, 0.5))
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        sent.append(loop.client.send_goal_async(loop.type.Goal(trajectory=message)))
        for _ in range(rng.integers(0, 6)):
            bench.executor.spin_once(timeout_sec=0.01)
        known = [s.result() for s in sent if s.done()]
        if known and rng.random() < 0.5:
            cancels.append(known[rng.integers(max(0, len(known) - 3), len(known))].cancel_goal_async())
        if rng.random() < 0.1:
            loop.speed.publish(Float64(data=float(rng.choice([0.0, 0.3, 1.0]))))
        if rng.random() < 0.05:
            assert loop.loop.call(f"{loop.loop.control}/hold").success
    loop.speed.publish(Float64(data=1.0))
    bench.wait(lambda: all(s.done() for s in (*sent, *cancels)), "the answers")
    found = [loop.result(s.result().get_result_async()) for s in sent]
    assert {status for status, *_ in found} <= {SUCCEEDED, CANCELED, ABORTED}
    assert all(text for status, _, text in found if status == ABORTED)
    assert sum(status == ABORTED for status, *_ in found) >= 10  # replaced, or too fast
    loop.home()
