"""Targets of a tool, without ROS: which are taken, where they lead, and that none leads to an end of the controller."""

import numpy as np
import pytest
from support import arms
from support.cores import make_core, options
from support.grids import every_run

from lie_dynamics_ros.core.errors import MessageError, ParameterError
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import Model, frame_pose, gravity_force
from lie_dynamics_ros.nodes.computed_torque.tool_options import TOOL_MODES

S, H = 10**9, 4 * 10**6
Q = np.array([0.3, -0.5, 0.2, -1.9, 0.1, 1.6, 0.5])
ZERO = np.zeros(7)
TWIST = np.array([0.0, 0.0, 0.2, 0.05, 0.0, 0.0])
each_mode = pytest.mark.parametrize("mode", TOOL_MODES)
one_mode = pytest.mark.parametrize("mode", every_run(TOOL_MODES[:1], TOOL_MODES))  # what all do by the same lines


class Desk:
    """A core whose robot is always where it is wanted not to move: only the desired pose does."""

    def __init__(self, mode="operational_space", **values):
        self.core, self.stamp = make_core(arms.load("panda_arm").model, mode=mode, error_limit=0.0, **values), S
        self.core.start()

    def run(self, count=1, q=Q, step=H):
        for _ in range(count):
            self.answer = self.core.answer(RobotState(self.stamp, q, ZERO))
            assert np.isfinite(self.answer.effort).all()
            self.stamp += step
        return self.answer

    @property
    def pose(self):
        return self.core.tool.reference.pose

    def aim(self, ahead):
        """Aim at where the desired pose is, some way ahead along x; returns that."""
        goal = self.pose.copy()
        goal[0, 3] += ahead
        self.core.aim("", goal)
        return goal


@each_mode
def test_it_begins_where_the_tool_is(mode):
    desk = Desk(mode)
    assert desk.run(5).phase == "holding"
    np.testing.assert_allclose(desk.pose, frame_pose(arms.load("panda_arm").model, Q, "panda_link7"), atol=1e-15)
    assert desk.core.tool.frame == "panda_link7" and desk.core.tool.base == "panda_link0"
    with pytest.raises(MessageError, match=f"a trajectory in mode {mode}, which follows none"):
        desk.core.follow(None)


@pytest.mark.parametrize(
    "frame", ["", "/panda_link0", *(pytest.param(x, marks=pytest.mark.slow) for x in ("panda_link0", "world"))]
)
def test_poses_are_taken_in_frames_of_the_base(frame):
    desk = Desk()
    desk.run()
    goal = desk.pose.copy()
    goal[:3, 3] += 0.01
    desk.core.aim(frame, goal)
    desk.run(350)
    np.testing.assert_allclose(desk.pose, goal, atol=1e-4)


@pytest.mark.parametrize("frame", ["panda_link7", "panda_link3", "nowhere"])
def test_poses_in_other_frames_are_refused(frame):
    desk = Desk()
    desk.run()
    with pytest.raises(MessageError, match=f"a target pose in frame '{frame}'; expected one that is fixed"):
        desk.core.aim(frame, np.eye(4))


def test_twists_are_those_of_the_base_or_of_the_tool():
    for frame, turned in (("", False), ("panda_link7", True)):
        desk = Desk(target_timeout=0.0)
        desk.run()
        desk.core.drive(frame, TWIST)
        desk.run(75)
        R = desk.pose[:3, :3]
        expected = TWIST if turned else np.concatenate([R.T @ TWIST[:3], R.T @ TWIST[3:]])
        np.testing.assert_allclose(desk.core.tool.reference.twist, expected, atol=2e-3)
    with pytest.raises(MessageError, match="in the axes of 'panda_link3'; expected the tool 'panda_link7'"):
        desk.core.drive("panda_link3", TWIST)


def test_a_silent_twist_counts_for_its_time_only():
    desk = Desk()
    desk.run()
    desk.core.drive("", TWIST)
    assert desk.run(20).phase == "following"
    desk.run(300)
    assert desk.answer.phase == "holding" and not desk.core.tool.moving


def test_a_pose_is_moved_on_from_its_stamp():
    """A pose and a twist that were told half a timeout ago."""
    desk = Desk()
    desk.run(15)
    goal = desk.pose.copy()
    desk.core.drive("", TWIST, desk.stamp - S // 20)
    desk.core.aim("", goal, desk.stamp - S // 20)
    desk.run(350)
    np.testing.assert_allclose(desk.pose[:3, 3] - goal[:3, 3], 0.1 * TWIST[3:], atol=3e-4)


@one_mode
def test_hold_forgets_the_target_and_comes_to_rest(mode):
    desk = Desk(mode)
    desk.run()
    goal = desk.aim(0.3)
    desk.run(75)
    assert desk.core.tool.moving
    assert desk.core.hold() == "all trajectories and targets are dropped"
    desk.run(300)
    assert not desk.core.tool.moving and desk.pose[0, 3] < goal[0, 3] - 0.1


@one_mode
def test_the_desired_pose_waits_for_a_tool_that_does_not_come(mode):
    desk = Desk(mode)
    desk.run()
    begin = desk.pose.copy()
    desk.aim(1.0)
    desk.run(700)
    assert 0.125 < desk.pose[0, 3] - begin[0, 3] < 0.3


@each_mode
def test_a_tool_far_from_its_desired_pose_stops_the_robot(mode):
    core = make_core(arms.load("panda_arm").model, mode=mode, error_limit=0.1)
    core.start()
    core.answer(RobotState(S, Q, ZERO))
    assert core.answer(RobotState(S + H, Q + 0.05, ZERO)).phase == "holding"
    assert core.answer(RobotState(S + 2 * H, Q + 0.2, ZERO)).phase in ("stopping", "stopped")
    assert "tool panda_link7 is" in core.reason
    with pytest.raises(MessageError, match="a target pose after a stop"):
        core.aim("", np.eye(4))


def test_targets_are_refused_where_nobody_follows_them():
    desk = Desk()
    with pytest.raises(MessageError, match="a target pose before the first joint state"):
        desk.core.aim("", np.eye(4))
    desk = Desk("computed_torque")
    desk.run()
    for send in (lambda: desk.core.aim("", np.eye(4)), lambda: desk.core.drive("", TWIST)):
        with pytest.raises(MessageError, match="in mode computed_torque, which follows none"):
            send()


@each_mode
def test_hostile_targets_end_nothing(mode, rng):
    desk = Desk(mode)
    desk.run()
    far = np.eye(4)
    far[:3, 3] = 1e5
    for size in (np.nan, np.inf, 1e300, 1e6):
        with pytest.raises(MessageError):
            desk.core.drive("", np.full(6, size))
    wide = np.eye(4)
    wide[0, 3] = 1e9
    with pytest.raises(MessageError, match="out of anybody's reach"):
        desk.core.aim("", wide)
    desk.core.aim("", far)
    desk.run(20)
    for _ in range(20):
        desk.core.drive("", 10.0 ** rng.uniform(-3, 4) * rng.normal(size=6), desk.stamp - int(rng.integers(-H, 10**9)))
        desk.run(3, step=int(rng.choice([0, 1, H, 12 * H, 50 * H])))
    desk.core.hold()
    desk.run(2)


@one_mode
def test_gravity_that_turns_is_compensated(mode):
    desk, model = Desk(mode, blend_time=0.0), arms.load("panda_arm").model
    desk.run()
    desk.core.turn_gravity(np.array([0.0, 6.0, -7.8]))
    expected = gravity_force(model.with_gravity([0.0, 6.0, -7.8]), Q)
    np.testing.assert_allclose(desk.run(60).effort, expected, atol=1e-6)


@one_mode
def test_options_change_under_way(mode):
    desk = Desk(mode)
    desk.run()
    desk.aim(0.3)
    desk.run(100)
    pose, twist = desk.pose.copy(), desk.core.tool.reference.twist
    desk.core = desk.core.with_options(options(mode=mode, error_limit=0.0, translational_speed=0.1))
    desk.run()
    assert np.abs(desk.pose - pose).max() < 1e-3 and np.abs(desk.core.tool.reference.twist - twist).max() < 0.01
    desk.core = desk.core.with_options(options(mode=mode, error_limit=0.0, tool_frame="panda_link5"))
    desk.run()
    np.testing.assert_allclose(desk.pose, frame_pose(arms.load("panda_arm").model, Q, "panda_link5"), atol=1e-15)


@one_mode
def test_options_that_are_tried_change_nothing(mode):
    desk, other = Desk(mode), Desk(mode)
    for one in (desk, other):
        one.run()
        one.aim(0.1)
    desk.core.with_options(options(mode=mode, error_limit=0.0, translational_speed=0.01, rotational_acceleration=0.1))
    for one in (desk, other):
        one.run(50)
    np.testing.assert_array_equal(desk.pose, other.pose)


@each_mode
@pytest.mark.parametrize(("before", "after"), [(Q + 0.1, [0.0]), ([0.0], Q + 0.1), (Q - 0.1, Q + 0.1), ([0.0], [0.0])])
def test_the_posture_changes_under_way(mode, before, after):
    """One number asked for anew stands for the position in which it is; efforts are those of a fresh start there."""
    moved = Q + 0.01
    desk, fresh = Desk(mode, posture=list(before), blend_time=0.0), Desk(mode, posture=list(after), blend_time=0.0)
    desk.run(3)
    desk.core = desk.core.with_options(options(mode=mode, error_limit=0.0, posture=list(after), blend_time=0.0))
    desk.run(3, moved)
    fresh.run(1, Q if len(after) == len(before) == 1 else moved)
    fresh.core.tool.reference = desk.core.tool.reference
    np.testing.assert_allclose(desk.answer.effort, fresh.run(1, moved).effort, atol=1e-9)
    assert desk.answer.phase == "holding"


@one_mode
@pytest.mark.parametrize("ahead", every_run((S // 50, 3600 * S), (S // 50, 10 * S, 3600 * S)))
def test_a_twist_from_a_clock_that_is_ahead_counts_for_its_time_only(mode, ahead):
    desk = Desk(mode)
    desk.run()
    begun = desk.pose.copy()
    desk.core.drive("", TWIST, desk.stamp + ahead)
    desk.run(200)
    assert not desk.core.tool.moving and 0.0 < np.abs(desk.pose[:3, 3] - begun[:3, 3]).max() < 0.02


@one_mode
def test_a_payload_leaves_the_tool_where_it_is(mode):
    """Whatever a link that carries something weighs: it does not become the last one that counts."""
    desk = Desk(mode)
    desk.run()
    goal = desk.aim(0.05)
    heavy = options(mode=mode, error_limit=0.0, payload_frame="panda_link5", payload_mass=2000.0)
    desk.core = desk.core.with_options(heavy)
    desk.run(350)
    assert desk.core.tool.frame == "panda_link7"
    np.testing.assert_allclose(desk.pose, goal, atol=1e-4)


@pytest.mark.parametrize(("root", "base"), [("world", "world"), ("table", "table")])
def test_poses_are_told_in_the_frame_in_which_they_are(root, base):
    """A robot on a stand, with a link "world" as its root or not."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    urdf = f"""<robot name="r"><link name="{root}"/><link name="foot"/><link name="arm">{inertia}</link>
      <joint name="stand" type="fixed"><parent link="{root}"/><child link="foot"/><origin xyz="0 0 0.5"/></joint>
      <joint name="j" type="revolute"><parent link="foot"/><child link="arm"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""
    core = make_core(Model.from_urdf(urdf), mode="impedance")
    assert core.tool.base == base
    core.start()
    core.answer(RobotState(S, np.zeros(1), np.zeros(1)))
    core.aim("foot", np.eye(4))
    core.answer(RobotState(S + H, np.zeros(1), np.zeros(1)))
    np.testing.assert_allclose(core.tool.reference.pose[:3, 3], [0.0, 0.0, 0.5], atol=1e-12)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"tool_frame": "nowhere"}, "no moving link or frame nowhere"),
        ({"tool_frame": "panda_link0"}, "no moving link or frame panda_link0"),
        ({"posture": [0.0, 1.0]}, "posture has 2 entries; expected 1 or 7"),
        ({"posture": []}, "posture is empty"),
        ({"rotational_stiffness": [1.0, 2.0]}, "rotational_stiffness has 2 entries; expected 1 or 3"),
        ({"translational_rate": []}, "translational_rate has 0 entries"),
        ({"rate": 100.0, "translational_rate": [60.0], "mode": "operational_space"}, "cannot carry 60 /s"),
    ],
)
def test_options_that_make_no_sense_are_refused(values, text):
    with pytest.raises(ParameterError, match=text):
        make_core(arms.load("panda_arm").model, **values)
