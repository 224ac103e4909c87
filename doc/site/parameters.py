"""The directive ``{parameters} node``: the table of a node's parameters, as the node declares them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

SECTIONS = {
    "base_link": "joint_states.md#part-of-a-robot",
    "base_motion": "moving_base.md",
    "carrying_joints": "moving_base.md",
    "contact_reaction": "computed_torque.md#contacts",
    "end_when_deaf": "../real_time.md#what-is-reported-when-a-process-cannot-be-reached",
    "friction_file": "inverse_dynamics.md#friction",
    "gravity_source": "imu.md",
    "idle_joints": "../closed_loop_tracking.md#idle-freedoms",
    "joint_age_limit": "joint_states.md#several-drivers",
    "joint_prefix": "joint_states.md#prefixes",
    "largest_deviation": "../contact.md#what-is-felt",
    "locked_joints": "joint_states.md#joints-without-states",
    "loops": "../closed_loops.md#in-yaml",
    "platform": "../stewart.md#geometry-and-conventions",
    "thread_priority": "../real_time.md",
    "velocity_source": "joint_states.md#velocities",
}
"""Where a parameter is explained, from the folder of the nodes' pages."""


class Parameters(SphinxDirective):
    """Shows the table; what is written in the directive is for readers of the file itself."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table, with links to the sections that explain parameters."""
        from lie_dynamics_ros.nodes.parameters import parameter_table  # needs rclpy

        text = parameter_table(self.arguments[0])
        for name, section in SECTIONS.items():
            text = text.replace(f"| `{name}` |", f"| [`{name}`]({section}) |")
        return self.parse_text_to_nodes(text)


def setup(app: Any) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("parameters", Parameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
