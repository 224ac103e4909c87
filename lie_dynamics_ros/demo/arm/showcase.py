"""The node inverse_dynamics beside a simulated driver: torques live, each held against what the library makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...lie_dynamics import Model
from ..processes import Children
from ..recording import picture
from ..showcase import Conclusion, Showcase, bar, conclusion, kept
from .check import Verdict, judge
from .recorder import Recorder

# Draws the recorded torques.

SHOWN = 12
"""Most joints drawn; those with the largest torques."""


def draw(verdict: Verdict, model: Model, path: Path) -> None:
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
    """Joint states in, torques out.

    Parameters
    ----------
    model : Model
        The robot; all joints with one coordinate.
    source : str
        Where its description is.
    rate : float
        Joint states per second.
    inertia_check : str
        As for the nodes.
    """

    title = "arm"
    nodes = processes = ("simulated_robot", "inverse_dynamics")

    def __init__(self, model: Model, source: str, rate: float, inertia_check: str) -> None:
        self.model, self._source, self._rate, self._inertia_check = model, source, rate, inertia_check
        self.recorder = Recorder()
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
        """Return whether each topic has been heard."""
        heard = self.recorder
        return bool(heard.answers and heard.accelerations and (heard.accounts or not heard.accountable))

    def _latest(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Position and efforts of the latest state that was answered, in model order."""
        recorder = self.recorder
        stamp = recorder.latest()
        if stamp is None:
            return None
        names, position, _ = recorder.states[stamp]
        return self._ordered(names, position), self._ordered(recorder.names, recorder.answers[stamp].values)

    def _ordered(self, names: list[str], values: np.ndarray) -> np.ndarray:
        by_name = dict(zip(names, values, strict=True))
        return np.array([by_name[name] for name in self.model.joint_names])

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
