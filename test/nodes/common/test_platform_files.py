"""Platforms on offset universal joints: each node that reads platforms takes them, or says what does."""

import pytest
from driven import NODE_CLASSES
from node_platforms import TEXT
from rclpy.parameter import Parameter

UNIVERSAL = """
universal_joints: {base_axes: [1, 0, 0], platform_axes: [1, 0, 0], base_offsets: 0.1, platform_offsets: 0.1}
"""


TAKEN = {"stewart_pose", "simulated_stewart"}


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


@pytest.mark.parametrize("kind", [kind for kind in NODE_CLASSES if "stewart" in kind])
def test_offset_joints(ros, kind):
    failure = configured(kind)
    if kind in TAKEN:
        assert not failure
    else:
        assert "universal_joints" in failure and "node closed_loop" in failure


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("stewart_pose", {"fusion": True}, ("fusion: ", "universal_joints", "expected false")),
        ("stewart_pose", {"max_speed": [1.0, 2.0]}, ("max_speed: ", "expected [0.0], or the node closed_loop")),
        ("simulated_stewart", {"mode": "actuators"}, ("mode: ", "universal_joints", "expected motion")),
    ],
)
def test_what_offset_joints_do_not_have(ros, kind, parameters, words):
    failure = configured(kind, **parameters)
    assert all(word in failure for word in words), failure
