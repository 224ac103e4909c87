"""Node computed_torque at 500 Hz: its longest silence while it is given 10 to 10,000 points, on the topic or as goals.

The trajectories reach the node in turns, on the topic and, where control_msgs is installed, as goals; each is read,
judged and taken, which `~/phase` tells. A silence is the time between two efforts that the node publishes one after the
other, from a trajectory on until a second after it was taken. Node and driver have the priority `PRIORITY`, above that
of other nodes, where the system grants it; what the machine still does beside them is part of the silences, as short
trajectories show. The node's processor time between two efforts is without that: see `timed_controller`.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from dataclasses import replace
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Int32, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.ros.node.process import apply_real_time, usual_scheduling
from lie_dynamics_ros.ros.wire import qos

from ..results import Figure, at_most
from .ros_bench import Client, ros
from .subjects import SUBJECTS
from .timed_controller import PLACE

RATE = 500.0
PRIORITY = 90
WINDOW, MOST_WINDOWS = 1.0, 20
TURNS = 10
SIZES = (10, 3_000, 10_000)
ACCEPTED = "accepted"
LONGEST = 2.5
"""Periods of the states."""
NODE = "computed_torque"
NAMES = [f"panda_joint{i}" for i in range(1, 8)]
MIDDLE = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
LASTS = 20.0


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the longest of every turn [ms]."""
    own = {"error_limit": 0.0, "thread_priority": PRIORITY}
    subject = replace(
        SUBJECTS[NODE], inputs={}, parameters={**SUBJECTS[NODE].parameters, **own},
        make_state=lambda: JointState(name=NAMES, position=MIDDLE.tolist(), velocity=[0.0] * 7),
    )  # fmt: skip
    ways = ("topic", "goal") if importlib.util.find_spec("control_msgs") else ("topic",)
    turns: list[tuple[str, int, float, float]] = []  # way, points, begin and end
    told: list[str] = []  # phases, and what became of goals
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        os.environ[PLACE] = file.name
        with ros() as children:
            client = Client(NODE, subject)
            node, stream = client.node, client.stream
            node.create_subscription(String, f"{NODE}/phase", lambda m: told.append(m.data), qos.DESCRIPTION)
            node.create_subscription(String, "sent", lambda m: told.append(m.data), qos.DESCRIPTION)
            trajectories = node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 10)
            goals = node.create_publisher(Int32, "send", qos.REQUESTS)
            space = {"__ns": f"/{NODE}"}
            children.start(NODE, subject.parameters, space, module="benchmarks.nodes.timed_controller")
            client.await_answers()
            if "goal" in ways:
                children.start("goal_sender", {}, space, module="benchmarks.nodes.goal_sender")
            apply_real_time({"thread_priority": PRIORITY, "cpu_affinity": [-1], "lock_memory": False})
            if "goal" in ways:
                while not goals.get_subscription_count():
                    stream(RATE, 0.5)
            data = {size: bytes(serialize_message(trajectory(size))) for size in SIZES}
            for turn in range(TURNS + 1):
                for way, size in [(way, size) for way in ways for size in SIZES]:
                    stream(RATE, 0.5)
                    begin, known = time.perf_counter(), len(told)
                    if way == "topic":
                        trajectories.publish(data[size])
                    else:  # whose sender may be kept waiting by whatever else the machine does
                        goals.publish(Int32(data=size))
                        for _ in range(MOST_WINDOWS):
                            stream(RATE, WINDOW)
                            if told[known:].count(ACCEPTED):
                                break
                        else:
                            raise RuntimeError(f"a goal of {size} points was not accepted: {told[known:]}")
                    stream(RATE, WINDOW)
                    if not any("following" in text for text in told):
                        raise RuntimeError(f"{size} points were not followed: {told}")
                    if turn:  # the first ones find what no trajectory has used before
                        turns.append((way, size, begin, time.perf_counter()))
            client.close()
            usual_scheduling()
        times = np.load(file.name)
    del os.environ[PLACE]
    figures, raw = [], {}
    for way, size in dict.fromkeys((way, size) for way, size, *_ in turns):
        windows = [(begin, end) for w, s, begin, end in turns if (w, s) == (way, size)]
        between = [1e3 * np.diff(times[(times[:, 0] >= b) & (times[:, 0] < e)], axis=0) for b, e in windows]
        silent, busy = np.array([found.max(axis=0) for found in between]).T.tolist()
        usual = float(np.quantile(np.concatenate(between)[:, 0], 0.99))
        what, limit = f"{size} points, {way}: longest", LONGEST * 1e3 / RATE
        figures.append(at_most(f"{size} points, {way}: 99 % of silences", usual, "ms", limit))
        figures.append(at_most(f"{what} silence, median of {TURNS}", float(np.median(silent)), "ms", limit))
        figures.append(at_most(f"{what} silence of all", max(silent), "ms", limit))
        figures.append(at_most(f"{what} silence, least of {TURNS}", min(silent), "ms", limit))
        figures.append(Figure(f"{what} processor time between two efforts, median", float(np.median(busy)), "ms"))
        raw[f"{way} {size}"] = {"silence": silent, "processor time": busy}
    return figures, raw


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
