"""Joint states and other messages as broken drivers send them, from two publishers, one with a shifted clock.

After each burst the good driver's state is answered, with nothing but finite numbers on the way; memory stays bounded.
Case by case the nodes take turns; 400 cases are 20,000 messages a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .node_target import NodeTarget
from .target import DefectError

BURST = 200
GROWTH = 16 * 2**20
"""Most that a node may grow by after its first cases [bytes]."""
SETTLED = 10
"""Bursts after which a node has allocated what it needs."""
SHIFTS = (0, 20_000_000, -20_000_000, 2 * 10**9, -2 * 10**9, 10**12, -(10**12))
"""By how far the second publisher's clock may be off [ns]."""


class Subject(NodeTarget):
    """See the module."""

    cases = 400
    intruder: Any = None

    def prepare(self) -> None:
        from node_cases import CASES
        from node_harness import Bench
        from rclpy.qos import QoSProfile

        self.intruder = Bench("intruder", self.bench.namespace)
        for bench in (self.bench, self.intruder):
            bench.drive(qos=QoSProfile(depth=2 * BURST))
        side = f"qos_overrides.{self.bench.namespace}/joint_states.subscription"
        reliable = {f"{side}.reliability": "reliable", f"{side}.depth": 4 * BURST}
        self.subjects = []
        for case in CASES:
            node, answers = case.start(self.bench, state_timeout=20.0, **reliable)
            self.bench.ask(lambda case=case: case.state(self.bench), answers)
            self.subjects.append((case, node, answers, self.bench.processes[-1].process.pid))
        self.bursts, self.before = 0, {}

    def __exit__(self, *arguments: object) -> None:
        if self.intruder is not None:
            self.intruder.close()
        super().__exit__(*arguments)

    def check(self, rng: np.random.Generator, index: int) -> None:
        case, node, _, _ = self.subjects[index % len(self.subjects)]
        noise = case.noise(self.bench, node, rng) if index % 20 < len(self.subjects) else []
        for _ in range(BURST):
            self._send(rng, case)
            if noise and rng.random() < 0.2:
                noise[int(rng.integers(len(noise)))]()
        for case_, node_, answers_, pid in self.subjects:
            self._judge(case_, node_, answers_, pid)
        self.bursts += 1

    def _send(self, rng: np.random.Generator, case: Any) -> None:
        from node_cases import random_state

        names, position, velocity, effort = random_state(rng, case)
        second = rng.random() < 0.4
        stamp = self.bench.now() + int(rng.choice(SHIFTS)) if second else None
        message = self.bench.make_state(names, position, velocity, stamp)
        message.effort = effort
        (self.intruder if second else self.bench).states.publish(message)

    def _judge(self, case: Any, node: str, answers: list[Any], pid: int) -> None:
        from test_node_endurance import resident

        self.require_alive()
        try:
            self.bench.ask(lambda: case.state(self.bench), answers)
        except AssertionError as error:
            raise DefectError(f"{node} does not answer the good driver: {error}") from error
        for answer in answers:
            if not np.isfinite(case.numbers(answer)).all():
                raise DefectError(f"{node} answers {case.numbers(answer)}")
        answers.clear()
        memory = resident(pid)
        if self.bursts <= SETTLED:
            self.before[node] = memory
        elif memory - self.before[node] > GROWTH:
            raise DefectError(f"{node} has grown by {memory - self.before[node]} bytes since burst {SETTLED}")
