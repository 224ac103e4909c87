"""The launch file of simulated_robot: rate, and where the accelerations go."""

import launched
import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint


@pytest.mark.launch_test
def generate_test_description():
    return launched.description("simulated_robot", namespace="alone", rate="100.0", accelerations="elsewhere")


class TestSimulatedRobot(launched.LaunchedTest):
    namespace = "alone"

    def test_states_and_accelerations_come(self):
        self.wait_active("simulated_robot")
        states = self.listen(JointState, "joint_states")
        accelerations = self.listen(JointTrajectoryPoint, "elsewhere")
        self.wait(lambda: len(states) >= 20 and len(accelerations) >= 20, "states and accelerations")
        self.assertEqual(len(states[-1].position), len(accelerations[-1].accelerations))

    def test_the_rate_is_the_one_asked_for(self):
        request = GetParameters.Request(names=["rate"])
        (value,) = self.call(GetParameters, "simulated_robot/get_parameters", request).values
        self.assertEqual(value.double_value, 100.0)


class TestAfterwards(launched.EndsCleanly):
    pass
