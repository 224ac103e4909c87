"""Names of joints and frames with the prefix of one of several robots, in all nodes that answer states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from node_cases import ARM_POSITION, CASES
from node_platforms import LEGS
from node_robots import ARM, ARM_JOINTS, assert_close, oracle
from sensor_msgs.msg import JointState

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
