"""Parameters of the node `stewart_command`."""

from __future__ import annotations

from ...core.commanding.platform_load import LOAD_SETTINGS
from ...core.setting import Setting
from ...ros.model.platform_loading import PLATFORM_SETTINGS
from .options import WASHOUT
from .targets import SHAPES


def _filter(name: str, default: float, description: str) -> Setting:
    text = f"{description} One for all axes, or x, y, z."
    return Setting(WASHOUT + name, [default], text, low=0.001, high=1000.0)


WASHOUT_SETTINGS = (
    Setting(WASHOUT + "force_scale", [0.5], "Part of the vehicle's specific force, beyond that at rest, that is to be"
            " felt. One for all axes, or x, y, z.", low=-100.0, high=100.0),
    Setting(WASHOUT + "rate_scale", [0.5], "Part of its angular velocity. One for all axes, or x, y, z.",
            low=-100.0, high=100.0),
    Setting(WASHOUT + "largest_force", 10.0, "Largest scaled force, over mass [m/s^2].", low=0.001, high=1000.0),
    Setting(WASHOUT + "largest_rate", 2.0, "Largest scaled angular velocity [rad/s].", low=0.001, high=1000.0),
    _filter("translation_cutoff", 2.5, "Of the high-pass filter of accelerations [rad/s]."),
    _filter("translation_damping", 1.0, "Its damping ratio."),
    _filter("return_cutoff", 0.3, "Of the high-pass filter that brings the platform back [rad/s]."),
    _filter("rotation_cutoff", 1.0, "Of the high-pass filter of angular velocities [rad/s]."),
    _filter("rotation_damping", 1.0, "Its damping ratio."),
    _filter("tilt_cutoff", 3.0, "Of the low-pass filter whose output the platform tilts to [rad/s]."),
    _filter("tilt_damping", 1.0, "Its damping ratio."),
    Setting(WASHOUT + "tilt_rate", 0.05, "Largest angular speed of the tilt, below what riders perceive [rad/s].",
            low=0.0001, high=100.0),
    Setting(WASHOUT + "tilt_angle", 0.3, "Largest tilt [rad].", low=0.001, high=1.5),
    Setting("vehicle_timeout", 0.2, "Silence of the vehicle, or age of its messages, after which it counts as at rest"
            " [s].", low=0.001, high=60.0),
)  # fmt: skip

COMMAND_SETTINGS = (
    Setting("rate", 500.0, "Set points per second [Hz].", "while unconfigured", low=1.0, high=10_000.0),
    Setting("max_rate", 0.2, "Largest rate of a leg [m/s].", low=1e-6, high=100.0),
    Setting("max_acceleration", 1.0, "Largest acceleration of a leg [m/s^2].", low=1e-6, high=10_000.0),
    Setting("max_force", 0.0, "Largest force of a leg [N]; 0.0: no limit.", low=0.0, high=1e9),
    Setting("max_speed", 0.0, "Largest speed of the tool's origin [m/s]; 0.0: no limit.", low=0.0, high=100.0),
    Setting("max_angular_speed", 0.0, "Largest angular speed [rad/s]; 0.0: no limit.", low=0.0, high=1000.0),
    Setting("stroke_reserve", 0.0, "Kept free at both ends of each leg's stroke [m].", low=0.0, high=10.0),
    Setting("max_base_angle", 0.0, "Largest angle of a leg from where its joint on the base points to in the home pose"
            " [rad]; 0.0: no limit.", low=0.0, high=3.2),
    Setting("max_platform_angle", 0.0, "Largest angle of a leg from where its joint on the platform points to in the"
            " home pose [rad]; 0.0: no limit.", low=0.0, high=3.2),
    Setting("max_condition", 100.0, "Largest condition number of the leg Jacobian: the distance kept from singular"
            " poses.", low=1.0, high=1e6),
    *LOAD_SETTINGS,
    Setting("work_frame", "work", "Frame in which targets may be given, besides base_frame.", "while unconfigured"),
    Setting("work_pose", [0.0], "Its pose in the base frame: x, y, z [m], quaternion x, y, z, w; [0.0]: that of the"
            " base frame.", low=-1e6, high=1e6),
    Setting("tool_frame", "tool", "Frame on the platform that targets are for.", "while unconfigured"),
    Setting("tool_pose", [0.0], "Its pose in the platform frame, as work_pose; its origin is the pivot. [0.0]: that"
            " of the platform frame.", low=-1e6, high=1e6),
    Setting("shape", "line", "How the tool moves between poses without times.", choices=tuple(SHAPES)),
    Setting("twist_timeout", 0.2, "For which a target twist is followed [s].", low=0.001, high=10.0),
    Setting("state_timeout", 0.2, "Silence of leg lengths after which the platform is stopped [s]; 0.0: none.",
            low=0.0, high=3600.0),
    Setting("following_tolerance", 0.05, "Distance of a leg from its set point at which the platform is stopped [m];"
            " 0.0: none.", low=0.0, high=10.0),
    Setting("rest_speed", 0.02, "Rate of a leg that counts as rest, which the node waits for [m/s].",
            low=0.0, high=10.0),
    *WASHOUT_SETTINGS,
)  # fmt: skip

SETTINGS = (*PLATFORM_SETTINGS, *COMMAND_SETTINGS)
