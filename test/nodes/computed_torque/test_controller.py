"""The controller without ROS: answers as the node's core does, loses nothing by bad calls, moves arms in MuJoCo."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve
from support import arms, cores
from support.control.control_loop import Encoders
from support.grids import every_run

import lie_dynamics_ros
from lie_dynamics_ros import Controller
from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import (
    ConstraintSet,
    Model,
    constraint_error,
    frame_pose,
    inverse_dynamics,
    mass_matrix,
    potential_energy,
)
from lie_dynamics_ros.nodes.computed_torque.controller import SETTINGS
from lie_dynamics_ros.nodes.computed_torque.options import CONTROL_MODES

POSE = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.6, 0.4])
STEP = np.array([0.2, 0.1, -0.1, 0.2, 0.1, -0.2, 0.3])
WITHOUT_ROS = """
import sys

class NoRos:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("rclpy", "ament_index_python", "rcl_interfaces", "lie_dynamics_interfaces"):
            raise ImportError(f"the controller imports {name}")
        if name.split(".")[0].endswith(("_msgs", "_srvs")):
            raise ImportError(f"the controller imports {name}")

sys.meta_path.insert(0, NoRos())
import lie_dynamics_ros
assert "numpy" not in sys.modules, "the package imports the library before it is asked for"
controller = lie_dynamics_ros.Controller(sys.argv[1])
print(controller.update(0.0, [0.3, -0.4, 0.2, -1.9, 0.1, 1.6, 0.4]).effort.tolist())
"""


def test_needs_no_ros():
    command = [sys.executable, "-c", WITHOUT_ROS, str(arms.OWN)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    held = arms.physics("panda_arm").gravity(POSE)
    np.testing.assert_allclose(np.fromstring(result.stdout.strip("[]\n"), sep=","), held, atol=1e-6)


def test_has_the_nodes_parameters_and_defaults():
    """All but those that concern topics, clocks and processes, which a list names."""
    from lie_dynamics_ros.nodes.computed_torque.node import SETTINGS as NODE
    from lie_dynamics_ros.ros.node.description_source import DescriptionParameters
    from lie_dynamics_ros.ros.node.managed_node import NodeParameters

    own = {setting.name: setting for setting in NODE}
    only_ros = set(DescriptionParameters.defaults()) | set(NodeParameters.defaults()) | {
        "joints", "frame_prefix", "deadline", "max_batch", "joint_age_limit", "joint_state_topics",
        "payload_when", "wrench_timeout", "feedback_rate", "outputs",
    }  # fmt: skip
    rest = {
        name
        for name in set(own) - set(SETTINGS)
        if not name.startswith(("imu_", "gravity_source", "base_", "carrying", "odometry"))
    }
    assert rest == only_ros
    assert all(own[name] == setting for name, setting in SETTINGS.items())
    controller = Controller(arms.OWN)
    assert controller.parameters == {name: setting.default for name, setting in SETTINGS.items()}


@pytest.mark.parametrize("mode", cores.MODES)
@pytest.mark.parametrize("positions_only", [False, True])
def test_answers_as_the_core(mode, positions_only):
    arm = arms.load("panda_arm")
    controller, core = Controller(arm.model, mode=mode), cores.make_core(arm.model, mode=mode)
    encoders = Encoders(7, resolution=1e-12)
    for k in range(60):
        t = 0.002 * k
        q, qd = POSE + 0.1 * t * STEP, 0.1 * STEP
        stamp = 10**9 + round(t * 1e9)
        state = encoders.state(stamp, q, qd, core.acceleration) if positions_only else RobotState(stamp, q, qd)
        answer = core.answer(state)
        # Times from anywhere: the clock of the caller is its own.
        out = controller.update(-7.0 + t, state.position, np.full(7, np.nan) if positions_only else qd)
        np.testing.assert_allclose(out.effort, answer.effort, atol=1e-7)
        np.testing.assert_allclose(out.desired_position, answer.desired.position, atol=1e-9)
        assert (out.phase, out.reason, out.mode) == (answer.phase, answer.reason, mode)
        if k == 20 and mode != "gravity_compensation":
            controller.follow([1.0], [POSE + STEP], [np.zeros(7)])
            core.follow(JointPoints(np.arange(7), np.array([1.0]), (POSE + STEP)[None], np.zeros((1, 7))))


def test_answers_are_the_callers_own():
    controller = Controller(arms.load("panda_arm").model)
    for k in range(30):
        out = controller.update(0.002 * k, POSE, np.zeros(7))
    known = [out.effort.copy(), out.desired_position.copy(), out.desired_velocity.copy()]
    for k in range(2):  # a lone state that no motion explains is answered by what stood before
        for array in (out.effort, out.desired_position, out.desired_velocity):
            array[:] = 7.0
        out = controller.update(0.06 + 0.002 * k, POSE + 1.0 + k, np.zeros(7))
        assert controller.implausible == k + 1
        for found, expected in zip((out.effort, out.desired_position, out.desired_velocity), known, strict=True):
            np.testing.assert_array_equal(found, expected)


BAD = (
    (lambda c: c.update(0.0, POSE), "time: expected more than 0.01 s, got 0 s"),
    (lambda c: c.update(0.01 + 0.004, POSE), "time: expected more than 0.014 s, got 0.014 s"),
    (lambda c: c.update(np.nan, POSE), "time: expected a finite number"),
    (lambda c: c.update(None, POSE), "time: expected a finite number"),
    (lambda c: c.update(1.0, POSE[:6]), r"position: expected shape \(7,\), got \(6,\)"),
    (lambda c: c.update(1.0, POSE[None]), r"position: expected shape \(7,\), got \(1, 7\)"),
    (lambda c: c.update(1.0, ["a"] * 7), "position: expected an array of numbers"),
    (lambda c: c.update(1.0, [*POSE[:6], np.nan]), "position of joint panda_joint7: expected finite numbers, got nan"),
    (lambda c: c.update(1.0, POSE, [np.inf, *POSE[1:]]), "velocity of joint panda_joint1: expected finite"),
    (lambda c: c.update(1.0, POSE, POSE[:2]), r"velocity: expected shape \(7,\)"),
    (lambda c: c.follow([1.0, 0.5], [POSE, POSE]), "times: expected some that rise"),
    (lambda c: c.follow([], np.zeros((0, 7))), "times: expected some that rise"),
    (lambda c: c.follow([1.0], POSE), r"positions: expected shape \(1, 7\), got \(7,\)"),
    (lambda c: c.follow([1.0], [np.full(7, np.nan)]), "positions of joint panda_joint1"),
    (lambda c: c.follow([1.0], [POSE], accelerations=[POSE]), "accelerations: expected with velocities"),
    (lambda c: c.follow([0.01], [POSE + 0.5]), "a trajectory with a velocity"),
    (lambda c: c.target(np.eye(4)), "a target pose in mode computed_torque"),
    (lambda c: c.target(None), "expected one of them"),
    (lambda c: c.target(np.ones((4, 4))), "pose"),
    (lambda c: c.set(kpp=100.0), "no parameter 'kpp'; expected one such as kp"),
    (lambda c: c.set(modes="adaptive"), "no parameter 'modes'; expected one such as mode"),
    (lambda c: c.set(kp=50.0, mode="adaptiv"), "mode is 'adaptiv'; expected one of: computed_torque"),
    (lambda c: c.set(kp=50.0, kd="much"), "kd: expected a number, got 'much'"),
    (lambda c: c.set(kp=50.0, kd=-1.0), "kd holds -1; expected 0 to"),
    (lambda c: c.set(kp=[50.0] * 6 + [-1.0]), "kp holds -1 for joint panda_joint7; expected 0 to"),
    (lambda c: c.set(kp=[50.0] * 3), "kp has 3 entries; expected 1 or 7"),
    (lambda c: c.set(kp=50.0, rotors=[0.1] * 3), "rotors has 3 entries; expected 1 or 7"),
    (lambda c: c.set(kp=50.0, rotors=-0.1), "rotors holds -0.1; expected 0 to"),
    (lambda c: c.set(kp=50.0, rotors=np.nan), "rotors holds nan; expected finite"),
    (lambda c: c.set(kp=50.0, saturate_efforts="yes"), "saturate_efforts: expected True or False"),
    (lambda c: c.set(kp=50.0, base_link="panda_link2"), "base_link can only be given when the controller is made"),
    (lambda c: c.set(kp=50.0, payload_mass=1.0), "payload_mass is set without payload_frame"),
    (lambda c: c.set(kp=50.0, rate=1.0), "a loop of 1 Hz"),
)


def test_bad_calls_lose_nothing():
    """Of two controllers one hears nonsense between the states; both go on alike, to the bit."""
    pair = [Controller(arms.OWN) for _ in range(2)]
    for k in range(2 * len(BAD)):
        t = 0.01 + 0.002 * k
        q = POSE + 1e-3 * np.sin(t * np.arange(1, 8))
        one, other = (c.update(t, q) for c in pair)
        assert (one.effort.tolist(), one.phase) == (other.effort.tolist(), other.phase)
        if not k:
            for c in pair:
                c.follow([1.0], [POSE + STEP], [np.zeros(7)])
        if k % 2 == 0:
            call, says = BAD[k // 2]
            with pytest.raises(ValueError, match=says):
                call(pair[0])
            assert pair[0].parameters == pair[1].parameters
    assert pair[0].phase == "following"


@pytest.mark.parametrize(
    "robot, parameters, says",
    [
        (7, {}, "robot: expected a Model"),
        ("no_such_file.urdf", {}, "cannot be read"),
        ("<robot name='r'><link name='l'/></robot>", {}, "no joint"),
        (arms.OWN, {"modee": "adaptive"}, "no parameter 'modee'; expected one such as mode"),
        (arms.OWN, {"start_positions": [1.0]}, "loops is empty; expected with start_positions"),
    ],
)
def test_refuses_robots(robot, parameters, says):
    with pytest.raises(ValueError, match=says):
        Controller(robot, **parameters)


def test_refuses_parts_of_a_model():
    with pytest.raises(ValueError, match="locked_joints: expected with a robot description, got with a Model"):
        Controller(arms.load("panda_arm").model, locked_joints=["panda_joint7"])


def test_model_of_a_part():
    controller = Controller(arms.OWN, locked_joints=["panda_joint7"], joint_prefix="left_")
    assert controller.joint_names == tuple(f"left_panda_joint{k}" for k in range(1, 7))
    held = arms.physics("panda_arm").gravity(np.append(POSE[:6], 0.0))[:6]
    np.testing.assert_allclose(controller.update(0.0, POSE[:6]).effort, held, atol=1e-6)


@pytest.mark.parametrize("compensates", [False, True])
def test_last_effort_holds_the_arm(compensates):
    """Gravity by MuJoCo, within the limits; in motion, too, and after it another run begins."""
    arm = arms.load("panda_arm")
    controller = Controller(arms.OWN, driver_compensates_gravity=compensates)
    controller.update(0.0, POSE, STEP)
    controller.stop("the test")
    assert controller.update(0.001, POSE, STEP).phase == "stopping"
    effort = controller.end(0.002, POSE, STEP)
    np.testing.assert_allclose(effort, 0.0 if compensates else arms.physics("panda_arm").gravity(POSE), atol=1e-6)
    assert (np.abs(effort) <= arm.limit).all()
    assert controller.phase == "off"
    assert controller.update(-3.0, POSE).phase == "holding"


def test_weak_motors_are_not_asked_for_more():
    text = arms.load("panda_arm").text.replace('effort="87', 'effort="8.7')
    limit = Controller(text)._core.limit
    assert limit[1] < np.abs(arms.physics("panda_arm").gravity(POSE))[1]
    assert (np.abs(Controller(text).end(0.0, POSE)) <= limit).all()


def test_tool_reaches_its_target():
    arm = arms.load("panda_arm")
    simulated = arm.simulated()
    simulated.set(POSE, 0.0)
    controller = Controller(arms.OWN, mode="operational_space", tool_frame="panda_link7")
    goal = frame_pose(arm.model, POSE, "panda_link7")
    goal[:3, 3] += [0.05, -0.04, 0.06]
    for k in range(900):
        out = controller.update(0.002 * k, simulated.q, simulated.qd)
        if k == 5:
            controller.target(goal)
        simulated.advance(out.effort, 4)
    reached = simulated.data.body("panda_link7").xpos
    assert np.abs(reached - goal[:3, 3]).max() < 1e-3
    assert out.mode == "operational_space" and out.phase == "holding"


def test_changes_at_run_time():
    """A payload that is told at run time is held as MuJoCo says, once the efforts have passed over."""
    arm = arms.load("panda_arm")
    controller = Controller(arms.OWN, mode="gravity_compensation", blend_time=0.1)
    loaded = arm.simulated(payload=("panda_link7", 1.5, (0.0, 0.0, 0.1)))
    controller.update(0.0, POSE, np.zeros(7))
    controller.set(payload_mass=1.5, payload_frame="panda_link7", payload_center_of_mass=[0, 0, 0.1])
    for k in range(1, 200):
        out = controller.update(0.002 * k, POSE, np.zeros(7))
    np.testing.assert_allclose(out.effort, loaded.gravity(POSE), atol=1e-6)


def test_robot_with_loops():
    """The efforts of its motors hold a five-bar up: virtual work, by differences of its potential energy."""
    urdf = Path(lie_dynamics_ros.__file__).parent / "urdf"
    joints = ["left_motor", "left_elbow", "right_motor", "right_elbow"]
    controller = Controller(
        urdf / "five_bar.urdf",
        loops=str(urdf / "five_bar_loops.yaml"),
        measured_joints=["left_motor", "right_motor"],
        start_joints=joints,
        start_positions=[2.2, -1.4, 0.94, 1.4],
    )
    assert controller.joint_names == controller.measured_joints == ("left_motor", "right_motor")
    out = [controller.update(0.002 * k, [2.2, 0.94]) for k in range(100)][-1]
    assert out.phase == "holding"
    model = Model.from_urdf(urdf / "five_bar.urdf")
    constraints = ConstraintSet.from_yaml(model, urdf / "five_bar_loops.yaml")

    def energy(left, right):
        def full(elbows):
            return np.array([left, elbows[0], right, elbows[1]])

        elbows = fsolve(lambda x: constraint_error(model, constraints, full(x)), [-1.4, 1.4], xtol=1e-13)
        return float(potential_energy(model, full(elbows)))

    h = 1e-5
    work = [energy(2.2 + h, 0.94) - energy(2.2 - h, 0.94), energy(2.2, 0.94 + h) - energy(2.2, 0.94 - h)]
    assert np.abs(work).max() > 1e-6
    np.testing.assert_allclose(out.effort, np.array(work) / (2 * h), atol=2e-3)


def _worst_error(rotors, told) -> float:
    """Return the largest error of a motion in MuJoCo, whose arm has `rotors`, at 500 Hz [rad]."""
    arm = arms.load("panda_arm")
    simulated = arm.simulated(armature=rotors)
    simulated.set(POSE, 0.0)
    controller = Controller(arms.OWN, rotors=told)
    controller.update(0.0, POSE, np.zeros(7))
    controller.follow([1.0, 2.0], [POSE + STEP, POSE], [np.zeros(7)] * 2)
    errors = []
    for k in range(1, 1000):
        q = simulated.q
        out = controller.update(0.002 * k, q, simulated.qd)
        errors.append(np.abs(out.desired_position - q).max())
        simulated.advance(out.effort, 4)
    assert out.phase == "following"
    return max(errors)


def test_rotors_that_are_told_take_the_error_away():
    rotors = 0.01 * arms.load("panda_arm").limit
    untold, told = _worst_error(rotors, [0.0]), _worst_error(rotors, list(rotors))
    assert told < 0.1 * untold, (told, untold)


@pytest.mark.parametrize("rotors", [[0.2], [0.9, 0.8, 0.0, 0.6, 0.12, 0.11, 0.1]])
def test_rotors_are_in_the_mass_matrix_that_mujoco_has(rotors):
    arm = arms.load("panda_arm")
    heavy = arm.simulated(armature=rotors)
    dynamics = cores.make_core(arm.model, rotors=rotors).dynamics
    qdd = np.array([1.0, -2.0, 3.0, -1.0, 2.0, -3.0, 4.0])
    effort = inverse_dynamics(dynamics, POSE, 0.5 * STEP, qdd)
    np.testing.assert_allclose(effort, heavy.inverse_dynamics(POSE, 0.5 * STEP, qdd), atol=1e-8)
    # Zero keeps what the description says.
    kept = cores.make_core(arm.model.with_armature(np.full(7, 0.3)), rotors=[0.0]).dynamics
    np.testing.assert_allclose(mass_matrix(kept, POSE) - mass_matrix(arm.model, POSE), 0.3 * np.eye(7), atol=1e-12)


DAYS = [(mode, stops) for mode in CONTROL_MODES for stops in (False, True)]


@pytest.mark.parametrize(("mode", "stops"), every_run(DAYS[::4] + DAYS[3::4], DAYS))
def test_states_that_come_after_days_are_answered_where_none_is_too_late(mode, stops, rng):
    controller, time = Controller(arms.load("panda_arm").model, mode=mode, state_timeout=0.0), 0.0
    limit = arms.load("panda_arm").model.limits.effort
    for k in range(160):
        away = 0.02 * rng.standard_normal((2, 7)) * (k > 60)
        answer = controller.update(time, POSE + away[0], 10.0 * away[1])
        assert np.isfinite(answer.effort).all()
        assert (np.abs(answer.effort) <= limit).all()
        time += 0.002 if k < 80 or k % 7 else 10.0 ** rng.integers(1, 7)
        if k == 70 and stops:
            controller.stop("asked to")
