"""What targets with real nodes share: nodes in processes of their own, in a ROS domain of the run's own."""

from __future__ import annotations

import os
import signal
import sys
from itertools import chain
from typing import Any

from .target import DefectError, Target


class NodeTarget(Target):
    """Random input to running nodes. A case starts from nodes that answer; one that has ended is told and replaced.

    What a case sends depends on its random numbers alone; what a node has heard before is another matter, so where a
    replay shows nothing, run the cases before it too (``--first``).
    """

    def __enter__(self) -> NodeTarget:
        import rclpy
        from node_harness import Bench
        from rclpy.signals import SignalHandlerOptions

        from lie_dynamics_ros.ros.node.domain import DomainReservation

        self._reservation = DomainReservation()
        self._reservation.apply(os.environ)
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and the nodes end with it
        self.bench = Bench()
        self.driven: list[Any] = []
        try:
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        import rclpy

        try:
            for bench in self._benches():
                bench.close()
        finally:
            rclpy.shutdown()
            self._reservation.release()

    def _benches(self) -> list[Any]:
        return [self.bench, *(driven.bench for driven in self.driven)]

    def prepare(self) -> None:
        """Start what all cases share."""

    def start(self, module: str, **parameters: Any) -> str:
        """Start a node that is active when this returns; returns its name."""
        from driven import STARTED_WITH

        node = self.bench.start(module, **{**STARTED_WITH[module], **parameters})
        self.bench.wait_state(node, "active")
        return node

    def start_all(self, room: int = 0) -> list[Any]:
        """Start every node, with a namespace and a bench of its own; see `Driven`."""
        from driven import WAYS, Driven
        from node_harness import Bench

        self.driven += (Driven(Bench(), way, room) for way in WAYS)
        return self.driven

    def require_alive(self) -> None:
        """Raise where a node has ended, with the end of what it said."""
        for process in chain(*(bench.processes for bench in self._benches())):
            if process.process.poll() is not None:
                raise DefectError(f"a node ended with code {process.process.poll()}: {process.output[-3000:]}")
