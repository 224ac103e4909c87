"""The launch file of inverse_dynamics: robot from an argument, namespace, parameter file."""

import launched
import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"


@pytest.mark.launch_test
def generate_test_description():
    return launched.description("inverse_dynamics", namespace="cell/arm", robot_description=ARM, use_sim_time="false")


class TestInverseDynamics(launched.LaunchedTest):
    namespace = "cell/arm"

    def test_answers_states(self):
        self.wait_active("inverse_dynamics")
        answers = self.listen(JointState, "inverse_dynamics/joint_efforts")
        states = self.node.create_publisher(JointState, "joint_states", 1)
        message = JointState(name=[f"panda_joint{i}" for i in range(1, 8)], position=[0.1] * 7)
        self.wait(lambda: states.publish(message) or answers, "an answer")
        self.assertEqual(list(answers[0].name), message.name)
        self.assertEqual(len(answers[0].effort), 7)

    def test_the_parameter_file_was_read(self):
        request = GetParameters.Request(names=["state_timeout", "executor", "use_sim_time"])
        values = self.call(GetParameters, "inverse_dynamics/get_parameters", request).values
        self.assertEqual(values[0].double_value, 0.1)
        self.assertEqual(values[1].string_value, "events")
        self.assertFalse(values[2].bool_value)


class TestAfterwards(launched.EndsCleanly):
    pass
