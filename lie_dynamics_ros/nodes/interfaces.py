"""Topics and services of each node, in one list: policies come from it, pages and nodes are checked against it.

Names are relative to the namespace of the node, or (``~/``) to the node itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interface:
    """Interfaces of a node besides `COMMON`.

    Attributes
    ----------
    publishes, subscribes, serves, acts, requests, calls : tuple of str
        Topics, services and actions; the last two are services and actions of others.
    """

    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


COMMON = Interface(
    publishes=("/rosout", "/parameter_events", "/diagnostics", "~/transition_event"),
    subscribes=("/clock",),
    serves=(
        "~/describe_parameters",
        "~/get_parameter_types",
        "~/get_parameters",
        "~/list_parameters",
        "~/set_parameters",
        "~/set_parameters_atomically",
        "~/get_type_description",
        "~/change_state",
        "~/get_state",
        "~/get_available_states",
        "~/get_available_transitions",
        "~/get_transition_graph",
    ),
)
"""Interfaces of every node: logging, parameters, lifecycle, simulated time, diagnostics."""

BASE = ("imu", "odometry", "~/desired_base_acceleration", "~/carrying_accelerations")
"""Topics with the orientation and motion of a robot's base."""

INTERFACES = {
    "inverse_dynamics": Interface(
        ("~/joint_efforts", "~/commands", "~/gravity_efforts", "~/dynamics_state", "~/base_wrench"),
        (
            "joint_states",
            "robot_description",
            "~/joint_trajectory_point",
            "~/joint_trajectory",
            "~/external_wrench",
            "~/gripped",
            *BASE,
        ),
        (
            "~/set_payload",
            "~/compute_inverse_dynamics",
            "~/compute_mass_matrix",
            "~/compute_bias_force",
            "~/compute_dynamics_derivatives",
        ),
    ),
    "hybrid_dynamics": Interface(
        ("~/joint_accelerations", "~/joint_efforts", "~/dynamics_state", "~/base_wrench", "~/base_acceleration"),
        (
            "joint_states",
            "robot_description",
            "~/command",
            "~/joint_trajectory",
            "~/external_wrench",
            "~/gripped",
            *BASE,
        ),
        (
            "~/set_payload",
            "~/compute_hybrid_dynamics",
            "~/compute_forward_dynamics",
            "~/compute_dynamics_derivatives",
        ),
    ),
    "computed_torque": Interface(
        (
            "~/commands",
            "~/joint_efforts",
            "~/tracking_error",
            "~/setpoint",
            "~/estimated_inertia",
            "~/phase",
            "~/control_state",
            "~/controller_state",
            "~/trajectory_status",
            "~/desired_pose",
            "~/tool_pose",
        ),
        (
            "joint_states",
            "robot_description",
            "~/joint_trajectory",
            "~/external_wrench",
            "~/gripped",
            *BASE,
            "~/speed_scaling",
            "~/speed_scaling_input",
            "~/contact",
            "~/target_pose",
            "~/target_twist",
        ),
        ("~/hold", "~/set_payload", "~/check_trajectory", "~/plan_motion", "~/query_state"),
        ("~/follow_joint_trajectory",),
    ),
    "closed_loop": Interface(
        (
            "~/joint_states",
            "~/joint_accelerations",
            "~/joint_efforts",
            "~/commands",
            "~/external_wrench_estimate",
            "~/pose",
            "~/pose_stamped",
            "~/twist",
            "~/status",
            "/tf",
        ),
        (
            "joint_states",
            "robot_description",
            "~/command",
            "~/joint_trajectory",
            "~/external_wrench",
            "~/gripped",
            "imu",
        ),
        ("~/reset", "~/set_payload", "~/travel_left"),
    ),
    "contact": Interface(
        ("~/external_efforts", "~/contact_wrench", "~/touching", "~/contact_state", "~/payload"),
        ("joint_states", "robot_description", "~/external_wrench", "~/gripped", *BASE),
        ("~/measure_noise", "~/record_unloaded", "~/record_loaded", "~/identify_payload", "~/set_payload"),
    ),
    "tool_wrench": Interface(
        ("~/contact_wrench",),
        ("joint_states", "robot_description", "~/wrench", "~/external_wrench", "~/gripped", *BASE),
        ("~/calibrate", "~/forget_poses", "~/zero", "~/set_payload"),
    ),
    "viewer": Interface(
        (),
        (
            "joint_states",
            "robot_description",
            "computed_torque/joint_efforts",
            "closed_loop/joint_efforts",
            "closed_loop/joint_states",
            "inverse_dynamics/joint_efforts",
            "contact/contact_wrench",
            "tool_wrench/contact_wrench",
            "contact/touching",
            "stewart_pose/pose",
            "stewart_pose/status",
            "/diagnostics",
        ),
    ),
    "stewart_pose": Interface(
        ("~/pose", "~/pose_stamped", "~/twist", "~/status", "~/markers", "/tf"),
        ("joint_states", "imu", "leg_temperature"),
        (
            "~/reset",
            "~/forward_kinematics",
            "~/inverse_kinematics",
            "~/assembly_modes",
            "~/travel_left",
        ),
    ),
    "stewart_command": Interface(
        ("~/leg_commands", "~/commands", "~/desired_pose", "~/phase"),
        ("joint_states", "imu", "~/target_pose", "~/target_twist", "~/path", "~/trajectory", "~/vehicle"),
        ("~/hold", "~/level", "~/ride", "~/check_path", "~/travel_left"),
    ),
    "simulated_robot": Interface(
        ("joint_states", "robot_description", "~/joint_trajectory_point", "/clock"),
        ("~/commands", "~/joint_efforts", "~/joint_trajectory"),
        ("~/reset",),
    ),
    "simulated_stewart": Interface(
        ("joint_states", "imu", "~/true_pose", "~/true_twist"),
        ("~/desired_pose", "~/leg_commands"),
        ("~/reset",),
    ),
}
"""Interfaces by node; some topics only with a parameter, or where their message package is installed."""
