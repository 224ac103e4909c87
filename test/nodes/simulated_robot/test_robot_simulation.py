"""The simulated robot, without ROS and over DDS: commands of each kind, brakes, limits, noise, payload, clock."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from node_harness import common_stamps, stamp_of
from node_robots import ARM, ARM_JOINTS, oracle, pendulum
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.grids import every_run
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.core.commands import ACCELERATION, EFFORT, HOLD, POSITION
from lie_dynamics_ros.core.errors import MessageError, ParameterError
from lie_dynamics_ros.core.joint_mapping import JointMapping
from lie_dynamics_ros.lie_dynamics import InputError, JointFriction, Model
from lie_dynamics_ros.nodes.simulated_robot.core import RobotSimulation, SimulationOptions, steps_of_delay
from lie_dynamics_ros.nodes.simulated_robot.node import SETTINGS
from lie_dynamics_ros.ros.inputs.commands import read_effort_array, read_named_efforts, read_point

VALUES = {setting.name: setting.default for setting in SETTINGS}
G = 9.81


def simulation(text=None, start=(0.5,), step=1e-3, delay=0, **values):
    model = Model.from_urdf(text or pendulum())
    return RobotSimulation(model, SimulationOptions.from_values({**VALUES, **values}), step, tuple(start), 0, delay)


def tell(robot, kind, value, rate=0.0):
    n = len(robot.start)
    robot.tell(np.ones(n, bool), np.full(n, kind), np.full(n, float(value)), np.full(n, float(rate)))


def test_brakes_hold_the_robot_until_it_is_told_otherwise():
    robot = simulation()
    robot.advance(500)
    assert robot.state[0][0] == pytest.approx(0.5, abs=1e-12) and abs(robot.state[1][0]) < 1e-12
    assert robot.effort[0] == pytest.approx(2 * G * 0.5 * np.sin(0.5), rel=1e-9)  # what the brakes exert


def test_efforts_accelerate_by_the_laws_of_mechanics():
    robot = simulation()
    tell(robot, EFFORT, 2 * G * 0.5 * np.sin(0.5) + 0.6)  # inertia 0.6 kg m^2
    robot.advance(1)
    assert robot.state[1][0] == pytest.approx(1e-3, rel=1e-6)


def test_friction_of_the_drive_holds_the_robot_on_a_slope_and_lets_it_go_beyond():
    model, needed = Model.from_urdf(pendulum()), 2 * G * 0.5 * np.sin(0.5)
    friction = JointFriction([0.2], [[1.0], [2.0]], [[2.0], [3.0]], 0.1, 0.1)
    options = SimulationOptions.from_values(VALUES)
    least = needed - 3.0 - 0.1 * needed  # static friction backwards, grown by the load
    for effort, moves in ((needed, 0), (least + 1e-6, 0), (least - 1e-6, -1)):
        robot = RobotSimulation(model, options, 1e-3, (0.5,), 0, friction=friction)
        tell(robot, EFFORT, effort)
        robot.advance(200)
        assert np.sign(robot.state[1][0]) == moves
        if not moves:
            assert robot.state[0][0] == 0.5
    tell(robot, ACCELERATION, 1.0)
    robot.advance(1)
    transmitted = needed + 0.6  # inertia 0.6 kg m^2
    assert robot.effort[0] == pytest.approx(transmitted + 2.0 + 0.1 * transmitted, rel=1e-3)


def test_accelerations_and_positions_are_followed():
    robot = simulation()
    tell(robot, ACCELERATION, -1.5)
    robot.advance(400)
    assert robot.state[1][0] == pytest.approx(-0.6, rel=1e-9)
    tell(robot, POSITION, 1.0)
    robot.advance(1000)
    assert robot.state[0][0] == pytest.approx(1.0, abs=1e-9)
    for _ in range(1000):
        tell(robot, POSITION, 1.0 + 0.2 * robot.time, 0.2)
        robot.advance(1)
    assert robot.state[0][0] == pytest.approx(1.0 + 0.2 * robot.time, abs=1e-3)


def test_brakes_stop_a_moving_robot_and_keep_it():
    robot = simulation()
    tell(robot, ACCELERATION, 2.0)
    robot.advance(500)
    moving = robot.state[0][0]
    robot.hold()
    robot.advance(3000)
    still = robot.state[0][0]
    assert moving < still < moving + 0.1 and abs(robot.state[1][0]) < 1e-8
    robot.advance(2000)
    assert robot.state[0][0] == pytest.approx(still, abs=1e-8)


@pytest.mark.parametrize(("delay", "substeps"), [(0, 2), (1, 2), (2, 2), (3, 2), (8, 4), (2, 4)])
def test_delayed_efforts_act_from_the_step_they_are_due_in(delay, substeps, rng):
    """Whole and half periods, against a robot without delay that is told at the right step."""
    late, prompt = simulation(delay=delay), simulation()
    efforts = rng.normal(0.0, 5.0, 12)
    for step in range(len(efforts) * substeps):
        if step % substeps == 0:
            tell(late, EFFORT, efforts[step // substeps])
        if step >= delay and (step - delay) % substeps == 0:
            tell(prompt, EFFORT, efforts[(step - delay) // substeps])
        prompt.advance(1)
        if step % substeps == substeps - 1:
            late.advance(substeps)
            assert (np.concatenate(late.state) == np.concatenate(prompt.state)).all()


def test_brakes_and_a_reset_forget_commands_under_way():
    for forget in (RobotSimulation.hold, RobotSimulation.reset):
        robot = simulation(delay=2)
        tell(robot, ACCELERATION, 3.0)
        robot.advance(1)
        forget(robot)
        robot.advance(5)
        assert robot.told[0] == HOLD and robot.state[0][0] == pytest.approx(0.5, abs=1e-12)


def test_commands_of_the_same_step_count_as_one_joint_by_joint():
    robot = RobotSimulation(Model.from_urdf(ARM), SimulationOptions.from_values(VALUES), 1e-3, (), 0, delay=3)
    for k in (0, 2, 0):
        named = np.eye(7, dtype=bool)[k]
        robot.tell(named, np.full(7, ACCELERATION), np.full(7, 1.0 + k), np.zeros(7))
    assert len(robot._coming._queue) == 1  # however many there are, memory stays bounded
    robot.advance(3)
    assert (robot.told == HOLD).all()
    robot.advance(1)
    assert np.flatnonzero(robot.told == ACCELERATION).tolist() == [0, 2] and robot.value[[0, 2]].tolist() == [1.0, 3.0]


def test_delays_are_whole_or_half_periods():
    assert [steps_of_delay(d, 2) for d in (0.0, 0.5, 1.0, 2.5)] == [0, 1, 2, 5] and steps_of_delay(3.0, 1) == 3
    for periods, substeps in ((0.5, 1), (1.5, 3), (0.25, 4), (0.3, 10)):
        with pytest.raises(ParameterError, match=f"command_delay is {periods:g} periods with {substeps} substeps"):
            steps_of_delay(periods, substeps)


def test_payload_friction_limits_and_noise():
    loaded = simulation(payload_frame="rod", payload_mass=1.0, payload_center_of_mass=[0.0, 0.0, -1.0])
    loaded.advance(1)
    assert loaded.effort[0] == pytest.approx((2 * 0.5 + 1.0) * G * np.sin(0.5), rel=1e-6)
    rusty = simulation(start=(0.1,), extra_friction=[5.0])
    tell(rusty, EFFORT, 0.0)
    rusty.advance(1000)
    assert (rusty.state[1] == 0.0).all() and rusty.state[0][0] == 0.1
    weak = simulation(pendulum(effort=1.0))
    tell(weak, EFFORT, 100.0)
    weak.advance(1)
    assert weak.effort[0] == 1.0 and weak.take_saturated() == ("swing",) and weak.take_saturated() == ()
    noisy = simulation(position_noise=1e-3, velocity_noise=1e-2)
    measured = np.array([np.concatenate(noisy.measure()) for _ in range(4000)])
    np.testing.assert_allclose(measured.std(axis=0), [1e-3, 1e-2], rtol=0.05)
    noisy.reset()
    assert (np.concatenate(noisy.measure()) == measured[0]).all()  # the same seed, the same noise


def test_options_that_make_no_sense_are_refused():
    for values, reason in [
        ({"extra_friction": [-1.0]}, "friction: one number .* none negative"),
        ({"extra_damping": [1.0, 2.0]}, "expected 1 or 1"),
        ({"payload_mass": 1.0}, "payload_frame"),
    ]:
        with pytest.raises((ParameterError, InputError), match=reason):
            simulation(**values)
    with pytest.raises(ParameterError, match="limits"):
        simulation(start=(9.0,))
    with pytest.raises(ParameterError, match="initial_position"):
        simulation(start=(0.0, 0.0))


def test_commands_are_read_by_name():
    joints = JointMapping(("a", "b", "c"))
    point = JointTrajectoryPoint(
        positions=[0.1, np.nan, np.nan], velocities=[0.2, np.nan, 0.0], accelerations=[np.nan, 3.0, np.nan],
        effort=[np.nan, np.nan, 7.0], time_from_start=Duration(),
    )  # fmt: skip
    message = JointTrajectory(joint_names=["c", "x", "a"], points=[point])
    named, told, value, rate = read_point(message, joints)
    assert named.tolist() == [True, False, True]
    assert told[[0, 2]].tolist() == [EFFORT, POSITION]
    assert value[[0, 2]].tolist() == [7.0, 0.1] and rate[2] == 0.2
    named, told, value, _ = read_named_efforts(JointState(name=["b"], effort=[2.0], position=[9.0]), joints)
    assert named.tolist() == [False, True, False] and told[1] == EFFORT and value[1] == 2.0
    assert read_effort_array(Float64MultiArray(data=[1.0, 2.0, 3.0]), joints)[2].tolist() == [1.0, 2.0, 3.0]
    point.effort[0] = 1.0
    for read, bad in [
        (read_effort_array, Float64MultiArray(data=[1.0])),
        (read_effort_array, Float64MultiArray(data=[1.0, np.inf, 0.0])),
        (read_named_efforts, JointState(name=["a"])),
        (read_named_efforts, JointState(name=["a", "a"], effort=[1.0, 2.0])),
        (read_named_efforts, JointState(name=["a", "b"], effort=[1.0])),
        (read_named_efforts, JointState(name=["a"], effort=[np.inf])),
        (read_point, JointTrajectory(joint_names=["a"])),
        (read_point, message),
    ]:
        with pytest.raises(MessageError):
            read(bad, joints)


def test_the_node_obeys_efforts_and_brakes_without_them(bench):
    node = bench.start(
        "simulated_robot", mode="dynamics", robot_description=ARM, rate=250.0, extra_damping=[2.0],
        start="initial_position", initial_position=[0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0],
    )  # fmt: skip
    states = bench.listen(JointState, "joint_states")
    commands = bench.publisher(Float64MultiArray, f"{node}/commands", 1)
    bench.wait(lambda: len(states) > 50, "states")
    start = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0])
    np.testing.assert_allclose(states[-1].position, start, atol=1e-9)
    np.testing.assert_allclose(states[-1].effort, oracle(ARM, start), atol=1e-6)
    assert tuple(states[-1].name) == ARM_JOINTS
    stamps = np.array([stamp_of(s) for s in states])
    # Periods of 4 ms, several of them where the machine was late.
    periods = np.diff(stamps) / 4e6
    assert (periods > 0.5).all()
    np.testing.assert_allclose(periods, np.rint(periods), atol=1e-3)

    def push():
        effort = oracle(ARM, states[-1].position)
        effort[0] += 5.0
        commands.publish(Float64MultiArray(data=effort.tolist()))

    bench.send_until(push, lambda: states[-1].position[0] > 0.2, "the first joint to turn")
    bench.wait_status(node, lambda s, v: "stale" in s.message, "brakes")
    bench.wait(lambda: np.abs(states[-1].velocity).max() < 1e-6, "rest")
    assert bench.call(Trigger, f"{node}/reset", Trigger.Request()).success
    bench.wait(lambda: np.abs(states[-1].position - start).max() < 1e-9, "the start")
    assert bench.set(node, payload_frame="panda_link8", payload_mass=2.0).successful
    bench.wait(lambda: np.abs(np.array(states[-1].effort) - oracle(ARM, start)).max() > 1.0, "the payload to be felt")
    bench.send_until(
        lambda: commands.publish(Float64MultiArray(data=[1.0])),
        lambda: bench.reported(node, lambda s, v: "1 efforts for 7" in v["last dropped command"]),
        "the bad command",
    )
    status = bench.wait_status(node, lambda s, v: float(v["real-time factor"] or 0) > 0.0, "the real-time factor")
    assert status.level == b"\x00" or "slower" in status.message


CLOCKS = [(mode, use_sim_time) for mode in ("dynamics", "motion") for use_sim_time in (False, True)]


@pytest.mark.parametrize(("mode", "use_sim_time"), every_run(CLOCKS[1:3], CLOCKS))
def test_the_node_publishes_the_clock_faster_than_real_time(bench, mode, use_sim_time):
    bench.start(
        "simulated_robot", mode=mode, robot_description=pendulum(), rate=100.0, publish_clock=True,
        real_time_factor=5.0, use_sim_time=use_sim_time,
    )  # fmt: skip
    states = bench.listen(JointState, "joint_states")
    together = common_stamps(states, bench.listen(Clock, "/clock"))
    bench.wait(lambda: together() > 100, "states and clock")
    assert np.diff([stamp_of(s) for s in states]).min() >= (10**7 - 1 if mode == "dynamics" else 1)


def test_the_node_refuses_what_it_cannot_do(bench):
    node = bench.start("simulated_robot", mode="dynamics", robot_description=pendulum(), lock_step=True)
    bench.wait_status(node, lambda s, v: "without publish_clock" in s.message, "the reason")
    assert bench.state(node) == "unconfigured"
    other = bench.start("simulated_robot", "other", mode="dynamics", robot_description=pendulum(), command_delay=0.3)
    bench.wait_status(other, lambda s, v: "command_delay is 0.3 periods" in s.message, "the reason")
