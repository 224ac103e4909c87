"""What an effort controller expects is asked of it, by every node that sends efforts without names."""

import pytest
from node_harness import Bench
from node_robots import ARM, ARM_JOINTS
from std_msgs.msg import Float64MultiArray
from support.grids import every_run

NODES = {"computed_torque": {}, "inverse_dynamics": {"publish_commands": True}, "closed_loop": {}}


@pytest.fixture
def controller(bench):
    """A node that has the parameter of an effort controller, and can be asked."""
    made = []

    def make(joints, topic):
        other = Bench("effort_controller", bench.namespace)
        made.append(other)
        other.node.declare_parameter("joints", joints)
        other.listen(Float64MultiArray, topic)
        bench.executor.add_node(other.node)  # served with the rest
        return other

    yield make
    for other in made:
        bench.executor.remove_node(other.node)
        other.close()


@pytest.mark.parametrize("module", every_run(("closed_loop",), NODES))
def test_another_number_of_joints_or_order_is_told_with_the_remedy(bench, controller, module):
    bench.drive()
    node = bench.start(module, robot_description=ARM, state_timeout=3600.0, **NODES[module])
    turned = [*ARM_JOINTS[1:], ARM_JOINTS[0]]
    few = controller(list(ARM_JOINTS[:6]), f"{node}/commands")

    def send():
        bench.states.publish(bench.make_state(ARM_JOINTS, [0.0] * 7, [0.0] * 7))

    def says(*words):
        return lambda: bench.reported(node, lambda status, _: all(word in status.message for word in words))

    bench.send_until(send, says("effort_controller expects efforts of 6 joints where 7 are sent"), "another number")
    bench.executor.remove_node(few.node)
    few.node.destroy_node()
    bench.send_until(send, lambda: not says("effort_controller")(), "that it has gone")
    controller(turned, f"{node}/commands")
    bench.send_until(send, says("in another order", ", ".join(turned)), "another order")
