"""Rounds in processes of their own: what fails is a failure, and only a round whose own DDS hung is repeated."""

from pathlib import Path

import pytest
from rounds import DEAF, judged_apart, own_dds_hung

STUCK = """Timeout (0:06:00)!
Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 1 in wait
Thread 0x00007f0000000002 (most recent call first):
  File "{}", line 300 in spin_once
  File "/a/test/nodes/node_harness.py", line 100 in wait
"""


@pytest.mark.parametrize(
    ("code", "output", "hung"),
    [
        (DEAF, "", True),
        (1, STUCK.format("/site-packages/rclpy/executors.py"), True),
        (1, STUCK.format("/a/test/nodes/mujoco_driver.py"), False),
        (1, STUCK.format("/site-packages/rclpy/executors.py").replace("0:06:00", "0:00:05"), False),
        (1, "AssertionError", False),
        (-11, STUCK.format("/site-packages/rclpy/executors.py"), False),
    ],
)
def test_a_round_that_hung_is_told_from_one_that_failed(code, output, hung):
    assert own_dds_hung(code, output) is hung


def fails(bench, file):
    with Path(file).open("a") as count:
        count.write("x")
    assert bench.namespace == "/", "what is wrong"


def test_a_round_that_fails_is_not_repeated_where_it_hears(tmp_path):
    with pytest.raises(AssertionError, match="what is wrong"):
        judged_apart("test_rounds", "fails", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


def is_deaf_once(bench, file):
    if not Path(file).exists():
        Path(file).touch()
        bench.executor.remove_node(bench.node)
        raise AssertionError("it hears nothing")


@pytest.mark.slow
def test_a_round_that_is_deaf_is_repeated(tmp_path):
    with pytest.warns(UserWarning, match="it hears nothing"):
        judged_apart("test_rounds", "is_deaf_once", tmp_path / "file")
