"""Every parameter of every node, set to what nobody should set while the node is active: it lives and answers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from node_cases import ARM_POSITION, CASES
from node_harness import Bench, stamp_of
from node_platforms import HOME, LEGS, lengths
from node_robots import ARM, ARM_JOINTS
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from test_parameter_files import NODES

from lie_dynamics_ros.nodes.together.node import NODE_CLASSES as NAMES

EXTREME = (1e308, -1e308, 1e154, 5e-324, -5e-324, math.nan, math.inf, -math.inf)
WHOLE = (2**63 - 1, -(2**63), -1, 0)
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
NODE_CLASSES = {
    kind: getattr(import_module(f"lie_dynamics_ros.nodes.{kind}.node"), name)
    for kind, name in {**NAMES, "viewer": "ViewerNode"}.items()  # which shares no process with others
}
STARTED_WITH = {
    "simulated_robot": {"mode": "dynamics", "position_noise": 0.0},
    "simulated_stewart": {},
    "stewart_command": {"state_timeout": 0.0},
    "viewer": {"robot_description": ARM, "port": 0, "rate": 100.0},
    **{case.module: {"state_timeout": 10.0, **case.parameters} for case in CASES},  # all run on one thread here
}


def test_all_nodes_are_here():
    assert NODE_CLASSES.keys() == NODES.keys() == STARTED_WITH.keys()


class Driven:
    """A node in this process, active, and what it answers."""

    def __init__(self, bench: Bench, name: str) -> None:
        self.bench, self.case = bench, next((case for case in CASES if case.module == name), None)
        values = {"autostart": False, **STARTED_WITH[name]}
        overrides = [Parameter(key, value=value) for key, value in values.items()]
        self.node = NODE_CLASSES[name](namespace=bench.namespace, parameter_overrides=overrides)
        bench.executor.add_node(self.node)
        for change in (self.node.trigger_configure, self.node.trigger_activate):
            assert change().name == "SUCCESS", self.node.failure
        if self.case is None:
            self.commands = name == "stewart_command"
            self.answers = bench.listen(JointState, f"{name}/leg_commands" if self.commands else "joint_states")
        else:
            self.answers = self.case.attach(bench, f"{bench.namespace}/{name}")

    def answer(self) -> np.ndarray:
        """Numbers of an answer to what is sent from now on; of the viewer, where it draws the robot."""
        if isinstance(self.node, NODE_CLASSES["viewer"]):
            return self._drawn()
        if self.case is not None:
            return np.array(self.case.numbers(self.bench.ask(lambda: self.case.state(self.bench), self.answers)))
        begin = self.bench.now()
        found = lambda: next((a for a in reversed(self.answers) if stamp_of(a) >= begin), None)  # noqa: E731
        if self.commands:
            state = self.bench.make_state(LEGS, lengths(HOME))
            message = self.bench.send_until(lambda: self.bench.states.publish(state), found, "set points")
        else:
            message = self.bench.wait(found, "a state")
        return np.array([*message.position, *message.velocity])

    def _drawn(self) -> np.ndarray:
        begin, state = perf_counter(), self.bench.make_state(ARM_JOINTS, ARM_POSITION)

        def picture() -> Any:
            found = self.node._core.picture(perf_counter())
            return found if found.age is not None and perf_counter() - found.age > begin else None

        return self.bench.send_until(lambda: self.bench.states.publish(state), picture, "a picture").poses

    def close(self) -> None:
        self.bench.executor.remove_node(self.node)
        self.node.destroy_node()


def values_for(parameter: Parameter) -> Iterator[tuple[Parameter.Type, Any]]:
    """What to set a parameter to: wrong types, and of its own type wrong values, sizes and nothing."""
    yield from ((type_, value) for type_, value in OF_ALL_TYPES.items() if type_ != parameter.type_)
    own, name = parameter.value, parameter.type_
    if name == Parameter.Type.BOOL:
        yield name, not own
    elif name == Parameter.Type.INTEGER:
        yield from ((name, number) for number in WHOLE)
    elif name == Parameter.Type.DOUBLE:
        yield from ((name, number) for number in EXTREME)
    elif name == Parameter.Type.STRING:
        yield from ((name, text) for text in ("", "x", "\0", "/dev/zero", "é" * 10_000))
    elif name == Parameter.Type.STRING_ARRAY:
        yield from ((name, texts) for texts in ([], [""], ["x"], [*own, "x"], ["x"] * 10_000))
    else:
        own, whole = list(own), name == Parameter.Type.INTEGER_ARRAY
        for number in WHOLE if whole else EXTREME:
            yield from ((name, numbers) for numbers in ([number], [*own[:-1], number], [number] * len(own)))
        zero = 0 if whole else 0.0
        yield from ((name, numbers) for numbers in ([], [*own, zero], own[:-1], [zero] * 10_000))


@pytest.mark.parametrize("name", NODES)
def test_lives_and_answers_whatever_is_set_and_what_is_refused_changes_nothing(bench, name):
    driven = Driven(bench, name)
    node = driven.node
    shadowed = [key for key in vars(node) if inspect.isfunction(getattr(type(node), key, None))]
    assert not shadowed, "attributes that hide methods"
    usual = driven.answer()
    refused = 0
    for setting in sorted(node.get_parameters_by_prefix("")):
        before = node.get_parameter(setting)
        for type_, value in values_for(before):
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
    driven.close()
    assert refused > 100
