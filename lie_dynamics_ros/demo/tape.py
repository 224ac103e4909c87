"""Messages as they come, read when there is time: so none is lost while the view is drawn or the machine is busy."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

QUEUE = QoSProfile(depth=20_000)
"""With which a tape listens: so much may come while the machine is busy elsewhere, and nothing is lost."""


class Tape:
    """Keeps serialized messages of several topics, in the order in which they came, until they are played.

    Attributes
    ----------
    taken : int
        How many have come.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._waiting: deque[tuple[Callable[[Any, float], None], type, bytes, float]] = deque()

    def subscribe(self, node: Node, kind: type, topic: str, handler: Callable[[Any, float], None]) -> None:
        """Subscribe; `play` calls ``handler(message, arrival)`` with the time of arrival [s], as by time.time."""

        def keep(data: bytes) -> None:
            self._waiting.append((handler, kind, data, time.time()))
            self.taken += 1

        node.create_subscription(kind, topic, keep, QUEUE, raw=True)

    def play(self, seconds: float = math.inf) -> None:
        """Read what has come, for so many seconds of this process's own time at most."""
        end = time.process_time() + seconds
        while self._waiting and time.process_time() < end:
            handler, kind, data, arrival = self._waiting.popleft()
            handler(deserialize_message(data, kind), arrival)
