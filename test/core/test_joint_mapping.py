"""Joints matched by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lie_dynamics_ros.core.joint_mapping import CACHE_SIZE, MOST_KEPT, JointMapping

JOINTS = ("shoulder", "elbow", "wrist")


def test_same_names_in_the_same_order_are_the_identity():
    match = JointMapping(JOINTS).match(list(JOINTS))
    assert match.identity and match.complete and match.problem == ""
    assert match.indices.tolist() == [0, 1, 2]


@given(st.permutations([*JOINTS, "finger", "camera"]))
def test_finds_every_joint_in_any_order_among_others(names):
    match = JointMapping(JOINTS).match(names)
    assert match.complete
    assert [names[i] for i in match.indices] == list(JOINTS)
    assert not match.identity
    assert set(match.unknown) == {"finger", "camera"}
    assert match.size == 5


@pytest.mark.parametrize(
    ("names", "missing", "duplicated"),
    [
        ([], JOINTS, ()),
        (["wrist", "shoulder"], ("elbow",), ()),
        (["wrist", "shoulder", "elbow", "wrist"], (), ("wrist",)),
        (["elbow", "elbow"], ("shoulder", "wrist"), ("elbow",)),
        (["finger", "finger", *JOINTS], (), ()),
    ],
)
def test_names_what_is_missing_and_what_is_ambiguous(names, missing, duplicated):
    match = JointMapping(JOINTS).match(names)
    assert (match.missing, match.duplicated) == (missing, duplicated)
    assert match.complete == (not missing and not duplicated)
    for joint in (*missing, *duplicated):
        assert joint in match.problem


def test_keeps_the_match_while_the_names_stay_the_same():
    mapping = JointMapping(JOINTS)
    first, other = ["wrist", "elbow", "shoulder"], ["elbow", "shoulder", "wrist"]
    match = mapping.match(first)
    assert mapping.match(list(first)) is match
    assert mapping.match(other) is not match
    assert mapping.match(list(first)) is match  # two drivers that take turns


def test_a_list_changed_in_place_is_another_list():
    mapping = JointMapping(JOINTS)
    names = list(JOINTS)
    mapping.match(names)
    names.reverse()
    assert mapping.match(names).indices.tolist() == [2, 1, 0]


def test_remembers_a_limited_number_of_lists():
    mapping = JointMapping(JOINTS)
    for i in range(10 * CACHE_SIZE):
        match = mapping.match([f"other_{i}", *JOINTS])
        np.testing.assert_array_equal(match.indices, [1, 2, 3])
    assert len(mapping._seen) <= CACHE_SIZE


def test_endless_lists_are_matched_but_not_kept():
    mapping = JointMapping(JOINTS)
    for i in range(3):
        names = [f"other_{i}", *map(str, range(MOST_KEPT)), *JOINTS]
        assert mapping.match(names).indices.tolist() == [len(names) - 3, len(names) - 2, len(names) - 1]
    assert not mapping._seen
