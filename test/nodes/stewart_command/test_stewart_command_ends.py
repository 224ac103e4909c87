"""Ends of the node stewart_command as a process, under way and not, and how it begins again."""

import signal

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from node_platforms import HOME, lengths, pose_at
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool, Trigger
from test_stewart_command import stamped, start


@pytest.mark.parametrize(("how", "ride"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_a_node_that_is_ended_under_way_says_rest_last(bench, how, ride):
    node, driver = start(bench, max_rate=0.02)
    targets = bench.publisher(PoseStamped, f"{node}/target_pose")
    vehicle, felt = bench.publisher(Imu, f"{node}/vehicle", qos_profile_sensor_data), Imu()
    felt.linear_acceleration.x, felt.linear_acceleration.z = 5.0, 9.81
    driver.until(lambda: driver.at(HOME), "holding")
    if ride:
        assert bench.call(SetBool, f"{node}/ride", SetBool.Request(data=True)).success
    else:
        targets.publish(stamped(pose_at([0.06, 0.0, 0.5], [0, 0, 0])))

    def send():
        driver.send()
        vehicle.publish(felt)

    bench.send_until(send, lambda: np.abs(driver.commands[-1].velocity).max() > 0.01, "motion")
    process = bench.processes[-1]
    process.process.send_signal(how)
    bench.wait(lambda: process.process.poll() is not None, "its end")
    assert process.process.returncode == 0, process.output
    bench.wait(lambda: not np.any(driver.commands[-1].velocity), "set points at rest")
    bench.processes.pop()


def test_a_node_started_again_takes_the_platform_over_where_it_stands(bench):
    node, driver = start(bench)
    targets = bench.publisher(PoseStamped, f"{node}/target_pose")
    driver.until(lambda: driver.at(HOME), "holding")
    goal = pose_at([0.01, 0.0, 0.5], [0, 0, 0])
    bench.send_until(lambda: (driver.send(), targets.publish(stamped(goal))), lambda: driver.at(goal), "the goal")
    assert bench.call(Trigger, f"{node}/hold", Trigger.Request()).success
    for transition in ("deactivate", "activate"):
        assert bench.change_state(node, transition)
    count = len(driver.commands)
    driver.until(lambda: len(driver.commands) > count + 3, "set points")
    assert all(np.abs(np.array(m.position) - lengths(goal)).max() < 1e-6 for m in driver.commands[count:])
