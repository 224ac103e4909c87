"""Loads on the tool in modes impedance and operational_space, in MuJoCo: it gives way as far as is told."""

from itertools import product

import numpy as np
import pytest
from support import arms
from support.control.control_loop import ControlLoop
from support.control.control_scenarios import Case
from support.cores import make_core
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics import frame_pose, jacobian
from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.nodes.computed_torque.tool_options import TOOL_MODES

POSES = {
    "ur5": [0.3, -1.2, 1.4, -1.5, -1.3, 0.2],
    "xarm7": [0.2, -0.4, 0.3, 1.2, 0.2, 1.3, 0.4],
    "panda_arm": [0.3, -0.5, 0.2, -1.9, 0.1, 1.6, 0.5],
    "kinova": [0.5, 3.0, 1.6, 0.3, 2.5, 0.5],
}
HELD = (("xarm7", 5),)  # arm and axis of the load in every run: about the last axis of a light wrist
STIFFNESS, REACH = np.repeat([30.0, 400.0], 3), np.repeat([0.15, 0.05], 3)


def raised(loop, wrench, seconds):
    """Raise a wrench on the tool (6,), in the world's axes at its origin, and wait until it is held."""
    arm, core = loop.arm, loop.core
    for k in range(1, round(seconds / loop.period) + 1):
        part = min(1.0, 2.0 * k * loop.period / seconds)
        turn = frame_pose(core.dynamics, arm.q, core.tool.frame)[:3, :3]
        local = np.concatenate([turn.T @ wrench[:3], turn.T @ wrench[3:]])
        loop.push = part * jacobian(core.dynamics, arm.q, core.tool.frame).T @ local
        loop.step()
        assert core.phase == "holding", core.reason


def largest(name, q, axis, share):
    """The load along or about an axis that takes a share of an effort limit."""
    arm = arms.load(name)
    unit = np.eye(6)[axis]
    turn = frame_pose(arm.model, q, arm.model.body_names[-1])[:3, :3]
    local = np.concatenate([turn.T @ unit[:3], turn.T @ unit[3:]])
    effort = np.abs(jacobian(arm.model, q, arm.model.body_names[-1]).T @ local)
    return share * (arm.limit / np.maximum(effort, 1e-9)).min()


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        pytest.param(name, axis, marks=() if (name, axis) in HELD else pytest.mark.slow)
        for name in POSES
        for axis in range(6)
    ],
)
def test_the_spring_holds_a_load_as_stiff_as_is_told(name, axis):
    q = np.array(POSES[name])
    loop = Case(name, "impedance", 500.0, 1.0).loop(q)
    loop.run(0.1)
    frame, model = loop.core.tool.frame, loop.core.dynamics
    home = frame_pose(model, loop.arm.q, frame)
    load = min(largest(name, q, axis, 0.2), REACH[axis] * STIFFNESS[axis] * loop.core.tool.shares[axis])
    raised(loop, load * np.eye(6)[axis], 1.4)
    pose = frame_pose(model, loop.arm.q, frame)
    moved = np.concatenate([so3.log(pose[:3, :3] @ home[:3, :3].T), pose[:3, 3] - home[:3, 3]])[axis]
    told = STIFFNESS[axis] * loop.core.tool.shares[axis]
    assert moved == pytest.approx(load / told, rel=0.03)


@pytest.mark.parametrize(
    ("name", "mode"), every_run([("ur5", TOOL_MODES[0])], product(("ur5", "kinova", "panda_arm"), TOOL_MODES))
)
def test_a_load_off_the_last_axis_that_nobody_told_winds_nothing_up(name, mode):
    arm = arms.load(name)
    q, last = np.array(POSES[name]), arm.model.body_names[-1]
    simulated = arm.simulated(payload=(last, 0.3, (0.06, 0.0, 0.04)))
    simulated.set(q, 0.0)
    loop = ControlLoop(simulated, make_core(arm.model, mode=mode), 500.0, 1.0)
    record = loop.run(1.5)
    assert set(record.phase) == {"holding"}, loop.core.reason
    assert np.abs(record.q - q).max() < 0.1
    assert record.speed[-1] < 0.02


def test_a_softer_spring_than_asked_for_bears_the_moments_that_the_asked_one_bears():
    """About the last axis of a light wrist: it turns by more than ``error_limit`` of 0.5 rad, and does not stop."""
    q = np.array(POSES["xarm7"])
    loop = Case("xarm7", "impedance", 1000.0, 1.0).loop(q)
    loop.run(0.1)
    core = loop.core
    home = frame_pose(core.dynamics, loop.arm.q, core.tool.frame)
    for k in range(1100):
        loop.push = np.append(np.zeros(6), 4.0 * min(1.0, k / 600))
        loop.step()
        assert core.phase == "holding", core.reason
    pose = frame_pose(core.dynamics, loop.arm.q, core.tool.frame)
    turned = np.linalg.norm(so3.log(home[:3, :3].T @ pose[:3, :3]))
    assert turned > 0.5
    assert turned == pytest.approx(4.0 / STIFFNESS[0] / core.tool.share, rel=0.03)
