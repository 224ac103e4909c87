"""stewart_command and simulated_stewart under what no user should do: the lists of common/, for nodes that tick."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from geometry_msgs.msg import PoseArray, PoseStamped, TwistStamped
from node_cases import SPECIAL, rubbish, some_names, some_size
from node_harness import Bench
from node_platforms import HOME, LEGS, TEXT, lengths
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from test_stewart_command import start
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from lie_dynamics_ros.nodes.simulated_stewart.node import SimulatedStewart
from lie_dynamics_ros.nodes.stewart_command.node import StewartCommandNode

TRANSITIONS = {
    ("unconfigured", "configure"): "inactive",
    ("inactive", "activate"): "active",
    ("active", "deactivate"): "inactive",
    ("inactive", "cleanup"): "unconfigured",
}
PLATFORM = TEXT + "\nleg_limits: [0.3, 0.8]\n"
NODES = {
    "stewart_command": (StewartCommandNode, {"platform": PLATFORM, "rate": 100.0}),
    "simulated_stewart": (SimulatedStewart, {"platform": PLATFORM, "rate": 100.0, "mode": "actuators"}),
}


@pytest.fixture(params=NODES)
def node(bench, request):
    make, values = NODES[request.param]
    overrides = [Parameter(name, value=value) for name, value in {"autostart": False, **values}.items()]
    made = make(namespace=bench.namespace, parameter_overrides=overrides)
    yield made
    made.destroy_node()


def tick(node):
    """What its timer does, and what of it is published: lengths and rates."""
    sent = []
    output = node._outputs.commands if isinstance(node, StewartCommandNode) else node._states
    output.send = lambda message: sent.append(np.array([*message.position, *message.velocity]))
    (node._tick if isinstance(node, StewartCommandNode) else node._step)()
    return sent


def hear(node, q=None, v=None, names=LEGS):
    message = JointState(name=list(names), position=(lengths(HOME) if q is None else q), velocity=v or [0.0] * 6)
    if isinstance(node, StewartCommandNode):
        node.states.on_state(message)
    else:
        node._on_commands(message)


def test_transitions_in_every_order_leave_a_timer_while_active_only(node):
    rng, state, tried = np.random.default_rng(5), "unconfigured", set()
    labels = ("configure", "activate", "deactivate", "cleanup")
    everything = {(s, label) for s in ("unconfigured", "inactive", "active") for label in labels}
    while tried != everything:
        label = str(rng.choice(labels))
        wanted = TRANSITIONS.get((state, label))
        if wanted is None:
            with suppress(Exception):  # what rclpy says of it differs between distributions
                getattr(node, f"trigger_{label}")()
        else:
            assert getattr(node, f"trigger_{label}")().name == "SUCCESS", node.failure
        tried.add((state, label))
        state = wanted or state
        assert node.state == state
        assert node._ticker.running == (state == "active")
        hear(node)
        if state == "active":
            assert np.isfinite(tick(node)).all()


def some_stamp(rng, node, header):
    header.stamp = node.get_clock().now().to_msg()
    header.stamp.sec = int(np.clip(header.stamp.sec + rng.choice([0, 0, 0, -60, 60, -(2**31)]), -(2**31), 2**31 - 1))
    header.frame_id = str(rng.choice(["", "stewart_base", "tool", "work", "nowhere", "é" * 300]))
    return header


def some_pose(rng, pose):
    numbers = [*HOME[:3, 3], 0.0, 0.0, 0.0, 1.0]
    for k in rng.integers(0, 7, rng.integers(0, 3)):
        numbers[k] = float(rng.choice([*SPECIAL, 0.5, 0.3]))
    p, q = pose.position, pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = numbers
    return pose


def some_vector(rng, *vectors):
    for vector in vectors:
        vector.x, vector.y, vector.z = rubbish(rng, 3)


def some_message(rng, node):
    """Something that a topic of the node may bring, and the callback that takes it."""
    kind = rng.integers(7)
    if kind == 0 or isinstance(node, SimulatedStewart):
        if kind == 6:
            return lambda: node._on_desired(PoseStamped(pose=some_pose(rng, PoseStamped().pose)))
        names = some_names(rng, LEGS)
        fields = (rubbish(rng, some_size(rng, len(names))) for _ in range(3))
        state = JointState(**dict(zip(("name", "position", "velocity", "effort"), (names, *fields), strict=True)))
        state.header = some_stamp(rng, node, state.header)
        return lambda: node.states.on_state(state) if isinstance(node, StewartCommandNode) else node._on_commands(state)
    if kind == 1:
        message = PoseStamped(pose=some_pose(rng, PoseStamped().pose))
        some_stamp(rng, node, message.header)
        return lambda: node._take(lambda reader, frames: reader.single(message, frames))
    if kind == 2:
        message = TwistStamped()
        some_stamp(rng, node, message.header)
        some_vector(rng, message.twist.linear, message.twist.angular)
        return lambda: node._on_twist(message)
    if kind == 3:
        message = PoseArray(poses=[some_pose(rng, PoseStamped().pose) for _ in range(rng.integers(0, 4))])
        some_stamp(rng, node, message.header)
        return lambda: node._on_path(message)
    if kind == 4:
        message = MultiDOFJointTrajectory()
        some_stamp(rng, node, message.header)
        for _ in range(rng.integers(0, 3)):
            point = MultiDOFJointTrajectoryPoint()
            point.time_from_start.sec = int(rng.integers(-(2**31), 2**31)) if rng.random() < 0.3 else 1
            message.points.append(point)
        return lambda: node._take(lambda reader, frames: reader.trajectory(message, frames))
    message = Imu()
    some_stamp(rng, node, message.header)
    some_vector(rng, message.linear_acceleration, message.angular_velocity)
    message.linear_acceleration_covariance[0] = float(rng.choice([0.0, -1.0, math.nan]))
    return lambda: (node.orders.on_imu if kind == 5 else node._on_vehicle)(message)


def test_rubbish_on_all_topics_leaves_a_node_that_commands_finite_numbers_within_limits(node, rng):
    for change in (node.trigger_configure, node.trigger_activate):
        assert change().name == "SUCCESS", node.failure
    sent = []
    for k in range(600):
        some_message(rng, node)()
        if k % 5 == 0:
            hear(node)
            sent += tick(node)
        if isinstance(node, StewartCommandNode) and k % 97 == 0:
            for call in (node.orders.hold, node.orders.level, lambda: node.orders.ride(True)):
                try:
                    call()
                except Exception as error:
                    assert type(error).__module__.startswith("lie_dynamics_ros"), error
    assert node.state == "active" and not node.failure
    sent = np.array(sent)
    assert len(sent) > 100 and np.isfinite(sent).all()
    assert (sent[:, :6] >= 0.3 - 1e-4).all() and (sent[:, :6] <= 0.8 + 1e-4).all()


def test_bytes_that_are_no_state_are_told_and_survived(bench):
    node, driver = start(bench)
    driver.until(lambda: driver.at(HOME), "holding")
    raw = bench.publisher(JointState, "joint_states")
    whole = serialize_message(JointState(name=list(LEGS), position=lengths(HOME)))

    def send():
        driver.send()
        for spoiled in (whole[:2], whole[:30], b"\xff" * 50):
            raw.publish(spoiled)

    bench.send_until(send, lambda: bench.reported(node, lambda s, v: "no joint state" in s.message), "a warning")
    count = len(driver.commands)
    driver.until(lambda: len(driver.commands) > count + 5, "set points")


def test_two_drivers_are_told(bench):
    node, driver = start(bench)
    other = Bench("intruder", bench.namespace)
    try:
        other.drive(qos=10)
        message = JointState(name=list(LEGS), position=lengths(HOME) + 1e-3, velocity=[0.0] * 6)

        def send():
            driver.send()
            other.states.publish(message)

        told = lambda s, v: s.level == b"\x02" and "take turns" in s.message  # noqa: E731
        bench.send_until(send, lambda: bench.reported(node, told), "an error")
    finally:
        other.close()
