"""The bring-up of a controlled arm: the commands of computed_torque reach the simulated robot, which stays up.

One parameter file holds both nodes, the topic of the commands and the clock are others than usual.
"""

import tempfile
from pathlib import Path

import launched
import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState

FOLDER = tempfile.TemporaryDirectory()
CONFIG = Path(FOLDER.name) / "both.yaml"
CONFIG.write_text(
    "/**:\n  simulated_robot:\n    ros__parameters:\n      substeps: 3\n"
    "  computed_torque:\n    ros__parameters:\n      stop_time: 0.25\n"
)


@pytest.mark.launch_test
def generate_test_description():
    return launched.description(
        "control",
        namespace="controlled",
        rate="250.0",
        mode="passivity_based",
        config=str(CONFIG),
        commands="efforts",
        use_sim_time="true",
        publish_clock="true",
    )


class TestControl(launched.LaunchedTest):
    namespace = "controlled"

    def test_both_nodes_are_active(self):
        self.wait_active("simulated_robot", "computed_torque")

    def test_the_commands_reach_the_robot(self):
        publishers = self.node.get_publishers_info_by_topic
        listeners = self.node.get_subscriptions_info_by_topic
        self.wait(lambda: [p.node_name for p in publishers("efforts")] == ["computed_torque"], "the commands")
        self.wait(lambda: [p.node_name for p in listeners("efforts")] == ["simulated_robot"], "who obeys them")
        errors = self.listen(JointState, "computed_torque/tracking_error")
        self.wait(lambda: len(errors) >= 50, "answers")
        self.assertLess(max(abs(e) for e in errors[-1].position), 0.5)

    def test_the_modes_are_those_asked_for(self):
        for node, mode in (("simulated_robot", "dynamics"), ("computed_torque", "passivity_based")):
            request = GetParameters.Request(names=["mode", "use_sim_time"])
            values = self.call(GetParameters, f"{node}/get_parameters", request).values
            self.assertEqual((values[0].string_value, values[1].bool_value), (mode, True))

    def test_the_parameter_file_was_read_by_both(self):
        request = GetParameters.Request(names=["substeps"])
        (value,) = self.call(GetParameters, "simulated_robot/get_parameters", request).values
        self.assertEqual(value.integer_value, 3)
        request = GetParameters.Request(names=["stop_time"])
        (value,) = self.call(GetParameters, "computed_torque/get_parameters", request).values
        self.assertEqual(value.double_value, 0.25)


class TestAfterwards(launched.EndsCleanly):
    pass
