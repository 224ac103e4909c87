"""Messages of every kind that each node hears, from two publishers, one with a shifted clock; see `Rubbish`.

After each burst the good driver's state is answered, with nothing but finite numbers on the way; memory stays bounded.
Node by node they take turns; 100 bursts each are 20,000 messages a node.
"""

from __future__ import annotations

import re

import numpy as np

from .node_target import NodeTarget
from .target import DefectError

BURST = 200
BURSTS = 100
GROWTH = 16 * 2**20
"""Most that a node may grow by after its first bursts [bytes]."""
SETTLED = 10
"""Bursts after which a node has allocated what it needs."""
WAIT = 5
"""A node's reports, which come once a second, are waited for after one burst in so many."""
SAID = re.compile(r"lie_dynamics_ros/\S+\.py:\d+: \w+Warning:|Traceback")
"""What no node may say; rclpy has warnings of its own."""


class Subject(NodeTarget):
    """See the module."""

    def prepare(self) -> None:
        from rubbish import Rubbish

        self.rubbish = [Rubbish(driven, 2 * BURST) for driven in self.start_all(room=4 * BURST)]
        self.cases = BURSTS * len(self.rubbish)
        self.bursts, self.before, self.read = [0] * len(self.rubbish), [0] * len(self.rubbish), [0] * len(self.rubbish)

    def check(self, rng: np.random.Generator, index: int) -> None:
        from test_node_robustness import resident

        k = index % len(self.rubbish)
        rubbish, process = self.rubbish[k], self.rubbish[k].driven.bench.processes[-1]
        rubbish.send(rng, BURST)
        problems = [*rubbish.problems(wait=self.bursts[k] % WAIT == 0)]
        said, self.read[k] = process.output[self.read[k] :], len(process.output)
        self.require_alive()
        if SAID.search(said):
            problems.append(f"{rubbish.driven.name} said: {said[-3000:]}")
        memory = resident(process.process.pid)
        self.bursts[k] += 1
        if self.bursts[k] <= SETTLED:
            self.before[k] = memory
        elif memory - self.before[k] > GROWTH:
            problems.append(f"{rubbish.driven.name} has grown by {memory - self.before[k]} bytes since burst {SETTLED}")
        if problems:
            raise DefectError("\n".join(problems))
