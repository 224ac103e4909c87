"""A simulated robot follows a trajectory by torques, picks up a payload unknown to its controller, and learns it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from rclpy.node import Node

from ...lie_dynamics import Model
from ..processes import Children
from ..showcase import Conclusion, Showcase, bar, conclusion, kept
from .check import EXACT_LIMIT, judge
from .director import Director
from .play import PATIENCE, RATE, Play
from .plot import draw
from .recorder import NAMESPACE, Recorder
from .rehearsal import rehearse

PICTURE = "control.png"
SPREAD = 2.0
"""How much more tracking error than in the rehearsal is let pass with a robot that is not the demo's own."""


class ControlShowcase(Showcase):
    """Trajectories in, torques out, and what comes of them.

    Parameters
    ----------
    model : Model
        The robot; all joints with one coordinate.
    source : str
        Where its description is.
    inertia_check : str
        As for the nodes.
    seconds : float
        How long the demo runs.
    known : bool
        Whether it is the robot that the limits on learning are meant for.

    Raises
    ------
    ShortfallError
        This cannot be shown with this robot, or not in this time; says why.
    """

    title = "control"
    nodes = (f"{NAMESPACE[1:]}/simulated_robot", f"{NAMESPACE[1:]}/computed_torque")
    processes = ("control_robot", "computed_torque")
    viewed = MappingProxyType(
        {
            topic: f"{NAMESPACE}/{topic}"
            for topic in ("joint_states", "robot_description", "computed_torque/joint_efforts")
        }
    )

    def __init__(self, model: Model, source: str, inertia_check: str, seconds: float, known: bool) -> None:
        self.play = Play(model, seconds, known)
        rehearsed = 0.0 if known else rehearse(self.play)[0]
        self._limit = max(EXACT_LIMIT, SPREAD * rehearsed)
        self._source, self._inertia_check = source, inertia_check
        self.recorder, self.director = Recorder(), Director(self.play)

    def start(self, children: Children) -> None:
        """Start robot and controller, in a namespace of their own."""
        controller = f"{NAMESPACE}/computed_torque"
        check = {"inertia_check": self._inertia_check}
        robot = {
            "robot_description": self._source,
            "mode": "dynamics",
            "rate": RATE,
            "start": "initial_position",
            "initial_position": self.play.motion.center.tolist(),
            "command_timeout": PATIENCE,
            # Each step waits for its command: where the machine is busy, time goes slower and control gets no worse.
            "publish_clock": True,
            "lock_step": True,
            **check,
            **kept(f"{NAMESPACE}/joint_states"),
        }
        topics = kept(*(f"{controller}/{topic}" for topic in ("joint_efforts", "tracking_error", "estimated_inertia")))
        commands = {"__ns": NAMESPACE, "~/joint_efforts": f"{controller}/joint_efforts"}
        children.start("simulated_robot", robot, commands, label="control_robot")
        # All else is as the node comes: its defaults are what is shown.
        children.start("computed_torque", {"use_sim_time": True, **check, **topics}, {"__ns": NAMESPACE})

    def direct(self, node: Node) -> None:
        """Make what the director needs."""
        self.director.listen(node)

    def ready(self) -> bool:
        """Tell whether each topic has been heard; inertias come with the adaptive mode only."""
        recorder = self.recorder
        return bool(recorder.states and recorder.answers and recorder.errors)

    def proceed(self) -> None:
        """Begin the next act where it is time to."""
        self.director.proceed()

    def done(self) -> bool:
        """Tell whether all acts are played and recorded."""
        end, recorder = self.director.end, self.recorder
        heard = (recorder.states, recorder.answers, recorder.errors, recorder.masses)
        return bool(end and all(next(reversed(kept), 0) > end for kept in heard))

    def _error(self) -> float:
        latest = next(reversed(self.recorder.errors.values()), None)
        return 0.0 if latest is None else float(np.abs(latest).max())

    def _mass(self) -> str:
        mass, payload = next(reversed(self.recorder.masses.values()), None), self.play.payload
        return "" if mass is None else f"payload estimated {mass - payload.own_mass:.4g} of {payload.mass:.3g} kg"

    def line(self) -> str:
        """Return act, tracking error, and estimated payload."""
        act = self.director.act
        name = "" if act is None else f"{act.name}: "
        return f"{name}off by {1e3 * self._error():.2f} mrad   {self._mass()}".rstrip()

    def table(self, rows: int) -> list[str]:
        """Return the act, and a line for each joint: desired, actual, error and torque."""
        recorder, act = self.recorder, self.director.act
        stamp = recorder.latest(recorder.errors)
        if stamp is None:
            return []
        position, error, efforts = recorder.states[stamp], recorder.errors[stamp], recorder.answers[stamp].values
        names = self.play.model.joint_names
        width = max(map(len, names))
        story = "at rest" if act is None else f"act {len(self.director.starts)} of {len(self.play.acts)}: {act.story}"
        lines = [f"{story}   {self._mass()}".rstrip()]
        lines.append(f"{'joint':{width}}    desired     actual  error/1000      torque   error from -0.1 to 0.1")
        for j, name in enumerate(names):
            lines.append(
                f"{name:{width}} {position[j] + error[j]:+10.4f} {position[j]:+10.4f} {1e3 * error[j]:+11.3f} "
                f"{efforts[j]:+11.3f}   {bar(error[j] / 0.1)}"
            )
        return lines[: max(1, rows)]

    def conclude(self, folder: Path, reported: Mapping[str, Mapping[str, str]]) -> Conclusion:
        """Judge all acts."""
        verdict = judge(self.recorder, self.play, self.director.starts, self._limit)
        draw(verdict, self.play, folder / PICTURE, self._limit)
        (exact, loaded, adapted), most = ([1e3 * x for x in values] for values in (verdict.rms, verdict.largest))
        mass = self.play.payload.mass
        factor = reported.get(self.nodes[0], {}).get("real-time factor", "-")
        lines = [
            f"  real-time factor    {factor} in the end (each step waits for its command)",
            f"  exact model         tracking error {exact:.2f} mrad (rms of the joint farthest off), at most "
            f"{most[0]:.2f}; limit {1e3 * self._limit:.3g}",
            f"  unknown payload     {loaded:.1f} mrad, with {mass:.3g} kg at {self.play.payload.link}",
            f"  adaptive            {adapted:.2f} mrad in the end, {adapted / loaded:.1%} of that",
            f"  payload found       {verdict.payload:.4g} kg ({verdict.payload / mass - 1.0:+.2%})",
        ]
        title, node = "control: trajectories in, torques out, simulated motion", reported.get(self.nodes[1], {})
        return conclusion(title, verdict, node, lines, folder / PICTURE)
