"""Each node that reads platforms names what is wrong with one, and stays; all take offset joints."""

import pytest
import yaml
from driven import NODE_CLASSES
from node_platforms import TEXT
from rclpy.parameter import Parameter

UNIVERSAL = """
universal_joints: {base_axes: [1, 0, 0], platform_axes: [1, 0, 0], base_offsets: 0.1, platform_offsets: 0.1}
"""


STEWART = [kind for kind in NODE_CLASSES if "stewart" in kind]


def configured(kind, **parameters):
    """Return why a node cannot be configured with such a platform; empty where it can."""
    overrides = {"autostart": False, "platform": TEXT + UNIVERSAL, **parameters}
    node = NODE_CLASSES[kind](
        namespace=f"offset_{kind}",
        parameter_overrides=[Parameter(key, value=value) for key, value in overrides.items()],
    )
    try:
        return "" if node.trigger_configure().name == "SUCCESS" else node.failure
    finally:
        node.destroy_node()


@pytest.mark.parametrize("kind", STEWART)
def test_offset_joints(ros, kind):
    for more in ({}, {"mode": "actuators"})[: 1 + (kind == "simulated_stewart")]:
        assert not configured(kind, **more)


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("stewart_pose", {"fusion": True}, ("fusion: ", "universal_joints", "expected false")),
        ("stewart_pose", {"max_speed": [1.0, 2.0]}, ("max_speed: ", "expected [0.0], or the node closed_loop")),
    ],
)
def test_what_offset_joints_do_not_have(ros, kind, parameters, words):
    failure = configured(kind, **parameters)
    assert all(word in failure for word in words), failure


HOME = yaml.safe_load(TEXT)["home_pose"]
BAD = {
    "home in mm": (
        {"home_pose": {**HOME, "position": [1e3 * x for x in HOME["position"]]}},
        ("home_pose", "millimetres"),
    ),
    "w first": ({"home_pose": {**HOME, "quaternion": [1.0, 0.0, 0.0, 0.0]}}, ("home_pose", "is w first?")),
    "limits without home": ({"leg_limits": [0.1, 0.2]}, ("home_pose: leg 1", "contradict each other")),
    "limits turned over": ({"leg_limits": [0.9, 0.2]}, ("leg_limits of leg 1", "min < max")),
    "five legs": ({"base_points": yaml.safe_load(TEXT)["base_points"][:5]}, ("base_points has 5 points", "expected 6")),
    "words": ({"platform_points": "none"}, ("platform_points",)),
}


@pytest.mark.parametrize("kind", STEWART)
def test_what_is_wrong_with_a_platform_is_named_and_the_node_stays(ros, kind):
    node = NODE_CLASSES[kind](namespace=f"bad_{kind}", parameter_overrides=[Parameter("autostart", value=False)])
    try:
        for name, (change, words) in BAD.items():
            text = yaml.safe_dump(yaml.safe_load(TEXT) | change)
            assert node.set_parameters([Parameter("platform", value=text)])[0].successful
            assert node.trigger_configure().name != "SUCCESS", name
            assert all(word in node.failure for word in words), (name, node.failure)
        node.set_parameters([Parameter("platform", value=TEXT)])
        assert node.trigger_configure().name == "SUCCESS", node.failure
    finally:
        node.destroy_node()
