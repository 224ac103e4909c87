"""Parameters of the node `stewart_pose`."""

from __future__ import annotations

from ...core.setting import Setting
from ...core.tracking import PUBLISH, WITHHOLD
from ...lie_dynamics.stewart.fusion.platform_sensors import READINGS
from ...ros.inputs.partial_states import AGE_LIMIT
from ...ros.inputs.state_stream import TOPICS
from ...ros.model.platform_loading import PLATFORM_SETTINGS
from ...ros.node.answering_node import ANSWER_SETTINGS


def _reading(name: str, text: str) -> Setting:
    """Return the setting of a value that may also be in the platform's file."""
    default, low, high = READINGS[name]
    return Setting(name, default, text, "while unconfigured", low=low, high=high)


SETTINGS = (
    *PLATFORM_SETTINGS,
    _reading(
        "length_scales",
        "Lengths for each unit of the positions in joint states; one for all legs or six "
        "[m, or m/rad for encoders that turn with a spindle].",
    ),
    _reading(
        "length_offsets",
        "Added to the scaled positions to make them leg lengths; one for all legs or six [m].",
    ),
    _reading(
        "length_corrections",
        "Nonlinearity: rows of seven, a length and what is added there to each leg [m]; linear between. [0.0]: none.",
    ),
    Setting("use_leg_temperatures", False, "Listen to temperatures of the legs, on leg_temperature.", "at start"),
    _reading(
        "leg_expansions",
        "How much longer legs are for each kelvin above reference_temperature; one for all legs or six [1/K].",
    ),
    _reading(
        "reference_temperature",
        "Temperature at which the lengths are right, and that of legs whose own has not been heard [deg C].",
    ),
    Setting(
        "start_pose",
        [0.0],
        "Pose in which the platform is when tracking starts: x, y, z [m], quaternion x, y, z, w. "
        "[0.0] stands for the home pose of the platform. Counts from the next start or reset on.",
        low=-1000.0,
        high=1000.0,
    ),
    Setting(
        "leg_noise",
        [1e-5],
        "Standard deviation of the leg lengths, for the covariance; one for all legs or six [m].",
        high=1.0,
    ),
    Setting(
        "max_speed",
        [0.0],
        "Largest linear [m/s] and angular speed [rad/s] that the platform can have; poses are certified only with it. "
        "[0.0]: not known.",
        "while unconfigured",
        high=1e6,
    ),
    Setting(
        "length_error",
        1e-4,
        "Largest error of a leg length that what is certified allows for [m].",
        "while unconfigured",
        high=1.0,
    ),
    Setting(
        "when_ambiguous",
        WITHHOLD,
        "What becomes of a pose whose status is AMBIGUOUS: nothing, or published as any other, flagged on ~/status.",
        choices=(WITHHOLD, PUBLISH),
    ),
    Setting(
        "max_steps",
        1000,
        "Proven steps into which one change of the leg lengths may be split, 0.3 us each.",
        low=1,
        high=100_000,
    ),
    Setting(
        "fusion",
        False,
        "Publish one estimate of legs and IMU without faulty sensors, instead of what is proven of lengths.",
        "while unconfigured",
    ),
    Setting("use_imu", False, "With fusion: an IMU on the platform, by the topic imu.", "at start"),
    Setting(
        "imu_pose",
        [0.0],
        "Pose of the IMU in the platform frame: x, y, z [m], quaternion x, y, z, w. [0.0] stands for that frame.",
        "while unconfigured",
        low=-1000.0,
        high=1000.0,
    ),
    Setting(
        "gyroscope_noise",
        2e-3,
        "Standard deviation of angular velocities of the IMU [rad/s].",
        "while unconfigured",
        low=1e-9,
        high=100.0,
    ),
    Setting(
        "accelerometer_noise",
        3e-2,
        "Standard deviation of accelerations of the IMU [m/s^2].",
        "while unconfigured",
        low=1e-9,
        high=1000.0,
    ),
    Setting(
        "imu_delay",
        0.0,
        "How much older than its time stamp a reading of the IMU is [s].",
        "while unconfigured",
        high=0.1,
    ),
    Setting(
        "imu_delay_deviation",
        0.0,
        "Standard deviation of imu_delay, which is estimated where it is not 0 [s].",
        "while unconfigured",
        high=0.1,
    ),
    Setting(
        "gyroscope_bias_deviation",
        2e-2,
        "Standard deviation of the gyroscope's bias at the start [rad/s], estimated with the pose.",
        "while unconfigured",
        high=10.0,
    ),
    Setting(
        "accelerometer_bias_deviation",
        2e-1,
        "Standard deviation of the accelerometer's bias at the start [m/s^2], estimated with the pose.",
        "while unconfigured",
        high=100.0,
    ),
    Setting(
        "gyroscope_scale_deviation",
        2e-2,
        "Standard deviation of the gyroscope's errors of scale [1], estimated with the pose.",
        "while unconfigured",
        high=0.5,
    ),
    Setting(
        "accelerometer_scale_deviation",
        2e-2,
        "Standard deviation of the accelerometer's errors of scale [1], estimated with the pose.",
        "while unconfigured",
        high=0.5,
    ),
    Setting(
        "imu_alignment_deviation",
        2e-2,
        "Standard deviation of the turn of the IMU against imu_pose, about each axis [rad], estimated with the pose.",
        "while unconfigured",
        high=0.5,
    ),
    Setting(
        "jerk",
        [10.0, 50.0],
        "With fusion: root of the density of the platform's linear [m/s^2.5] and angular jerk [rad/s^2.5]; "
        "j / sqrt(2 pi f) of a motion to and fro at f Hz with a jerk of j.",
        "while unconfigured",
        low=1e-6,
        high=1e9,
    ),
    _reading(
        "leg_delays",
        "With fusion: how much older than their time stamp lengths are; one for all legs or six [s].",
    ),
    _reading(
        "leg_delay_deviations",
        "With fusion: standard deviation of leg_delays, which are estimated where it is not 0; one or six [s].",
    ),
    Setting(
        "leg_resolution",
        -1.0,
        "With fusion: step between neighbouring lengths, so that a stuck sensor is known at rest [m]. -1.0: not known.",
        "while unconfigured",
        low=-1.0,
        high=1.0,
    ),
    TOPICS,
    Setting(
        "leg_topics",
        [""],
        "Topics of std_msgs/Float64, one for each leg, with fusion also one for each further sensor of the platform's "
        "file; an empty name for what comes by joint states.",
        "at start",
    ),
    AGE_LIMIT,
    *ANSWER_SETTINGS,
    Setting(
        "condition_warning",
        100.0,
        "Condition number of the Jacobian above which the diagnostics warn of a singular pose near.",
        low=1.0,
        high=1e9,
    ),
    Setting(
        "singularity_warning",
        0.5,
        "Time left before a singular pose, at the present speed, below which the log and the diagnostics warn [s]. "
        "0: never.",
        high=60.0,
    ),
    Setting("publish_tf", True, "Publish the platform frame on /tf, where tf2_msgs is installed.", "at start"),
    Setting(
        "marker_rate",
        10.0,
        "Markers for RViz per second, while somebody listens [Hz]. 0: none.",
        "while unconfigured",
        high=100.0,
    ),
)
