"""Topics and services of each node, in one list: pages and nodes are checked against it, and policies come from it.

    python -m lie_dynamics_ros.nodes.interfaces config/policies

writes access control policies for SROS 2, one file a node, in the format of its policy schema, version 0.2.0, which
``ros2 security create_permission`` reads. Names are relative to the namespace of the node, or (``~/``) to the node.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ..lie_dynamics.files import write_file


@dataclass(frozen=True)
class Interface:
    """Topics, services and actions of a node besides `COMMON`; ``requests`` and ``calls`` are those of others."""

    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def _of(publishes: str = "", subscribes: str = "", serves: str = "", acts: str = "") -> Interface:
    """Return interfaces whose names stand in texts."""
    return Interface(*(tuple(names.split()) for names in (publishes, subscribes, serves, acts)))


COMMON = _of(
    "/rosout /parameter_events /diagnostics ~/transition_event",
    "/clock",
    "~/describe_parameters ~/get_parameter_types ~/get_parameters ~/list_parameters ~/set_parameters "
    "~/set_parameters_atomically ~/get_type_description ~/change_state ~/get_state ~/get_available_states "
    "~/get_available_transitions ~/get_transition_graph",
)
"""Interfaces of every node: logging, parameters, lifecycle, simulated time, diagnostics."""

ROBOT_HEARS = "joint_states robot_description ~/external_wrench ~/gripped imu"
"""Topics of nodes that answer the states of a robot."""
TREE_HEARS = f"{ROBOT_HEARS} odometry ~/desired_base_acceleration ~/carrying_accelerations"
"""The same, with those of a base that moves."""

INTERFACES = {
    "inverse_dynamics": _of(
        "~/joint_efforts ~/commands ~/gravity_efforts ~/dynamics_state ~/base_wrench",
        f"{TREE_HEARS} ~/joint_trajectory_point ~/joint_trajectory",
        "~/set_payload ~/compute_inverse_dynamics ~/compute_mass_matrix ~/compute_bias_force "
        "~/compute_dynamics_derivatives",
    ),
    "hybrid_dynamics": _of(
        "~/joint_accelerations ~/joint_efforts ~/dynamics_state ~/base_wrench ~/base_acceleration",
        f"{TREE_HEARS} ~/command ~/joint_trajectory",
        "~/set_payload ~/compute_hybrid_dynamics ~/compute_forward_dynamics ~/compute_dynamics_derivatives",
    ),
    "computed_torque": _of(
        "~/commands ~/joint_efforts ~/tracking_error ~/setpoint ~/estimated_inertia ~/phase ~/control_state "
        "~/controller_state ~/trajectory_status ~/desired_pose ~/tool_pose",
        f"{TREE_HEARS} ~/joint_trajectory ~/speed_scaling ~/speed_scaling_input ~/contact ~/target_pose ~/target_twist",
        "~/hold ~/set_payload ~/check_trajectory ~/plan_motion ~/query_state",
        "~/follow_joint_trajectory",
    ),
    "closed_loop": _of(
        "~/joint_states ~/joint_accelerations ~/joint_efforts ~/commands ~/external_wrench_estimate ~/pose "
        "~/pose_stamped ~/twist ~/status /tf",
        f"{ROBOT_HEARS} ~/command ~/joint_trajectory",
        "~/reset ~/set_payload ~/travel_left",
    ),
    "contact": _of(
        "~/external_efforts ~/contact_wrench ~/touching ~/contact_state ~/payload",
        TREE_HEARS,
        "~/measure_noise ~/record_unloaded ~/record_loaded ~/identify_payload ~/set_payload",
    ),
    "tool_wrench": _of(
        "~/contact_wrench", f"{TREE_HEARS} ~/wrench", "~/calibrate ~/forget_poses ~/zero ~/set_payload"
    ),
    "viewer": _of(
        "",
        "joint_states robot_description computed_torque/joint_efforts closed_loop/joint_efforts "
        "closed_loop/joint_states inverse_dynamics/joint_efforts contact/contact_wrench tool_wrench/contact_wrench "
        "contact/touching stewart_pose/pose stewart_pose/status /diagnostics",
    ),
    "stewart_pose": _of(
        "~/pose ~/pose_stamped ~/twist ~/status ~/markers /tf",
        "joint_states imu leg_temperature",
        "~/reset ~/forward_kinematics ~/inverse_kinematics ~/assembly_modes ~/travel_left",
    ),
    "stewart_command": _of(
        "~/leg_commands ~/commands ~/desired_pose ~/phase",
        "joint_states imu ~/target_pose ~/target_twist ~/path ~/trajectory ~/vehicle",
        "~/hold ~/level ~/ride ~/check_path ~/travel_left",
    ),
    "simulated_robot": _of(
        "joint_states robot_description ~/joint_trajectory_point /clock",
        "~/commands ~/joint_efforts ~/joint_trajectory",
        "~/reset",
    ),
    "simulated_stewart": _of(
        "joint_states imu ~/true_pose ~/true_twist", "~/desired_pose ~/leg_commands", "~/reset"
    ),
}
"""Interfaces by node; some topics only with a parameter, or where their message package is installed."""


# Policies of SROS 2.

VERSION = "0.2.0"
DRIVER = _of("joint_states robot_description", "/computed_torque/commands")
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
