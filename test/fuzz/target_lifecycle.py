"""Lifecycle transitions in random order, by label and by id, among them such as no state has, while rubbish comes in;
only an active node answers, and it does. Eight requests a case: ``--count 1250`` makes 10,000."""

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
        from test_node_lifecycle import IDS, LABELS, SHUTDOWN_IDS, TRANSITIONS

        rubbish = self.rubbish[index % len(self.rubbish)]
        driven = rubbish.driven
        bench, node = driven.bench, driven.name
        state = bench.state(node)
        for _ in range(4):
            rubbish.send(rng, int(rng.integers(0, 20)))
            label = str(rng.choice(LABELS))
            wanted = TRANSITIONS.get((state, label))
            nonsense: int | str = int(rng.integers(0, 256))
            if nonsense in {*IDS.values(), *SHUTDOWN_IDS.values()}:
                nonsense = f"{label}{nonsense}"
            if bench.change_state(node, nonsense):
                raise DefectError(f"{node}: {nonsense} while {state}: expected a refusal")
            asked = label if rng.random() < 0.5 else IDS[label]
            if bench.change_state(node, asked) != (wanted is not None):
                raise DefectError(f"{node}: {asked} while {state}: expected {wanted or 'a refusal'}")
            state = wanted or state
            if bench.state(node) != state:
                raise DefectError(f"{node}: {bench.state(node)} after {asked}; expected {state}")
            # The last report may be of a time when it was not active; the next one is waited for now and then.
            wait = True if rng.random() < REPORTS else None
            problems = [*rubbish.problems(wait)] if state == "active" else []
            if problems:
                raise DefectError("\n".join(problems))
        self.require_alive()
