"""Parameters of the inverse_dynamics node: described, checked as a whole, applied at run time."""

from __future__ import annotations

import math

import pytest
from node_process import DEADLINE
from node_robots import ARM
from rcl_interfaces.msg import Parameter, ParameterType


@pytest.fixture(scope="module")
def shared(module_bench):
    """A node that refuses all that these tests ask of it, and so stays as it is."""
    name = module_bench.start("inverse_dynamics", robot_description=ARM)
    module_bench.wait_state(name, "active")
    return module_bench, name


@pytest.fixture
def node(bench):
    name = bench.start("inverse_dynamics", robot_description=ARM)
    bench.wait_state(name, "active")
    return name


def gravity_of(bench, node):
    """Gravity in a report that is still to be made."""
    status = bench.wait_status(node, lambda s, v: v["gravity [m/s^2]"], "gravity in the diagnostics", bench.now())
    return next(v.value for v in status.values if v.key == "gravity [m/s^2]")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"gravity": [0.0, -9.81]}, "expected 3"),
        ({"gravity": [0.0, 0.0, math.nan]}, "finite"),
        ({"gravity": [0.0, 0.0, -math.inf]}, "finite"),
        ({"gravity": [0.0, 0.0, 1e308]}, "gravity holds 1e+308; expected -1000 to 1000"),
        ({"rotors": [0.1, 0.1, -1.0, *[0.1] * 4]}, "rotors holds -1 for joint panda_joint3; expected 0 to"),
        ({"payload_frame": "panda_link8", "payload_mass": 1.0, "payload_inertia": [1e308] * 6}, "payload_inertia"),
        ({"payload_frame": "panda_link8", "payload_mass": 1.0, "payload_inertia": [1e9] * 6}, "payload"),
        ({"gravity_only": True, "driver_compensates_gravity": True}, "nothing to publish"),
        ({"state_timeout": -1.0}, "state_timeout"),
        ({"state_timeout": math.nan}, "state_timeout"),
        ({"acceleration_timeout": 1e9}, "acceleration_timeout"),
        ({"gravity_only": 1}, "type"),
        ({"joints": ["panda_joint1"]}, "while the node is unconfigured"),
        ({"robot_description": "<robot/>"}, "while the node is unconfigured"),
        ({"executor": "single_threaded"}, "read-only"),
        ({"publish_commands": True}, "read-only"),
    ],
)
def test_refuses_what_makes_no_sense(shared, values, reason):
    bench, node = shared
    result = bench.set(node, **values)
    assert not result.successful
    assert reason in result.reason
    assert bench.state(node) == "active"


def test_changes_nothing_where_one_of_several_values_is_refused(shared):
    bench, node = shared
    assert not bench.set(node, gravity=[0.0, 0.0, -1.62], state_timeout=-1.0).successful
    assert not bench.set(node, state_timeout=-1.0, gravity=[0.0, 0.0, -1.62]).successful
    assert bench.get(node, "gravity") == [0.0, 0.0, -9.81]
    assert gravity_of(bench, node) == "0, 0, -9.81"


def test_refuses_to_undeclare(bench, node):
    message = Parameter(name="gravity")
    message.value.type = ParameterType.PARAMETER_NOT_SET
    bench.set_raw(node, message)
    assert gravity_of(bench, node) == "0, 0, -9.81"
    assert bench.set(node, gravity=[0.0, 0.0, -1.62]).successful
    bench.wait_status(node, lambda s, v: v["gravity [m/s^2]"] == "0, 0, -1.62", "new gravity")


def test_structure_may_change_while_unconfigured(bench, node):
    assert bench.change_state(node, "deactivate") and bench.change_state(node, "cleanup")
    assert bench.set(node, joints=["panda_joint4"]).successful
    assert bench.change_state(node, "configure")
    bench.wait_status(node, lambda s, v: v.get("joints") == "panda_joint4", "the chosen joint")


def test_quality_of_service_can_be_overridden(bench):
    override = "qos_overrides.{}/joint_states.subscription.reliability"
    name = bench.start(
        "inverse_dynamics",
        robot_description=ARM,
        **{override.format(bench.namespace): "reliable"},
    )
    bench.wait_state(name, "active")
    info = bench.wait(
        lambda: [i for i in bench.node.get_subscriptions_info_by_topic("joint_states") if i.node_name != "bench"],
        "the subscription",
    )
    assert info[0].qos_profile.reliability.name == "RELIABLE"


def test_a_bad_start_value_ends_the_process_with_the_reason(bench):
    bench.start("inverse_dynamics", state_timeout=-5.0)
    process = bench.processes.pop()
    assert process.process.wait(DEADLINE) == 1
    assert "state_timeout" in process.output
    assert "Traceback" not in process.output
