"""A payload of the dynamics nodes, by service and by parameters, against another library."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from node_harness import stamp_of
from node_robots import ARM, ARM_JOINTS, assert_close, oracle

srv = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

from geometry_msgs.msg import Inertia, Vector3  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool  # noqa: E402

RNG = np.random.default_rng(31)
Q, QD = RNG.uniform(-1, 1, 7), RNG.uniform(-2, 2, 7)


def with_payload(frame, mass, com, inertia):
    """The arm with a payload, by another library."""
    model = pin.buildModelFromXML(ARM)
    place = model.frames[model.getFrameId(frame)]
    model.inertias[place.parentJoint] += place.placement * pin.Inertia(mass, np.array(com), np.array(inertia))
    return model


def inertia_message(mass, com, inertia):
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
    return Inertia(m=mass, com=Vector3(x=com[0], y=com[1], z=com[2]), ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)


@pytest.mark.parametrize("module", ["inverse_dynamics", "hybrid_dynamics"])
def test_a_payload_is_part_of_everything_until_it_is_taken_away(bench, module):
    node = bench.start(module, robot_description=ARM, unnamed_joints="zero_acceleration", saturate_efforts=False)
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    mass, com, inertia = 2.0, [0.02, -0.03, 0.1], [[0.02, 0.001, 0.002], [0.001, 0.03, -0.003], [0.002, -0.003, 0.025]]
    loaded = with_payload("panda_link8", mass, com, inertia)

    def set_payload(frame, message):
        return bench.call(
            srv.SetPayload, f"{node}/set_payload", srv.SetPayload.Request(frame_id=frame, inertia=message)
        )

    def efforts():
        answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
        return np.array(answer.effort)

    without = oracle(ARM, Q, QD)
    assert_close(efforts(), without)
    response = set_payload("panda_link8", inertia_message(mass, com, inertia))
    assert response.success, response.message
    carrying = pin.rnea(loaded, loaded.createData(), Q, QD, np.zeros(7))
    assert np.abs(carrying - without).max() > 1.0
    assert_close(efforts(), carrying)
    assert bench.get(node, "payload_frame") == "panda_link8" and bench.get(node, "payload_mass") == mass
    # What cannot be carried is refused, and changes nothing.
    for frame, message, reason in (
        ("panda_link99", inertia_message(1.0, com, inertia), "panda_link99"),
        ("panda_link0", inertia_message(1.0, com, inertia), "panda_link0"),
        ("", inertia_message(1.0, com, inertia), "payload_frame"),
        ("panda_link8", inertia_message(-1.0, com, inertia), "payload_mass"),
        ("panda_link8", inertia_message(math.nan, com, inertia), "payload_mass"),
        ("panda_link8", inertia_message(1.0, [math.nan, 0, 0], inertia), "finite"),
        ("panda_link8", inertia_message(1.0, com, [[-1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), "inertia"),
    ):
        response = set_payload(frame, message)
        assert not response.success and reason in response.message, response.message
    assert_close(efforts(), carrying)
    assert set_payload("", Inertia()).success
    assert_close(efforts(), without)


def test_a_payload_counts_while_the_gripper_says_that_it_is_held(bench):
    held = {"payload_frame": "panda_link8", "payload_mass": 2.0, "payload_center_of_mass": [0.02, -0.03, 0.1]}
    node = bench.start("inverse_dynamics", robot_description=ARM, payload_when="gripped", **held)
    answers, gripped = bench.listen(JointState, f"{node}/joint_efforts"), bench.publisher(Bool, f"{node}/gripped")
    loaded = with_payload("panda_link8", 2.0, [0.02, -0.03, 0.1], np.zeros((3, 3)))
    without, carrying = oracle(ARM, Q, QD), pin.rnea(loaded, loaded.createData(), Q, QD, np.zeros(7))

    def ask():
        return bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)

    assert_close(np.array(ask().effort), without)
    for now, expected, before in ((True, carrying, without), (False, without, carrying)):
        gripped.publish(Bool(data=now))
        bench.turns(ask, expected, before, numbers=lambda a: a.effort)
        shown = "2 kg at panda_link8" + ("" if now else ", not held")
        bench.wait_status(node, lambda s, v, shown=shown: v["payload"] == shown, shown)
    result = bench.set(node, payload_frame="panda_link99")
    assert not result.successful and "panda_link99" in result.reason
    assert bench.set(node, payload_when="always").successful
    bench.turns(ask, carrying, without, numbers=lambda a: a.effort)


def test_efforts_pass_over_when_a_payload_is_gripped_and_let_go(bench):
    """A robot at rest: the way from one effort to the other takes `blend_time`, by the stamps of the states."""
    time, step = 0.2, 20_000_000
    node = bench.start(
        "computed_torque", robot_description=ARM, payload_when="gripped", payload_frame="panda_link8", payload_mass=2.0,
        blend_time=time, state_timeout=0.0, velocity_source="measured", kp=[0.0], kd=[0.0], error_limit=0.0,
    )  # fmt: skip
    answers, gripped = bench.listen(JointState, f"{node}/joint_efforts"), bench.publisher(Bool, f"{node}/gripped")
    loaded = with_payload("panda_link8", 2.0, [0.0] * 3, np.zeros((3, 3)))
    without, carrying = oracle(ARM, Q), pin.computeGeneralizedGravity(loaded, loaded.createData(), Q)
    stamps = itertools.count(10**9, step)

    def ask():
        answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, np.zeros(7), stamp=next(stamps)), answers)
        return stamp_of(answer), np.array(answer.effort)

    bench.wait(lambda: np.abs(ask()[1] - without).max() < 1e-9, "the efforts of the robot alone")
    for held, before, after in ((True, without, carrying), (False, carrying, without)):
        way, path = after - before, [(*ask(), 0.0)]
        gripped.publish(Bool(data=held))

        def passed(path=path, way=way, before=before):
            stamp, effort = ask()
            path.append((stamp, effort, (effort - before) @ way / (way @ way)))
            return path[-1][2] > 1.0 - 1e-9

        bench.wait(passed, "the other efforts")
        at, efforts, part = (np.array(x) for x in zip(*path, strict=True))
        np.testing.assert_allclose(efforts, before + part[:, None] * way, rtol=0, atol=1e-9)  # no joint jumps
        rises = np.diff(part)
        assert rises.min() > -1e-9 and (rises <= 1.5e-9 * np.diff(at) / time + 1e-9).all()
        assert at[-1] - at[part < 1e-9][-1] <= 1e9 * time + step + (at[-1] - at[-2])


def test_the_payload_may_come_with_the_parameters(bench):
    values = {"payload_frame": "panda_link7", "payload_mass": 1.5, "payload_center_of_mass": [0.0, 0.1, 0.0]}
    node = bench.start("inverse_dynamics", robot_description=ARM, **values)
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
    loaded = with_payload("panda_link7", 1.5, [0.0, 0.1, 0.0], np.zeros((3, 3)))
    assert_close(answer.effort, pin.computeGeneralizedGravity(loaded, loaded.createData(), Q))
    result = bench.set(node, payload_frame="panda_link99")
    assert not result.successful and "panda_link99" in result.reason
    assert bench.set(node, payload_mass=0.0, payload_frame="panda_link99").successful


def test_a_payload_on_a_frame_that_is_not_there_keeps_the_node_from_starting(bench):
    node = bench.start("inverse_dynamics", robot_description=ARM, payload_frame="gripper", payload_mass=1.0)
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and "gripper" in s.message, "the reason")
    assert bench.state(node) == "unconfigured"
    assert bench.set(node, payload_frame="panda_link8").successful
    bench.wait(lambda: bench.change_state(node, "configure"), "it to be put right")
