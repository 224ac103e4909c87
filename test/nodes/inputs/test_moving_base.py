"""Robots whose base moves: by joints that carry it, and by odometry. Against Pinocchio's whole robot."""

import importlib

import numpy as np
import pytest
from rclpy.logging import get_logger
from scipy.spatial.transform import Rotation
from support import cores
from support.two_arms import CARRIERS, LEANING, LEFT, LIFTING, RIGHT, Whole

from lie_dynamics_ros.core.commands import HybridCommand
from lie_dynamics_ros.core.errors import ConfigurationError, ParameterError
from lie_dynamics_ros.core.moving_base import Odometry
from lie_dynamics_ros.core.robot_state import BaseState, RobotState
from lie_dynamics_ros.lie_dynamics import external_wrench, frame_pose
from lie_dynamics_ros.nodes.hybrid_dynamics.core import HybridDynamicsCore, HybridDynamicsOptions
from lie_dynamics_ros.nodes.hybrid_dynamics.node import HybridDynamicsParameters
from lie_dynamics_ros.nodes.inverse_dynamics.core import InverseDynamicsCore, InverseDynamicsOptions
from lie_dynamics_ros.ros.inputs import base_input
from lie_dynamics_ros.ros.inputs.model_loading import load_base, load_model

pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

KINDS = {
    "inverse_dynamics": (InverseDynamicsCore, InverseDynamicsOptions),
    "hybrid_dynamics": (HybridDynamicsCore, HybridDynamicsOptions),
}
ARM = {"base_link": "left_panda_link0", "carrying_joints": "states"}
FREE = {"base_motion": "odometry"}
PAYLOAD = {"payload_frame": "left_panda_link7", "payload_mass": 2.0, "payload_center_of_mass": [0.05, 0.0, 0.1]}


@pytest.fixture(autouse=True)
def nav_msgs(monkeypatch):
    """Cores take no messages: they are tested without them, too."""
    monkeypatch.setattr(base_input, "OdometryMessage", object)


def make(node, text, **given):
    """A node's core for a robot on a base that moves."""
    settings = importlib.import_module(f"lie_dynamics_ros.nodes.{node}.node").SETTINGS
    values = {setting.name: setting.default for setting in settings} | {"saturate_efforts": False} | given
    model = load_model(text, values, get_logger("test"))
    if node == "computed_torque":
        core = cores.make_core(model, **{k: v for k, v in values.items() if k in cores.DEFAULTS})
    else:
        kind, options = KINDS[node]
        core = kind(model, options.from_values(values))
    assert base_input.check_base(values)
    core.mount_on(load_base(text, values, model))
    return core


def some_state(core, rng, quiet=False):
    """A random state on a base that moves at random."""
    base, n = core.base, core.model.nv
    position = rng.uniform(-1.0, 1.0, base.q)
    if base.floating:
        position[:4] = Rotation.random(random_state=rng).as_quat()
    told = BaseState(position, *rng.normal(size=(2, base.v)))
    if quiet:
        told.velocity[:] = told.acceleration[:] = 0.0
    state = RobotState(10**9, *rng.uniform(-1.0, 1.0, (2, n)), base=told)
    core.update_base(state)
    return state


def oracle(core, text, state, acceleration, **wrenches):
    """Pinocchio's efforts of the core's joints, and the wrench on the base."""
    base, told = core.base, state.base
    whole = Whole(pin, text, base.floating)
    k, j = (7, 6) if base.floating else (0, 0)
    if base.floating:
        whole.move_base(told.position[:4], told.position[4:7], told.velocity[:6], told.acceleration[:6])
    whole.move(base.joints, told.position[k:], told.velocity[j:], told.acceleration[j:])
    whole.move(core.model.joint_names, state.position, state.velocity, acceleration)
    return whole.efforts(core.model.joint_names, wrenches), whole.base_wrench


@pytest.mark.parametrize("given", [ARM, FREE, {**ARM, **FREE}], ids=["carried", "floating", "both"])
def test_inverse_dynamics_of_a_moving_base_is_part_of_the_whole_robots(given, rng):
    core = make("inverse_dynamics", LEANING, **given)
    assert core.base.joints == (CARRIERS if "base_link" in given else ())
    for _ in range(5):
        state = some_state(core, rng)
        acceleration = rng.normal(size=core.model.nv)
        core.desired.put((acceleration, None), 0)
        answer = core.answer(state)
        expected, wrench = oracle(core, LEANING, state, acceleration)
        np.testing.assert_allclose(answer.effort, expected, atol=1e-11 * np.abs(expected).max())
        told = core.explain(answer)
        np.testing.assert_allclose(told.effort_before_limits, answer.effort, atol=1e-11 * np.abs(expected).max())
        if core.base.floating and not core.base.joints:  # else other arms are locked, elsewhere than the oracle's
            found = core.base_wrench(state, acceleration)
            np.testing.assert_allclose(found, wrench, atol=1e-11 * np.abs(wrench).max())
    assert core.root_link == ("stand" if core.base.floating else "")


@pytest.mark.parametrize("given", [ARM, FREE], ids=["carried", "floating"])
def test_gravity_alone_and_what_drivers_add_of_it_follow_the_base(given, rng):
    whole = make("inverse_dynamics", LEANING, **given)
    only = make("inverse_dynamics", LEANING, **given, gravity_only=True)
    without = make("inverse_dynamics", LEANING, **given, driver_compensates_gravity=True)
    state = some_state(whole, rng)
    at_rest = BaseState(state.base.position, *np.zeros((2, whole.base.v)))
    still = RobotState(10**9, state.position, np.zeros(whole.model.nv), base=at_rest)
    for core in (whole, only, without):
        core.update_base(state)
    expected, _ = oracle(whole, LEANING, still, np.zeros(whole.model.nv))
    np.testing.assert_allclose(only.answer(state).effort, expected, atol=1e-10)
    np.testing.assert_allclose(without.answer(state).effort, whole.answer(state).effort - expected, atol=1e-10)


def test_a_payload_and_other_parameters_reach_what_carries_the_robot(rng):
    core = make("inverse_dynamics", LEANING, **ARM)
    state = some_state(core, rng)
    before = core.answer(state).effort
    loaded = make("inverse_dynamics", LEANING, **ARM, **PAYLOAD, gravity=[0.0, 3.0, -9.0])
    later = core.with_options(loaded.options)
    for one in (loaded, later):
        one.update_base(state)
    np.testing.assert_array_equal(later.answer(state).effort, loaded.answer(state).effort)
    text = LEANING.replace(
        "</robot>",
        '<link name="load"><inertial><origin xyz="0.05 0 0.1"/><mass value="2"/>'
        '<inertia ixx="1e-9" ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link>'
        '<joint name="hold" type="fixed"><parent link="left_panda_link7"/><child link="load"/></joint></robot>',
    )
    turned = Whole(pin, text)
    turned.model.gravity.linear = np.array([0.0, 3.0, -9.0])
    turned.move(CARRIERS, state.base.position, state.base.velocity, state.base.acceleration)
    turned.move(LEFT, state.position, state.velocity)
    np.testing.assert_allclose(later.answer(state).effort, turned.efforts(LEFT), atol=1e-6)
    core.update_base(state)
    np.testing.assert_array_equal(core.answer(state).effort, before)


@pytest.mark.parametrize("given", [ARM, FREE], ids=["carried", "floating"])
def test_hybrid_dynamics_on_a_base_that_moves_as_told(given, rng):
    core = make("hybrid_dynamics", LEANING, **given)
    n = core.model.nv
    for _ in range(5):
        state = some_state(core, rng)
        prescribed = rng.random(n) < 0.5
        core.command.put(HybridCommand(np.ones(n, dtype=bool), prescribed, rng.normal(size=n)), 0)
        answer = core.answer(state)
        expected, _ = oracle(core, LEANING, state, answer.acceleration)
        np.testing.assert_allclose(answer.effort, expected, atol=1e-9 * np.abs(expected).max())
        given_back = np.where(prescribed, answer.acceleration, answer.effort)
        np.testing.assert_allclose(given_back, answer.input, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(core.explain(answer).effort_before_limits, answer.effort, atol=1e-9)


def test_a_base_that_is_free_is_pushed_by_nothing_but_wrenches(rng):
    core = make("hybrid_dynamics", LEANING, **FREE, free_base=True)
    n = core.model.nv
    for _ in range(5):
        state = some_state(core, rng)
        pushes = {"stand": rng.normal(size=(2, 3)), "left_panda_link7": rng.normal(size=(2, 3))}
        whole = core.base.whole
        state.base.wrenches = sum(
            external_wrench(whole, whole.neutral(), link, np.concatenate(push), "body") for link, push in pushes.items()
        )
        state.wrenches = state.base.wrenches[1:]
        prescribed = rng.random(n) < 0.5
        core.command.put(HybridCommand(np.ones(n, dtype=bool), prescribed, rng.normal(size=n)), 0)
        answer = core.answer(state)
        moved = RobotState(
            state.stamp, state.position, state.velocity,
            base=BaseState(state.base.position, state.base.velocity, answer.base_acceleration),
        )  # fmt: skip
        expected, wrench = oracle(core, LEANING, moved, answer.acceleration, **pushes)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(answer.effort, expected, atol=1e-9 * scale)
        np.testing.assert_allclose(wrench, np.zeros(6), atol=1e-9 * scale)
        given_back = np.where(prescribed, answer.acceleration, answer.effort)
        np.testing.assert_allclose(given_back, answer.input, atol=1e-9 * scale)


def test_an_imu_tells_gravity_in_the_axes_of_a_root_link_that_odometry_moves(rng):
    """So roll and pitch of odometry, which that of wheels does not know, play no part."""
    core = make("inverse_dynamics", LEANING, **FREE)
    state = some_state(core, rng, quiet=True)
    expected, wrench = oracle(core, LEANING, state, np.zeros(core.model.nv))
    truth = Rotation.from_quat(state.base.position[:4]).inv().apply([0.0, 0.0, -9.81])
    core.measure_gravity(truth)
    state.base.position[:4] = [0.0, 0.0, 0.0, 1.0]
    core.update_base(state)
    np.testing.assert_allclose(core.answer(state).effort, expected, atol=1e-10)
    np.testing.assert_allclose(core.base_wrench(state, np.zeros(core.model.nv)), wrench, atol=1e-9)


@pytest.mark.parametrize("given", [ARM, FREE], ids=["carried", "floating"])
@pytest.mark.parametrize("mode", ["computed_torque", "passivity_based"])
def test_computed_torque_compensates_the_motion_of_its_base(given, mode, rng):
    """Without springs and dampers, its efforts make joints at the desired velocity go on without acceleration."""
    core = make("computed_torque", LEANING, **given, mode=mode, kp=[0.0], kd=[0.0], error_limit=0.0,
                velocity_tolerance=100.0, blend_time=0.0, saturate_efforts=False)  # fmt: skip
    core.start()
    first = some_state(core, rng)
    still = RobotState(first.stamp, first.position, np.zeros(core.model.nv), base=first.base)
    core.update_base(still)
    effort = core.answer(still).effort
    expected, _ = oracle(core, LEANING, still, np.zeros(core.model.nv))
    np.testing.assert_allclose(effort, expected, atol=1e-9 * np.abs(expected).max())


def test_what_cannot_carry_is_refused(monkeypatch):
    with pytest.raises(ParameterError, match="carrying_joints is 'states' without base_link"):
        make("inverse_dynamics", LEANING, carrying_joints="states")
    with pytest.raises(ParameterError, match="free_base with base_motion 'fixed'; expected 'odometry'"):
        HybridDynamicsParameters(free_base=True)
    with monkeypatch.context() as patch:
        patch.setattr(base_input, "OdometryMessage", None)
        with pytest.raises(ConfigurationError, match="base_motion is 'odometry', for which the package nav_msgs is"):
            make("inverse_dynamics", LEANING, **FREE)
    planar = LIFTING.replace('name="torso_lift" type="prismatic"', 'name="torso_lift" type="planar"')
    with pytest.raises(ConfigurationError, match="'torso_lift', which carries left_panda_link0, is of kind 'planar'"):
        make("inverse_dynamics", planar, **ARM)
    follower = LIFTING.replace(
        '<child link="left_panda_link7"/>', '<child link="left_panda_link7"/><mimic joint="torso_lift"/>'
    )
    with pytest.raises(ConfigurationError, match="joints below left_panda_link0 follow joints that carry it: left_pan"):
        make("inverse_dynamics", follower, **ARM)


def test_a_locked_carrier_stays_locked_and_what_carries_nothing_is_no_base(rng):
    core = make("inverse_dynamics", LEANING, **ARM, locked_joints=["torso_turn"], locked_positions=[0.4])
    assert core.base.joints == ("torso_lift", "torso_lean")
    state = some_state(core, rng)
    whole = Whole(pin, LEANING)
    whole.move(core.base.joints, state.base.position, state.base.velocity, state.base.acceleration)
    whole.move(["torso_turn"], [0.4], [0.0])
    whole.move(LEFT, state.position, state.velocity)
    whole.move(RIGHT, *rng.normal(size=(2, 7)))  # whatever the other arm does
    np.testing.assert_allclose(core.answer(state).effort, whole.efforts(LEFT), atol=1e-10)
    values = {"base_link": "stand", "carrying_joints": "states", "base_motion": "fixed", "locked_joints": [""]}
    values |= {"locked_positions": [0.0], "inertia_check": "error", "joint_prefix": ""}
    assert load_base(LEANING, values, load_model(LEANING, values, get_logger("test"))) is None


def test_a_description_may_have_the_floating_joint_itself(rng):
    """Between its root link, called world or not, and the link that odometry tells of, which is base_link then."""
    for root in ("world", "map"):
        joint = f'<joint name="virtual" type="floating"><parent link="{root}"/><child link="stand"/></joint>'
        text = LEANING.replace("</robot>", f'<link name="{root}"/>{joint}</robot>')
        with pytest.raises(ConfigurationError, match=r"of kind 'free'; .* is base_link, with base_motion odometry"):
            make("inverse_dynamics", text, **FREE)
        core = make("inverse_dynamics", text, **FREE, base_link="stand")
        state = some_state(core, rng)
        expected, _ = oracle(core, LEANING, state, np.zeros(core.model.nv))
        np.testing.assert_allclose(core.answer(state).effort, expected, atol=1e-11 * np.abs(expected).max())
        free = make("hybrid_dynamics", text, **FREE, base_link="stand", free_base=True)
        free.update_base(state)
        fallen = free.answer(state)
        state.base.acceleration[:] = fallen.base_acceleration
        expected, nothing = oracle(core, LEANING, state, fallen.acceleration)
        np.testing.assert_allclose([*expected, *nothing], np.zeros(23), atol=1e-8)
        odometry = Odometry(core.base.whole)
        odometry.take("odom", "stand", np.eye(4), np.ones(6), 0)
        np.testing.assert_array_equal(odometry.at(0, 0)[1], np.ones(6))


def test_poses_are_those_on_the_base_where_it_is_locked(rng):
    """What doc/nodes/joint_states.md says of the tool's pose."""
    core = make("computed_torque", LEANING, **ARM)
    state = some_state(core, rng)
    pose = frame_pose(core.dynamics, state.position, "left_panda_link7")
    locked = frame_pose(core.model, state.position, "left_panda_link7")
    np.testing.assert_array_equal(pose, locked)
