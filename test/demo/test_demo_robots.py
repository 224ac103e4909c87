"""That the demo can be played with the robots that users bring, or says why not."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from support.robots import PANDA, UR5, all_robots, load, path

from lie_dynamics_ros.demo.control import EXACT_LIMIT
from lie_dynamics_ros.demo.play import LONGEST, SHORTEST, Act, Play, rehearse
from lie_dynamics_ros.demo.processes import ShortfallError
from lie_dynamics_ros.lie_dynamics import DescriptionError, Model
from lie_dynamics_ros.ros.inputs.model_loading import read_description

TIAGO = "tiago_pro_description/robots/tiago_pro.urdf"  # short fingers: 33 mrad at 250 Hz
ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
ARMS = {
    PANDA: 1.0,
    UR5: 1.0,
    "xarm_description/urdf/xarm7.urdf": 0.08,
    "kinova_description/robots/kinova.urdf": 0.2,
    "z1_description/urdf/z1.urdf": 0.02,
    "solo_description/robots/solo12.urdf": 0.009,
}
"""The least payload that they must be shown with [kg]."""
TOO_WEAK = {"baxter", "pr2", "simple_humanoid", "simple_humanoid_classical", "talos_left_arm", "tiago_dual"}
TOO_WEAK |= {"talos_reduced", "talos_reduced_box", "talos_reduced_corrected"}
MASSLESS = {"romeo", "romeo_laas_small"}
EMPTY, RIGID = {"ur3"}, {"quadrotor_base", "iris_simple"}
STOPPED = {"human", "icub", "icub_reduced"}  # joints without inertia to speak of
REASONS = {
    "effort limits": TOO_WEAK,
    "inertia along it vanishes": MASSLESS,
    "in act exact the controller stops it": STOPPED,
}


def moves(model):
    return model.nv and all(joint.kind in ("revolute", "continuous", "prismatic") for joint in model.joints)


def check(play):
    """Play it without ROS: the controller's limits are kept, and the payload is learned."""
    exact, loaded, adapted = rehearse(play)
    assert loaded < 0.3 and adapted <= max(0.5 * loaded, 2.0 * exact, 1e-9)
    return exact


@pytest.mark.slow
@pytest.mark.parametrize("robot", ARMS)
def test_arms_are_played_as_short_and_with_a_payload(robot):
    play = Play(load(robot), SHORTEST)
    assert ARMS[robot] <= play.payload.mass <= 1.5
    assert check(play) < EXACT_LIMIT


def test_the_payload_does_not_depend_on_how_long_the_play_is():
    short, long = (Play(load(UR5), seconds).payload for seconds in (SHORTEST, LONGEST))
    assert short == long


@pytest.mark.slow
@pytest.mark.parametrize("robot", all_robots())
def test_all_robots_are_played_or_it_is_said_why_not(robot):
    name = robot.rpartition("/")[2].removesuffix(".urdf")
    if name in EMPTY:
        with pytest.raises(DescriptionError, match="no links"):
            load(robot)
        return
    model = load(robot)
    assert (name not in RIGID) == bool(moves(model))
    if name in RIGID:
        return
    (expected,) = [reason for reason, names in REASONS.items() if name in names] or [""]
    found = ""
    try:
        check(Play(model, LONGEST))
    except ShortfallError as reason:
        found = str(reason)
    assert bool(found) == bool(expected) and expected in found


def test_the_payload_lies_on_the_axis_of_the_last_joint_where_the_link_is():
    play = Play(load(UR5), SHORTEST)
    assert play.payload.link == "wrist_3_link"
    np.testing.assert_allclose(play.payload.center, [0.0, 0.1, 0.0], atol=1e-12)


def test_the_rehearsal_tells_of_a_stop_and_of_a_refusal():
    play = Play(Model.from_urdf(read_description(ARM)), SHORTEST)
    exact, payload, adaptive = play.acts
    heavy = Act(**{**vars(payload), "robot": {**payload.robot, "payload_mass": 10.0 * play.payload.mass}})
    play.acts = (exact, heavy, adaptive)
    with pytest.raises(ShortfallError, match=r"in act payload the controller stops it: joint panda_joint\d"):
        rehearse(play)
    play.acts = (exact, payload, adaptive)
    times, (position, velocity, acceleration) = play.points(exact.duration)
    play.points = lambda duration: (0.2 * times, (position, velocity, acceleration))
    with pytest.raises(ShortfallError, match="act exact: a trajectory with a velocity of"):
        rehearse(play)


def test_payloads_scale():
    payload = Play(load(UR5), SHORTEST).payload
    assert payload.scaled(0.5) == replace(payload, mass=0.75)


@pytest.mark.slow
@pytest.mark.parametrize("robot", [UR5, "xarm_description/urdf/xarm7.urdf", TIAGO])
def test_the_whole_demo_passes_with_other_robots(robot, tmp_path):
    command = [sys.executable, "-m", "lie_dynamics_ros.demo", "--seconds", f"{SHORTEST:g}", "--inertia-check", "warn"]
    command += ["--urdf", os.fspath(path(robot))]
    demo = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600.0, check=False)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "payload found" in demo.stdout and "demo passed" in demo.stdout
