"""The first messages are answered like any other: no kernel is read from disk or compiled for them, in any node.

Nothing at all is for the first external wrench, in nodes whose every answer takes one into account.
"""

from __future__ import annotations

from driven import WAYS
from support.forked import run_in_copies

PROGRAM = """
import rclpy
from driven import Driven
from geometry_msgs.msg import WrenchStamped
from node_harness import Bench

def answers(way):
    rclpy.init()
    driven, opened = Driven(Bench("bench", "/loads"), way), []
    ends = (".nbi", ".nbc")
    take = lambda event, args: opened.append(args[0]) if event == "open" and str(args[0]).endswith(ends) else 0
    sys.addaudithook(take)
    for _ in range(3):
        driven.answer()
    assert not opened, (way, opened)
    if any(s.topic_name.endswith("/external_wrench") for s in driven.node.subscriptions):
        first_wrench(driven)

def first_wrench(driven):
    callbacks = {s.topic_name.rpartition("/")[2]: s.callback for s in driven.node.subscriptions}
    state, opened, count = driven.case.state(driven.bench), [], driven.node.stream.statistics.answered
    wrench = WrenchStamped()
    wrench.header.frame_id = "panda_link8"
    wrench.wrench.force.z = -10.0
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event in ("open", "compile", "import") else None)
    callbacks["external_wrench"](wrench)
    driven.node.stream.on_state(state)
    after = list(opened)
    assert driven.node.stream.statistics.answered == count + 1, driven.node.stream.statistics.problem
    assert driven.node.inputs.wrenches.frames == ("panda_link8",)
    assert not after, (driven.way, after)

in_copies(answers)
"""


ELSEWHERE = ("viewer", "computed_torque, tool")
"""Ways of which one answers nothing, and the other's mode is among those of test_nothing_loaded."""


def test_states_load_no_kernel(ros):
    run_in_copies(PROGRAM, [(way,) for way in WAYS if way not in ELSEWHERE])
