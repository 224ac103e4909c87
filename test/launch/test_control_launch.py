"""The bring-up of a controlled arm: the commands of computed_torque reach the simulated robot, which stays up."""

import launched
import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState


@pytest.mark.launch_test
def generate_test_description():
    return launched.description("control", namespace="controlled", rate="250.0", mode="passivity_based")


class TestControl(launched.LaunchedTest):
    namespace = "controlled"

    def test_both_nodes_are_active(self):
        self.wait_active("simulated_robot", "computed_torque")

    def test_the_commands_reach_the_robot(self):
        publishers = self.node.get_publishers_info_by_topic
        topic = "simulated_robot/commands"
        self.wait(lambda: [p.node_name for p in publishers(topic)] == ["computed_torque"], "the commands")
        errors = self.listen(JointState, "computed_torque/tracking_error")
        self.wait(lambda: len(errors) >= 50, "answers")
        self.assertLess(max(abs(e) for e in errors[-1].position), 0.5)

    def test_the_modes_are_those_asked_for(self):
        for node, mode in (("simulated_robot", "dynamics"), ("computed_torque", "passivity_based")):
            request = GetParameters.Request(names=["mode"])
            (value,) = self.call(GetParameters, f"{node}/get_parameters", request).values
            self.assertEqual(value.string_value, mode)


@launched.after_shutdown
class TestAfterwards(launched.EndsCleanly):
    pass
