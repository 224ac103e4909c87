"""A simulated robot follows a trajectory by torques, picks up a payload unknown to its controller, and learns it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from rclpy.node import Node

from ...core.commanding.phases import STOPPED, STOPPING
from ...core.commands import EFFORT
from ...core.errors import NodeError
from ...core.joint_points import JointPoints
from ...core.robot_options import MODEL_SETTINGS, RobotOptions
from ...core.robot_state import RobotState
from ...core.setting import Setting
from ...lie_dynamics import LieDynamicsError, Model
from ...nodes.computed_torque.core import ComputedTorqueCore
from ...nodes.computed_torque.options import CONTROL_SETTINGS, ComputedTorqueOptions
from ...nodes.simulated_robot.core import RobotSimulation, SimulationOptions
from ...nodes.simulated_robot.node import SETTINGS as ROBOT_SETTINGS
from ..errors import ShortfallError
from ..processes import Children
from ..recording import picture
from ..showcase import Conclusion, Showcase, bar, conclusion, kept
from .check import EXACT_LIMIT, Verdict, judge
from .director import Director
from .play import LEAD, PATIENCE, RATE, Play
from .recorder import NAMESPACE, Recorder

# Plays the acts without ROS: whether a robot can be played is known before, with the reason.

AHEAD, PAUSE = 0.3, 0.2
"""Rest before and after each trajectory [s]."""
SUBSTEPS = 2
"""Of the simulation in a period, as the node's."""

Options = TypeVar("Options", bound=RobotOptions)


def rehearse(play: Play) -> list[float]:
    """Play all acts under the nodes' defaults.

    Returns
    -------
    list of float
        Of each act's motion, the tracking error of the joint that is farthest off, rms [rad, m].

    Raises
    ------
    ShortfallError
        The controller stops the robot, or it cannot be simulated; says in which act, and why.
    """
    model, start = play.model, tuple(play.motion.center.tolist())
    arm = RobotSimulation(model, _options(SimulationOptions, ROBOT_SETTINGS, {}), 1.0 / (RATE * SUBSTEPS), start, 0)
    settings = (*CONTROL_SETTINGS, *MODEL_SETTINGS)
    core = ComputedTorqueCore(model, _options(ComputedTorqueOptions, settings, {}))
    core.start()
    arm.told[:] = EFFORT
    now, period, errors = 10**9, round(1e9 / RATE), []
    for act in play.acts:
        if act.robot:
            arm.set_options(_options(SimulationOptions, ROBOT_SETTINGS, act.robot))
        core = core.with_options(_options(ComputedTorqueOptions, settings, act.controller))
        times, states = play.points(act.duration)
        way, begin = JointPoints(np.arange(model.nv), times, *states), now + round(AHEAD * 1e9)
        first, last = begin + round(LEAD * 1e9), begin + round((LEAD + act.duration) * 1e9)
        end, farthest = last + round(PAUSE * 1e9), []
        while now < end:
            try:
                answer = core.answer(RobotState(now, *(x.copy() for x in arm.state)))
                if core.phase in (STOPPING, STOPPED):
                    raise ShortfallError(f"in act {act.name} the controller stops it: {core.reason}")
                if way is not None:
                    core.follow(way, begin)
                    way = None
                arm.value[:] = answer.total
                arm.advance(SUBSTEPS)
            except (LieDynamicsError, NodeError) as error:
                raise ShortfallError(f"act {act.name}: {error}") from error
            if first <= now <= last:
                farthest.append(float(np.abs(answer.error).max()))
            now += period
        errors.append(math.sqrt(sum(e * e for e in farthest) / len(farthest)))
    return errors


def _options(kind: type[Options], settings: Sequence[Setting], values: Mapping[str, Any]) -> Options:
    defaults = {setting.name: setting.default for setting in settings}
    options = kind.from_values({**defaults, "state_timeout": 0.1, **values})
    assert isinstance(options, kind)
    return options


# Draws tracking error, torques and estimated payload over the acts.

SHOWN = 12
"""Most joints whose torques are drawn; those with the largest."""
LEAST = 1e-6
"""Where the logarithmic axis of the errors ends [rad, m]."""


def draw(verdict: Verdict, play: Play, path: Path, limit: float = EXACT_LIMIT) -> None:
    """Write the picture."""
    heading = f"{play.model.name}: a trajectory, a payload that the model does not know, adaptation"
    with picture(path, heading) as plt:
        _, (error, torque, mass) = plt.subplots(3, 1, figsize=(11, 9), sharex=True, height_ratios=(1.3, 1.3, 1))
        colors = ("tab:green", "tab:red", "tab:blue")
        for act, times, errors, color in zip(play.acts, verdict.times, verdict.errors, colors, strict=True):
            size = np.maximum(np.abs(errors).max(axis=1), LEAST)
            error.semilogy(times, size, color=color, linewidth=1.0, label=act.story)
            for axis in (error, torque, mass):
                axis.axvspan(times[0], times[-1], color=color, alpha=0.06, linewidth=0)
        error.axhline(limit, color="0.3", linewidth=0.8, linestyle="--")
        title = "tracking error of the joint farthest off [rad, m]; dashed: limit of the rms with the exact model"
        error.set_title(title, fontsize=9, loc="left")
        error.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.04), ncols=3)
        names = play.model.joint_names
        shown = sorted(np.argsort(-np.abs(verdict.efforts).max(axis=0))[:SHOWN].tolist())
        for joint in shown:
            torque.plot(verdict.effort_times, verdict.efforts[:, joint], linewidth=0.9, label=names[joint])
        torque.set_title("torques [N m, N]", fontsize=9, loc="left")
        torque.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=7)
        mass.plot(verdict.mass_times, verdict.masses, color="tab:blue", linewidth=1.2, label="estimate")
        mass.axhline(play.payload.mass, color="black", linestyle="--", linewidth=0.9, label="truth")
        mass.set_title("mass of the payload [kg]", fontsize=9, loc="left")
        mass.set_xlabel("time [s]", fontsize=9)
        mass.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)


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
        This cannot be shown with this robot, or not in this time; with the reason.
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
        """Return whether each topic has been heard; inertias come with the adaptive mode only."""
        recorder = self.recorder
        return bool(recorder.states and recorder.answers and recorder.errors)

    def proceed(self) -> None:
        """Begin the next act where it is time to."""
        self.director.proceed()

    def done(self) -> bool:
        """Return whether all acts are played and recorded."""
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
            f"  unknown payload     {loaded:.1f} mrad, with {mass:.3g} kg at {self.play.payload.link}, nothing learned",
            f"  adaptive            {adapted:.2f} mrad in the end, {adapted / loaded:.1%} of that",
            f"  payload found       {verdict.payload:.4g} kg ({verdict.payload / mass - 1.0:+.2%})",
        ]
        title, node = "control: trajectories in, torques out, simulated motion", reported.get(self.nodes[1], {})
        return conclusion(title, verdict, node, lines, folder / PICTURE)
