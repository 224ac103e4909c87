"""Two controllers beside each other on one topic of joint states, with MuJoCo as the driver in lock step."""

from __future__ import annotations

import numpy as np
import pytest
from mujoco_driver import PAST, PERIOD
from node_harness import stamp_of
from node_robots import ARM, ARM_JOINTS
from sensor_msgs.msg import JointState
from support.mujoco_arm import STEP, MujocoArm
from support.two_arms import CARRIERS, LEANING
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SIDES = ("left", "right")
READY = np.array([0.3, -0.6, 0.2, -2.0, -0.3, 1.7, 0.6])
STEPS = round(PERIOD * 1e-9 / STEP)
BEGIN, SPEED = np.array([0.1, 0.0, 0.2]), np.array([0.05, 1.5, 0.2])


def joints(side):
    return tuple(f"{side}_{name}" for name in ARM_JOINTS)


class OneTorso:
    """Both arms hang on a torso that lifts, turns and leans at constant speeds."""

    def __init__(self):
        self.names = (*CARRIERS, *joints("left"), *joints("right"))
        self.physics = MujocoArm(LEANING, self.names, armature=[1e9] * 3 + [0.0] * 14)
        self.physics.set([*BEGIN, *READY, *READY], [*SPEED, *np.zeros(14)])

    def parameters(self, side):
        return {"robot_description": LEANING, "base_link": f"{side}_panda_link0", "carrying_joints": "states"}

    def state(self):
        return self.physics.q, self.physics.qd

    def advance(self, efforts):
        self.physics.advance(np.concatenate((np.zeros(3), efforts["left"], efforts["right"])), STEPS)


class TwoRobots:
    """Two robots of one description, whose joints are told apart by a prefix."""

    def __init__(self):
        self.names = (*joints("left"), *joints("right"))
        self.physics = {side: MujocoArm(ARM, ARM_JOINTS) for side in SIDES}
        for physics in self.physics.values():
            physics.set(READY, np.zeros(7))

    def parameters(self, side):
        return {"robot_description": ARM, "joint_prefix": f"{side}_", "frame_prefix": f"{side}/"}

    def state(self):
        return tuple(np.concatenate([getattr(self.physics[side], what) for side in SIDES]) for what in ("q", "qd"))

    def advance(self, efforts):
        for side, physics in self.physics.items():
            physics.advance(efforts[side], STEPS)


def trajectory(side, goal):
    """A motion to a goal that begins when it is taken."""
    point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0] * 7, accelerations=[0.0] * 7)
    point.time_from_start.nanosec = 250_000_000
    return JointTrajectory(joint_names=list(joints(side)), points=[point])


@pytest.mark.slow
@pytest.mark.parametrize("robots", [OneTorso, TwoRobots])
def test_both_arms_reach_their_goals_and_stay_there(bench, robots):
    robots = robots()
    nodes = {
        side: bench.start("computed_torque", f"{side}_controller", state_timeout=3600.0, **robots.parameters(side))
        for side in SIDES
    }
    answers = {side: bench.listen(JointState, f"{node}/joint_efforts") for side, node in nodes.items()}
    paths = {side: bench.publisher(JointTrajectory, f"{node}/joint_trajectory") for side, node in nodes.items()}
    order = np.random.default_rng(0).permutation(len(robots.names))
    stamp = bench.now() - PAST

    def send():
        q, qd = robots.state()
        bench.states.publish(bench.make_state([robots.names[k] for k in order], q[order], qd[order], stamp))

    def answered():
        return all(answers[side] and stamp_of(answers[side][-1]) == stamp for side in SIDES)

    def step():
        nonlocal stamp
        for side in SIDES:
            assert tuple(answers[side][-1].name) == joints(side)
        robots.advance({side: np.array(answers[side][-1].effort) for side in SIDES})
        stamp += PERIOD
        send()
        bench.wait(answered, "answers to a state")

    def off():
        place = dict(zip(robots.names, robots.state()[0], strict=True))
        return max(abs(place[name] - x) for side in SIDES for name, x in zip(joints(side), goals[side], strict=True))

    bench.send_until(send, answered, "both controllers to answer")
    goals = {"left": READY + 0.05, "right": READY - 0.05}
    for side in SIDES:
        paths[side].publish(trajectory(side, goals[side]))
    for _ in range(5000):
        if off() < 1e-3:
            break
        step()
    for _ in range(50):
        step()
        assert off() < 2e-3
