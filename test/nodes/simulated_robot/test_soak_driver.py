"""The driver of a soak, a simulated robot that also speaks for a platform and plans: the node may change below it."""

import signal

import soak.driver
from node_harness import common_stamps, stamp_of
from node_robots import ARM, ARM_JOINTS
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory


def test_speaks_for_arm_and_platform_plans_and_does_as_a_file_says(bench, monkeypatch, tmp_path):
    file = tmp_path / "command"
    monkeypatch.setenv("SOAK_COMMAND", str(file))
    monkeypatch.setattr(soak.driver, "EVERY", 0.2)
    before = signal.getsignal(signal.SIGUSR1)
    settings = {"mode": "dynamics", "robot_description": ARM, "rate": 100.0}
    driver = soak.driver.Driver(
        namespace=bench.namespace, parameter_overrides=[Parameter(k, value=v) for k, v in settings.items()]
    )
    try:
        arm, legs = bench.listen(JointState, "joint_states"), bench.listen(JointState, "/legs/joint_states")
        plans = bench.listen(JointTrajectory, "computed_torque/joint_trajectory")
        bench.executor.add_node(driver)
        together = common_stamps(arm, legs)
        bench.wait(lambda: plans and together() > 2, "a plan, and states with the stamps of leg lengths")
        assert tuple(plans[0].joint_names) == ARM_JOINTS and len(plans[0].points[0].positions) == len(ARM_JOINTS)
        assert len(legs[-1].position) == 6
        last = stamp_of(arm[-1])
        file.write_text("offset 3600")
        signal.raise_signal(signal.SIGUSR1)
        bench.wait(lambda: stamp_of(arm[-1]) - last > 3599 * 10**9, "another clock")
        assert driver.state == "active"
    finally:
        bench.executor.remove_node(driver)
        driver.destroy_node()
        signal.signal(signal.SIGUSR1, before)
