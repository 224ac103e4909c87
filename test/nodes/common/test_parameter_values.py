"""Every parameter and topic of every node, with what nobody should send to one that is active: it lives and answers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from driven import NODE_CLASSES, STARTED_WITH, WAYS, Driven
from node_harness import Bench
from rclpy.parameter import Parameter
from rubbish import Rubbish
from test_parameter_files import NODES

EXTREME = (1e308, -5e-324, math.nan, -math.inf, -1e308, 1e154, 5e-324, math.inf)
WHOLE = (2**63 - 1, -1, 0, -(2**63))
OF_ALL_TYPES = {
    Parameter.Type.BOOL: True,
    Parameter.Type.INTEGER: 1,
    Parameter.Type.DOUBLE: 2.5,
    Parameter.Type.STRING: "x",
    Parameter.Type.BYTE_ARRAY: [b"x"],
    Parameter.Type.BOOL_ARRAY: [True],
    Parameter.Type.INTEGER_ARRAY: [1],
    Parameter.Type.DOUBLE_ARRAY: [2.5],
    Parameter.Type.STRING_ARRAY: ["x"],
    Parameter.Type.NOT_SET: None,
}


def test_all_nodes_are_here():
    assert NODE_CLASSES.keys() == NODES.keys() == STARTED_WITH.keys()


def values_for(parameter: Parameter, all_of_them: bool) -> Iterator[tuple[Parameter.Type, Any]]:
    """What to set a parameter to: wrong types, and of its own type wrong values, sizes and nothing.

    Unless all of them are asked for, of numbers half, each in one place of a list.
    """
    extreme, whole = (EXTREME, WHOLE) if all_of_them else (EXTREME[:4], WHOLE[:3])
    yield from ((type_, value) for type_, value in OF_ALL_TYPES.items() if type_ != parameter.type_)
    own, name = parameter.value, parameter.type_
    if name == Parameter.Type.BOOL:
        yield name, not own
    elif name == Parameter.Type.INTEGER:
        yield from ((name, number) for number in whole)
    elif name == Parameter.Type.DOUBLE:
        yield from ((name, number) for number in extreme)
    elif name == Parameter.Type.STRING:
        yield from ((name, text) for text in ("", "x", "\0", "/dev/zero", "é" * 10_000))
    elif name == Parameter.Type.STRING_ARRAY:
        yield from ((name, texts) for texts in ([], [""], ["x"], [*own, "x"], ["x"] * 10_000))
    else:
        own, of_whole = list(own), name == Parameter.Type.INTEGER_ARRAY
        for k, number in enumerate(whole if of_whole else extreme):
            lists = [number], [*own[:-1], number], [number] * len(own)
            yield from ((name, numbers) for numbers in (lists if all_of_them else lists[k % 3 :][:1]))
        zero = 0 if of_whole else 0.0
        yield from ((name, numbers) for numbers in ([], [*own, zero], own[:-1], [zero] * 10_000))


@pytest.fixture(scope="module")
def driven(ros, request):
    """A node in this process that tests share; each leaves it as it was."""
    bench = Bench()
    driven = Driven(bench, request.param)
    yield driven
    driven.close()
    bench.close()


@pytest.mark.parametrize("driven", NODES, indirect=True)
@pytest.mark.parametrize("all_values", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lives_and_answers_whatever_is_set_and_what_is_refused_changes_nothing(driven, all_values):
    node = driven.node
    shadowed = [key for key in vars(node) if inspect.isfunction(getattr(type(node), key, None))]
    assert not shadowed, "attributes that hide methods"
    usual = driven.answer()
    refused = 0
    for setting in sorted(node.get_parameters_by_prefix("")):
        before = node.get_parameter(setting)
        for type_, value in values_for(before, all_values):
            what = f"{setting} = {str(value)[:40]} ({type_.name})"
            result = node.set_parameters_atomically([Parameter(setting, type_, value)])
            assert node.state == "active", what
            if result.successful:
                assert node.has_parameter(setting), what
                if setting == "use_sim_time":  # whoever asks for another clock gets answers by that one
                    assert node.set_parameters_atomically([before]).successful, what
                assert np.isfinite(driven.answer()).all(), what
                assert node.set_parameters_atomically([before]).successful, what
                usual = driven.answer()
            else:
                refused += 1
                assert result.reason, what
                assert len(result.reason) < 600, what
            assert repr(node.get_parameter(setting).value) == repr(before.value), what
            assert not node.failure, what
        if driven.case is not None:
            np.testing.assert_allclose(driven.answer(), usual, rtol=1e-9, atol=1e-9, err_msg=setting)
    assert refused > 100


@pytest.mark.parametrize("driven", WAYS, indirect=True)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_lives_and_answers_whatever_is_sent_on_every_topic(driven, rng):
    rubbish = Rubbish(driven, room=40)
    try:
        rubbish.send(rng, 40)
        assert not [*rubbish.problems()]
    finally:
        rubbish.close()
