"""What the core of stewart_command does with one target: goes there, or says why not; where it begins; its options."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from stewart_command_runs import DEFAULTS, HOME, LEAD, LEGS, PLATFORM, Run, core_of, pose, to

from lie_dynamics_ros.core.errors import ParameterError
from lie_dynamics_ros.nodes.stewart_command.core import StewartCommandCore, StewartCommandOptions
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget


def test_goes_to_a_pose_and_holds_it():
    run = Run(core_of())
    run.tick(5)
    assert run.core.phase == "holding"
    goal = pose([0.03, -0.02, 0.04], [0.1, 0.05, -0.1])
    run.ask(to(goal))
    run.until_rest()
    run.tick(10)
    assert np.abs(run.core.pose - goal).max() < 1e-12
    assert np.abs(run.lengths[-1] - PLATFORM.leg_lengths(goal)).max() < 1e-12
    assert (run.core.phase, run.core.refusal) == ("holding", "")
    run.check()


def test_displacements_are_those_of_the_tool_where_it_stands():
    tool = [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0]
    run = Run(core_of(tool_pose=tool))
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_rotvec([0.1, 0.0, 0.0]).as_matrix()
    run.ask(PathTarget(turn[None], (True,)))
    run.until_rest()
    point = np.array([0.0, 0.0, 0.3, 1.0])
    assert np.abs(run.core.pose @ point - HOME @ point).max() < 1e-12
    assert np.abs(run.core.pose[:3, :3] - turn[:3, :3]).max() < 1e-12


def test_targets_that_cannot_be_are_refused_with_leg_and_place():
    run = Run(core_of())
    run.ask(to(pose([0.0, 0.0, 0.3])))
    run.tick(5)
    assert "leg 1" in run.core.refusal or "leg 2" in run.core.refusal
    assert run.core.phase == "holding"
    run.ask(to(HOME))
    run.tick(2)
    assert (run.core.refusal, run.core.phase) == ("", "holding")


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"mass": 20.0, "max_force": 10.0}, "needs"),
        ({"mass": 20.0, "max_force": 1e-300}, "needs"),
        ({"max_condition": 1.0}, "condition number"),
        ({"max_base_angle": 1e-6}, "joint"),
        ({"max_platform_angle": 1e-300}, "joint"),
        ({"stroke_reserve": 0.12}, "long"),
        ({"max_speed": 1e-300}, "no time law"),
        ({"max_speed": 1e-300, "max_angular_speed": 100.0, "max_rate": 100.0}, "no time law"),
    ],
)
def test_limits_that_leave_nothing_are_told_and_the_platform_stays(values, word):
    run = Run(core_of(**values))
    run.ask(to(pose([0.03, 0.0, 0.04], [0.1, 0.0, 0.0])))
    run.tick(5)
    assert word in run.core.refusal
    assert np.array_equal(run.lengths[-1], run.lengths[0]) and not run.rates[-1].any()
    run.core.use(core_of().options)
    run.ask(to(pose([0.0, 0.0, 0.02])))
    run.until_rest()
    assert not run.core.refusal


def test_targets_that_fail_in_any_way_are_refused():
    class Odd:
        word = "a path"

        def motion(self, ways, state):
            raise np.linalg.LinAlgError("no convergence")

    run = Run(core_of())
    run.ask(Odd())
    run.tick(3)
    assert (run.core.refusal, run.core.phase) == ("a path refused: LinAlgError: no convergence", "holding")


def test_begins_where_the_legs_are_found_at_rest():
    core = StewartCommandCore(StewartCommandOptions.from_values(PLATFORM, DEFAULTS), LEGS)
    there = pose([0.02, 0.01, -0.03], [0.05, 0.1, 0.0])
    lengths = PLATFORM.leg_lengths(there)
    bad = [
        (lengths, np.full(6, 0.1), "moves"),
        (lengths * np.nan, None, "positive"),
        (-lengths, None, "positive"),
        (lengths + 0.3 * np.eye(6)[1], None, "leg_2"),
        (np.array([0.41, 0.69, 0.41, 0.69, 0.41, 0.69]), None, "pose"),
    ]
    for wrong, rates, word in bad:
        assert not core.begin(wrong, rates)
        assert word in core.reason
        assert core.ask(to(HOME), LEAD) is None
        assert core.refusal
    assert core.begin(lengths, np.zeros(6))
    points = core.step(0.002)
    assert np.abs(points.lengths - lengths).max() < 1e-9
    assert np.abs(core.pose - there).max() < 1e-9


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"stroke_reserve": 0.2}, "stroke_reserve"),
        ({"inertia": [1.0, 2.0]}, "inertia"),
        ({"mass": 5.0, "inertia": [1.0, 0.0, 0.0, 1.0, 0.0, 9.0]}, "inertia"),
        ({"work_pose": [1.0, 2.0]}, "work_pose"),
        ({"tool_pose": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]}, "tool_pose"),
        ({"center_of_mass": [0.0]}, "center_of_mass"),
        ({"gravity": [0.0] * 4}, "gravity"),
    ],
)
def test_options_that_make_no_sense_are_refused(values, word):
    with pytest.raises(ParameterError, match=word):
        StewartCommandOptions.from_values(PLATFORM, {**DEFAULTS, **values})
