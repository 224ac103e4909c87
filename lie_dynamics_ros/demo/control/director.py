"""Plays the acts: sets parameters of the nodes, and sends the trajectory of each act."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Duration, Time
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...ros.wire import qos
from ...ros.wire.compatibility import interfaces
from ...ros.wire.messages import nanoseconds
from ..errors import ShortfallError
from .play import LEAD, Act, Play
from .recorder import NAMESPACE

AHEAD = 0.3
"""Between sending a trajectory and its start, in simulated time [s]; four times that whenever it was refused."""
TRIES = 5
"""How often a trajectory is sent: a busy machine may read it too late."""
PAUSE = 0.2
"""Rest after each act, in simulated time [s]."""
PATIENCE = 120.0
"""Longest time for a node to change its parameters, or to report the end of a trajectory [s]: on a busy machine."""
LOST = 2.0
"""After how long parameters are sent again [s]: an answer is lost where the node has not discovered our reader yet."""


class Director:
    """Goes through the acts of a play, one after the other.

    Attributes
    ----------
    starts : list of int
        Time stamps at which the trajectories of the acts start [ns], of all acts so far; simulated time, as all stamps.
    """

    def __init__(self, play: Play) -> None:
        self.play = play
        self.starts: list[int] = []
        self._now = 0  # simulated time [ns]; 0 before it is known
        self._answers: dict[str, list[Any]] | None = None  # by the name of the node
        self._deadline: float | None = None  # for the act that is to begin, in steady time [s]
        self._pause = 0  # until when nothing is to be done [ns]
        self._refusal = ""  # why the last trajectory was refused
        self._told = True  # what became of it
        self._late = 0  # how often it was refused

    def listen(self, node: Node) -> None:
        """Make clients and publisher."""
        node.create_subscription(Clock, "/clock", self._on_clock, 1)  # the latest; others may be a queue behind
        names = {"robot": "simulated_robot", "controller": "computed_torque"}
        self._clients = {
            who: node.create_client(SetParametersAtomically, f"{NAMESPACE}/{name}/set_parameters_atomically")
            for who, name in names.items()
        }
        self._publisher = node.create_publisher(JointTrajectory, f"{NAMESPACE}/computed_torque/joint_trajectory", 10)
        self._status = getattr(interfaces("msg"), "TrajectoryStatus", None)
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
            if self._publisher.get_subscription_count() and all(c.service_is_ready() for c in self._clients.values()):
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
        self._publisher.publish(message)
        self.starts.append(start)
        self._told, self._deadline = not self._status, None
        self._pause = start + round((float(times[-1]) + PAUSE) * 1e9)


def _request(values: Mapping[str, Any]) -> SetParametersAtomically.Request:
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    return SetParametersAtomically.Request(parameters=parameters)
