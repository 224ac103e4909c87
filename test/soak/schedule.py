"""What is disturbed when: drawn from a seed, each kind once in every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NODES = ("computed_torque", "inverse_dynamics", "stewart_pose")
QUIET = 15.0
"""Without disturbances at the start, and half as long at the end [s]."""
RESTARTS = 0.25
"""Nodes are ended and started again in this part of the run only: what follows shows the slope of their memory."""
KINDS = (
    "link cut",
    "driver killed",
    "node frozen",
    "driver's clock jumps",
    "second publisher",
    "driver frozen",
    "node restarted",
    "described again",
    "another robot",
)


@dataclass(frozen=True)
class Disturbance:
    """One disturbance.

    Attributes
    ----------
    at : float
        When, since the start [s].
    kind : str
        One of `KINDS`.
    lasts : float
        How long [s].
    node : str
        Which node, for those that concern one.
    shift : float
        Of a clock [s].
    """

    at: float
    kind: str
    lasts: float
    node: str
    shift: float


def draw(seed: int, duration: float, kinds: Sequence[str] = KINDS) -> list[Disturbance]:
    """Draw the disturbances of a run of this length [s]; a longer run begins like a shorter one but for restarts."""
    rng = np.random.default_rng(seed)
    found: list[Disturbance] = []
    at, restarted = QUIET, 0
    while True:
        for kind in rng.permutation(kinds):
            lasts = float(np.exp(rng.uniform(np.log(0.2), np.log(2.0))))
            node = str(rng.choice(NODES))
            shift = float(rng.choice((-2.0, -0.05, 0.09, 2.0)))
            pause = float(rng.uniform(4.0, 8.0))
            if kind == "node restarted":
                if len(kinds) > 1 and restarted >= len(NODES) and at > RESTARTS * duration:
                    continue
                node = NODES[restarted % len(NODES)]
                restarted += 1
            if at + lasts + pause > duration - QUIET / 2:
                return found
            found.append(Disturbance(at, str(kind), lasts, node, shift))
            at += lasts + pause
