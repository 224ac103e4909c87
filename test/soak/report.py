"""The report of a run: Markdown and a picture."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from .disturbances import LIMITS
from .findings import Findings
from .schedule import KINDS, NODES
from .stalls import LATE, PERIOD, PRIORITY

MARKS = {True: "yes", False: "**no**", None: "not judged"}
LATEST = 600.0
"""For nodes that did not answer again, so long is told what stood still [s]."""
MOST = 20
"""Of single findings that are listed."""


def write(findings: Findings, directory: Path, seed: int, hours: float, remarks: list[str]) -> bool:
    """Write ``report.md`` and ``soak.png``; returns whether all that is judged holds."""
    verdicts = findings.verdicts()
    good = all(holds is not False for *_, holds in verdicts)
    rate = "" if findings.rate == 1000.0 else f" --rate {findings.rate:g}"
    command = f"make soak HOURS={hours:g} SOAK_ARGS='--seed {seed}{rate}'"
    lines = [f"# Soak: {hours:g} h, seed {seed}", "", f"`{command}`", ""]
    lines += [f"- {remark}" for remark in remarks]
    answered = ", ".join(f"{name} {count}" for name, count in findings.count.items())
    shares = ", ".join(f"{name} {100.0 * share:.0f} %" for name, share in findings.shares().items())
    stood = [(b - a) * 1e-9 for _, a, b in findings.stalls]
    lines += [
        f"- States heard of the arm: {findings.states}; answers: {answered}.",
        f"- Processor time, of one processor: {shares}.",
        "- Datagrams that found no room in a socket: "
        + ", ".join(f"{count} on the side of the {side}" for side, count in findings.dropped.items())
        + ".",
        f"- Processors stood still for more than {1e3 * (LATE + PERIOD):g} ms {len(stood)} times, {sum(stood):.2f} s "
        f"in all, {max(stood, default=0.0):.3f} s at the longest (by a thread on each with priority {PRIORITY}).",
        "",
    ]
    lines += ["| what | found | limit | holds |", "|---|---|---|---|"]
    lines += [f"| {what} | {value} | {limit} | {MARKS[holds]} |" for what, value, limit, holds in verdicts]
    lines += [
        "",
        "Time to the first answer after each kind of disturbance, of the nodes that it concerns (0: within 20 ms):",
        "",
    ]
    lines += ["| disturbance | times | median | longest |", "|---|---|---|---|"]
    answers = findings.first_answers()
    for kind in KINDS:
        times = [t for e, _, t in answers if e.what.kind == kind]
        if times:
            count = sum(e.what.kind == kind for e in findings.events)
            lines.append(f"| {kind} | {count} | {np.median(times):.3f} s | {max(times):.3f} s |")
    stops = [phase for phase in findings.phases if phase.startswith("stopped")]
    lines += ["", f"Stops of the controller: {len(stops)}.", ""]
    lines += [f"- {phase}" for phase in stops[:MOST]]
    for name, when, age in findings.stale[:MOST]:
        since = when - max(age, 0)
        lines.append(f"- stale: {name}, state {age * 1e-9:.3f} s old; {findings.cause(since, when)}")
    for node, begin, end in findings.silences()[:MOST]:
        lines.append(f"- silent: {node} for {(end - begin) * 1e-9:.3f} s; {findings.cause(begin, end)}")
    for event, node, late in answers:
        if late > LIMITS.get(event.what.kind, math.inf):
            until = event.due + round(min(late, LATEST) * 1e9)
            lines.append(f"- late: {node} by {late:.3f} s; {findings.cause(event.due, until)}")
    lines += [f"- ended: {text}" for text in findings.ended[:MOST]]
    lines += ["", "![answers, memory and first answers over time](soak.png)", ""]
    (directory / "report.md").write_text("\n".join(lines), encoding="utf-8")
    _draw(findings, directory / "soak.png")
    for what, value, limit, holds in verdicts:
        print(f"soak: {what}: {value} (limit {limit}): {MARKS[holds]}")
    return good


def _draw(findings: Findings, path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    start = findings.rates[0][0]

    def minutes(time: float) -> float:
        return (time - start) / 60e9

    figure, (rates, memory, first) = pyplot.subplots(3, 1, figsize=(11, 9), sharex=True, constrained_layout=True)
    colors = {kind: f"C{k}" for k, kind in enumerate(KINDS)}
    for axes in (rates, memory):
        for event in findings.events:
            axes.axvspan(
                minutes(event.begin), minutes(max(event.due, event.end)), color=colors[event.what.kind], alpha=0.3, lw=0
            )
    for k, node in enumerate(NODES):
        style = ("-", "--", ":")[k]
        rates.plot(
            [minutes(t) for t, _ in findings.rates],
            [n[node] for _, n in findings.rates],
            f"k{style}",
            lw=0.8,
            label=node,
        )
        samples = findings.samples[node]
        memory.plot([minutes(t) for t, *_ in samples], [m for _, _, m, *_ in samples], f"k{style}", lw=0.8, label=node)
    rates.set_ylabel("answers in a second")
    memory.set_ylabel("resident memory [MB]")
    rates.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(findings.samples))
    for kind in KINDS:
        found = [(minutes(e.due), max(t, 1e-3)) for e, _, t in findings.first_answers() if e.what.kind == kind]
        if found:
            first.plot(*zip(*found, strict=True), "o", color=colors[kind], ms=4, label=kind)
    for kind, limit in LIMITS.items():
        first.axhline(limit, color=colors[kind], lw=0.8)
    first.set(yscale="log", ylabel="time to the first answer [s]", xlabel="time [min]")
    if findings.events:
        figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
