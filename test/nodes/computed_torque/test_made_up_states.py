"""The computed_torque node with states that the tests make up: safety stops, changes at run time, what it tells."""

import numpy as np
import pytest
from controlled_robot import MIDDLE, trajectory
from node_harness import LATCHED, stamp_of
from node_robots import ARM, ARM_JOINTS, oracle
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

ERROR = b"\x02"


class Driver:
    """A controller whose states this test makes up."""

    def __init__(self, bench, **parameters):
        self.bench, self.stamp = bench, 10**9
        self.node = bench.start("computed_torque", robot_description=ARM, **parameters)
        self.efforts = bench.listen(JointState, f"{self.node}/joint_efforts")
        self.commands = bench.listen(Float64MultiArray, f"{self.node}/commands")

    def ask(self, position, velocity=(0.0,) * 7, period=None):
        """Ask for the answer to a state: stamped with the present time, or a period [ns] after the one before."""

        def make():
            self.stamp += period or 0
            return self.bench.make_state(ARM_JOINTS, position, velocity, self.stamp if period else None)

        return self.bench.ask(make, self.efforts)

    def wait_stopped(self, reason):
        self.bench.wait_status(self.node, lambda s, v: s.level == ERROR and reason in s.message, reason)


def test_stops_where_the_error_is_too_large_and_resumes_on_hold(bench):
    driver = Driver(bench, error_limit=0.2, state_timeout=60.0)
    driver.ask(MIDDLE)
    pushed = MIDDLE + 0.4 * np.eye(7)[2]
    answer = driver.ask(pushed)
    np.testing.assert_allclose(answer.effort, oracle(ARM, pushed), atol=1e-9)  # held up, not pulled back
    driver.wait_stopped("panda_joint3 is farther from its desired position")
    assert bench.call(Trigger, f"{driver.node}/hold", Trigger.Request()).success
    bench.wait_status(driver.node, lambda s, v: "stopped" not in s.message, "no stop")
    answer = driver.ask(pushed + 0.01)
    assert np.abs(np.array(answer.effort) - oracle(ARM, pushed + 0.01)).max() > 0.05  # pulled back again


def test_stops_where_a_joint_is_too_fast(bench):
    driver = Driver(bench, velocity_tolerance=0.1, state_timeout=0.0)
    driver.ask(MIDDLE, period=2_000_000)
    fast, begun = np.array([0, 0, 0, 0, 0, 3.0, 0]), driver.stamp

    def moved(stamp):
        return MIDDLE + 1e-9 * (stamp - begun) * fast

    def make():
        driver.stamp += 2_000_000
        return bench.make_state(ARM_JOINTS, moved(driver.stamp), fast, driver.stamp)

    for _ in range(10):  # a stop begins without a step of the acceleration
        answer = bench.ask(make, driver.efforts)
    assert answer.effort[5] < oracle(ARM, moved(stamp_of(answer)))[5] - 0.1  # braked
    driver.wait_stopped("panda_joint6 moves faster")


def test_a_gap_in_the_states_drops_the_trajectory(bench):
    driver = Driver(bench, state_timeout=0.2, silence_timeout=0.2)
    driver.ask(MIDDLE)
    publisher = bench.publisher(JointTrajectory, f"{driver.node}/joint_trajectory")
    publisher.publish(trajectory(ARM_JOINTS, [1e5], [MIDDLE + 0.5], [np.zeros(7)]))
    driver.ask(MIDDLE)  # so slow a motion that it takes no effort, however many states are answered on a busy machine
    bench.wait_status(driver.node, lambda s, v: s.level == ERROR and "stale" in s.message, "silence")
    answer = driver.ask(MIDDLE + 0.1)
    np.testing.assert_allclose(answer.effort, oracle(ARM, MIDDLE + 0.1), atol=1e-9)  # holds where it is
    bench.wait_status(driver.node, lambda s, v: "trajectories were dropped" in s.message, "the gap")


def test_bad_states_get_no_command_and_deactivation_holds_the_robot_up(bench):
    driver = Driver(bench, state_timeout=60.0)
    bench.wait(lambda: driver.ask(MIDDLE) and driver.commands, "commands")
    bench.send_until(
        lambda: bench.states.publish(bench.make_state(ARM_JOINTS, MIDDLE + np.nan)),
        lambda: bench.reported(driver.node, lambda s, v: "not finite" in v["last problem"]),
        "the NaN",
    )
    driver.ask(MIDDLE, np.full(7, 0.1))
    assert bench.change_state(driver.node, "deactivate")
    # The robot moves in the last state, so that this is not the command that answers it.
    bench.wait(lambda: np.allclose(driver.commands[-1].data, oracle(ARM, MIDDLE), atol=1e-9), "the last command")
    assert all(np.isfinite(c.data).all() for c in driver.commands)


def test_gains_limits_and_modes_change_at_run_time(bench):
    ms = 10**6
    driver = Driver(bench, kp=[0.0], kd=[0.0], blend_time=0.0, state_timeout=0.0, learn_drives=False)
    driver.ask(MIDDLE, period=ms)
    off = MIDDLE + 0.02
    np.testing.assert_allclose(driver.ask(off, period=ms).effort, oracle(ARM, off), atol=1e-9)
    assert bench.set(driver.node, kp=[100.0] * 7, kd=[20.0]).successful
    answer = driver.ask(off, period=ms)
    np.testing.assert_allclose(answer.effort, oracle(ARM, off, qdd=np.full(7, -2.0)), atol=1e-9)
    for values, reason in [
        ({"kp": [1.0, 2.0]}, "kp has 2 entries"),
        ({"kd": [-1.0]}, "kd"),
        ({"kd": [0.0]}, "unstable at any rate"),
        ({"ki": [1500.0]}, "below kp kd / 2"),
        ({"rate": 250.0, "kp": [4900.0], "kd": [140.0]}, "a loop of 250 Hz with a delay of 1 periods cannot carry"),
        ({"mode": "magic"}, "mode"),
        ({"adapted_bodies": ["nobody"]}, "nobody"),
        ({"adaptation_weight": 0.0}, "adaptation_weight"),
    ]:
        result = bench.set(driver.node, **values)
        assert not result.successful and reason in result.reason
    assert bench.set(driver.node, kp=[400.0], kd=[40.0]).successful
    far = MIDDLE + 0.4
    efforts = np.array(driver.ask(far, period=ms).effort)
    limits = np.array([87, 87, 87, 87, 12, 12, 12])
    assert (np.abs(efforts) <= limits * (1 + 1e-12)).all()
    gravity = oracle(ARM, far)
    wanted = oracle(ARM, far, qdd=np.full(7, -160.0)) - gravity
    assert np.abs(wanted + gravity)[0] > 87.0
    np.testing.assert_allclose((efforts - gravity) / wanted, ((efforts - gravity) / wanted)[0], rtol=1e-9)  # scaled
    bench.wait_status(driver.node, lambda s, v: "efforts limited" in s.message, "the limits")
    assert bench.set(driver.node, driver_compensates_gravity=True, kp=[0.0]).successful
    np.testing.assert_allclose(driver.ask(far, period=ms).effort, np.zeros(7), atol=1e-9)
    assert bench.set(driver.node, mode="gravity_compensation", driver_compensates_gravity=False).successful
    moved = np.array(driver.ask(far, np.full(7, 0.1), period=ms).effort) - gravity
    assert -0.35 <= moved.sum() < -0.1  # 0.5 N m s/rad on each joint, less where the wrist is too light for it


def test_a_change_of_gains_passes_over_smoothly(bench):
    driver = Driver(bench, kp=[0.0], kd=[0.0], blend_time=0.1, state_timeout=0.0, learn_drives=False)
    off = MIDDLE + 0.02
    for q in (MIDDLE, off):
        before = np.array(driver.ask(q, period=10**6).effort)
    assert bench.set(driver.node, kp=[100.0], kd=[20.0]).successful
    first = np.array(driver.ask(off, period=10**6).effort)
    np.testing.assert_allclose(first, before, atol=1e-9)
    last = np.array(driver.ask(off, period=10**8).effort)
    np.testing.assert_allclose(last, oracle(ARM, off, qdd=np.full(7, -2.0)), atol=1e-9)


def test_tells_each_answer_its_phase_and_what_became_of_trajectories(bench):
    messages = pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")
    driver = Driver(bench, state_timeout=0.0, blend_time=0.0, learn_drives=False)
    states = bench.listen(messages.ControllerState, f"{driver.node}/control_state")
    phases = bench.listen(String, f"{driver.node}/phase", LATCHED)
    told = bench.listen(messages.TrajectoryStatus, f"{driver.node}/trajectory_status", LATCHED)
    driver.ask(MIDDLE, period=10**6)
    trajectories = bench.publisher(JointTrajectory, f"{driver.node}/joint_trajectory")
    trajectories.publish(trajectory(ARM_JOINTS, [1.0], [MIDDLE + 3.0], stamp=2 * 10**18))
    bench.wait(lambda: told, "the refusal")
    assert not told[0].accepted and "a position of" in told[0].reason and stamp_of(told[0]) == 2 * 10**18
    trajectories.publish(trajectory(ARM_JOINTS, [1.0], [MIDDLE + 0.2], [np.zeros(7)]))
    bench.wait(lambda: told[-1].accepted, "the other trajectory")

    def make():
        driver.stamp += 10**6
        return bench.make_state(ARM_JOINTS, MIDDLE + 0.01, np.full(7, 0.1), driver.stamp)

    effort, state = bench.ask(make, driver.efforts, states)
    assert stamp_of(state) == stamp_of(effort) and state.phase == "following" and state.mode == "computed_torque"
    np.testing.assert_array_equal(state.effort, effort.effort)
    acts = (
        np.subtract(state.desired_position, state.position_error),
        np.subtract(state.desired_velocity, state.velocity_error),
    )
    np.testing.assert_allclose(state.effort, oracle(ARM, *acts, state.reference_acceleration), atol=1e-9)
    np.testing.assert_allclose(acts[0], MIDDLE + 0.01, atol=1e-2)
    np.testing.assert_allclose(state.gravity_effort, oracle(ARM, MIDDLE + 0.01), atol=1e-9)
    wanted = np.add(state.desired_acceleration, np.multiply(20.0, state.velocity_error))
    np.testing.assert_allclose(
        state.reference_acceleration, wanted + np.multiply(100.0, state.position_error), atol=1e-9
    )
    bench.wait(lambda: phases and phases[-1].data == "following: a trajectory", "the phase")


@pytest.fixture
def plan(bench):
    """Return a function that asks a node for a motion; the node is its attribute."""
    services = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    driver = Driver(bench, state_timeout=0.0)
    driver.ask(MIDDLE, period=10**6)

    def plan(**fields):
        request = services.PlanMotion.Request(**fields)
        return bench.call_once(services.PlanMotion, driver.node, "plan_motion", request)  # no second plan beside it

    plan.node, plan.services = driver.node, services
    return plan


def assert_refused(plan, *cases):
    for fields, reason in cases:
        refused = plan(**fields)
        assert not refused.success and reason in refused.message, refused.message


def test_plans_motions_of_least_effort_that_keep_all_limits(bench, plan):
    goal = MIDDLE + 0.5
    found = plan(goal=goal, duration=1.2)
    assert found.success and found.converged, found.message
    points, straight = found.trajectory.points, np.linspace(0.0, 1.0, 201)[:, None]
    np.testing.assert_allclose(points[0].positions, MIDDLE, atol=1e-12)
    np.testing.assert_allclose(points[-1].positions, goal, atol=1e-12)
    np.testing.assert_allclose([p.velocities for p in (points[0], points[-1])], 0.0, atol=1e-9)
    where = 10 * straight**3 - 15 * straight**4 + 6 * straight**5  # a quintic, which costs more
    rate = (30 * straight**2 - 60 * straight**3 + 30 * straight**4) / 1.2
    bent = (60 * straight - 180 * straight**2 + 120 * straight**3) / 1.2**2
    efforts = [oracle(ARM, MIDDLE + 0.5 * a, 0.5 * b * np.ones(7), 0.5 * c * np.ones(7))
               for a, b, c in zip(where, rate, bent, strict=True)]  # fmt: skip
    own = [oracle(ARM, *(np.array(x) for x in (p.positions, p.velocities, p.accelerations))) for p in points]
    share = np.array([87.0] * 4 + [12.0] * 3)
    quintic, planned = (
        1.2 * np.trapezoid(np.sum((np.array(x) / share) ** 2, axis=1), dx=1 / 200) for x in (efforts, own)
    )
    assert found.cost == pytest.approx(planned, rel=1e-2) and found.cost < 0.99 * quintic
    check = plan.services.CheckTrajectory
    assert bench.call(check, f"{plan.node}/check_trajectory", check.Request(trajectory=found.trajectory)).feasible
    assert_refused(
        plan,
        ({"goal": [0.0]}, "goal: 7 positions"),
        ({"joint_names": ["elbow"], "goal": [0.0]}, "does not have elbow"),
        ({"joint_names": [ARM_JOINTS[0]] * 20000, "goal": [0.0] * 20000}, "has each once, but twice"),
        ({"goal": goal, "duration": -1.0}, "0 <= duration"),
        ({"goal": goal, "waypoints": [0.0], "waypoint_parts": [0.5]}, "1 rows of 7 positions"),
    )


@pytest.mark.slow
def test_plans_motions_of_some_joints_through_points(plan):
    """And refuses what is seen only once a plan has begun: seconds for each, too."""
    some = plan(joint_names=[ARM_JOINTS[3]], goal=[-1.9], waypoints=[-1.5], waypoint_parts=[0.5], longest=5.0)
    assert some.success, some.message
    assert list(np.delete(some.trajectory.points[-1].positions, 3)) == list(np.delete(MIDDLE, 3))
    assert_refused(
        plan,
        ({"goal": MIDDLE + 9.0, "duration": 1.0}, "of joint 'panda_joint4' is outside"),
        ({"goal": MIDDLE + 0.5, "duration": 1.0, "effort_weight": float("nan")}, "cost.torque"),
    )


def test_judges_and_retimes_trajectories_and_slows_them_down_where_that_is_wished(bench):
    services = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    messages = pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")
    driver = Driver(bench, state_timeout=0.0)
    driver.ask(MIDDLE, period=10**6)
    rest = [np.zeros(7)] * 2
    fast = trajectory(ARM_JOINTS, [0.0, 0.3], [MIDDLE, MIDDLE + 0.6], rest, rest)

    def check(message, retime=False):
        request = services.CheckTrajectory.Request(trajectory=message, retime=retime)
        return bench.call(services.CheckTrajectory, f"{driver.node}/check_trajectory", request)

    found = check(fast, retime=True)
    assert found.success and not found.feasible and "a velocity of" in found.reason
    assert list(found.joint_names) == list(ARM_JOINTS) and max(found.velocity_use) > 1.5
    slow = found.retimed
    end = slow.points[-1].time_from_start
    assert found.factor > 1.1 and end.sec + 1e-9 * end.nanosec == pytest.approx(0.3 * found.factor, abs=1e-6)
    np.testing.assert_allclose(slow.points[-1].positions, MIDDLE + 0.6, atol=1e-9)
    again = check(slow)
    assert again.success and again.feasible and 0.9 < max(*again.velocity_use, *again.effort_use) <= 1.0
    moving = check(trajectory(ARM_JOINTS, [1.0], [MIDDLE], [[0.05] * 7]), retime=True)
    assert moving.success and not moving.feasible and "ends with joint panda_joint1 at 0.05" in moving.reason
    assert check(moving.retimed).feasible
    bad = check(trajectory(["nobody"], [1.0], [[0.0]]))
    assert not bad.success and "names no joint of the robot" in bad.message

    told = bench.listen(messages.TrajectoryStatus, f"{driver.node}/trajectory_status", LATCHED)
    trajectories = bench.publisher(JointTrajectory, f"{driver.node}/joint_trajectory")
    for policy, accepted, reason in (
        ("reject", False, "a velocity of"), ("accept", True, "taken, though"), ("slow_down", True, "times as long"),
    ):  # fmt: skip
        assert bench.set(driver.node, on_infeasible=policy).successful
        count = len(told)
        trajectories.publish(fast)
        bench.wait(lambda count=count: len(told) > count, f"what becomes of it with {policy}")
        assert told[-1].accepted == accepted and reason in told[-1].reason
