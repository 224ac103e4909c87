"""Random messages on every topic that a node hears, from two publishers, and what they must not do to the node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from driven import Driven
from fuzz.random_messages import fill, finite
from node_cases import CASES, random_state
from node_harness import Bench
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

SHIFTS = (0, 20_000_000, -20_000_000, 2 * 10**9, -2 * 10**9, 10**12, -(10**12))
"""By how far the second publisher's clock may be off [ns]."""
OF_ALL = ("/clock", "/parameter_events", "/rosout")
"""Topics that are left alone; without simulated time nobody hears clocks."""
REMEDY = "~/reset"
"""What a platform's estimate takes that rubbish has refuted."""
STATES = 0.5
"""So many of the messages are joint states, where the node hears them."""


class Rubbish:
    """Two publishers for each topic that a node hears, and all that it publishes.

    Parameters
    ----------
    driven : Driven
    room : int
        Messages that may be on their way at a time.
    """

    def __init__(self, driven: Driven, room: int) -> None:
        self.driven, bench = driven, driven.bench
        self._second = Bench("second", bench.namespace)
        latched = QoSProfile(depth=room, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # whatever who hears it asks for
        self._inputs = [
            (type_, [each.publisher(type_, topic, latched) for each in (bench, self._second)])
            for topic, type_ in sorted(driven.heard.items())
            if topic not in OF_ALL
        ]
        self._states = next((p for t, p in self._inputs if t.__name__ == "JointState"), None)
        # What it publishes itself where others speak, too, is nothing to judge by.
        said = {topic: type_ for topic, type_ in driven.said.items() if topic not in {*OF_ALL, *driven.heard}}
        self._outputs = {topic: bench.listen(type_, topic) for topic, type_ in said.items()}

    def close(self) -> None:
        self._second.close()

    def send(self, rng: np.random.Generator, count: int) -> None:
        """Send so many messages."""
        for _ in range(count):
            type_, publishers = self._inputs[int(rng.integers(len(self._inputs)))]
            if self._states is not None and rng.random() < STATES:
                type_, publishers = next(pair for pair in self._inputs if pair[1] is self._states)
            second = rng.random() < 0.4
            stamp = self.driven.bench.now() + (int(rng.choice(SHIFTS)) if second else 0)
            publishers[second].publish(self._message(rng, type_, stamp))

    def _message(self, rng: np.random.Generator, type_: type, stamp: int) -> Any:
        message = type_()
        fill(message, rng)
        if hasattr(message, "header") and rng.random() < 0.9:
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        case = self.driven.case or CASES[int(rng.integers(len(CASES)))]
        names, *numbers = random_state(rng, case)
        if hasattr(message, "joint_names") and rng.random() < 0.7:
            message.joint_names = names
        if type_.__name__ == "JointState" and rng.random() < 0.8:
            message.name, message.position, message.velocity, message.effort = names, *numbers
        return message

    def _answer(self) -> np.ndarray:
        """Answer now; of a node that waits for ``~/reset``, which it names as the remedy, after that."""
        driven = self.driven
        try:
            return driven.answer()
        except AssertionError:
            if REMEDY not in driven.report()[1]:
                raise
        driven.bench.call(Trigger, f"{driven.name}/reset", Trigger.Request())
        return driven.answer()

    def problems(self, wait: bool | None = True) -> Iterable[str]:
        """Tell what is wrong: with what the node published so far, with its answer now, and with what it reports.

        A process reports once a second; whoever does not ``wait`` judges the last report, by ``None`` none at all.
        """
        driven = self.driven
        try:
            answer = self._answer()
        except AssertionError as error:
            state, message, _ = driven.report()
            yield f"{driven.name} does not answer; {state}: {message}; {str(error)[:1000]}"
            return
        if not np.isfinite(answer).all():
            yield f"{driven.name} answers {answer}"
        for topic, messages in self._outputs.items():
            bad = [message for message in messages if not finite(message)]
            if bad:
                yield f"{topic}: numbers that are not finite: {str(bad[0])[:2000]}"
            messages.clear()
        if wait is None:
            return
        state, message, values = driven.report(wait)
        if state != "active":
            yield f"{driven.name} is {state}: {message}"
        if any("unexpected" in key for key in values):
            yield f"{driven.name}: an exception that nobody expected: {message}; {values}"
