"""Requests for many states: names, sizes, and the way back."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.core.errors import RequestError
from lie_dynamics_ros.core.joint_mapping import JointMapping
from lie_dynamics_ros.ros.node.services import Batch, to_field

WANTED = ("a", "b", "c")


def batch(names=(), count=0, numbers=(), limit=100):
    return Batch(JointMapping(WANTED), names, count, numbers, limit)


def field(rows):
    return array("d", np.ravel(rows).tolist())


@given(
    names=st.permutations([*WANTED, "x", "y"]).flatmap(
        lambda names: st.sets(st.sampled_from(["x", "y"])).map(lambda drop: [n for n in names if n not in drop])
    ),
    count=st.integers(1, 4),
)
def test_numbers_go_to_the_wanted_order_and_back(names, count):
    rows = np.arange(count * len(names), dtype=float).reshape(count, len(names))
    found = batch(names, 0, field(rows))
    read = found.read("position", field(rows))
    assert (found.count, read.shape) == (count, (count, 3))
    for column, name in enumerate(WANTED):
        np.testing.assert_array_equal(read[:, column], rows[:, names.index(name)])
    kept = [name for name in names if name in WANTED]
    assert list(found.names) == kept
    back = np.reshape(found.write(read), (count, 3))
    for column, name in enumerate(kept):
        np.testing.assert_array_equal(back[:, column], rows[:, names.index(name)])
    matrices = read[:, :, None] * 100.0 + read[:, None, :]
    back = np.reshape(found.write_matrices(matrices), (count, 3, 3))
    for i, row in enumerate(kept):
        for k, column in enumerate(kept):
            np.testing.assert_array_equal(back[:, i, k], matrices[:, WANTED.index(row), WANTED.index(column)])
    flags = found.read_flags("given", [name == "b" for name in names])
    assert flags.tolist() == [False, True, False]


def test_no_names_stand_for_the_wanted_ones():
    found = batch(numbers=range(6))
    assert found.names == WANTED and found.count == 2
    np.testing.assert_array_equal(found.read("position", field(range(6))), [[0, 1, 2], [3, 4, 5]])


def test_what_is_read_belongs_to_nobody_else():
    values = field(range(3))
    rows = batch(numbers=values).read("position", values)
    rows[:] = 7.0
    assert list(values) == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("names", [(), ("c", "a", "b", "x")])
def test_an_optional_field_may_be_empty(names):
    found = batch(names, 2, range(8))
    np.testing.assert_array_equal(found.read("velocity", field([]), optional=True), np.zeros((2, 3)))
    assert found.read_flags("given", []).tolist() == [False] * 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"names": ("a", "b")}, "joints missing: c; expected each once of a, b, c"),
        ({"names": ("a", "b", "c", "b")}, "named more than once: b"),
        ({}, "no states"),
        ({"count": 101}, "101 states in one request; max_batch allows 100"),
        ({"numbers": range(303)}, "101 states"),
    ],
)
def test_refuses(arguments, reason):
    with pytest.raises(RequestError, match=reason):
        batch(**arguments)


@pytest.mark.parametrize("size", [0, 1, 5, 7])
def test_refuses_fields_of_the_wrong_size(size):
    with pytest.raises(RequestError, match=f"position has {size} entries; expected 6: 2 x 3"):
        batch(count=2).read("position", field(range(size)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_names_the_joint_and_state_of_what_is_not_finite(bad):
    found = batch(("c", "b", "a"), 2)
    values = field([0, 1, 2, 3, bad, 5])
    with pytest.raises(RequestError, match=rf"position of b in state 1 is {bad}"):
        found.read("position", values)
    assert found.read("position", values, finite=False).shape == (2, 3)


def test_never_writes_what_is_not_finite():
    with pytest.raises(RequestError, match="not finite"):
        to_field(np.array([1.0, math.nan]))
