"""Rides: the platform follows the washout of what a vehicle feels. No ROS in here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.commands import OFF, UNTIL_HOLD
from ...core.errors import MessageError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.lie import se3
from ...lie_dynamics.stewart import StewartError
from ...lie_dynamics.stewart.command import (
    ClassicalWashout,
    CommandFrames,
    PathError,
    PlannedMotion,
    WashoutState,
    line_path,
    smooth_path,
)
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from .core import StewartCommandCore, StewartCommandOptions
from .requests import Planner, read_vehicle
from .targets import AT_GOAL, PathTarget, State, Ways, apart, as_far, leaving

# Rides as the node has them: what the vehicle sends, the ride under way, and what is wrong with either.


class CueingInput:
    """The ride under way, if there is one.

    Parameters
    ----------
    logger : of the node
    """

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._ride: MotionCueing | None = None
        self._bad, self._silent = "", False

    @property
    def riding(self) -> bool:
        """Whether there is one."""
        return self._ride is not None

    def begin(self, core: StewartCommandCore, now: float) -> None:
        """Follow the vehicle from now on; raises MessageError where that cannot be."""
        not_now = core.not_now()
        if not_now:
            raise MessageError("ride", not_now)
        self._ride, self._bad, self._silent = MotionCueing(core.options, now), "", False

    def end(self) -> None:
        """Follow the vehicle no more."""
        self._ride = None

    def home(self, core: StewartCommandCore) -> PathTarget:
        """Return the target of the platform's home pose; raises MessageError where nothing is followed."""
        not_now = core.not_now()
        if not_now:
            raise MessageError("ride", not_now)
        home = core.options.platform.home_pose
        assert home is not None
        return PathTarget((home @ core.ways.frames.tool)[None], (False,), word="the end of a ride")

    def hear(self, message: Any, now: int, arrived: float) -> None:
        """Take a message of the vehicle at a time [ns], which arrived [s] on a steady clock."""
        if self._ride is None:
            return
        try:
            self._ride.hear(*read_vehicle(message, now, self._ride.timeout), arrived)
        except MessageError as error:
            self._bad = str(error)
        else:
            self._bad = ""

    def go_on(self, core: StewartCommandCore, planner: Planner, now: float) -> None:
        """Let the filters go on, and have planned what follows them; a stop ends the ride."""
        ride = self._ride
        if ride is None:
            return
        if core.phase == OFF or core.phase in UNTIL_HOLD:
            self.end()
            return
        ride.advance(now)
        if ride.silent(now) != self._silent:
            self._silent = not self._silent
            if self._silent:
                self._logger.warning(self._silence(ride))
            else:
                self._logger.info("the vehicle is heard")
        if planner.idle and core.free:
            target = ride.target(now, planner.lead, bool(core.refusal))
            if target is not None:
                planner.ask(core, target)

    def _silence(self, ride: MotionCueing) -> str:
        return f"nothing of the vehicle for {ride.timeout:g} s: the platform returns to its home pose"

    def describe(self, report: Report, now: float) -> None:
        """Tell of the ride in the diagnostics."""
        ride = self._ride
        report.values["ride"] = "no" if ride is None else "yes"
        if ride is None:
            return
        if self._bad:
            report.add(diagnostics.WARN, self._bad)
        if ride.silent(now):
            report.add(diagnostics.WARN, self._silence(ride))


RIDE_PERIOD, RIDE_AHEAD = 0.01, 0.05
"""Periods of the filters [s], and of the same filters looking ahead."""
RIDE_HORIZON = 0.6
"""Horizon of motions [s]: longer than stops take."""
CATCH_UP = (0.04, 0.1, 0.3)
"""Times in which the platform comes to where the filters are [s]."""
RIDE_STEPS = 80
"""Steps of the grid along a path of a ride."""
LEAN = 0.02
"""Largest angle between the vertical and the z axis of the tool in the neutral pose [rad]."""
RIDE_AGAIN = 0.1
"""Time after which a refused ride is planned anew [s]."""
HELD_UP = 0.3
"""Longest time that filters make good [s]."""


@dataclass(frozen=True, eq=False)
class RideTarget:
    """Limit of the filters while their input stays as it is.

    Attributes
    ----------
    filters : ClassicalWashout
        With the period `RIDE_AHEAD`; in use by one target at a time.
    state : WashoutState
    force, rate : ndarray, shape (3,)
        Of the vehicle, held.
    neutral : ndarray, shape (4, 4)
        Pose of the tool in the base.
    frames : CommandFrames
        With this tool.
    age : float
        From the state to where the motion begins [s].
    """

    filters: ClassicalWashout
    state: WashoutState
    force: Array
    rate: Array
    neutral: Array
    frames: CommandFrames
    age: float
    word: str = "a ride"

    def motion(self, ways: Ways, state: State) -> PlannedMotion | None:
        """Return the motion that comes to where the filters are and follows them, to rest; None to stop first.

        Raises
        ------
        PathError
            A limit is where the platform is.
        """
        ways = replace(ways, steps=RIDE_STEPS, frames=self.frames)
        times, poses, twists = self._ahead()
        here, before = state.pose @ ways.frames.tool, state.tool_twist(ways)
        if state.resting and max(apart(here, pose) for pose in poses) < AT_GOAL:
            return None
        for ramp in CATCH_UP:
            then = times >= ramp
            t = np.concatenate([[0.0], times[then]])
            points, rates = (np.concatenate([[a], b[then]]) for a, b in ((here, poses), (before, twists)))
            if self._hopeless(ways, state, points[1], t[1]):
                continue
            with suppress(StewartError):
                motion, _, _ = as_far(ways, smooth_path(points, ways.frames.tool, t, rates), state)
                if motion is not None:
                    return motion
        return _toward(ways, state, poses[-1])

    def _ahead(self) -> tuple[Array, Array, Array]:
        """Return times (k,) from where the motion begins, poses of the tool, and its twists in axes of the base."""
        count = int(np.ceil((self.age + RIDE_HORIZON) / RIDE_AHEAD))
        self.filters.state = self.state
        found = self.filters.run(np.tile(self.force, (count, 1)), np.tile(self.rate, (count, 1)))
        poses = self.neutral @ found.pose
        R = poses[:, :3, :3]
        twists = np.concatenate([R @ found.twist[:, :3, None], R @ found.twist[:, 3:, None]], axis=1)[..., 0]
        return RIDE_AHEAD * np.arange(1.0, count + 1.0) - self.age, np.asarray(poses), np.asarray(twists)

    @staticmethod
    def _hopeless(ways: Ways, state: State, pose: Array, time: float) -> bool:
        """Return whether a leg is farther from where it is to be than its acceleration carries it."""
        limits = ways.limits
        platform = limits.platform
        try:
            there = platform.motor_positions(pose @ se3.inverse(ways.frames.tool))
        except StewartError:  # a rotary leg does not reach
            return True
        gap = there - platform.motor_positions(state.pose) - time * platform.motor_rates(state.pose, state.twist)
        return bool((np.abs(gap) > 0.5 * time**2 * limits.acceleration).any())


def _toward(ways: Ways, state: State, goal: Array) -> PlannedMotion | None:
    """Return the motion to a goal of the tool, or to where a limit ends the way there; None to stop first, or there.

    Raises
    ------
    PathError
        A limit is where the platform is.
    """
    here, far = state.pose @ ways.frames.tool, ways.limits.platform.characteristic_length
    if (way := apart(here, goal)) > far:  # it will have been planned anew long before
        goal = line_path([here, goal]).at([far / way]).pose[0]
    if state.resting:
        path = PathTarget(goal[None], (False,)).path(ways, state)
        if path is None:
            return None
        motion, report, _ = as_far(ways, path, state)
        if motion is None:
            raise PathError(report)
        return motion
    for path in leaving(ways, state, goal):
        with suppress(StewartError):
            motion, _, _ = as_far(ways, path, state)
            if motion is not None:
                return motion
    return None


class MotionCueing:
    """The filters of one ride, fed with what the vehicle feels.

    Parameters
    ----------
    options : StewartCommandOptions
        The neutral pose is the home pose of the platform.
    now : float
        [s].

    Raises
    ------
    MessageError
        Without gravity, or where the tool's z axis does not point upward in the neutral pose.
    """

    def __init__(self, options: StewartCommandOptions, now: float) -> None:
        self.timeout = options.given.vehicle_timeout
        gravity = float(np.linalg.norm(options.given.load.gravity))
        home = options.platform.home_pose
        if not gravity > 0.0 or home is None:
            raise MessageError("ride", "gravity is zero; forces are felt by tilting in it")
        self.frames = options.frames
        self.neutral = home @ self.frames.tool
        up = self.neutral[:3, :3].T @ (-options.given.load.gravity / gravity)
        lean = float(np.arctan2(np.hypot(up[0], up[1]), up[2]))
        if lean > LEAN:
            raise MessageError("ride", f"the tool's z axis leans by {lean:.3g} rad in the home pose; expected upward")
        given = {**options.given.washout, "gravity": gravity}
        self._filters, self._ahead = (ClassicalWashout(period, **given) for period in (RIDE_PERIOD, RIDE_AHEAD))
        self._rest = np.array([0.0, 0.0, gravity]), np.zeros(3)
        self._input = self._rest
        self._time, self._heard, self._asked = now, -np.inf, -np.inf

    def hear(self, force: Array, rate: Array, now: float) -> None:
        """Take specific force and angular velocity (3,), (3,) of the vehicle."""
        self._input, self._heard = (force, rate), now

    def silent(self, now: float) -> bool:
        """Return whether nothing has come for too long: the vehicle counts as at rest."""
        return now - self._heard > self.timeout

    def advance(self, now: float) -> None:
        """Let the filters go on to a time [s]."""
        self._time = max(self._time, now - HELD_UP)
        while self._time + RIDE_PERIOD <= now:
            self._time += RIDE_PERIOD
            self._filters.step(*self._felt(self._time))

    def _felt(self, now: float) -> tuple[Array, Array]:
        return self._rest if self.silent(now) else self._input

    def target(self, now: float, lead: float, refused: bool) -> RideTarget | None:
        """Return what the platform is to do after a lead [s]; None where what was refused is not to be tried yet."""
        if refused and now - self._asked < RIDE_AGAIN:
            return None
        self._asked = now
        age = max(0.0, now - self._time) + lead
        return RideTarget(self._ahead, self._filters.state, *self._felt(now), self.neutral, self.frames, age)
