"""Rides of stewart_command: it follows the filters, keeps all limits, and survives what vehicles send."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from stewart_command_runs import DEFAULTS, HOME, LEAD, LEGS, Run, core_of, pose, to

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics.stewart import StewartTracker, semi_regular_rotary_platform
from lie_dynamics_ros.lie_dynamics.stewart.command import ClassicalWashout
from lie_dynamics_ros.nodes.stewart_command.core import StewartCommandCore, StewartCommandOptions
from lie_dynamics_ros.nodes.stewart_command.motion_cueing import RIDE_PERIOD, MotionCueing

G = 9.81
REST, STILL = np.array([0.0, 0.0, G]), np.zeros(3)


class Rides(Run):
    """A core that follows a ride as the node has it do: planned anew as soon as the plan before has begun."""

    def __init__(self, late=1, lead=LEAD, core=None, **values):
        super().__init__(core or core_of(rate=100.0, **values), late)
        self.now, self.lead = 0.0, lead
        self.ride = MotionCueing(self.core.options, 0.0)

    def ask(self, target):
        plan = self.core.ask(target, self.lead)
        if plan is not None:
            self._plans.append([self.late, plan.make()])

    def go(self, seconds, felt=None):
        """Ride; ``felt`` is a function of time, or None for silence."""
        for _ in range(round(seconds * self.core.options.given.rate)):
            self.now += self.period
            if felt is not None:
                self.ride.hear(*felt(self.now), self.now)
            self.ride.advance(self.now)
            if not self._plans and self.core.free:
                target = self.ride.target(self.now, self.lead, bool(self.core.refusal))
                if target is not None:
                    self.ask(target)
            self.tick()


def sway(t):
    """A vehicle that accelerates and turns to and fro."""
    force = REST + np.array([0.8 * np.sin(2.0 * t), 0.6 * np.cos(3.0 * t) - 0.6, 0.5 * np.sin(4.0 * t)])
    return force, np.array([0.2 * np.sin(3.0 * t), 0.15 * np.sin(2.0 * t), 0.2 * np.cos(2.0 * t) - 0.2])


def test_the_platform_goes_where_the_filters_go():
    run = Rides(max_rate=2.0, max_acceleration=20.0)
    run.go(1.5, sway)
    filters = ClassicalWashout(RIDE_PERIOD, **run.core.options.given.washout)
    felt = zip(*(sway(t) for t in np.arange(1, 151) * RIDE_PERIOD), strict=True)
    wanted = HOME @ filters.run(*(np.array(x) for x in felt)).pose
    found = np.array(run.poses)
    delay = LEAD + run.late * run.period
    assert np.ptp(wanted[:, :3, 3], axis=0).max() > 0.02
    # Off by no more than the filters move while a plan is made.
    moved = np.abs(np.diff(wanted[:, :3, 3], axis=0)).max() / RIDE_PERIOD * (delay + RIDE_PERIOD)
    assert np.abs(found[30:, :3, 3] - wanted[30:, :3, 3]).max() < moved
    turn = (Rotation.from_matrix(found[30:, :3, :3]).inv() * Rotation.from_matrix(wanted[30:, :3, :3])).magnitude()
    assert turn.max() < 0.25 * (delay + RIDE_PERIOD)
    assert run.core.phase == "following"
    run.check()


def test_a_lasting_push_tilts_the_platform_and_silence_brings_it_back_smoothly():
    run = Rides(lead=0.3)
    run.go(4.0, lambda t: (REST + np.array([1.0, 0.0, 0.0]), STILL))
    assert run.core.pose[2, 0] == pytest.approx(0.5 / np.hypot(0.5, G), abs=5e-3)  # the nose up
    before = len(run.lengths)
    run.go(4.0)
    assert run.ride.silent(run.now)
    run.check()
    assert np.abs(np.diff(run.lengths[before:], axis=0)).max() < 0.1 * run.period
    assert np.abs(run.core.pose - HOME).max() < 0.02


def test_the_head_is_where_the_tool_is():
    """About a head above the platform, turns move the platform the other way, and the head stays."""
    run = Rides(tool_pose=[0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0], max_rate=1.0, max_acceleration=10.0)

    def pitching(t):
        return G * np.array([-np.sin(0.3 * t), 0.0, np.cos(0.3 * t)]), np.array([0.0, 0.3, 0.0])

    run.go(0.8, pitching)
    filters = ClassicalWashout(RIDE_PERIOD, **run.core.options.given.washout)
    felt = zip(*(pitching(t) for t in np.arange(1, 81) * RIDE_PERIOD), strict=True)
    wanted = filters.run(*(np.array(x) for x in felt)).pose[-1, :3, 3] + HOME[:3, 3] + [0.0, 0.0, 0.3]
    head = run.core.pose @ [0.0, 0.0, 0.3, 1.0]
    assert np.abs(head[:3] - wanted).max() < 2e-3
    assert run.core.pose[0, 3] < head[0] - 0.02 and run.core.pose[0, 2] > 0.07


@pytest.mark.parametrize("pull", [(20.0, 0.0, 0.0), pytest.param((0.0, 0.0, -9.0), marks=pytest.mark.slow)])
def test_a_vehicle_that_pulls_farther_than_legs_reach_takes_the_platform_to_the_end_of_a_stroke(pull):
    far = {"washout_force_scale": [1.0], "washout_translation_cutoff": [0.3], "washout_tilt_rate": 1e-3}
    run = Rides(max_rate=2.0, max_acceleration=20.0, **far)
    run.go(0.9, lambda t: (REST + np.array(pull), STILL))
    run.check()
    stroke = run.core.options.limits.stroke
    assert min(np.abs(run.lengths[-1] - stroke[:, side]).min() for side in (0, 1)) < 1e-4
    way = run.core.pose[:3, 3] - HOME[:3, 3]
    assert way @ pull > 0.99 * np.linalg.norm(way) * np.linalg.norm(pull)
    assert "a ride refused" in run.core.refusal and "leg" in run.core.refusal


def test_a_ride_keeps_the_tool_and_the_filters_it_began_with():
    ways = []
    for values in ({}, {"tool_pose": [0.2, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0], "washout_force_scale": [-3.0]}):
        run = Rides(max_rate=2.0, max_acceleration=20.0)
        run.go(0.2, sway)
        run.core.use(core_of(rate=100.0, max_rate=2.0, max_acceleration=20.0, **values).options)
        run.go(0.2, sway)
        ways.append(run.poses)
    np.testing.assert_array_equal(*ways)


def random_ride(rng, seconds):
    """Anything at any time, and every limit kept; returns how far the legs went."""
    run = Rides(
        late=int(rng.integers(0, 4)),
        lead=0.1,
        max_rate=10.0 ** rng.uniform(-1.3, 0.0),
        max_acceleration=10.0 ** rng.uniform(-0.5, 1.0),
        max_condition=30.0,
        max_base_angle=rng.uniform(0.15, 1.0),
        max_platform_angle=rng.uniform(0.3, 1.0),
        washout_force_scale=rng.uniform(-1.0, 2.0, 3).tolist(),
        washout_tilt_rate=10.0 ** rng.uniform(-2.0, 0.0),
        washout_translation_cutoff=[10.0 ** rng.uniform(-1.0, 1.0)],
    )
    while seconds > 0.0:
        part, kind = rng.uniform(0.1, 1.0), rng.integers(5)
        force, rate = REST + rng.normal(0.0, 3.0, 3), rng.normal(0.0, 1.0, 3)
        if kind == 0:
            run.go(part)
        elif kind == 1:
            huge = 10.0 ** rng.uniform(1.0, 300.0)
            run.go(part, lambda t, f=huge * force, w=huge * rate: (f, w))
        elif kind == 2:
            run.go(part, lambda t, f=force, w=rate: (f * np.sin(20.0 * t), w * np.cos(30.0 * t)))
        elif kind == 3:
            run.ask(to(pose(rng.uniform(-0.03, 0.03, 3))))
            run.tick(int(rng.integers(1, 30)))
        else:
            run.go(part, lambda t, f=force, w=rate: (f, w))
        seconds -= part
    run.check()
    limits = run.core.options.limits
    base, platform = limits.joint_angles(np.array(run.poses))
    assert (base <= limits.base_cone + 1e-9).all() and (platform <= limits.platform_cone + 1e-9).all()
    assert limits.platform.condition_number(np.array(run.poses)).max() <= 30.0
    run.go(1.0, lambda t: (REST, STILL))
    run.core.hold()
    run.until_rest()
    return np.ptp(np.array(run.lengths), axis=0).max()


def test_no_limit_is_exceeded_on_random_rides(rng):
    assert random_ride(rng, 1.5) > 1e-3


@pytest.mark.slow
def test_no_limit_is_exceeded_on_a_thousand_random_rides(rng):
    ways = [random_ride(rng, 3.0) for _ in range(1000)]
    assert np.median(ways) > 0.01


def test_no_ride_without_gravity_or_on_a_tool_that_leans():
    leaning = [0.0, 0.0, 0.0, 0.06, 0.0, 0.08, 0.995]
    leaning[6] = float(np.sqrt(1.0 - 0.06**2 - 0.08**2))
    for values, word in (({"gravity": [0.0] * 3}, "gravity"), ({"tool_pose": leaning}, "leans by 0.12")):
        with pytest.raises(MessageError, match=word):
            MotionCueing(core_of(**values).options, 0.0)


def test_a_servo_hexapod_rides_within_the_limits_of_its_servos():
    platform = semi_regular_rotary_platform(0.062, 0.05, 0.2269, 0.2, 0.02, 0.11, angle_limits=(-1.0, 1.0))
    values = {"rate": 100.0, "max_rate": 5.0, "max_acceleration": 60.0, "rest_speed": 0.1,
              "washout_force_scale": 0.05, "washout_rate_scale": 0.3}  # fmt: skip
    core = StewartCommandCore(StewartCommandOptions.from_values(platform, DEFAULTS | values), LEGS)
    assert core.begin(platform.home_angles, None), core.reason
    run = Rides(core=core)
    run.go(0.6, sway)
    filters = ClassicalWashout(RIDE_PERIOD, **core.options.given.washout)
    felt = zip(*(sway(t) for t in np.arange(1, 61) * RIDE_PERIOD), strict=True)
    wanted = platform.home_pose @ filters.run(*(np.array(x) for x in felt)).pose
    assert np.ptp(wanted[:, :3, 3], axis=0).max() > 2e-3
    assert np.abs(np.array(run.poses)[30:] - wanted[30:]).max() < 2e-3  # what a plan is late by
    angles, rates = np.array(run.lengths), np.array(run.rates)
    assert np.ptp(angles, axis=0).max() > 0.05 and np.abs(angles).max() < 1.0
    assert np.abs(rates).max() <= 5.0 and np.abs(np.diff(rates, axis=0)).max() <= 60.0 * run.period * (1.0 + 1e-9)
    found = StewartTracker(platform, platform.home_pose).update_many(angles)
    assert np.abs(found.poses - run.poses).max() < 1e-12
