"""The node inverse_dynamics beside a simulated driver: torques live, each held against what the library makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ..lie_dynamics import Model, gravity_force, inverse_dynamics
from ..ros.wire.compatibility import interfaces
from ..ros.wire.messages import nanoseconds
from .processes import Children, ShortfallError
from .showcase import Answer, Conclusion, Recorder, Showcase, Verdict, bar, conclusion, kept, picture, stream_of

NODE = "inverse_dynamics"


@dataclass
class Account:
    """Inputs of an answer, reported by the node: the fields of ``DynamicsState``, each (n,) in its order."""

    names: list[str]
    position: np.ndarray
    velocity: np.ndarray
    input: np.ndarray
    wrench_effort: np.ndarray
    effort: np.ndarray

    @classmethod
    def of(cls, message: Any) -> Account:
        """Read a message."""
        fields = ("position", "velocity", "input", "wrench_effort", "effort")
        return cls(list(message.joint_names), *(np.array(getattr(message, name)) for name in fields))


@dataclass
class ArmRecorder(Recorder):
    """Recorder of driver and node; states are names, positions and velocities, answers efforts."""

    accounts: dict[int, Account] = field(default_factory=dict)  # the node's report of that answer
    accelerations: set[bytes] = field(default_factory=set)  # all that were sent, the bytes of their numbers
    names: list[str] = field(default_factory=list)  # joints of the answers
    accountable: bool = True  # whether the node's own message types are installed

    def listen(self, node: Node) -> None:
        """Subscribe."""
        self.keep(node, JointState, "joint_states", self.states, _state)
        self.tape.subscribe(node, JointState, f"{NODE}/joint_efforts", self._on_answer)
        self.tape.subscribe(node, JointTrajectoryPoint, f"{NODE}/joint_trajectory_point", self._on_point)
        type_ = getattr(interfaces("msg"), "DynamicsState", None)
        self.accountable = type_ is not None
        if type_ is not None:
            self.keep(node, type_, f"{NODE}/dynamics_state", self.accounts, Account.of)

    def _on_answer(self, message: JointState, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        if not self.names:
            self.names = list(message.name)
        self.answers[stamp] = Answer(np.array(message.effort), arrival - stamp * 1e-9)

    def _on_point(self, message: JointTrajectoryPoint, _: float) -> None:
        self.accelerations.add(np.array(message.accelerations).tobytes())


TOLERANCE = 1e-12
"""Largest difference from the library, relative to the largest torque of the same state."""


@dataclass
class ArmVerdict(Verdict):
    """Results of the recording."""

    times: np.ndarray  # of each answer since the first, shape (n,) [s]
    efforts: np.ndarray  # torques of the node, shape (n, joints) [N m or N]
    gravity: np.ndarray  # the part of the library's that gravity alone would take
    judged: int = 0  # answers held against the library
    error: float = float("nan")  # largest, relative to the largest torque of its state; NaN where not checked


def judge(recorder: ArmRecorder, model: Model) -> ArmVerdict:
    """Check every recorded answer; raises ShortfallError where there is next to nothing to check."""
    stamps = recorder.answered()
    if len(stamps) < 2:
        raise ShortfallError(f"received {len(recorder.states)} joint states and {len(stamps)} answers to them")
    q = np.array([_named(recorder.states[stamp][0], recorder.states[stamp][1], model) for stamp in stamps])
    verdict = ArmVerdict(
        times=np.array([(stamp - stamps[0]) * 1e-9 for stamp in stamps]),
        efforts=np.array([_named(recorder.names, recorder.answers[stamp].values, model) for stamp in stamps]),
        gravity=gravity_force(model, q),
        **stream_of(recorder),
    )
    if not recorder.accountable:
        verdict.remarks.append("torques against the library: lie_dynamics_interfaces is not installed")
        return verdict
    told = [stamp for stamp in stamps if stamp in recorder.accounts]
    # They come after the torques, on a topic of their own: the first and the last may be missing.
    expected = [stamp for stamp in stamps if told and told[0] <= stamp <= told[-1]]
    if len(told) < len(expected) or len(told) < 2:
        verdict.shortfalls.append(f"{len(told)} of {len(stamps)} answers came with what they were computed from")
    if told:
        _compare(recorder, model, told, verdict)
    return verdict


def _compare(recorder: ArmRecorder, model: Model, stamps: list[int], verdict: ArmVerdict) -> None:
    """Compare answers with the node's reports of them, and these with the library and what was sent."""
    states, accounts = ([kept[stamp] for stamp in stamps] for kept in (recorder.states, recorder.accounts))
    q, qd, input_, wrench, told = (
        np.array([_named(account.names, getattr(account, name), model) for account in accounts])
        for name in ("position", "velocity", "input", "wrench_effort", "effort")
    )
    published = np.array([_named(recorder.names, recorder.answers[stamp].values, model) for stamp in stamps])
    sent = [np.array([_named(state[0], state[k], model) for state in states]) for k in (1, 2)]
    limit = np.where(model.limits.effort > 0.0, model.limits.effort, np.inf)
    expected = np.clip(inverse_dynamics(model, q, qd, input_) - wrench, -limit, limit)
    error = _difference(published, expected)
    verdict.judged, verdict.error = len(stamps), float(error.max())
    unknown = [bool(row.any()) and row.tobytes() not in recorder.accelerations for row in input_]
    for wrong, what in (
        (~(error <= TOLERANCE), f"differ from the library by more than {TOLERANCE:g} (relative)"),
        ((told != published).any(axis=1), "are not those of ~/dynamics_state"),
        ((sent[0] != q).any(axis=1) | (sent[1] != qd).any(axis=1), "answer another state than their stamp says"),
        (np.array(unknown), "follow from accelerations that nobody sent"),
    ):
        if wrong.any():
            worst = f"; the worst by {verdict.error:.2e}" if "library" in what else ""
            verdict.shortfalls.append(f"{int(wrong.sum())} of {len(stamps)} torque messages {what}{worst}")


def _state(message: JointState) -> tuple[list[str], np.ndarray, np.ndarray]:
    return message.name, np.array(message.position), np.array(message.velocity)


def _named(names: list[str], values: np.ndarray, model: Model) -> np.ndarray:
    by_name = dict(zip(names, values, strict=True))
    return np.array([by_name[name] for name in model.joint_names])


def _difference(efforts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Largest difference of each row, relative to its largest value."""
    scale = np.maximum(np.abs(expected).max(axis=-1), np.finfo(float).tiny)
    return np.abs(efforts - expected).max(axis=-1) / scale


SHOWN = 12
"""Most joints drawn; those with the largest torques."""


def draw(verdict: ArmVerdict, model: Model, path: Path) -> None:
    """Write a picture of the torques over time, and of the part that gravity alone takes."""
    largest = abs(verdict.efforts).max(axis=0)
    joints = sorted(sorted(range(model.nv), key=lambda j: -largest[j])[:SHOWN])
    columns = 1 if len(joints) <= 2 else 2
    rows = -(-len(joints) // columns)
    title = f"{model.name}: joint states in, torques out"
    if len(joints) < model.nv:
        title += f" (the {len(joints)} largest of {model.nv} joints)"
    with picture(path, title) as plt:
        _, axes = plt.subplots(rows, columns, figsize=(11, 1.2 + 1.7 * rows), sharex=True, squeeze=False)
        for axis, joint in zip(axes.flat, joints, strict=False):
            name = model.joint_names[joint]
            unit = "N" if model.joint(name).kind == "prismatic" else "N m"
            for values, color, label in (
                (verdict.gravity, "0.6", "gravity alone"),
                (verdict.efforts, "tab:blue", "inverse dynamics"),
            ):
                axis.plot(verdict.times, values[:, joint], color=color, linewidth=1.2, label=label)
            axis.set_title(f"{name} [{unit}]", fontsize=9, loc="left")
        for axis in axes.flat[len(joints) :]:
            axis.set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel("time [s]", fontsize=9)
        axes[0][0].legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)


PICTURE = "torques.png"


class ArmShowcase(Showcase):
    """Joint states in, torques out; of a robot whose joints have one coordinate each."""

    title = "arm"
    nodes = processes = ("simulated_robot", "inverse_dynamics")

    def __init__(self, model: Model, source: str, rate: float, inertia_check: str) -> None:
        self.model, self._source, self._rate, self._inertia_check = model, source, rate, inertia_check
        self.recorder = ArmRecorder()
        self._largest = np.zeros(model.nv)

    def start(self, children: Children) -> None:
        """Start driver and node."""
        points = "/inverse_dynamics/joint_trajectory_point"
        outputs = kept("/inverse_dynamics/joint_efforts", "/inverse_dynamics/dynamics_state")
        both = {"inertia_check": self._inertia_check}
        driver = {"robot_description": self._source, "rate": self._rate, **kept("/joint_states", points), **both}
        children.start("simulated_robot", driver, {"~/joint_trajectory_point": points})
        children.start("inverse_dynamics", {**outputs, **both}, {})

    def ready(self) -> bool:
        """Return whether each topic has been received."""
        heard = self.recorder
        return bool(heard.answers and heard.accelerations and (heard.accounts or not heard.accountable))

    def _latest(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Position and efforts of the latest state that was answered, in model order."""
        recorder = self.recorder
        stamp = recorder.latest()
        if stamp is None:
            return None
        names, position, _ = recorder.states[stamp]
        both = ((names, position), (recorder.names, recorder.answers[stamp].values))
        position, efforts = (_named(*each, self.model) for each in both)
        return position, efforts

    def _unit(self, joint: int) -> str:
        return "N" if self.model.joint(self.model.joint_names[joint]).kind == "prismatic" else "N m"

    def line(self) -> str:
        """Return the largest torque."""
        latest = self._latest()
        if latest is None:
            return ""
        _, efforts = latest
        joint = int(np.argmax(np.abs(efforts)))
        return f"largest {efforts[joint]:+.3f} {self._unit(joint)} at {self.model.joint_names[joint]}"

    def table(self, rows: int) -> list[str]:
        """Return a line for each joint."""
        latest = self._latest()
        if latest is None:
            return []
        position, efforts = latest
        self._largest = np.maximum(self._largest, np.abs(efforts))
        names = self.model.joint_names
        shown = len(names) if len(names) < rows else max(1, rows - 2)
        width = max(map(len, names))
        scale = max(float(self._largest.max()), 1e-12)
        lines = [f"{'joint':{width}}   position      torque"]
        for joint in range(shown):
            lines.append(
                f"{names[joint]:{width}} {position[joint]:+10.4f} {efforts[joint]:+11.4f} {self._unit(joint):3} "
                f"{bar(efforts[joint] / scale)}"
            )
        if shown < len(names):
            lines.append(f"... and {len(names) - shown} more joints")
        return lines

    def conclude(self, folder: Path, reported: Mapping[str, Mapping[str, str]]) -> Conclusion:
        """Hold every torque against the library."""
        verdict = judge(self.recorder, self.model)
        draw(verdict, self.model, folder / PICTURE)
        lines = [f"  against the library largest relative difference {verdict.error:.1e} in {verdict.judged} messages"]
        node = reported.get("inverse_dynamics", {})
        return conclusion("arm: joint states in, torques out", verdict, node, lines, folder / PICTURE)
