"""Node computed_torque at 500 Hz: its longest silence while it is given a trajectory of 10,000 points, or of 10.

The trajectories reach the node in turns, on the topic; each is read, judged and taken, which `~/phase` tells. A silence
is the time between two efforts that come one after the other, from a trajectory on for two seconds. The client is part
of it: what the short trajectories show is its own, and the machine's.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.ros.wire import qos

from ..results import Figure, at_most
from .ros_bench import Client, ros
from .subjects import SUBJECTS

RATE = 500.0
WINDOW = 2.0
TURNS = 10
SIZES = (10, 10_000)
LONGEST = 2.5
"""Periods of the states."""
NODE = "computed_torque"
NAMES = [f"panda_joint{i}" for i in range(1, 8)]
MIDDLE = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
LASTS = 20.0


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the longest silence of every turn [ms]."""
    subject = replace(
        SUBJECTS[NODE], inputs={}, parameters={**SUBJECTS[NODE].parameters, "error_limit": 0.0},
        make_state=lambda: JointState(name=NAMES, position=MIDDLE.tolist(), velocity=[0.0] * 7),
    )  # fmt: skip
    silences: dict[int, list[float]] = {size: [] for size in SIZES}
    phases: list[str] = []
    arrivals: list[float] = []
    with ros() as children:
        client = Client(NODE, subject)
        client.node.create_subscription(String, f"{NODE}/phase", lambda m: phases.append(m.data), qos.DESCRIPTION)
        client.node.create_subscription(
            subject.answer, f"{NODE}/{subject.topic}", lambda m: arrivals.append(time.perf_counter()), 100
        )
        trajectories = client.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 10)
        children.start(NODE, subject.parameters, {"__ns": f"/{NODE}"})
        client.await_answers()
        data = {size: bytes(serialize_message(trajectory(size))) for size in SIZES}
        for turn in range(TURNS + 1):
            for size in SIZES:
                client.stream(RATE, 0.5)
                begin, known = time.perf_counter(), len(phases)
                trajectories.publish(data[size])
                client.stream(RATE, WINDOW)
                during = np.array([t for t in arrivals if t >= begin])
                if turn:  # the first ones find what no trajectory has used before
                    silences[size].append(1e3 * float(np.diff(during).max()))
                if not turn and not any("following" in phase for phase in phases[known:] + phases[-1:]):
                    raise RuntimeError(f"a trajectory of {size} points was not followed: {phases[-1:]}")
        client.close()
    figures = []
    for size, found in silences.items():
        what = f"{size} points: longest silence"
        figures.append(Figure(f"{what}, median of {TURNS}", float(np.median(found)), "ms"))
        figures.append(at_most(f"{what} of all", max(found), "ms", LONGEST * 1e3 / RATE))
    return figures, {str(size): found for size, found in silences.items()}


def trajectory(size: int) -> JointTrajectory:
    """Return one that swings all joints, with positions and velocities."""
    t = np.linspace(0.0, LASTS, size + 1)[1:]
    pace = 2.0 * np.pi / LASTS
    message = JointTrajectory(joint_names=NAMES)
    for time_, way, rate in zip(t, 0.2 * (1.0 - np.cos(pace * t)), 0.2 * pace * np.sin(pace * t), strict=True):
        sec, nanosec = divmod(round(time_ * 1e9), 10**9)
        point = JointTrajectoryPoint(positions=(MIDDLE + way).tolist(), velocities=[float(rate)] * 7)
        point.time_from_start = Duration(sec=sec, nanosec=nanosec)
        message.points.append(point)
    return message
