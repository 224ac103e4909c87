"""The robot that the node simulated_robot simulates, without ROS."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.commands import ACCELERATION, EFFORT, HOLD, POSITION, JointCommand
from ...core.errors import ParameterError
from ...core.parameters import parameter, per_joint
from ...core.robot_options import RobotOptions
from ...core.turns import TURN, Turns
from ...lie_dynamics import JointFriction, LieDynamicsError, Model
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.simulation import JointPhysics, Simulator

# A smooth motion that stays within the limits of a robot's joints.

RANGE_SHARE = 0.8
"""Share of a joint's range that the motion uses at most."""
SPEED_SHARE = 0.5
"""Share of a joint's speed limit that the motion uses at most."""
MAX_AMPLITUDE = 1.0
"""Largest amplitude [rad or m], for joints with wide or no limits."""


class SineMotion:
    """Every joint swings about the middle of its range, each with a frequency and a phase of its own.

    All joints have one coordinate. The frequencies follow that of the first [Hz] within half an octave, so that the
    motion does not repeat itself soon.
    """

    def __init__(self, model: Model, frequency: float) -> None:
        n = len(model.joint_names)
        limits = model.limits
        bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        lower, upper = np.where(bounded, limits.lower, 0.0), np.where(bounded, limits.upper, 0.0)
        self.center = 0.5 * (lower + upper)
        half_range = np.where(bounded, upper - self.center, np.inf)
        speed = np.where(limits.velocity > 0.0, limits.velocity, np.inf)  # exporters write 0 for "not given"
        order = np.arange(n)
        # The fractional parts of multiples of the golden ratio spread evenly, however many joints there are.
        spread = (order * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0
        self.rate = 2.0 * math.pi * frequency * (1.0 + 0.5 * spread)
        self.phase = 2.0 * math.pi * spread
        largest = np.minimum(RANGE_SHARE * half_range, MAX_AMPLITUDE)
        self.amplitude = np.minimum(largest, SPEED_SHARE * speed / self.rate)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration at the time ``t`` [s], each of shape (n,)."""
        angle = self.rate * t + self.phase
        swing, slope = self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)
        return self.center + swing, self.rate * slope, -(self.rate**2) * swing


# Commands on their way to the joints: each takes effect some steps after it was given.


class DelayedCommands:
    """A queue of commands, each of which takes effect some steps after it was given.

    At most one for each step: those of the same step count as one, the later ones first.
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self._queue: deque[tuple[int, JointCommand]] = deque()

    def clear(self) -> None:
        """Forget all that has not taken effect."""
        self._queue.clear()

    def add(self, step: int, command: JointCommand) -> None:
        """Take in a command given before a step; steps must not fall."""
        due = step + self.delay
        if self._queue and self._queue[-1][0] == due:
            named = command[0]
            last = self._queue[-1][1]
            last[0][named] = True
            for old, new in zip(last[1:], command[1:], strict=True):
                old[named] = new[named]
            return
        self._queue.append((due, JointCommand(*(np.array(x) for x in command))))

    def due(self, step: int) -> Iterator[JointCommand]:
        """Hand out the commands that take effect before a step, in their order."""
        while self._queue and self._queue[0][0] <= step:
            yield self._queue.popleft()[1]

    def until_next(self, step: int, most: int) -> int:
        """Return how many steps the commands stay as they are from a step on, at most so many."""
        return min(most, self._queue[0][0] - step) if self._queue else most


NAMES = ("hold", "effort", "acceleration", "position")


@dataclass(frozen=True)
class SimulationOptions(RobotOptions):
    """Parameters of the robot and of what measures it, which may change at run time."""

    extra_damping: tuple[float, ...] = per_joint(0.0, "Damping beside that of the URDF [N m s/rad, N s/m].", high=1e6)
    extra_friction: tuple[float, ...] = per_joint(0.0, "Dry friction beside that of the URDF [N m, N].", high=1e6)
    stops: bool = parameter(True, "Stops at the position limits of the URDF.")
    saturate_efforts: bool = parameter(True, "Limit commanded efforts to the effort limits of the URDF.")
    position_bandwidth: float = parameter(
        50.0, "Of joints under position commands, and of brakes [rad/s].", low=0.1, high=10_000.0
    )
    position_noise: float = parameter(0.0, "Standard deviation of measured positions [rad, m].", high=10.0)
    velocity_noise: float = parameter(0.0, "Standard deviation of measured velocities [rad/s, m/s].", high=100.0)
    wrap_positions: bool = parameter(False, "Report joints without end from -pi to pi, as many drivers do.")

    def apply(self, model: Model) -> Model:
        """Return the model with all this included but losses; raises ParameterError where that cannot be."""
        for name in ("extra_damping", "extra_friction"):
            if len(getattr(self, name)) not in (1, model.nv):
                raise ParameterError(
                    f"{name} has {len(getattr(self, name))} entries; expected 1 or {model.nv}, one for each joint"
                )
        model = self.with_rotors(model).with_joint_terms(armature=True, springs=True)
        return self.with_payload(model).with_gravity(self.gravity)

    def limited(self, effort: Array, limit: Array, saturated: NDArray[np.bool_]) -> Array:
        """Return efforts (n,) within limits where that is requested; marks those that were beyond."""
        if not self.saturate_efforts:
            return effort
        over = np.abs(effort) > limit
        if not over.any():
            return effort
        saturated[over] = True
        return np.asarray(np.clip(effort, -limit, limit))

    def measured(
        self, position: Array, velocity: Array, turns: Turns, random: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return a position and a velocity (n,) with noise, and wrapped where that is requested."""
        if self.position_noise:
            position = position + self.position_noise * random.standard_normal(len(position))
        if self.velocity_noise:
            velocity = velocity + self.velocity_noise * random.standard_normal(len(velocity))
        if self.wrap_positions:
            position = np.where(turns.endless, (position + 0.5 * TURN) % TURN - 0.5 * TURN, position)
        return position, velocity

    def physics(self, model: Model, friction: JointFriction | None) -> JointPhysics:
        """Return what the joints do besides moving."""
        found = JointPhysics.from_model(
            model, damping=self.include_damping, friction=self.include_friction, stops=self.stops
        )
        return found.changed(
            damping=found.damping + np.array(self.extra_damping),
            friction=found.friction + np.array(self.extra_friction),
            law=friction,
        )


class RobotSimulation:
    """A robot under commands, joint by joint: effort, acceleration, position, or none, which holds it by brakes.

    Parameters
    ----------
    model : Model
        The robot; joints with one coordinate each.
    options : SimulationOptions
    step : float
        Step of the simulation [s].
    start : sequence of float
        Positions at the start [rad, m], one for all or one for each joint; none for the middle of the ranges.
    seed : int
        Of the noise.
    delay : int
        Steps from a command until it takes effect.
    friction : JointFriction, optional
        Of the drives, besides what the options say.

    Attributes
    ----------
    told : ndarray of int, shape (n,)
        What each joint is given: HOLD, EFFORT, ACCELERATION or POSITION.
    value, rate : ndarray, shape (n,)
        The effort, acceleration or position [N m, N, rad/s^2, m/s^2, rad, m], and for positions the velocity.
    effort : ndarray, shape (n,)
        What the actuators exerted last [N m, N].
    """

    def __init__(
        self,
        model: Model,
        options: SimulationOptions,
        step: float,
        start: tuple[float, ...],
        seed: int,
        delay: int = 0,
        friction: JointFriction | None = None,
    ) -> None:
        self.model, self.step, self.friction = model, step, friction
        n = len(model.joint_names)
        if len(start) not in (0, 1, n):
            raise ParameterError(f"initial_position has {len(start)} entries; expected 1 or {n}, one for each joint")
        self.start = np.array(np.broadcast_to(start, n)) if start else SineMotion(model, 1.0).center
        limits = model.limits
        if ((self.start < limits.lower) | (self.start > limits.upper)).any():
            raise ParameterError("initial_position is beyond the limits of the robot's joints")
        limited = (limits.effort > 0.0) & np.isfinite(limits.effort)
        self.limit = np.where(limited, limits.effort, np.finfo(float).max)
        self._seed, self._random, self._steps = seed, np.random.default_rng(seed), 0
        self.told, self.value, self.rate = np.full(n, HOLD), self.start.copy(), np.zeros(n)
        self.effort, self.saturated = np.zeros(n), np.zeros(n, dtype=bool)
        self.options = options
        self._turns = Turns.of(model, model.joint_names)
        self._coming = DelayedCommands(delay)
        self._simulator = Simulator(model, self.start, step=step)
        self.set_options(options)
        self.reset()

    def set_options(self, options: SimulationOptions) -> None:
        """Apply options; raises ParameterError, and then leaves all as it was, where the robot cannot have them."""
        self._simulator.set_model(options.apply(self.model), options.physics(self.model, self.friction))
        self.options = options

    def reset(self) -> None:
        """Go back to the start, at rest, held by brakes."""
        self._simulator.reset(self.start)
        self._random, self._steps = np.random.default_rng(self._seed), 0
        self._coming.clear()
        self.told[:], self.value[:], self.rate[:], self.effort = HOLD, self.start, 0.0, np.zeros(len(self.start))
        self.saturated[:] = False

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return self._simulator.time

    @property
    def state(self) -> tuple[Array, Array]:
        """Position and velocity without noise, each (n,)."""
        return self._simulator.q, self._simulator.qd

    def tell(self, named: NDArray[np.bool_], told: NDArray[np.int_], value: Array, rate: Array) -> None:
        """Give the joints that `named` marks a command, which takes effect after the delay."""
        self._coming.add(self._steps, (named, told, value, rate))
        if not self._coming.delay:
            self._obey()

    def _obey(self) -> None:
        for named, told, value, rate in self._coming.due(self._steps):
            for own, new in ((self.told, told), (self.value, value), (self.rate, rate)):
                own[named] = new[named]
            if self._turns.any:
                aimed = self.value + self._turns.between(self.value, self.state[0])
                self.value = np.where(named & (self.told == POSITION), aimed, self.value)

    def hold(self) -> None:
        """Brake all joints that are not held yet, at once; they stay where they come to rest."""
        self._coming.clear()
        newly = self.told != HOLD
        self.value[newly] = self.state[0][newly]
        self.told[:] = HOLD
        self.rate[:] = 0.0

    def advance(self, steps: int) -> None:
        """Move on by some steps with the commands as they are, and as they take effect.

        Raises LieDynamicsError where the robot cannot move on, such as a body without mass that is free to move; the
        state is that of the last step that could be made.
        """
        while steps > 0:
            self._obey()
            part = self._coming.until_next(self._steps, steps)
            if (self.told == EFFORT).all():  # the usual case, in one call
                _, self.effort = self._simulator.advance(
                    self.options.limited(self.value, self.limit, self.saturated), substeps=part
                )
            else:
                for _ in range(part):
                    self._advance_once()
            self._steps += part
            steps -= part

    def _advance_once(self) -> None:
        q, qd = self.state
        told, value = self.told, self.value
        prescribed = told != EFFORT
        bandwidth = min(self.options.position_bandwidth, 0.5 / self.step)
        goal = value + 0.0
        braking = (told == HOLD) & (np.abs(qd) > 1e-9)
        goal[braking] = q[braking]
        value[braking] = q[braking]  # a held joint stays where it came to rest
        servo = bandwidth**2 * (goal - q) + 2.0 * bandwidth * (self.rate - qd)
        stop = -2.0 * bandwidth * qd
        qdd = np.where(told == ACCELERATION, value, np.where(braking, stop, servo))
        tau = self.options.limited(np.where(prescribed, 0.0, value), self.limit, self.saturated)
        _, self.effort = self._simulator.advance(tau, qdd=qdd, prescribed=prescribed)

    def measure(self) -> tuple[Array, Array]:
        """Position and velocity as the sensors see them, each (n,): with noise, and wrapped where that is requested."""
        return self.options.measured(*self.state, self._turns, self._random)

    def take_saturated(self) -> tuple[str, ...]:
        """Joints whose efforts were limited since the last call."""
        names = tuple(np.array(self.model.joint_names)[self.saturated])
        self.saturated[:] = False
        return names


def warm_up(simulation: RobotSimulation) -> str:
    """Run all that is needed once, so that nothing is compiled while the robot moves; returns what went wrong."""
    try:
        simulation.advance(1)
        simulation.told[:] = EFFORT
        simulation.value[:] = 0.0
        simulation.advance(1)
    except LieDynamicsError as error:
        return str(error)
    finally:
        simulation.reset()
    return ""


def steps_of_delay(periods: float, substeps: int) -> int:
    """Return the steps in a delay of whole or half periods; raises ParameterError for others."""
    steps = periods * substeps
    if 2.0 * periods != round(2.0 * periods) or steps != round(steps):
        raise ParameterError(
            f"command_delay is {periods:g} periods with {substeps} substeps; expected whole periods, or half ones "
            "with an even number of substeps"
        )
    return round(steps)
