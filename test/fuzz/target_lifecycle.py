"""Lifecycle transitions in random order while states and rubbish come in; only an active node answers, and it does."""

from __future__ import annotations

import numpy as np

from .node_target import NodeTarget
from .target import DefectError


class Subject(NodeTarget):
    """See the module."""

    cases = 300

    def prepare(self) -> None:
        from node_cases import CASES

        self.subjects = []
        for case in CASES:
            node, answers = case.start(self.bench, state_timeout=20.0)
            self.bench.wait_state(node, "active")
            self.subjects.append((case, node, answers))

    def check(self, rng: np.random.Generator, index: int) -> None:
        from node_cases import random_state
        from test_node_lifecycle import LABELS, TRANSITIONS

        bench = self.bench
        case, node, answers = self.subjects[index % len(self.subjects)]
        state = bench.state(node)
        for _ in range(4):
            for _ in range(int(rng.integers(0, 10))):
                names, position, velocity, _ = random_state(rng, case)
                bench.states.publish(bench.make_state(names, position, velocity))
                bench.states.publish(case.state(bench))
            label = str(rng.choice(LABELS))
            wanted = TRANSITIONS.get((state, label))
            if bench.change_state(node, label) != (wanted is not None):
                raise DefectError(f"{node}: {label} while {state}: expected {wanted or 'a refusal'}")
            state = wanted or state
            if bench.state(node) != state:
                raise DefectError(f"{node}: {bench.state(node)} after {label}; expected {state}")
            if any(not np.isfinite(case.numbers(answer)).all() for answer in answers):
                raise DefectError(f"{node} answered with numbers that are not finite")
            answers.clear()
            if state == "active":
                bench.ask(lambda: case.state(bench), answers)
        self.require_alive()
