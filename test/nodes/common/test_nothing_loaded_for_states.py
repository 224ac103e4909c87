"""The first messages are answered like any other: no kernel is read from disk or compiled for them, in any node."""

from __future__ import annotations

from driven import WAYS
from support.forked import run_in_copies

PROGRAM = """
import rclpy
from driven import Driven
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

in_copies(answers)
"""


def test_states_load_no_kernel(ros):
    run_in_copies(PROGRAM, [(way,) for way in WAYS if not way.startswith("viewer")])
