"""Access control policies for SROS 2, one file a node, generated from `interfaces`.

    python -m lie_dynamics_ros.nodes.policies config/policies

The format is that of SROS 2's policy schema, version 0.2.0; ``ros2 security create_permission`` reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ..lie_dynamics.files import write_file
from .interfaces import COMMON, INTERFACES, Interface

VERSION = "0.2.0"
DRIVER = Interface(
    publishes=("joint_states", "robot_description"), subscribes=("/computed_torque/commands",), serves=()
)
PLANNER = Interface(
    publishes=("/computed_torque/joint_trajectory", "/computed_torque/speed_scaling"),
    subscribes=("joint_states", "/computed_torque/phase", "/computed_torque/trajectory_status"),
    requests=("/computed_torque/hold", "/computed_torque/check_trajectory", "/computed_torque/plan_motion"),
    calls=("/computed_torque/follow_joint_trajectory",),
)
"""Access of a driver and a planner beside ``computed_torque``: an example, to be given the names of your own nodes."""
OTHERS = {"driver": DRIVER, "planner": PLANNER}


def policy(node: str, interface: Interface) -> str:
    """Return the policy of one node, in an enclave of its own: what the interface names, and nothing else."""
    entries = (
        ("topics", "publish", "topic", (*COMMON.publishes, *interface.publishes)),
        ("topics", "subscribe", "topic", (*COMMON.subscribes, *interface.subscribes)),
        ("services", "reply", "service", (*COMMON.serves, *interface.serves)),
        ("services", "request", "service", interface.requests),
        ("actions", "execute", "action", interface.acts),
        ("actions", "call", "action", interface.calls),
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<policy version="{VERSION}">', "  <enclaves>"]
    lines += [f"    <enclave path={quoteattr(f'/lie_dynamics/{node}')}>", "      <profiles>"]
    lines += [f'        <profile ns="/" node={quoteattr(node)}>']
    for group, right, item, names in filter(lambda entry: entry[3], entries):
        lines.append(f'          <{group} {right}="ALLOW">')
        lines += [f"            <{item}>{name}</{item}>" for name in dict.fromkeys(names)]
        lines.append(f"          </{group}>")
    lines += ["        </profile>", "      </profiles>", "    </enclave>", "  </enclaves>", "</policy>", ""]
    return "\n".join(lines)


def policies() -> dict[str, str]:
    """Return the policies of all nodes by the names of their files."""
    return {f"{node}.policy.xml": policy(node, interface) for node, interface in {**INTERFACES, **OTHERS}.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Write all policies into a folder."""
    (folder,) = map(Path, sys.argv[1:] if argv is None else argv)
    for name, text in policies().items():
        write_file(folder / name, text)
        print(folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
