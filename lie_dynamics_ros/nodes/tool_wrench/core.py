"""Core of the node tool_wrench, without ROS: states and readings in, contacts of the tool out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ...core.errors import MessageError, ParameterError, RequestError
from ...core.expiring_values import ExpiringValue
from ...core.frames import last_link
from ...core.parameters import parameter
from ...core.robot_core import RobotCore
from ...core.robot_options import RobotOptions
from ...core.robot_state import RobotState
from ...lie_dynamics import InputError, JointFriction, Model, frame_pose
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.control import VelocityFilter
from ...lie_dynamics.estimation import ForceSensorCalibration, calibrate_force_sensor, next_direction, tool_contact

# Parameters, besides those of all robots.


@dataclass(frozen=True)
class ToolWrenchOptions(RobotOptions):
    """Parameters of the sensor and of what hangs on it, besides those of all robots."""

    sensor_frame: str = parameter("", "Link or frame of the sensor. Empty: that of its messages.")
    sensor_bias: tuple[float, ...] = parameter(
        [0.0],
        "What the sensor reads of nothing, times reading_sign: force, torque [N, N m]. [0.0]: not calibrated.",
        low=-1e6,
        high=1e6,
    )
    reading_sign: int = parameter(
        1, "1 where the sensor reads the wrench on the robot, -1 where it reads that on the tool.", low=-1, high=1
    )
    tool_mass: float = parameter(0.0, "Of all that hangs on the sensor [kg].", high=1e6)
    tool_center_of_mass: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0], "In the sensor's axes [m].", low=-1000.0, high=1000.0
    )
    tool_inertia: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "About the centre of mass, in the sensor's axes: xx, xy, xz, yy, yz, zz [kg m^2].",
        low=-1e9,
        high=1e9,
    )
    compensate_motion: bool = parameter(True, "Take off what the motion of the tool exerts, too, not its weight alone.")
    acceleration_filter_time: float = parameter(
        0.005, "Time constant of accelerations, which are found in velocities [s].", low=1e-4, high=1.0
    )
    pose_time: float = parameter(1.0, "Of readings whose mean a pose of the calibration is [s].", low=0.02, high=60.0)

    def check(self) -> None:
        """Check values against each other; raises ParameterError."""
        super().check()
        for name, sizes in (("sensor_bias", (1, 6)), ("tool_center_of_mass", (3,)), ("tool_inertia", (6,))):
            if len(getattr(self, name)) not in sizes:
                raise ParameterError(f"{name} has {len(getattr(self, name))} entries; expected {sizes[-1]}")
        if len(self.sensor_bias) == 1 and self.sensor_bias[0] != 0.0:
            raise ParameterError("sensor_bias has one number that is not 0; expected six, or [0.0] for no calibration")
        if self.reading_sign == 0:
            raise ParameterError("reading_sign is 0; expected 1 or -1")

    @property
    def sensor_link(self) -> str:
        """`sensor_frame` without the slash that older nodes send."""
        return self.sensor_frame.removeprefix("/")

    @property
    def bias(self) -> tuple[float, ...]:
        """Reading without load, torque first as in wrenches; empty where the sensor is not calibrated."""
        return (*self.sensor_bias[3:], *self.sensor_bias[:3]) if len(self.sensor_bias) == 6 else ()


FEWEST = 20
"""Readings of a pose."""
AT_STANDSTILL = 0.01
"""Speed below which a joint counts as resting [rad/s, m/s]."""
SAME_POSE = 0.2
"""Angle between two directions of gravity below which poses are one [rad]."""
READING_AGE = 0.1
"""Age beyond which a reading is none [s]."""
READINGS = "readings"
"""Kind of messages, under which those that cannot be used are counted."""


@dataclass(frozen=True, eq=False)
class ToolAnswer:
    """Contact wrench (6,), moment first, at the sensor and in its axes; covariance (6, 6) of the calibration."""

    wrench: Array
    covariance: Array
    frame: str


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose of the calibration: gravity in the sensor's axes, mean and covariance of readings, and their number."""

    gravity: Array
    mean: Array
    covariance: Array
    count: int


class ToolWrenchCore(RobotCore):
    """Contacts of one tool; see `RobotCore`.

    Attributes
    ----------
    poses : list of Pose
        Of the calibration under way.
    known : ForceSensorCalibration or None
        None where the sensor is not calibrated.
    frame : str
        Of the sensor, as far as it is known.
    """

    options: ToolWrenchOptions

    def __init__(self, model: Model, options: ToolWrenchOptions, friction: JointFriction | None = None) -> None:
        super().__init__(model, friction)
        self.reading: ExpiringValue[Array] = ExpiringValue()
        self.poses: list[Pose] = []
        self.known: ForceSensorCalibration | None = None
        self.frame = ""
        self._recent: deque[tuple[int, Array]] = deque()  # readings while the robot rests
        self._position: Array | None = None
        self._rates, self._inertia = VelocityFilter(len(self.zero), options.acceleration_filter_time), np.zeros((3, 3))
        self.set_options(options)

    def set_options(self, options: ToolWrenchOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        super().set_options(options)
        if options.sensor_link and options.sensor_link not in self.model.frames:
            raise ParameterError(f"sensor_frame: the robot has no link or frame {options.sensor_link!r}")
        self.frame = options.sensor_link or self.frame
        self._rates = VelocityFilter(len(self.zero), options.acceleration_filter_time)
        xx, xy, xz, yy, yz, zz = options.tool_inertia
        self._inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        before = self.known
        self.known = None
        if options.bias:
            bias, com = np.array(options.bias), np.array(options.tool_center_of_mass)
            self.known = ForceSensorCalibration(
                bias, options.tool_mass, com, options.reading_sign, np.zeros((10, 10)), 0.0, 0
            )
            if before is not None and all(
                np.array_equal(getattr(before, name), getattr(self.known, name))
                for name in ("bias", "mass", "com", "sign")
            ):
                self.known = before  # with the rest of its calibration
        trial = ForceSensorCalibration(np.zeros(6), 1.0, np.zeros(3), 1, np.zeros((10, 10)), 0.0, 0)
        q = self.model.neutral()
        usual = self.frame or self.model.body_names[last_link(self.model)]
        tool_contact(self.dynamics, trial, usual, (q, self.zero, self.zero), np.zeros(6), self._inertia)

    def forget(self) -> None:
        """Forget readings and states before."""
        self.reading.clear()
        self._recent.clear()
        self._rates.forget()
        self._position = None

    def read(self, frame: str, reading: Array, now: int) -> None:
        """Take in a reading (6,), moment first, of the sensor at a frame, at a time [ns]; raises MessageError."""
        if not all_finite(reading):
            raise MessageError(READINGS, "a reading that is not finite")
        frame = self.options.sensor_link or frame.removeprefix("/")
        if frame not in self.model.frames:
            raise MessageError(READINGS, f"a reading at {frame!r}; expected a link or frame of the robot")
        if frame != self.frame:
            self.frame, self.poses = frame, []
            self._recent.clear()
        self.reading.put(reading, now)
        recent = self._recent
        if self._position is None:
            return
        recent.append((now, reading))
        while now - recent[0][0] > self.options.pose_time * 1e9 or now < recent[0][0]:
            recent.popleft()

    def answer(self, state: RobotState) -> ToolAnswer | None:
        """Return the contact at a state, None without a fresh reading or a calibration; raises MessageError."""
        rate = np.full(len(self.zero), np.nan)
        self._rates.fill(state.stamp, state.velocity, rate)
        if np.abs(state.velocity).max() > AT_STANDSTILL:
            self._recent.clear()
            self._position = None
        else:
            self._position = state.position.copy()
        reading = self.reading.at(state.arrival, READING_AGE)
        if self.known is None or reading is None:
            return None
        zero = self.zero
        motion = (state.velocity, rate) if self.options.compensate_motion else (zero, zero)
        try:
            found = tool_contact(
                self.dynamics, self.known, self.frame, (state.position, *motion), reading, self._inertia
            )
        except InputError as error:
            raise MessageError("not finite", str(error)) from error
        if not all_finite(found[0]):
            raise MessageError("not finite", "the state leads to a wrench that is not finite")
        return ToolAnswer(*found, self.frame)

    # Calibration.

    def _gravity(self, position: Array) -> Array:
        return np.asarray(frame_pose(self.dynamics, position, self.frame)[:3, :3].T @ self.dynamics.gravity)

    def _take_pose(self) -> Pose:
        """Return the pose at which the robot rests; raises RequestError where that is none."""
        recent, options = self._recent, self.options
        long = bool(recent) and recent[-1][0] - recent[0][0] >= 0.8e9 * options.pose_time
        if self._position is None or len(recent) < FEWEST or not long:
            raise RequestError(
                f"the robot is to rest for {options.pose_time:g} s with {FEWEST} readings or more; "
                f"there are {len(recent)} since it last moved"
                + ("; a slow sensor needs a longer pose_time" if long and self._position is not None else "")
            )
        values = np.array([reading for _, reading in recent])
        return Pose(self._gravity(self._position), values.mean(axis=0), np.cov(values.T), len(values))

    def add_pose(self) -> tuple[ForceSensorCalibration | None, str]:
        """Take the pose at which the robot rests into the calibration; return it, where it is known, and what to do.

        Raises RequestError where the robot does not rest, without readings, or for one of the poses before.
        """
        if not self.dynamics.gravity.any():
            raise RequestError("there is no gravity, by which a tool is weighed: gravity is [0, 0, 0]")
        pose = self._take_pose()
        for k, other in enumerate(self.poses):
            cosine = pose.gravity @ other.gravity / (np.linalg.norm(pose.gravity) * np.linalg.norm(other.gravity))
            if cosine > np.cos(SAME_POSE):
                raise RequestError(f"gravity points as in pose {k + 1}; {self._advice()}")
        self.poses.append(pose)
        covariance = self._covariance()
        text = f"pose {len(self.poses)} is taken"
        try:
            found = calibrate_force_sensor([p.gravity for p in self.poses], [p.mean for p in self.poses], covariance)
        except InputError as error:
            if len(self.poses) > 3:
                return None, f"{text}; {error}"
            return None, f"{text}; {self._advice()}"
        com = ", ".join(f"{1e3 * x:.1f}" for x in found.com)
        text += (
            f"; mass {found.mass:.4g} +- {found.mass_deviation:.2g} kg, centre ({com}) +- "
            f"{1e3 * found.com_deviation.max():.2g} mm"
        )
        if found.plausibility < 1e-6:
            text += "; the poses do not agree: something touched the tool, or the sensor drifts"
        return found, f"{text}; {self._advice()}"

    def _covariance(self) -> Array:
        """Covariance of means, of all poses together; steps of the readings keep it positive."""
        mean = np.mean([p.covariance / p.count for p in self.poses], axis=0)
        return np.asarray(mean + np.diag(np.maximum(1e-9 * np.trace(mean), 1e-12) * np.ones(6)))

    def _advice(self) -> str:
        g = next_direction([p.gravity for p in self.poses], self._covariance())
        return f"next, turn the tool so that ({', '.join(f'{x:.1f}' for x in g)}) in the sensor's axes points down"

    def zeroed(self) -> Array:
        """Return the bias (6,) with which the sensor reads nothing at the pose where the robot rests.

        Raises RequestError where it is not calibrated, the robot does not rest, or there are no readings.
        """
        if self.known is None:
            raise RequestError("the sensor is not calibrated; call ~/calibrate at some poses first")
        pose = self._take_pose()
        return self.known.bias + self.known.contact(pose.mean, pose.gravity)[0]
