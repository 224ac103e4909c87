"""The controller without ROS among hostile trajectories, goals, options, states and calls.

Every usable state gets a finite command within the limits; what was desired on an accepted trajectory keeps the
position limits; phases change as they may, and nothing but `hold` ends a stop. Each goal is either under way or has
come to one end, with a code and a short text; what is cancelled is at rest in time; nothing is left behind.
"""

from __future__ import annotations

import warnings
from array import array
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from support.cores import options

import lie_dynamics_ros
from lie_dynamics_ros.core.commands import PHASES
from lie_dynamics_ros.core.errors import MessageError, ParameterError
from lie_dynamics_ros.core.joint_mapping import JointMapping
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore
from lie_dynamics_ros.nodes.computed_torque.options import (
    CONTROL_MODES,
    POLICIES,
    ComputedTorqueOptions,
)
from lie_dynamics_ros.nodes.computed_torque.trajectories.goals import Goal, Tolerance, read_bounds
from lie_dynamics_ros.nodes.computed_torque.trajectories.judging import ALLOWED
from lie_dynamics_ros.ros.inputs.commands import read_joint_trajectory

from .target import DefectError, Target

STATES = 60
NUMBERS = (0.0, -0.0, 5e-324, 1e-9, 1e9, -1e9, 1e150, -1e150, 1e308, -1e308, float("nan"), float("inf"))
TIMES = (0, 1, 999_999_999, 1_000_000_000, 2**31 - 1, -1, -(2**31))
BOUNDS = (0.0, -1.0, 1e-9, 1e-3, 0.1, 1e308, 5e-324)
SANE = 1e3
"""States up to this size must be answered; beyond, inverse dynamics may overflow, and the core may say so."""
SETTINGS = {s.name: s for s in ComputedTorqueOptions.settings()}


@cache
def arm() -> Model:
    return Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")


def random_options(rng: np.random.Generator) -> ComputedTorqueOptions:
    """Return some options, each number at an end of its range or anywhere between; raises ParameterError."""
    timeout = float(rng.choice([0.0, 0.1, 1.0]))
    changes: dict[str, Any] = {"mode": str(rng.choice(CONTROL_MODES)), "state_timeout": timeout}
    for name in rng.choice(sorted(SETTINGS), size=int(rng.integers(0, 5)), replace=False):
        setting, usual = SETTINGS[name], SETTINGS[name].default
        if isinstance(usual, bool):
            changes[name] = not usual
        elif isinstance(usual, float):
            changes[name] = _between(rng, setting)
        elif isinstance(usual, list) and isinstance(usual[0], float):
            size = len(usual) if len(usual) > 1 else int(rng.choice([1, 7]))
            changes[name] = [_between(rng, setting) for _ in range(size)]
    if rng.random() < 0.3:
        changes |= {"payload_frame": "panda_link7", "payload_mass": float(rng.choice([0.1, 3.0, 1e3, 1e6]))}
    changes |= {"effort_policy": str(rng.choice(POLICIES)), ALLOWED: bool(rng.random() < 0.5)}
    return options(**changes)


def _between(rng: np.random.Generator, setting: Any) -> float:
    kind, usual = rng.integers(5), setting.default[0] if isinstance(setting.default, list) else setting.default
    low, high = (-1e9, 1e9) if setting.high is None else (setting.low, setting.high)
    value = (low, high, usual, usual * 10.0 ** rng.uniform(-3, 3), rng.uniform(low, high))[kind]
    return float(np.clip(value, low, high))


def random_trajectory(rng: np.random.Generator, position: np.ndarray, now: int) -> Any:
    """Return what has the fields of a JointTrajectory: near what the robot can do, and spoiled here and there."""
    names = [*arm().joint_names, "finger"]
    chosen = [str(name) for name in rng.permutation(names)[: rng.integers(1, 9)]]
    size, count = len(chosen), int(rng.integers(1, 6))
    home = np.array([dict(zip(arm().joint_names, position, strict=True)).get(name, 0.0) for name in chosen])
    rise = np.cumsum(rng.choice([1e-9, 1e-3, 0.05, 0.2, 1.0], size=count, p=[0.01, 0.04, 0.25, 0.4, 0.3]))
    if rng.random() < 0.3:
        rise -= rise[0]
    reach = float(rng.choice([0.0, 0.001, 0.01, 0.05, 1.0]))
    points = []
    for t in rise:
        q = np.clip(home, -3, 3) + rng.normal(0, reach, size)
        qd = rng.normal(0, reach, size) if rng.random() < 0.98 else ()
        point = SimpleNamespace(
            positions=_array(q),
            velocities=_array(qd),
            accelerations=_array(),
            effort=_array(),
            time_from_start=_time(int(t * 1e9)),
        )
        points.append(point)
    if rng.random() < 0.6:
        points[-1].velocities = _array(np.zeros(len(points[-1].velocities)))
    if rng.random() < 0.3:
        for point in points:
            point.accelerations = _array(rng.normal(0, reach, size))
    if rng.random() < 0.3:
        for point in points:
            point.effort = _array(rng.normal(0, 3.0, size))
    start = 0 if rng.random() < 0.5 else now + int(rng.normal(0, 3e8))
    header = SimpleNamespace(stamp=_time(max(0, start)))
    message = SimpleNamespace(header=header, joint_names=chosen, points=points)
    for _ in range(int(rng.choice([0, 0, 0, 1, 2]))):
        _spoil(rng, message)
    return message


def _array(values: Any = ()) -> array[float]:
    return array("d", values)  # as the messages have them


def _time(ns: int) -> Any:
    seconds, rest = divmod(ns, 10**9)
    return SimpleNamespace(sec=seconds, nanosec=rest)


def _spoil(rng: np.random.Generator, message: Any) -> None:
    if not message.points:
        return
    point = message.points[int(rng.integers(len(message.points)))]
    field = getattr(point, str(rng.choice(["positions", "velocities", "accelerations", "effort"])))
    kind = rng.integers(6)
    if kind == 0 and field:
        field[int(rng.integers(len(field)))] = float(rng.choice(NUMBERS))
    elif kind == 1 and field:
        field.pop() if rng.random() < 0.5 else field.append(0.0)
    elif kind == 2:
        point.time_from_start.sec = int(rng.choice(TIMES[2:]))
    elif kind == 3:
        message.header.stamp.sec = int(rng.choice(TIMES))
    elif kind == 4:
        message.joint_names = [*message.joint_names[:-1], str(rng.choice(["", "panda_joint1", "x" * 3000]))]
    else:
        message.points = message.points[: int(rng.integers(len(message.points)))]


class Subject(Target):
    """See the module."""

    cases = 1000

    def check(self, rng: np.random.Generator, index: int) -> None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                core = ComputedTorqueCore(arm(), random_options(rng))
            except ParameterError:
                return
            Run(rng, core).go()


class Run:
    """One controller, what it was told, and what its last answer was."""

    def __init__(self, rng: np.random.Generator, core: ComputedTorqueCore) -> None:
        self.rng, self.core = rng, core
        self.limits = arm().limits
        span = self.limits.upper - self.limits.lower
        self.q = self.limits.lower + rng.uniform(0.05, 0.95, 7) * span
        self.qd = np.zeros(7)
        self.stamp = int(rng.choice([0, 10**9, 1_700_000_000 * 10**9]))
        self.phase, self.held, self.hostile = "off", False, False
        self.names = JointMapping(arm().joint_names)
        self.told: list[str] = []
        self.goals: set[Goal] = set()
        self.canceled: dict[Goal, int] = {}  # when [ns]; those on their way to rest

    def go(self) -> None:
        self.core.start()
        for _ in range(STATES):
            other = 0.3 if self.phase == "stopped" else 0.03
            shares = {self._follow: 0.2, self._pursue: 0.1, self._cancel: 0.1, self._change: 0.03, self._other: other}
            for action, share in shares.items():
                if self.rng.random() < share:
                    action()
            self._state()

    def _follow(self) -> None:
        message = random_trajectory(self.rng, self.q, self.stamp)
        count = 0 if self.core.player is None else self.core.player.count
        try:
            start, points = read_joint_trajectory(message, self.names)
            self.core.follow(points, start)
            self.told.append("follow")
        except MessageError as error:
            if len(str(error)) > 4000:
                raise DefectError(f"a refusal of {len(str(error))} characters") from error
            if self.core.player is not None and not self.core.parts.state.moved and self.core.player.count > count:
                raise DefectError(f"a refused trajectory was taken: {error}") from error

    def _pursue(self) -> None:
        rng, names = self.rng, arm().joint_names
        message = random_trajectory(rng, self.q, self.stamp)
        given = [
            Tolerance(str(rng.choice([*names, "finger"], p=[*[0.14] * 7, 0.02])), *rng.choice(BOUNDS, 2).tolist())
            for _ in range(int(rng.choice([0, 0, 1, 3])))
        ]
        try:
            start, points = read_joint_trajectory(message, self.names)
            joints = [names[k] for k in points.joints]
            path, end = (
                read_bounds(name, given, joints, self.core.numbers[name][points.joints])
                for name in ("path_tolerance", "goal_tolerance")
            )
            goal = Goal(None, joints, path, end, float(rng.choice([0.0, 1e-3, 1.0])))
            self.core.take(self.core.prepare(points, start), goal)
        except MessageError:
            return
        self.goals.add(goal)
        self.told.append("pursue")

    def _cancel(self) -> None:
        if self.rng.random() < 0.5:
            self.core.scale_speed(float(self.rng.choice([0.0, 1e-9, 0.1, 1.0])))
            self.told.append("speed")
        elif self.core.goals.active:
            goal = self.core.goals.active[int(self.rng.integers(len(self.core.goals.active)))]
            self.core.cancel(goal)
            self.canceled[goal] = self.stamp
            self.told.append("cancel")

    def _look_after_goals(self) -> None:
        core, told = self.core, f"told {self.told}"
        for result in core.goals.results:
            if result.goal not in self.goals:
                raise DefectError(f"a goal ended twice, at last by {result.text}; {told}")
            if result.code not in range(-5, 1) or len(result.text) > 4000:
                raise DefectError(f"a result {result.code} of {len(result.text)} characters; {told}")
            self.goals.remove(result.goal)
        core.goals.results.clear()
        if set(core.goals.active) != self.goals:
            raise DefectError(f"goals are lost; {told}")
        longest = 7.5 * core.options.stop_time + 2.1  # seconds, and the longest between states
        self.canceled = {g: t for g, t in self.canceled.items() if core.player and core.player.holds(g.points)}
        for since in self.canceled.values():
            if (self.stamp - since) * 1e-9 > longest + 20.0 * core.options.speed_scaling_time:
                raise DefectError(f"in motion, cancelled {(self.stamp - since) * 1e-9} s ago; {told}")
        if core.player is not None and core.player.begun:
            raise DefectError(f"pieces are left behind; {told}")

    def _change(self) -> None:
        try:
            self.core = self.core.with_options(random_options(self.rng))
            self.told.append("options")
        except ParameterError:
            return

    def _other(self) -> None:
        kind = self.rng.integers(6)
        if kind == 0:
            self.core.stop("told to")
        elif kind == 1:
            self.core.forget()
        else:
            try:
                self.core.hold()
                self.held = True
            except MessageError:
                return
        self.told.append(("stop", "forget", *["hold"] * 4)[kind])

    def _state(self) -> None:
        rng = self.rng
        steps = (0, 1, 1_000_000, 2_000_000, 50_000_000, 2 * 10**9)
        self.stamp += int(rng.choice(steps, p=[0.02, 0.02, 0.4, 0.4, 0.15, 0.01]))
        wild = rng.random() < 0.01
        q, qd = self.q, self.qd
        if wild:
            q, qd = (x + rng.normal(0, 10.0 ** rng.uniform(-2, 150), 7) for x in (q, qd))
            self.hostile = True
        wrenches = None if rng.random() < 0.9 else rng.normal(0, 10.0 ** rng.uniform(0, 300), (arm().n_bodies, 6))
        largest = max(np.abs(q).max(), np.abs(qd).max())
        try:
            age = float(rng.choice([0.0, 1e-3, 10.0]))
            answer = self.core.answer(RobotState(self.stamp, q.copy(), qd.copy(), wrenches, age))
        except MessageError as error:
            if largest <= SANE:
                raise DefectError(f"no answer to {q}, {qd}: {error}; told {self.told}") from error
            return
        self._judge(answer)
        self._look_after_goals()
        if not wild:
            near = answer.desired.position if np.isfinite(answer.desired.position).all() else q
            self.q = np.clip(q + np.clip(near - q, -0.02, 0.02), -3.0, 3.0)
            self.qd = np.clip(answer.desired.velocity, -2.0, 2.0)

    def _judge(self, answer: Any) -> None:
        core, told = self.core, f"told {self.told}, phase {self.phase} -> {answer.phase} ({answer.reason})"
        for name in ("total", "effort", "wanted", "blend", "error", "error_rate"):
            if not np.isfinite(getattr(answer, name)).all():
                raise DefectError(f"{name} is {getattr(answer, name)}; {told}")
        if core.options.saturate_efforts and (np.abs(answer.total) > self.limits.effort * (1 + 1e-9)).any():
            raise DefectError(f"efforts {answer.total} beyond the limits; {told}")
        if answer.phase not in PHASES or answer.phase == "off":
            raise DefectError(f"a phase that no answer has; {told}")
        if self.phase in ("stopping", "stopped") and answer.phase in ("holding", "following") and not self.held:
            raise DefectError(f"a stop that nobody ended; {told}")
        moves = core.parts.stop.moves(core.parts.state.velocity)  # then a stop is left until they rest again
        if self.phase == "stopped" and answer.phase == "stopping" and not self.held and not moves:
            raise DefectError(f"a stop that begins again; {told}")
        if answer.phase == "following" and not self.hostile:
            desired, slack = answer.desired.position, 1e-5
            if (desired < self.limits.lower - slack).any() or (desired > self.limits.upper + slack).any():
                raise DefectError(f"a desired position {desired} beyond the limits; {told}")
        self.phase, self.held = answer.phase, False
