"""What arms.launch.py starts, started without launch: each controller moves its own arm, in both ways of having two."""

from __future__ import annotations

import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from node_process import NodeProcess
from node_robots import ARM_JOINTS
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.ros.launch_files import arguments_of, node_options

FILE = Path(__file__).parents[3] / "launch" / "arms.launch.py"
RESEND = 10.0  # after which a trajectory is sent again [s]
WAYS = {
    "one robot": {"carrying_joints": "states"},
    "a robot each": {
        "robot_description": "package://lie_dynamics_ros/urdf/panda_arm.urdf",
        "arms": "left=panda_link0 right=panda_link0",
        "joint_prefix": "{arm}_",
        "frame_prefix": "{arm}/",
    },
}


def launched(**given):
    """Options of the nodes that the launch file starts."""
    spec = spec_from_file_location("arms_launch", FILE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.launch_description = lambda *parts, **defaults: (parts, defaults)
    parts, defaults = module.generate_launch_description()
    arguments = arguments_of(parts, defaults)
    return node_options(parts, arguments, {name: given.get(name, one.default) for name, one in arguments.items()})


@pytest.mark.parametrize("way", ["one robot", pytest.param("a robot each", marks=pytest.mark.slow)])
def test_each_controller_moves_its_own_arm(bench, way):
    controllers = {}
    for one in launched(namespace=bench.namespace, rate="50.0", **WAYS[way]):
        name, namespace, parameters = one["name"], one["namespace"], one["parameters"]
        if name == "computed_torque":  # which a busy machine does not stop
            controllers[namespace.rpartition("/")[2]] = f"{namespace}/{name}"
            parameters |= {"state_timeout": 5.0, "error_limit": 0.0, "velocity_tolerance": 100.0}
        remapped = [word for pair in one["remappings"] for word in ("-r", ":=".join(pair))]
        bench.processes.append(NodeProcess(name, name, namespace, parameters, remapped))
    states = bench.listen(JointState, "joint_states")
    joint = {side: f"{side}_{ARM_JOINTS[0]}" for side in controllers}

    def place(side):
        told = [state for state in states[-100:] if joint[side] in state.name]
        return told[-1].position[list(told[-1].name).index(joint[side])] if told else None

    for node in controllers.values():
        bench.wait_state(node, "active")
    begin = {side: bench.wait(lambda side=side: place(side) or None, f"the {side} arm") for side in controllers}
    assert set(begin) == {"left", "right"}
    goals = {"left": begin["left"] + 0.2, "right": begin["right"] - 0.1}
    paths = {side: bench.publisher(JointTrajectory, f"{node}/joint_trajectory") for side, node in controllers.items()}
    sent = [-RESEND]

    def there():
        if time.monotonic() > sent[-1] + RESEND:  # it may have been dropped, as where states ceased for a while
            sent.append(time.monotonic())
            for side, path in paths.items():
                point = JointTrajectoryPoint(positions=[goals[side]], velocities=[0.0], accelerations=[0.0])
                point.time_from_start.sec = 1
                path.publish(JointTrajectory(joint_names=[joint[side]], points=[point]))
        return all(abs(place(side) - goals[side]) < 0.01 for side in goals)

    bench.wait(there, "both arms to be there")
