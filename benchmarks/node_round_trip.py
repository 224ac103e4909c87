"""Node inverse_dynamics: round trip of a joint state at 1 kHz, against a bare relay.

The client, the node and the relay are three processes. Node and relay take turns, so that slow spells of the machine
meet both; each pair of turns gives one ratio.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .results import Figure, at_least, at_most
from .ros_bench import ARM, Client, ros

RATE = 1000.0
TURN = 4.0
PAIRS = 9


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the percentiles of every turn."""
    turns: dict[str, list[dict[str, float]]] = {"relay": [], "inverse_dynamics": []}
    with ros() as children:
        in_own_namespace = {name: {"__ns": f"/{name}"} for name in turns}
        children.start("relay", {}, in_own_namespace["relay"], module="benchmarks.relay")
        children.start("inverse_dynamics", {"robot_description": ARM}, in_own_namespace["inverse_dynamics"])
        clients = {name: Client(name) for name in turns}
        for client in clients.values():
            client.await_answers()
        for pair in range(PAIRS):
            # Who goes first alternates.
            for name in sorted(turns, reverse=bool(pair % 2)):
                trips, sent = clients[name].stream(RATE, TURN)
                p50, p99 = np.percentile(trips, (50, 99)) * 1e6
                turns[name].append({"p50 [us]": p50, "p99 [us]": p99, "answered": len(trips) / sent})
        for client in clients.values():
            client.close()
    relay, node = turns["relay"], turns["inverse_dynamics"]
    ratios = [n["p50 [us]"] / r["p50 [us]"] for n, r in zip(node, relay, strict=True)]
    answered = float(np.mean([n["answered"] for n in node]))
    figures = [
        at_most(f"round trip, ratio to the relay (median of {PAIRS} pairs)", float(np.median(ratios)), "", 1.25),
        at_least("states answered at 1 kHz", 100.0 * answered, "%", 99.0),
        Figure("states answered by the relay", 100.0 * float(np.mean([r["answered"] for r in relay])), "%"),
        Figure("round trip of the node, p50", float(np.median([n["p50 [us]"] for n in node])), "us"),
        Figure("round trip of the node, p99", float(np.median([n["p99 [us]"] for n in node])), "us"),
        Figure("round trip of the relay, p50", float(np.median([r["p50 [us]"] for r in relay])), "us"),
        Figure("round trip of the relay, p99", float(np.median([r["p99 [us]"] for r in relay])), "us"),
    ]
    return figures, {"turns": turns, "ratios": ratios}
