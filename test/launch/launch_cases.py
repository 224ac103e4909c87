"""The launch files, values for their arguments, and what they start; without launch."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from lie_dynamics_ros.ros.launch_files import arguments_of, node_options

FOLDER = Path(__file__).parents[2] / "launch"
FILES = sorted(path.name.removesuffix(".launch.py") for path in FOLDER.glob("*.launch.py"))
COMPOSITES = {
    "bringup": ["simulated_robot", "inverse_dynamics", "hybrid_dynamics"],
    "control": ["simulated_robot", "computed_torque"],
    "arms": ["simulated_robot", "computed_torque"],
    "fleet": ["simulated_robot", "computed_torque"],
    "stewart_bringup": ["simulated_stewart", "stewart_pose"],
    "stewart_command_bringup": ["simulated_stewart", "stewart_command", "stewart_pose"],
}
#: A value for each argument, and where it is to be found in what is started.
VALUES = {
    "touching": "a/touching",
    "address": "0.0.0.0",
    "wrench": "a/wrench",
    "robot_description": "/a/robot.urdf",
    "mode": "adaptive",
    "rate": "250.0",
    "length_noise": "0.001",
    "loops": "loops: []",
    "platform": "semi_regular: {}",
    "base_frame": "floor",
    "platform_frame": "top",
    "joint_prefix": "{arm}_",
    "frame_prefix": "{arm}/",
    "carrying_joints": "states",
    "publish_clock": "true",
    "autostart": "false",
    "use_sim_time": "true",
    "commands": "some/commands",
    "accelerations": "some/accelerations",
    "joint_states": "some/states",
    "leg_commands": "some/set_points",
    "hybrid_dynamics": "true",
    "namespace": "cell/arm",
    "arms": "one=base_link",
    "robots": "one",
    "simulated": "false",
}


def loaded(name):
    spec = spec_from_file_location(f"{name}_launch", FOLDER / f"{name}.launch.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts_of(name, monkeypatch):
    """What a launch file asks for: its parts and the defaults of its arguments."""
    module = loaded(name)
    monkeypatch.setattr(module, "launch_description", lambda *parts, **defaults: (parts, defaults))
    return module.generate_launch_description()


def options_of(name, monkeypatch, **given):
    """What a launch file starts, by node."""
    parts, defaults = parts_of(name, monkeypatch)
    arguments = arguments_of(parts, defaults)
    assert set(given) <= set(arguments)
    texts = {key: given.get(key, argument.default) for key, argument in arguments.items()}
    return {options["name"]: options for options in node_options(parts, arguments, texts)}
