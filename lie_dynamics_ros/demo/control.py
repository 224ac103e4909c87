"""A simulated robot follows a trajectory by torques, picks up a payload unknown to its controller, and learns it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..lie_dynamics import Model
from ..lie_dynamics.arrays import Array
from ..ros.wire import qos
from ..ros.wire.compatibility import interfaces
from ..ros.wire.messages import nanoseconds
from .play import AHEAD, COMMAND_PATIENCE, LEAD, PAUSE, RATE, Act, Play, rehearse
from .processes import Children, ShortfallError
from .showcase import Answer, Conclusion, Recorder, Showcase, Verdict, bar, conclusion, kept, picture, stream_of

NAMESPACE = "/control"


@dataclass
class ControlRecorder(Recorder):
    """Recorder of robot and controller, in simulated time; joints in model order, as they are published.

    States are positions (n,) [rad, m], answers efforts (n,) [N m, N], with the time since their state had come.
    """

    errors: dict[int, np.ndarray] = field(default_factory=dict)  # desired minus actual position (n,) [rad, m]
    masses: dict[int, float] = field(default_factory=dict)  # of the link with the payload [kg]
    names: list[str] = field(default_factory=list)  # joints of the states
    _arrivals: dict[int, float] = field(default_factory=dict)

    def listen(self, node: Node) -> None:
        """Subscribe."""
        controller = f"{NAMESPACE}/computed_torque"
        self.tape.subscribe(node, JointState, f"{NAMESPACE}/joint_states", self._on_state)
        self.tape.subscribe(node, JointState, f"{controller}/joint_efforts", self._on_efforts)
        self.keep(node, JointState, f"{controller}/tracking_error", self.errors, lambda m: np.array(m.position))
        self.keep(node, InertiaStamped, f"{controller}/estimated_inertia", self.masses, lambda m: m.inertia.m)

    def _on_state(self, message: JointState, arrival: float) -> None:
        if not self.names:
            self.names = list(message.name)
        stamp = nanoseconds(message.header.stamp)
        self._arrivals[stamp] = arrival
        self.states[stamp] = np.array(message.position)

    def _on_efforts(self, message: JointState, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        # They may overtake their state.
        latency = arrival - self._arrivals.get(stamp, arrival)
        self.answers[stamp] = Answer(np.array(message.effort), latency)


EXACT_LIMIT = 0.01
"""Largest rms tracking error with the exact model [rad, m]; more where the rehearsal had more."""
GROWTH = 3.0
"""By what factor the payload must enlarge it at least."""
ADAPTED_SHARE = 0.1
"""Share of the error under the payload that may be left in the last part of the adaptive act."""
LAST_PART = 0.3
"""That part of the act's motion."""
MASS_TOLERANCE = 0.02
"""Largest relative error of the estimated payload."""
SAME = 1e-6
"""Largest difference of the controller's own tracking error from the one measured outside [rad, m]."""
LATE = 0.5 / RATE
"""Largest shift of the controller's desired motion against the given one, as it measures when efforts act [s]."""
FEWEST = 100
"""States without which an act cannot be checked."""


@dataclass
class ControlVerdict(Verdict):
    """Results of the recording; remarks say what would fall short, were the limits on learning meant for this robot."""

    times: list[np.ndarray]  # of each act, since the first began, (k,) [s]
    errors: list[np.ndarray]  # of each act, desired minus actual position, (k, n) [rad, m]
    rms: list[float]  # of each act, of the joint that is farthest off; of the adaptive act in its last part
    largest: list[float]  # the same
    effort_times: np.ndarray  # (m,) [s]
    efforts: np.ndarray  # (m, n) [N m, N]
    mass_times: np.ndarray
    masses: np.ndarray  # estimated payload, (l,) [kg]
    payload: float  # mean over the last part of the adaptive act [kg]
    reported: float  # largest difference of the controller's own error, of a motion up to `LATE` sooner or later


def judge(recorder: ControlRecorder, play: Play, starts: Sequence[int], limit: float = EXACT_LIMIT) -> ControlVerdict:
    """Check all acts, whose trajectories started at these time stamps [ns]; limit of the error with the exact model.

    Raises ShortfallError where an act is missing, or there is next to nothing to check.
    """
    if len(starts) < len(play.acts):
        raise ShortfallError(f"only {len(starts)} of {len(play.acts)} acts were played")
    stamps = np.array(sorted(recorder.states))
    times, errors, rms, largest, reported = [], [], [], [], 0.0
    for act, start in zip(play.acts, starts, strict=True):
        begin = start + round(LEAD * 1e9)
        inside = stamps[(stamps >= begin) & (stamps <= begin + act.duration * 1e9)]
        if len(inside) < FEWEST:
            raise ShortfallError(f"received {len(inside)} joint states in act {act.name}")
        t = (inside - begin) * 1e-9
        positions = np.array([recorder.states[s] for s in inside.tolist()])
        error = play.motion.at(t, act.duration)[0] - positions
        both = [k for k, s in enumerate(inside.tolist()) if s in recorder.errors]
        if both:
            told = np.array([recorder.errors[int(inside[k])] for k in both])
            reported = max(reported, _difference(play, act, t[both], positions[both], told))
        counted = np.abs(error).max(axis=1)
        if act.name == "adaptive":
            counted = counted[t >= (1.0 - LAST_PART) * act.duration]
        times.append((inside - starts[0]) * 1e-9)
        errors.append(error)
        rms.append(float(np.sqrt((counted**2).mean())))
        largest.append(float(counted.max()))
    last = starts[-1] + round((LEAD + (1.0 - LAST_PART) * play.acts[-1].duration) * 1e9)
    mass_stamps = np.array(sorted(recorder.masses), dtype=np.int64)
    masses = np.array([recorder.masses[s] for s in mass_stamps.tolist()]) - play.payload.own_mass
    late = masses[mass_stamps >= last]
    answered = recorder.answered()
    if not answered:
        raise ShortfallError(f"received {len(recorder.states)} joint states and no efforts for them")
    verdict = ControlVerdict(
        times=times,
        errors=errors,
        rms=rms,
        largest=largest,
        effort_times=(np.array(answered) - starts[0]) * 1e-9,
        efforts=np.array([recorder.answers[s].values for s in answered]),
        mass_times=(mass_stamps - starts[0]) * 1e-9,
        masses=masses,
        payload=float(late.mean()) if len(late) else float("nan"),
        reported=reported,
        **stream_of(recorder),
    )
    verdict.shortfalls += _shortfalls(verdict, limit)
    (verdict.shortfalls if play.known else verdict.remarks).extend(_lessons(verdict, play))
    return verdict


def _difference(play: Play, act: Act, t: Array, positions: Array, told: Array) -> float:
    """Return by how much errors reported at positions (k, n) differ from those on the motion, as late as fits best."""
    late = np.zeros(len(t))
    for _ in range(3):  # Newton's steps
        desired, rate, _ = play.motion.at(t - late, act.duration)
        off, square = told - (desired - positions), np.square(rate).sum(axis=1)
        late -= np.divide((off * rate).sum(axis=1), square, out=np.zeros(len(t)), where=square > 0.0)
        late = np.clip(late, -LATE, LATE)
    return float(np.abs(told - (play.motion.at(t - late, act.duration)[0] - positions)).max())


def _shortfalls(verdict: ControlVerdict, limit: float) -> list[str]:
    exact = verdict.rms[0]
    found = []
    if not exact <= limit:
        found.append(f"with the exact model the tracking error is {exact:.2g}; at most {limit:.2g} is expected")
    if not verdict.reported <= SAME:
        found.append(f"the controller's own tracking error is off by {verdict.reported:.2g}")
    return found


def _lessons(verdict: ControlVerdict, play: Play) -> list[str]:
    exact, loaded, adapted = verdict.rms
    found = []
    if not loaded >= GROWTH * exact:
        found.append(f"the payload changes the tracking error from {exact:.2g} to {loaded:.2g} only")
    if not adapted <= ADAPTED_SHARE * loaded:
        found.append(
            f"the adaptive controller leaves a tracking error of {adapted:.2g}; expected at most "
            f"{ADAPTED_SHARE:.0%} of the {loaded:.2g} without it"
        )
    if not abs(verdict.payload - play.payload.mass) <= MASS_TOLERANCE * play.payload.mass:
        found.append(f"the payload was estimated as {verdict.payload:.4g} kg; it is {play.payload.mass:.4g} kg")
    return found


TRIES = 5
"""Tries to send a trajectory, each four times as far ahead: a busy machine may read it too late."""
PATIENCE = 120.0
"""Longest time for a node to change its parameters, or to report the end of a trajectory [s]: on a busy machine."""
LOST = 2.0
"""After how long parameters are sent again [s]: an answer is lost where the node has not discovered our reader yet."""


class Director:
    """Goes through the acts of a play, one after the other."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.starts: list[int] = []  # time stamps at which the trajectories of the acts so far start, simulated [ns]
        self._now = 0  # simulated time [ns]; 0 before it is known
        self._answers: dict[str, list[Any]] | None = None  # by the name of the node
        self._deadline: float | None = None  # for the act that is to begin, in steady time [s]
        self._pause = 0  # until when nothing is to be done [ns]
        self._refusal = ""  # why the last trajectory was refused
        self._told = True  # what became of it
        self._late = 0  # how often it was refused
        self._asked = 0.0  # when parameters were sent last, in steady time [s]
        self._clients: dict[str, Client] = {}
        self._publisher: Publisher | None = None
        self._status: type | None = getattr(interfaces("msg"), "TrajectoryStatus", None)

    def listen(self, node: Node) -> None:
        """Make clients and publisher."""
        node.create_subscription(Clock, "/clock", self._on_clock, 1)  # the latest; others may be a queue behind
        names = {"robot": "simulated_robot", "controller": "computed_torque"}
        self._clients = {
            who: node.create_client(SetParametersAtomically, f"{NAMESPACE}/{name}/set_parameters_atomically")
            for who, name in names.items()
        }
        self._publisher = node.create_publisher(JointTrajectory, f"{NAMESPACE}/computed_torque/joint_trajectory", 10)
        if self._status:
            topic = f"{NAMESPACE}/computed_torque/trajectory_status"
            node.create_subscription(self._status, topic, self._on_status, qos.DESCRIPTION)

    def _on_clock(self, message: Clock) -> None:
        self._now = nanoseconds(message.clock)

    def _on_status(self, message: Any) -> None:
        if self.starts and nanoseconds(message.header.stamp) == self.starts[-1]:
            self._told, self._deadline = True, None
            self._refusal = "" if message.accepted else message.reason

    @property
    def act(self) -> Act | None:
        """The act under way, or the last one."""
        return self.play.acts[len(self.starts) - 1] if self.starts else None

    @property
    def end(self) -> int:
        """Time stamp at which the last act ends [ns]; 0 while it has not begun."""
        if len(self.starts) < len(self.play.acts) or not self._told:
            return 0
        return self.starts[-1] + round((LEAD + self.play.acts[-1].duration) * 1e9)

    def proceed(self) -> None:
        """Begin the next act where it is time to."""
        acts = self.play.acts
        if self._refusal:
            self._send_again()
        if not self._told:
            self._check_patience(self.play.acts[len(self.starts) - 1])
            return
        if len(self.starts) == len(acts) or not self._now or self._now < self._pause:
            return
        act = acts[len(self.starts)]
        values = {"robot": act.robot, "controller": act.controller}
        requests = {who: _request(v) for who, v in values.items() if v}
        if self._answers is None:
            heard = self._publisher is not None and self._publisher.get_subscription_count()
            if heard and all(c.service_is_ready() for c in self._clients.values()):
                self._answers = {who: [] for who in requests}
                self._ask(requests)
            self._check_patience(act)
            return
        done = {who: a.result().result for who, answers in self._answers.items() for a in answers if a.done()}
        waiting = {who: request for who, request in requests.items() if who not in done}
        if waiting:
            self._check_patience(act)
            if time.monotonic() > self._asked + LOST:
                self._ask(waiting)
            return
        refused = [result.reason for result in done.values() if not result.successful]
        if refused:
            raise ShortfallError(f"act {act.name}: parameters were refused: {'; '.join(refused)}")
        self._answers = None
        self._late = 0
        self._send(act)

    def _send_again(self) -> None:
        """Send the last trajectory again, further ahead; raises ShortfallError where it is refused time and again.

        A trajectory that was read too late is not known by the reason, which is that of its rest, nor by the clock,
        which may be heard late, too.
        """
        act, reason, self._refusal = self.play.acts[len(self.starts) - 1], self._refusal, ""
        self._late += 1
        if self._late == TRIES:
            raise ShortfallError(f"act {act.name}: its trajectory was refused: {reason}")
        self.starts.pop()
        self._send(act)

    def _check_patience(self, act: Act) -> None:
        now = time.monotonic()
        self._deadline = self._deadline or now + PATIENCE
        if now > self._deadline:
            what = "did not take their parameters" if self._told else "did not say what became of the trajectory"
            raise ShortfallError(f"act {act.name}: the nodes {what} within {PATIENCE:g} s")

    def _ask(self, requests: Mapping[str, SetParametersAtomically.Request]) -> None:
        assert self._answers is not None
        self._asked = time.monotonic()
        for who, request in requests.items():
            self._answers[who].append(self._clients[who].call_async(request))

    def _send(self, act: Act) -> None:
        start = self._now + round(AHEAD * 4**self._late * 1e9)
        message = JointTrajectory(joint_names=list(self.play.model.joint_names))
        message.header.stamp = Time(sec=start // 10**9, nanosec=start % 10**9)
        times, (position, velocity, acceleration) = self.play.points(act.duration)
        for k, t in enumerate(times):
            sec, nanosec = divmod(round(float(t) * 1e9), 10**9)
            message.points.append(
                JointTrajectoryPoint(
                    time_from_start=Duration(sec=sec, nanosec=nanosec),
                    positions=position[k].tolist(),
                    velocities=velocity[k].tolist(),
                    accelerations=acceleration[k].tolist(),
                )
            )
        assert self._publisher is not None
        self._publisher.publish(message)
        self.starts.append(start)
        self._told, self._deadline = not self._status, None
        self._pause = start + round((float(times[-1]) + PAUSE) * 1e9)


def _request(values: Mapping[str, Any]) -> SetParametersAtomically.Request:
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    return SetParametersAtomically.Request(parameters=parameters)


SHOWN = 12
"""Most joints whose torques are drawn; those with the largest."""
LEAST = 1e-6
"""Where the logarithmic axis of the errors ends [rad, m]."""


def draw(verdict: ControlVerdict, play: Play, path: Path, limit: float = EXACT_LIMIT) -> None:
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
"""Largest tracking error over that of the rehearsal, for a robot that is not the demo's own."""


class ControlShowcase(Showcase):
    """Trajectories in, torques out, and what comes of them.

    Of a robot whose joints have one coordinate each, ``known`` where the limits on learning are meant for it. Raises
    ShortfallError where this cannot be shown, or not in so many seconds.
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
        self.recorder, self.director = ControlRecorder(), Director(self.play)

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
            "command_timeout": COMMAND_PATIENCE,
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
        """Return whether each topic has been received; inertias come with the adaptive mode only."""
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
        """Check all acts."""
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
