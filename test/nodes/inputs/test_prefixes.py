"""Names of joints and frames with the prefix of one of several robots, in all nodes that answer states; wrenches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from geometry_msgs.msg import Inertia, PoseStamped, WrenchStamped
from node_cases import ARM_POSITION, CASES
from node_platforms import LEGS
from node_robots import ARM, ARM_JOINTS, assert_close, oracle
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.expiring_values import ExternalWrenches
from lie_dynamics_ros.lie_dynamics import Model

LEFT = tuple(f"left_{name}" for name in ARM_JOINTS)


def names_in(answer):
    return tuple(getattr(answer, "name", None) or getattr(answer, "joint_names", ()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.module)
def test_every_node_speaks_of_its_joints_with_their_prefix(bench, case):
    """The other arm's states, and those without a prefix, on the same topic are not its own."""
    case = replace(case, names=tuple(f"left_{name}" for name in case.names))
    _, answers = case.start(bench, joint_prefix="left_")
    others = [[name.removeprefix("left_") for name in case.names], [f"right_{name[5:]}" for name in case.names]]

    def ask():
        for names in others:
            bench.states.publish(bench.make_state(names, case.position + 0.1, ()))
        return case.state(bench)

    answer = bench.ask(ask, answers)
    case.check(answer)
    assert names_in(answer) in (case.names, ())


def test_simulated_robots_do_so_too(bench):
    """Each takes the commands for its joints; the parameters know no prefix."""
    given = {"mode": "dynamics", "locked_joints": ["panda_joint7"], "locked_positions": [0.3], "gravity": [0.0] * 3}
    given["rate"] = 50.0
    for side in ("left", "right"):
        bench.start("simulated_robot", f"{side}_robot", joint_prefix=f"{side}_", robot_description=ARM, **given)
    states = bench.listen(JointState, "joint_states")
    efforts = bench.publisher(JointState, "left_robot/joint_efforts")
    push = JointState(name=[*LEFT[:6], "right_panda_joint1"], effort=[5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0])
    seen = {}

    def known():
        seen.update({names_in(state)[0]: state for state in states[-50:]})
        return len(seen) == 2

    def moved():
        known()
        return seen["left_panda_joint1"].position[0] > begin["left_panda_joint1"].position[0] + 0.02

    bench.wait(known, "states of both arms")
    begin = dict(seen)
    bench.send_until(lambda: efforts.publish(push), moved, "the left arm to move")
    assert {names_in(state) for state in states} == {LEFT[:6], tuple(f"right{name[4:]}" for name in LEFT[:6])}
    right = [one["right_panda_joint1"].position[0] for one in (begin, seen)]
    assert abs(right[1] - right[0]) < 1e-6
    legs = bench.listen(JointState, "stewart_states")
    bench.start("simulated_stewart", joint_prefix="left_", rate=50.0, arguments=["-r", "joint_states:=stewart_states"])
    bench.wait(lambda: legs, "leg lengths")
    assert names_in(legs[-1]) == tuple(f"left_{leg}" for leg in LEGS)


def test_frames_have_a_prefix_in_messages_and_none_in_parameters(bench):
    node = bench.start(
        "inverse_dynamics", robot_description=ARM, joint_prefix="left_", frame_prefix="left/",
        joints=list(ARM_JOINTS[:3]), payload_frame="panda_link8", wrench_timeout=0.0,
    )  # fmt: skip
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    wrenches = bench.publisher(WrenchStamped, f"{node}/external_wrench")
    message = WrenchStamped()
    message.wrench.torque.z = 1.0
    free = oracle(ARM, ARM_POSITION)[:3]

    def efforts(frame):
        message.header.frame_id = frame
        wrenches.publish(message)
        return bench.ask(lambda: bench.make_state(LEFT, ARM_POSITION, np.zeros(7)), answers).effort

    for foreign in ("right/panda_link1", "panda_link1"):
        bench.send_until(
            lambda frame=foreign: assert_close(efforts(frame), free),
            lambda frame=foreign: bench.reported(
                node, lambda s, v: f"the frame '{frame}'; expected one that begins with 'left/'" in v["last problem"]
            ),
            "a refusal",
        )
    # About joint 1: a moment about the axis of the link that it moves.
    pushed = bench.turns(lambda: efforts("left/panda_link1"), free - np.array([1.0, 0, 0]), free, numbers=lambda e: e)
    assert pushed is not None
    answer = bench.ask(lambda: bench.make_state(LEFT, ARM_POSITION, np.zeros(7)), answers)
    assert tuple(answer.name) == LEFT[:3]
    told = bench.start("inverse_dynamics", "other", robot_description=ARM, frame_prefix="/left")
    why = "frame_prefix is '/left'; expected none with a leading slash"
    bench.wait_status(told, lambda s, v: why in s.message, why)


def test_services_take_and_give_names_with_prefixes(bench):
    srv = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    node = bench.start("inverse_dynamics", robot_description=ARM, joint_prefix="left_", frame_prefix="left/")
    bench.wait_state(node, "active")

    def compute(names, frame):
        wrench = WrenchStamped()
        wrench.header.frame_id = frame
        request = srv.ComputeInverseDynamics.Request(
            joint_names=names, position=ARM_POSITION[::-1].tolist(), external_wrenches=[wrench]
        )
        return bench.call(srv.ComputeInverseDynamics, f"{node}/compute_inverse_dynamics", request)

    answer = compute(LEFT[::-1], "left/panda_link8")
    assert answer.success and tuple(answer.joint_names) == LEFT[::-1]
    assert_close(np.array(answer.effort)[::-1], oracle(ARM, ARM_POSITION))
    for names, frame, why in (
        (ARM_JOINTS[::-1], "left/panda_link8", "joints missing: left_panda_joint1"),
        (LEFT[::-1], "right/panda_link8", "the frame 'right/panda_link8'; expected one that begins with 'left/'"),
    ):
        answer = compute(names, frame)
        assert not answer.success and why in answer.message, answer.message

    def carry(frame):
        request = srv.SetPayload.Request(frame_id=frame, inertia=Inertia(m=1.0))
        return bench.call(srv.SetPayload, f"{node}/set_payload", request)

    assert not carry("panda_link8").success
    assert carry("left/panda_link8").success
    assert bench.get(node, "payload_frame") == "panda_link8"


def test_targets_and_poses_of_a_tool_have_frames_with_the_prefix(bench):
    given = {"mode": "impedance", "frame_prefix": "left/", "error_limit": 0.0}
    node = bench.start("computed_torque", robot_description=ARM, **given)
    poses = bench.listen(PoseStamped, f"{node}/tool_pose")
    targets = bench.publisher(PoseStamped, f"{node}/target_pose")

    def state():
        return bench.make_state(ARM_JOINTS, ARM_POSITION, np.zeros(7))

    pose = bench.ask(state, poses)
    assert pose.header.frame_id == "left/panda_link0"
    pose.header.frame_id = "panda_link0"
    bench.send_until(
        lambda: (bench.states.publish(state()), targets.publish(pose)),
        lambda: bench.reported(node, lambda s, v: "the frame 'panda_link0'; expected one that" in v["last problem"]),
        "a refusal",
    )
    desired = bench.listen(PoseStamped, f"{node}/desired_pose")
    pose.header.frame_id, height = "left/panda_link0", pose.pose.position.z
    pose.pose.position.z = height + 0.1

    def ask():
        targets.publish(pose)
        return bench.ask(state, desired)

    bench.wait(lambda: ask().pose.position.z > height + 0.01, "a desired pose on its way to the target")


def test_a_slash_before_a_frame_makes_no_other_frame_of_it():
    wrenches = ExternalWrenches(Model.from_urdf(ARM))
    wrenches.put("/panda_link8", np.ones(6), 0)
    wrenches.put("panda_link8", np.arange(6.0), 0)
    assert wrenches.frames == ("panda_link8",)
    (body,) = np.flatnonzero(wrenches.on_bodies(0, 1).any(axis=1))
    assert body == 6


def test_a_frame_that_the_robot_does_not_have_is_named_in_short():
    wrenches = ExternalWrenches(Model.from_urdf(ARM))
    with pytest.raises(MessageError, match="no link or frame 'xxx") as error:
        wrenches.put("x" * 10_000, np.ones(6), 0)
    assert len(str(error.value)) < 200
