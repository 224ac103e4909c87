"""What nodes say at start of what they wait for, and of defaults that stand for something of the user's."""

import pytest
from driven import NODE_CLASSES
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from lie_dynamics_ros.nodes.parameters import node_settings

DESCRIBED = [
    kind for kind in NODE_CLASSES if any(one.name == "robot_description_timeout" for one in node_settings(kind))
]


@pytest.mark.parametrize("durability", ["VOLATILE", "TRANSIENT_LOCAL"])
@pytest.mark.parametrize("kind", DESCRIBED)
def test_a_volatile_publisher_of_the_description_is_named_with_the_remedy(bench, kind, durability):
    quality = QoSProfile(depth=1, durability=DurabilityPolicy[durability])
    topic = f"{bench.namespace}/robot_description"
    publisher = bench.publisher(String, topic, quality, heard=False)
    node = NODE_CLASSES[kind](
        namespace=bench.namespace, cli_args=["--ros-args", "-p", "autostart:=false"], context=bench.node.context
    )
    try:
        bench.wait(lambda: node.count_publishers(topic), "the publisher")
        text = node.source.topic.say_waiting()
        assert (bench.node.get_name() in text) == (durability == "VOLATILE")
        assert (f"qos_overrides.{topic}.subscription.durability" in text) == (durability == "VOLATILE")
    finally:
        node.destroy_node()
        bench.node.destroy_publisher(publisher)


def test_all_that_read_a_description_are_here():
    assert {"inverse_dynamics", "computed_torque", "contact", "closed_loop"} < set(DESCRIBED)
