"""Lifecycle transitions in random order while rubbish comes in; only an active node answers, and it does."""

from __future__ import annotations

import numpy as np

from .node_target import NodeTarget
from .target import DefectError

REPORTS = 0.1
"""So many of the active node's reports are waited for."""


class Subject(NodeTarget):
    """See the module."""

    def prepare(self) -> None:
        from rubbish import Rubbish

        self.rubbish = [Rubbish(driven, 100) for driven in self.start_all(room=200)]
        self.cases = 40 * len(self.rubbish)

    def check(self, rng: np.random.Generator, index: int) -> None:
        from test_node_lifecycle import LABELS, TRANSITIONS

        rubbish = self.rubbish[index % len(self.rubbish)]
        driven = rubbish.driven
        bench, node = driven.bench, driven.name
        state = bench.state(node)
        for _ in range(4):
            rubbish.send(rng, int(rng.integers(0, 20)))
            label = str(rng.choice(LABELS))
            wanted = TRANSITIONS.get((state, label))
            if bench.change_state(node, label) != (wanted is not None):
                raise DefectError(f"{node}: {label} while {state}: expected {wanted or 'a refusal'}")
            state = wanted or state
            if bench.state(node) != state:
                raise DefectError(f"{node}: {bench.state(node)} after {label}; expected {state}")
            # The last report may be of a time when it was not active; the next one is waited for now and then.
            wait = True if rng.random() < REPORTS else None
            problems = [*rubbish.problems(wait)] if state == "active" else []
            if problems:
                raise DefectError("\n".join(problems))
        self.require_alive()
