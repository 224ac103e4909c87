"""Parameters of the node simulated_robot."""

from __future__ import annotations

from ...core.robot_options import MODEL_SETTINGS
from ...core.setting import Setting, per_joint
from ...ros.model.model_loading import MODEL_SOURCE_SETTINGS
from ...ros.node.process import AS_STARTED

SIMULATION_MODES = ("motion", "dynamics")
STARTS = ("middle", "initial_position")
SETTINGS = (
    AS_STARTED,
    Setting(
        "robot_description",
        "package://lie_dynamics_ros/urdf/panda_arm.urdf",
        "The robot: URDF text, a file path, file:///path or package://name/path.",
        "while unconfigured",
    ),
    *MODEL_SOURCE_SETTINGS,
    Setting(
        "mode",
        SIMULATION_MODES[0],
        "A motion that depends on time alone, or the dynamics of a robot that obeys commands.",
        "while unconfigured",
        choices=SIMULATION_MODES,
    ),
    Setting("rate", 500.0, "Joint states per second [Hz].", "while unconfigured", low=0.1, high=10_000.0),
    Setting("frequency", 0.2, "Frequency of the motion [Hz].", "while unconfigured", low=0.001, high=10.0),
    Setting("substeps", 2, "Steps of the simulation for each joint state.", "while unconfigured", low=1, high=1000),
    Setting(
        "start",
        STARTS[0],
        "Where the simulated robot starts: in the middle of its ranges, or at initial_position.",
        "while unconfigured",
        choices=STARTS,
    ),
    per_joint("initial_position", 0.0, "[rad, m].", "while unconfigured", low=-1e6, high=1e6),
    Setting("seed", 0, "Of the noise.", "while unconfigured", high=2**31 - 1),
    Setting("publish_clock", False, "Publish simulated time on /clock, and stamp states with it.", "at start"),
    Setting(
        "real_time_factor",
        1.0,
        "Simulated seconds per second; other than 1 only with publish_clock.",
        "while unconfigured",
        low=0.01,
        high=100.0,
    ),
    Setting(
        "lock_step",
        False,
        "Wait after each state for the command that answers it, once there was one; only with publish_clock. Exact "
        "with ~/joint_efforts, whose time stamp is that of the state they answer.",
        "while unconfigured",
    ),
    *MODEL_SETTINGS,
    per_joint("extra_damping", 0.0, "Damping beside that of the URDF [N m s/rad, N s/m].", high=1e6),
    per_joint("extra_friction", 0.0, "Dry friction beside that of the URDF [N m, N].", high=1e6),
    Setting("stops", True, "Stops at the position limits of the URDF."),
    Setting("saturate_efforts", True, "Limit commanded efforts to the effort limits of the URDF."),
    Setting(
        "position_bandwidth",
        50.0,
        "Of joints under position commands, and of brakes [rad/s].",
        low=0.1,
        high=10_000.0,
    ),
    Setting("position_noise", 0.0, "Standard deviation of measured positions [rad, m].", high=10.0),
    Setting("velocity_noise", 0.0, "Standard deviation of measured velocities [rad/s, m/s].", high=100.0),
    Setting("wrap_positions", False, "Report joints without end from -pi to pi, as many drivers do."),
    Setting(
        "command_delay",
        0.0,
        "From a command until it takes effect, whole and half periods of the joint states.",
        "while unconfigured",
        high=10.0,
    ),
    Setting(
        "command_timeout",
        0.1,
        "Commands older than this, in simulated time, count as none, and brakes hold the robot [s]. 0: no limit.",
        high=3600.0,
    ),
)
