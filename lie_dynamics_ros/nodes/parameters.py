"""The parameters of a node as a table in Markdown and as a parameter file, both made of what the node declares.

    python -m lie_dynamics_ros.nodes.parameters computed_torque
    python -m lie_dynamics_ros.nodes.parameters --write config

The first prints the table, which the page of the node shows; the second, `make parameters`, writes the files of all.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import yaml

from ..core.parameters import Setting
from ..lie_dynamics.files import write_file
from .interfaces import INTERFACES

WHEN = {"any time": "", "while unconfigured": "unconfigured", "at start": "start"}
RULES = (
    "Without an entry under *set* a parameter may change at any time; *unconfigured*: only while the node is "
    "unconfigured; *start*: only at the start. A request with one bad value changes nothing. Numbers in YAML need a "
    "decimal point (`0.0`, not `0`). An array holds one number for all joints, axes or legs, or one for each."
)
FILE_RULES = "(start): set at the start only; (unconfigured): while unconfigured. Numbers need the point: 0.0, not 0."
WIDTH, COLUMN = 118, 42
"""Length of lines in parameter files, and the column of comments behind values."""


def node_settings(node: str) -> tuple[Setting, ...]:
    """Return what a node declares, its own parameters first; raises ValueError for the name of no node."""
    if node not in INTERFACES:
        raise ValueError(f"no node is named {node!r}; expected one of: {', '.join(sorted(INTERFACES))}")
    settings: tuple[Setting, ...] = import_module(f".{node}.node", __package__).SETTINGS
    return settings


def _number(value: float) -> str:
    return f"{value:.12g}"


def _yaml(value: object) -> str:
    """Return a value as YAML has it, on one line."""
    return yaml.safe_dump([value], default_flow_style=True, width=10_000).strip()[1:-1]


def _meaning(setting: Setting) -> str:
    words = setting.description.replace("|", "\\|").replace("~/", "\\~/").replace("*", "\\*").replace("_", "\\_")
    if setting.choices:
        words += f" One of {', '.join(f'`{choice}`' for choice in setting.choices)}."
    if setting.high is not None:
        words += f" Range: {_number(setting.low)} to {_number(setting.high)}."
    return words


def parameter_table(node: str) -> str:
    """Return the table of a node's parameters, and the rules about when they may change, in Markdown."""
    rows = [f"| `{s.name}` | `{_yaml(s.default)}` | {WHEN[s.when]} | {_meaning(s)} |" for s in node_settings(node)]
    return "\n".join(["| name | default | set | meaning |", "|---|---|---|---|", *rows, "", RULES, ""])


def parameter_file(node: str) -> str:
    """Return the parameter file of a node, with all defaults and what they mean."""
    lines = [
        f"# Parameters of the node {node}, with their defaults; its page is doc/nodes/{node}.md.",
        f"# {FILE_RULES}",
        "/**:",
        f"  {node}:",
        "    ros__parameters:",
    ]
    for setting in node_settings(node):
        text = setting.description
        if setting.choices:
            text += f" One of: {', '.join(setting.choices)}."
        if WHEN[setting.when]:
            text += f" ({WHEN[setting.when]})"
        entry = f"      {setting.name}: {_yaml(setting.default)}"
        if len(entry) < COLUMN and COLUMN + len(text) <= WIDTH:
            lines.append(f"{entry:{COLUMN}}# {text}")
        else:
            lines += ["", *(f"      # {line}" for line in textwrap.wrap(text, WIDTH - 8)), entry]
    return "\n".join([*lines, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables of the nodes that are named, or write the files of all into a folder."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--write"]:
        for node in INTERFACES:
            write_file(Path(words[1]) / f"{node}.yaml", parameter_file(node))
        return 0
    for node in words:
        print(parameter_table(node))
    return 0


if __name__ == "__main__":
    sys.exit(main())
