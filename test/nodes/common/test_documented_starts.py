"""What is documented starts and ends without warning or error: all launch files on their defaults, and variants."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from node_process import NodeProcess

sys.path.insert(0, str(Path(__file__).parents[2] / "launch"))
from launch_cases import FILES, loaded

from lie_dynamics_ros.ros.launch_files import arguments_of, node_options

pytestmark = pytest.mark.slow
ROBOT = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
VARIANTS = {
    **{name: (name, {}) for name in FILES},
    "arms, a robot each": (
        "arms",
        {
            "robot_description": ROBOT,
            "arms": "left=panda_link0 right=panda_link0",
            "joint_prefix": "{arm}_",
            "frame_prefix": "{arm}/",
        },
    ),
    "arms, a torso that moves": ("arms", {"carrying_joints": "states"}),
    "control, with prefixes": ("control", {"joint_prefix": "left_", "frame_prefix": "left/"}),
    "bringup, with simulated time": ("bringup", {"publish_clock": "true", "use_sim_time": "true"}),
}
PATIENT = {
    node: {"state_timeout": 20.0}
    for node in ("computed_torque", "inverse_dynamics", "hybrid_dynamics", "stewart_pose", "closed_loop", "contact")
}
"""What a slow machine may keep waiting is nothing wrong."""
TOLD = re.compile(r"\[(WARN|ERROR|FATAL)\]|Traceback|Warning:")


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_is_wrong(bench, monkeypatch, variant):
    name, given = VARIANTS[variant]
    if name == "viewer":
        pytest.importorskip("viser", reason="viser is not installed")
    module = loaded(name)
    monkeypatch.setattr(module, "launch_description", lambda *parts, **defaults: (parts, defaults))
    parts, defaults = module.generate_launch_description()
    arguments = arguments_of(parts, defaults)
    unknown = set(given) - set(arguments)
    assert not unknown
    usual = {"namespace": bench.namespace, "rate": "50.0"} if "rate" in arguments else {"namespace": bench.namespace}
    values = {key: {**usual, **given}.get(key, one.default) for key, one in arguments.items()}
    nodes = {}
    for one in node_options(parts, arguments, values):
        remapped = [word for pair in one["remappings"] for word in ("-r", ":=".join(pair))]
        parameters = {**one["parameters"], **PATIENT.get(one["name"], {})}
        process = NodeProcess(one["name"], one["name"], one["namespace"], parameters, remapped)
        nodes[f"{one['namespace']}/{one['name']}"] = process
        bench.processes.append(process)
    for node in nodes:
        bench.wait(lambda node=node: bench.status(node), f"a report of {node}")
    reports = dict(bench.diagnostics)
    for node in nodes:
        key = node.lstrip("/")
        bench.wait(lambda key=key: bench.diagnostics[key] != reports[key], f"a later report of {node}")
    for process in nodes.values():
        process.process.send_signal(signal.SIGINT)  # all at once, as launch does
    for node, process in nodes.items():
        assert process.stop() == 0, process.output
        told = [line for line in process.output.splitlines() if TOLD.search(line)]
        assert not told, (node, os.linesep.join(told))
