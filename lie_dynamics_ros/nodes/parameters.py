"""The table of a node's parameters in Markdown, made from what the node declares.

    python -m lie_dynamics_ros.nodes.parameters computed_torque

The pages of the nodes show it on the site.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import yaml

from ..core.setting import Setting
from ..ros.node.description_source import DESCRIPTION_SETTINGS
from ..ros.node.managed_node import COMMON_SETTINGS
from .interfaces import INTERFACES

WITHOUT_DESCRIPTION = frozenset({"simulated_robot", "simulated_stewart", "stewart_command", "stewart_pose"})
"""Nodes that do not read the topic ``robot_description``."""
WHEN = {"any time": "", "while unconfigured": "unconfigured", "at start": "start"}
RULES = (
    "Without an entry under *set* a parameter may change at any time; *unconfigured*: only while the node is "
    "unconfigured; *start*: only at the start. A request with one bad value changes nothing. Numbers in YAML need a "
    "decimal point (`0.0`, not `0`). An array holds one number for all joints, axes or legs, or one for each."
)


def node_settings(node: str) -> tuple[Setting, ...]:
    """Return what a node declares, its own settings first; they take the place of common ones of the same name.

    Raises ValueError for the name of no node.
    """
    if node not in INTERFACES:
        raise ValueError(f"no node is named {node!r}; expected one of: {', '.join(sorted(INTERFACES))}")
    described = () if node in WITHOUT_DESCRIPTION else DESCRIPTION_SETTINGS
    own = import_module(f".{node}.node", __package__).SETTINGS
    settings: dict[str, Setting] = {}
    for setting in (*own, *described, *COMMON_SETTINGS):
        settings.setdefault(setting.name, setting)
    return tuple(settings.values())


def _number(value: float) -> str:
    return f"{value:.12g}"


def _default(value: object) -> str:
    """Return a value as YAML has it, on one line."""
    text = yaml.safe_dump([value], default_flow_style=True, width=10_000).strip()[1:-1]
    return f"`{text}`"


def _meaning(setting: Setting) -> str:
    words = setting.description.replace("|", "\\|").replace("~/", "\\~/").replace("*", "\\*").replace("_", "\\_")
    if setting.choices:
        words += f" One of {', '.join(f'`{choice}`' for choice in setting.choices)}."
    if setting.high is not None:
        words += f" Range: {_number(setting.low)} to {_number(setting.high)}."
    return words


def parameter_table(node: str) -> str:
    """Return the table of a node's parameters, and the rules about when they may change, in Markdown."""
    rows = [f"| `{s.name}` | {_default(s.default)} | {WHEN[s.when]} | {_meaning(s)} |" for s in node_settings(node)]
    return "\n".join(["| name | default | set | meaning |", "|---|---|---|---|", *rows, "", RULES, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables of the nodes that are named."""
    for node in sys.argv[1:] if argv is None else argv:
        print(parameter_table(node))
    return 0


if __name__ == "__main__":
    sys.exit(main())
