"""stewart_pose with fusion, lost: it comes back by itself once good data flow again, and never with a wrong pose."""

from __future__ import annotations

import contextlib
from functools import partial
from itertools import product

import numpy as np
import pytest
from node_cases import SPECIAL
from node_platforms import HOME, LEGS, lengths
from scipy.spatial.transform import Rotation
from support.grids import every_run

from lie_dynamics_ros.core.errors import MessageError, WaitingError
from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.stewart import reference_platform
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseOptions
from lie_dynamics_ros.nodes.stewart_pose.fusing import FusingCore
from lie_dynamics_ros.nodes.stewart_pose.fusion_options import FusionOptions
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS
from lie_dynamics_ros.nodes.stewart_pose.outputs import describe_fusion
from lie_dynamics_ros.ros.outputs.diagnostics import Report

VALUES = {setting.name: setting.default for setting in SETTINGS}
MS = 1_000_000
SHIFTS = (0, 20 * MS, -20 * MS, 2 * 10**9, -2 * 10**9, 10**12, -(10**12))


def pose_at(k):
    """Where the platform is at k ms."""
    t, pose = 1e-3 * k, HOME.copy()
    pose[:3, 3] += 0.03 * np.array([np.sin(3 * t), np.cos(2 * t) - 1, np.sin(4 * t)])
    turn = Rotation.from_rotvec(0.15 * np.array([np.sin(2 * t), np.sin(3 * t), np.cos(2.5 * t) - 1]))
    pose[:3, :3] = turn.as_matrix() @ pose[:3, :3]
    return pose


class Run:
    """A core, and what it made of a platform that moves; every pose that it publishes is held against the truth."""

    def __init__(self, rng, **values):
        values = VALUES | {"fusion": True} | values
        self.core = FusingCore(
            reference_platform(), LEGS, StewartPoseOptions.from_values(values), FusionOptions.from_values(values)
        )
        self.rng, self.k, self.published, self.problem = rng, 0, 0, ""

    def send(self, offsets=0.0, stamp=0):
        """One set of lengths, with errors; whether a pose was published."""
        self.k += 1
        good = lengths(pose_at(self.k)) + self.rng.normal(0, 1e-5, 6)
        try:
            answer = self.core.answer(LegState(self.k * MS + stamp, good + offsets, None))
        except MessageError as error:
            self.problem = str(error)
            return False
        self.problem = str(answer.refusal or "")
        if answer.refusal is not None:
            assert answer.refusal.kind == "lost"
            return False
        true, found = pose_at(self.k), answer.fused.pose
        off = [*Rotation.from_matrix(true[:3, :3] @ found[:3, :3].T).as_rotvec(), *(true - found)[:3, 3]]
        # Chi-square of six: beyond 49 once in 1e8.
        assert off @ np.linalg.solve(answer.fused.covariance, off) < 49.0
        self.published += 1
        return True

    def many(self, count, offsets=0.0):
        return [self.send(offsets) for _ in range(count)]


def leg(offset):
    return np.where(np.arange(6) == 2, offset, 0.0)


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize("offset", [3e-3, slow(-0.01), slow(0.2), slow(5.0)])
def test_a_leg_that_slipped_is_not_believed_before_it_is_back(rng, offset):
    run = Run(rng)
    assert all(run.many(60))
    run.many(260, leg(offset))  # some 0.2 s are bridged
    assert run.core.lost and not any(run.many(100, leg(offset)))
    assert offset > 0.05 or (f"{LEGS[2]} was off" in run.problem and "~/reset" in run.problem)
    back = run.many(60)
    assert all(back[25:]) and not run.core.lost


@pytest.mark.parametrize("offset", [np.nan, slow(np.inf), slow(1e160), slow(-1e308)])
def test_a_leg_that_reads_what_no_length_is_comes_back(rng, offset):
    run = Run(rng)
    assert all(run.many(60))
    run.many(260, leg(offset))
    assert run.core.lost
    assert all(run.many(80)[40:]), run.problem


def test_a_leg_that_slipped_twice_stays_out_until_it_is_told(rng):
    run = Run(rng)
    run.many(60)
    run.many(260, leg(5e-3))
    assert not any(run.many(200, leg(3e-3)))
    run.core.start()
    assert all(run.many(40))


def test_legs_that_all_go_wrong_at_once_come_back(rng):
    run = Run(rng)
    run.many(60)
    for _ in range(100):
        run.core.answer(LegState((run.k + 1) * MS, rng.uniform(0.3, 0.8, 6), None))
        run.k += 1
    assert run.core.lost
    back = run.many(40)
    assert all(back[25:])


def test_lengths_that_the_last_good_pose_does_not_lead_to_name_the_remedy(rng):
    run = Run(rng)
    run.many(60)
    apart = lengths(HOME) * np.array([1.6, 1.0, 0.5, 1.6, 1.0, 0.5])
    for _ in range(400):
        answer = run.core.answer(LegState((run.k + 1) * MS, apart, None))
        run.k += 1
    report = Report()
    describe_fusion(run.core, LEGS, report, True)
    assert run.core.lost
    for text in (str(answer.refusal), "; ".join(report.reasons)):
        assert "~/reset" in text
    run.core.start()
    assert run.core.awaits == ""
    assert all(run.many(40)[25:])


@pytest.mark.parametrize("shift", every_run(SHIFTS[3:6:2] + SHIFTS[4:5], [s for s in SHIFTS if abs(s) > 20 * MS]))
def test_time_that_jumped_and_goes_on_elsewhere_is_followed(rng, shift):
    run = Run(rng)
    run.many(60)
    for _ in range(2):
        found = [run.send(stamp=shift) for _ in range(60)]
        assert all(found[50:])
        found = run.many(60)
        assert all(found[50:])


def test_readings_of_an_imu_from_the_future_take_no_room(rng):
    run = Run(rng, use_imu=True)
    run.many(5)
    for _ in range(3000):
        run.core.take_inertial(run.k * MS + 10**12, np.full(3, 1e5), np.full(3, 1e5))
    for _ in range(50):
        run.core.take_inertial(run.k * MS + MS, np.zeros(3), np.array([0.0, 0.0, 9.81]))
        assert run.send()
    assert run.core.inertial.used == 50 and len(run.core.inertial.waiting) <= 1000


def test_other_options_do_not_make_a_lost_platform_found(rng):
    run = Run(rng)
    run.many(60)
    run.many(260, leg(0.01))
    run.core = run.core.with_options(StewartPoseOptions.from_values(VALUES | {"leg_noise": [1.1e-5]}))
    assert not any(run.many(60, leg(0.01)))


def hostile(rng, run):
    """One message that nobody should send."""
    stamp = run.k * MS + int(rng.choice(SHIFTS)) * (rng.random() < 0.4)
    if rng.random() < 0.4:
        run.core.take_inertial(stamp, *(rng.normal(0, 10.0 ** rng.integers(-3, 6), (2, 3))))
        return
    found, some = lengths(pose_at(run.k)), rng.random(6) < 0.5
    kind = rng.integers(4)
    if kind == 0:
        found = rng.uniform(0.3, 0.8, 6)
    else:
        found[some] += (rng.choice(SPECIAL), rng.normal(), rng.normal(0, 10.0 ** rng.integers(-5, 0)))[kind - 1]
    present = rng.random(6) < 0.6 if rng.random() < 0.4 else np.ones(6, dtype=bool)
    if present.any():
        run.core.answer(LegState(stamp, np.where(present, found, np.nan), None, present))


EVERY_RUN = ((0, True), (1, False))
"""Of the seeds one that begins with rubbish, and one that begins well."""


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("seed", "use_imu"),
    [*EVERY_RUN, *(slow(*x) for x in product(range(6), (True, False)) if x not in EVERY_RUN)],
)
def test_after_any_rubbish_it_comes_back(seed, use_imu):
    rng = np.random.default_rng(seed)
    run = Run(rng, use_imu=use_imu)
    run.many(0 if seed % 3 == 0 else 60)
    for _ in range(int(rng.integers(5, 80))):
        run.k += 1
        with contextlib.suppress(MessageError, WaitingError):
            hostile(rng, run)
    assert all(run.many(150)[100:]), run.problem
