"""Parameters of the loops of a robot, and of tracking them."""

from __future__ import annotations

from ..setting import Setting

MECHANISM_SETTINGS = (
    Setting(
        "loops",
        "",
        "What closes the loops: YAML text, a file path, file:///path or package://name/path. Empty: nothing does.",
        "while unconfigured",
    ),
    Setting(
        "sdf_model",
        "",
        "Which model of an SDF is the robot, outer::inner for one in another. Empty: the only one that is not static.",
        "while unconfigured",
    ),
    Setting(
        "measured_joints",
        [""],
        "Joints measured in joint states, which determine all others. [''] stands for all of one coordinate.",
        "while unconfigured",
    ),
    Setting("motors", [""], "Joints with motors. [''] stands for the measured ones.", "while unconfigured"),
    Setting(
        "idle_joints",
        [""],
        "Joints that the measured ones need not determine, besides rods that spin between ball joints. ['']: none.",
        "while unconfigured",
    ),
    Setting(
        "start_joints",
        [""],
        "Joints whose positions when tracking starts are start_positions. [''] stands for all, in model order.",
        "while unconfigured",
    ),
    Setting(
        "start_positions",
        [0.0],
        "About where joints are when tracking starts; the loops are closed near it [rad, m]. [0.0] without "
        "start_joints: not known.",
        "while unconfigured",
        low=-1e6,
        high=1e6,
    ),
    Setting(
        "sensor_noise",
        [1e-5],
        "Standard deviations of the measured joints, one for all or one for each [rad, m].",
        "while unconfigured",
        low=1e-12,
        high=1e3,
    ),
    Setting(
        "sensor_error",
        [1e-4],
        "Largest errors of measured joints that what is certified allows for, one for all or one for each [rad, m].",
        "while unconfigured",
        low=0.0,
        high=1e3,
    ),
    Setting(
        "max_speed",
        [0.0],
        "Largest rates of all joints, those not measured too, one for all or one for each in model order [rad/s, m/s]; "
        "configurations are certified only with them. [0.0]: not known.",
        "while unconfigured",
        low=0.0,
        high=1e6,
    ),
    Setting(
        "max_steps",
        1000,
        "Proven steps into which one change of the measured joints may be split, some 5 us each.",
        "while unconfigured",
        low=1,
        high=100_000,
    ),
)
