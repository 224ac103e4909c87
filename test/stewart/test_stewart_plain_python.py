"""The tracking, assembly and command kernels give the same in plain Python, without numba."""

import numpy as np
import stewart_oracle as oracle
from support.plain_python import run_in_plain_python

from lie_dynamics_ros.lie_dynamics.stewart import (
    AngleSensor,
    InertialSensor,
    StewartFusion,
    StewartTracker,
    assembly_modes,
    reference_platform,
    solve_from_home,
)
from lie_dynamics_ros.lie_dynamics.stewart.command import CommandLimits, line_path, plan_motion, stopped

YAW = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def work():
    platform = reference_platform()
    tracker = StewartTracker(platform, platform.home_pose)
    lengths = platform.leg_lengths(platform.home_pose) + np.linspace(0, 1, 4)[:, None] * [0.02, 0, 0.01, 0, 0.01, 0.03]
    path = tracker.update_many(lengths, np.ones((4, 6)), np.ones((4, 6)))
    single = tracker.update(lengths[0])
    refused = tracker.update([0.5, 0.5, 0.5, 0.5, 0.5, 1.9])
    turned = [oracle.pose_of((0, 0, 50), (0, 0, yaw)) for yaw in (60.0, 60.01, 89.9, 89.91)]
    far, near = (StewartTracker(platform, turned[i], (1.0, 4.0)) for i in (0, 2))
    paths = [
        tracker.update_many(platform.leg_lengths(turned[i])[None], platform.leg_rates(turned[i], YAW)[None], dt=1e-3)
        for tracker, i in ((far, 1), (near, 3))
    ]
    assert not paths[0].candidates and paths[1].candidates  # by the quick test, and by search
    ahead = np.array([path[0].time_to_singularity() for path in paths])
    modes_in_reach = paths[1][0].candidates
    cold = solve_from_home(platform, lengths[3])
    modes = assembly_modes(platform, lengths[3])
    counts = np.array([modes.complex_count, single.steps, refused.status, cold.steps])
    goal = platform.home_pose + np.outer([0.02, 0.03, 0.04, 0.0], [0.0, 0.0, 0.0, 1.0])
    limits = CommandLimits(platform, rate=0.2, acceleration=1.0)
    plan = plan_motion(line_path([platform.home_pose, goal]), limits, steps=12)
    stop = stopped(plan, 0.4 * plan.duration)
    planned = {"plan": plan.squares, "stop": stop.times}
    tracked = {"poses": path.poses, "twists": path.twists, "accelerations": path.accelerations, "pose": single.pose}
    tracked["fused"], tracked["deviations"] = fuse(platform)
    found = {"cold": cold.pose, "modes": modes.poses, "in reach": modes_in_reach, "ahead": ahead, "counts": counts}
    return tracked | found | planned


def fuse(platform):
    """Pose and its deviations after five samples, the last with a leg that is left out."""
    angle = AngleSensor("angle", platform.base_points[0], platform.platform_points[0], 1e-3, delay_deviation=1e-3)
    fusion = StewartFusion(platform, platform.home_pose, inertial=InertialSensor(), sensors=[angle], window=2)
    lengths = platform.leg_lengths(platform.home_pose)
    line = platform.leg_vectors(platform.home_pose)[0]
    for k in range(5):
        readings = [*(lengths + 1e-5 * np.sin(np.arange(6) + k)), np.arctan2(line[1], line[0])]
        readings[2] += 1e-2 * (k == 4)
        fused = fusion.update(readings, [0.01, 0.0, -0.01], [0.0, 0.1, 9.8], dt=1e-3)
    assert list(fused.left_out) == ["leg 3"]
    return fused.pose, np.sqrt(np.diagonal(fused.covariance))


def test_plain_python_gives_the_same(tmp_path):
    plain, compiled = run_in_plain_python(__file__, tmp_path, "work"), work()
    ahead, plain_ahead = compiled.pop("ahead"), plain.pop("ahead")
    assert set(plain) == set(compiled)
    for name, value in compiled.items():
        assert np.abs(value - plain[name]).max() < 1e-12, name
    # At 1 rad/s the time left is the angle a left to the singular pose, where the platform yaws freely. Its yaw rate
    # follows from the leg rates through the inverse Jacobian, of size 1/a, and the Jacobian is known to round-off of 1:
    # so the inverse is known to eps/a relative to itself, the rate, and with it the time, to eps/a^2, times a number of
    # the size of sums over six legs (at most 8 for a from 0.03 to 30 degrees).
    assert (np.abs(ahead - plain_ahead) <= 64 * np.finfo(float).eps / ahead).all()
