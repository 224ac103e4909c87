"""All trackers: what a sample has refuted is certified no more, until `reset` gets what is known from elsewhere."""

import ast
import copy
import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from mechanisms_by_name import MADE, MORE

import lie_dynamics_ros.lie_dynamics
from lie_dynamics_ros.lie_dynamics import ClosedLoopTracker
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartPlatform,
    StewartTracker,
    reference_platform,
    semi_regular_rotary_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.tracking import tracker as module
from lie_dynamics_ros.lie_dynamics.tracking import CONTRADICTIONS, TrackingStatus

ROOT = Path(lie_dynamics_ros.lie_dynamics.__file__).parent
KINDS = {"out of reach": 0.02, "beyond what a sensor reads": 3.0, "negative": -5.0}


def limited():
    given = reference_platform()
    lengths = given.leg_lengths(given.home_pose)
    limits = 0.7 * lengths.min(), 1.3 * lengths.max()
    return StewartPlatform(given.base_points, given.platform_points, leg_limits=limits, home_pose=given.home_pose)


def of_platform(platform):
    tracker = StewartTracker(platform, platform.home_pose, (0.5, 2.0))
    return tracker, platform.motor_positions(platform.home_pose), lambda: tracker.reset(platform.home_pose)


def of_loops(name):
    made = (MADE | MORE)[name]()
    tracker = ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated, np.full(made.model.nv, 1.0))
    at = [made.model.joint(joint).q_slice.start for joint in made.actuated]
    return tracker, made.q[at].copy(), lambda: tracker.reset(made.q)


TRACKERS = {
    "legs": lambda: of_platform(limited()),
    "servos": lambda: of_platform(semi_regular_rotary_platform(0.062, 0.05, 0.2269, 0.2, 0.02, 0.11, home_angles=0.1)),
} | {name: lambda name=name: of_loops(name) for name in MADE | MORE}


def test_the_list_names_all_that_certify():
    found = {
        node.name
        for text in map(Path.read_text, ROOT.rglob("*.py"))
        if "def refuted(" in text
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and any(getattr(part, "name", "") == "refuted" for part in node.body)
    }
    assert found == {"StewartTracker", "ClosedLoopTracker"}  # OffsetTracker certifies nothing
    assert module.CONTRADICTIONS is CONTRADICTIONS


@pytest.mark.parametrize("name", TRACKERS)
def test_nothing_is_certified_after_a_contradiction(name):
    for kind, at_once in product(KINDS, (True, False)):
        judge(*TRACKERS[name](), KINDS[kind], at_once)


def judge(tracker, good, restore, off, at_once):
    """Whether a length that is off refutes all that follows, until the tracker starts anew."""
    samples = np.repeat(good[None], 60, axis=0)
    samples[20, 0] += off
    if at_once:
        path = tracker.update_many(samples, dt=2e-3)
        found = [path[k] for k in range(60)]
    else:
        found = [tracker.update(sample, dt=2e-3) for sample in samples]
    assert all(state.certified for state in found[:20])
    assert TrackingStatus(found[20].status) in CONTRADICTIONS, found[20].status
    assert tracker.refuted and found[-1].valid and not any(state.certified for state in found[20:])
    late = tracker.update(good, dt=10.0)
    assert not late.certified
    if isinstance(tracker, StewartTracker):
        for other in (copy.deepcopy(tracker), pickle.loads(pickle.dumps(tracker))):
            assert other.refuted and not other.update(good, dt=2e-3).certified
        changed = tracker.with_options(leg_noise=1e-4, max_steps=100)
        assert changed.refuted and not changed.update(good, dt=2e-3).certified
    restore()
    assert not tracker.refuted and tracker.update(good, dt=2e-3).certified
