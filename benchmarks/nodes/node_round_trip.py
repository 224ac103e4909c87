"""Each node that answers: round trip of a state at 1 kHz, against a bare relay that answers with the same type.

The client, the node and the relay are three processes. Node and relay take turns, so that slow spells of the machine
meet both; each pair of turns gives one ratio. Turns are short and many, since spells last for seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..results import Figure, at_least, at_most
from .ros_bench import Client, processor_time, ros
from .subjects import COMPUTED_TORQUE, Subject, runs

RATE = 1000.0
TURN = 1.0
PAIRS = 36


def measure(subject: Subject) -> tuple[list[Figure], Any]:
    """Measure one node; returns figures and the percentiles of every turn."""
    name = subject.node
    # The controller answers with commands, besides the efforts that are timed.
    ratio, core = (None, 25.0) if subject is COMPUTED_TORQUE else (1.15, 20.0)
    turns: dict[str, list[dict[str, float]]] = {"relay": [], name: []}
    busy = 0.0
    with ros() as children:
        children.start("relay", {"subject": name}, {"__ns": "/relay"}, module="benchmarks.nodes.relay")
        children.start(name, subject.parameters, {"__ns": f"/{name}"})
        clients = {who: Client(who, subject) for who in turns}
        for client in clients.values():
            client.await_answers()
        for pair in range(PAIRS):
            # Who goes first alternates.
            for who in sorted(turns, reverse=bool(pair % 2)):
                before = processor_time(children.process_id(name))
                sent = clients[who].stream(RATE, TURN)
                if who == name:
                    busy += processor_time(children.process_id(name)) - before
                trips = clients[who].collect()
                p50, p99 = np.percentile(trips, (50, 99)) * 1e6
                turns[who].append({"p50 [us]": p50, "p99 [us]": p99, "answered": len(trips) / sent})
        for client in clients.values():
            client.close()
    relay, node = turns["relay"], turns[name]
    ratios = [n["p50 [us]"] / r["p50 [us]"] for n, r in zip(node, relay, strict=True)]
    answered = float(np.mean([n["answered"] for n in node]))
    what, median = f"round trip, ratio to the relay (median of {PAIRS} pairs)", float(np.median(ratios))
    figures = [
        Figure(what, median, "") if ratio is None else at_most(what, median, "", ratio),
        at_least("states answered at 1 kHz", 100.0 * answered, "%", 99.5),
        at_most("one core, at 1 kHz", 100.0 * busy / (PAIRS * TURN), "%", core),
        Figure("states answered by the relay", 100.0 * float(np.mean([r["answered"] for r in relay])), "%"),
        Figure("round trip of the node, p50", float(np.median([n["p50 [us]"] for n in node])), "us"),
        Figure("round trip of the node, p99", float(np.median([n["p99 [us]"] for n in node])), "us"),
        Figure("round trip of the relay, p50", float(np.median([r["p50 [us]"] for r in relay])), "us"),
        Figure("round trip of the relay, p99", float(np.median([r["p99 [us]"] for r in relay])), "us"),
    ]
    return figures, {"turns": turns, "ratios": ratios}


MEASURED = runs("node_round_trip", "round trip of a state at 1 kHz, against a bare relay", measure)
