"""Files of platforms that no node can take are refused by each node that reads one, and it says what takes them."""

import pytest
from driven import NODE_CLASSES
from node_platforms import TEXT
from rclpy.parameter import Parameter

UNIVERSAL = """
universal_joints: {base_axes: [1, 0, 0], platform_axes: [1, 0, 0], base_offsets: 0.1, platform_offsets: 0.1}
"""


@pytest.mark.parametrize("kind", [kind for kind in NODE_CLASSES if "stewart" in kind])
def test_offset_joints(ros, kind):
    overrides = {"autostart": False, "platform": TEXT + UNIVERSAL}
    node = NODE_CLASSES[kind](
        namespace=f"offset_{kind}",
        parameter_overrides=[Parameter(key, value=value) for key, value in overrides.items()],
    )
    try:
        assert node.trigger_configure().name != "SUCCESS"
        assert "universal_joints" in node.failure and "node closed_loop" in node.failure
    finally:
        node.destroy_node()
