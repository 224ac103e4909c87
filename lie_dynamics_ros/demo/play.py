"""The motion played: three acts, and a payload that only the simulated robot has; played without ROS, too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.commands import EFFORT, STOPPED, STOPPING, JointPoints
from ..core.errors import NodeError
from ..core.frames import last_link
from ..core.robot_state import RobotState
from ..lie_dynamics import LieDynamicsError, Model, forward_dynamics, inverse_dynamics
from ..lie_dynamics.arrays import Array
from ..nodes.computed_torque.core import ComputedTorqueCore
from ..nodes.computed_torque.options import ComputedTorqueOptions
from ..nodes.simulated_robot.core import RobotSimulation, SimulationOptions
from .processes import ShortfallError

# The payload that only the simulated robot knows of: what its controller can bear on its defaults.

MASS, ROBOT_SHARE, LINK_RATIO = 1.5, 0.1, 10.0
"""Payload [kg], the largest share of the robot's mass that it may be, and its largest ratio to that of the link."""
REACH = 0.1
"""Distance of its centre of mass from the link's origin, along the axis of the link's joint [m]."""
RADIUS = 0.05
"""It is a ball of that radius [m]."""
ERROR_SHARE = 0.5
"""Share of the room for errors that it may take at rest and on the way; picked up, it swings beyond that."""
DEFAULTS = ComputedTorqueOptions.defaults()


@dataclass(frozen=True)
class Ball:
    """A ball that the last link of the longest chain carries, light links like fingers left out."""

    link: str
    center: tuple[float, ...]  # of mass, in the frame of the link [m]
    mass: float  # of the payload [kg]
    own_mass: float  # of the link without it [kg]

    @classmethod
    def largest(cls, model: Model) -> Ball:
        """Return the largest that suits the masses of a robot; raises ShortfallError where the link has no mass."""
        body = last_link(model)
        name, inertia = model.body_names[body], model.inertia(body)
        if not inertia.mass > 0.0:
            raise ShortfallError("its last link has no mass")
        axis = np.array(model.joints[body].type.steps[0].axis)
        axis *= np.copysign(REACH, axis @ inertia.com)  # to the side where the link is
        total = sum(float(model.inertia(b).mass) for b in range(model.n_bodies))
        mass = min(MASS, ROBOT_SHARE * total, LINK_RATIO * inertia.mass)
        return cls(name, tuple(axis.tolist()), float(mass), float(inertia.mass))

    def on(self, model: Model) -> Model:
        """Return the robot with the payload."""
        return model.with_payload(self.link, self.mass, self.center, 0.4 * self.mass * RADIUS**2 * np.eye(3))

    def strain(self, model: Model, q: Array, qd: Array, qdd: Array) -> float:
        """Return what the payload causes to a controller that does not know of it, as a share of what it may; (k, n).

        The errors of mode computed_torque where it learns nothing, e = M^-1 (tau with the payload - tau without) / kp
        but for the swinging, against `error_limit` and `position_tolerance`. It is proportional to the mass.
        """
        tau = inverse_dynamics(self.on(model), q, qd, qdd)
        # One by one: the kernel that does many at once would have to be compiled for this alone.
        pull = np.array([forward_dynamics(model, *state) for state in zip(q, qd, tau, strict=True)]) - qdd
        beyond = np.minimum(q - model.limits.lower, model.limits.upper - q) + DEFAULTS["position_tolerance"]
        room = np.minimum(beyond, DEFAULTS["error_limit"])
        return float((np.abs(pull) / (DEFAULTS["kp"][0] * ERROR_SHARE * room)).max())

    def borne(self, model: Model, q: Array, qd: Array, qdd: Array) -> Ball:
        """Return the payload, made lighter where it asks too much of a controller on this motion."""
        return self.scaled(1.0 / max(1.0, self.strain(model, q, qd, qdd)))

    def scaled(self, factor: float) -> Ball:
        """Return one that is that much heavier, to two digits."""
        return Ball(self.link, self.center, float(f"{factor * self.mass:.2g}"), self.own_mass)

    def parameters(self) -> Mapping[str, Any]:
        """Return those of a node whose robot carries it."""
        return {
            "payload_frame": self.link,
            "payload_mass": self.mass,
            "payload_center_of_mass": list(self.center),
            "payload_inertia": [0.4 * self.mass * RADIUS**2 * k for k in (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)],
        }


# The motion that the controlled robot is to follow.

RANGE_SHARE, SPEED_SHARE = 0.5, 0.6
"""Shares of each joint's half range and of its speed limit that the motion uses at most."""
HOME_SHARE = 0.4
"""Largest offset of a motion's centre from the middle of the joint's range, over half of it: joints of arms are
often in line with each other in the middle."""
UNBOUNDED = 100.0
"""Ranges from which on a joint counts as one without limits [rad, m]: descriptions write 1e16 for none, too."""
MAX_AMPLITUDE = 0.8
"""Largest amplitude [rad or m]."""
FREQUENCY = 0.25
"""Frequency of the slowest joint [Hz]; the fastest swings almost twice as fast."""
RAMP = 1.0
"""Time in which the motion swells from rest, and in which it dies away again [s]."""


class Motion:
    """Every joint, of one coordinate, swings about a place in its range at a frequency of its own, from rest to rest.

    Attributes
    ----------
    center : ndarray, shape (n,)
        Where the motion begins and ends [rad, m].
    """

    def __init__(self, model: Model, scale: float = 1.0) -> None:
        limits = model.limits
        bounded = limits.upper - limits.lower < UNBOUNDED
        lower, upper = np.where(bounded, limits.lower, 0.0), np.where(bounded, limits.upper, 0.0)
        half = np.where(bounded, 0.5 * (upper - lower), MAX_AMPLITUDE)
        reach = np.where(bounded, RANGE_SHARE * half, np.inf)
        speed = np.where(limits.velocity > 0.0, SPEED_SHARE * limits.velocity, np.inf)  # 0 stands for "not given"
        # The fractional parts of multiples of the golden ratio spread evenly, however many joints there are.
        spread = (np.arange(len(half)) * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0
        self.center = 0.5 * (lower + upper) + HOME_SHARE * half * np.cos(2.0 * math.pi * (spread + 0.3))
        self._rate = 2.0 * math.pi * FREQUENCY * (1.0 + spread)
        fastest = self._rate + 2.0 / RAMP  # the ramp adds to the speed
        self._amplitude = scale * np.minimum(np.minimum(reach, MAX_AMPLITUDE), speed / fastest)

    def at(self, t: Array, duration: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration, each (k, n), at times (k,) of a motion that lasts ``duration`` [s].

        Before its start and after its end the robot rests at the centre.
        """
        t = np.clip(t, 0.0, duration)[:, None]
        (w, dw, ddw), down = _ramp(t), _ramp(duration - t)
        dw, ddw = dw * down[0] - w * down[1], ddw * down[0] - 2.0 * dw * down[1] + w * down[2]
        w = w * down[0]
        s, ds = self._amplitude * np.sin(self._rate * t), self._amplitude * self._rate * np.cos(self._rate * t)
        dds = -(self._rate**2) * s
        return self.center + w * s, dw * s + w * ds, ddw * s + 2.0 * dw * ds + w * dds


def _ramp(t: Array) -> tuple[Array, Array, Array]:
    """Rise from 0 to 1 within `RAMP`, with its first and second derivatives: 10 x^3 - 15 x^4 + 6 x^5."""
    x = np.minimum(t / RAMP, 1.0)
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2 / RAMP,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / RAMP**2,
    )


RATE = 250.0
"""Joint states, and so torques, per second."""
LEAD = 0.7
"""Time from the start of a trajectory until the motion begins: the robot comes to its home pose [s]."""
AHEAD, PAUSE = 0.3, 0.2
"""Between sending a trajectory and its start, and rest after each act, in simulated time [s]."""
OVERHEAD = 1.3
"""Time of an act besides its motion: parameters, `LEAD`, coming to rest [s]."""
SHORTEST, LONGEST = 12.0, 40.0
"""Shortest and longest duration of the whole play [s]."""
SHARES = (0.2, 0.2, 0.6)
"""Shares of the acts in the play."""
EFFORT_SHARE = 0.8
"""Share of the effort limits that the motion takes at most, payload included."""
COMMAND_PATIENCE = 1.0
"""Longest wait of robot and controller for each other [s]: the demo goes on where a machine stalls."""
STEP = 0.05
"""Time between points of the trajectory [s]."""


@dataclass(frozen=True)
class Act:
    """A part of the play."""

    name: str  # a word
    story: str  # what happens
    duration: float  # of its motion [s]
    robot: Mapping[str, Any]  # parameters that change at its beginning
    controller: Mapping[str, Any]  # the same


class Play:
    """Motion and payload for a robot whose joints have one coordinate each, in so many seconds at most.

    ``known`` says whether the limits on learning are meant for it. Raises ShortfallError where it cannot be played.
    """

    def __init__(self, model: Model, seconds: float, known: bool = True) -> None:
        self.model, self.known = model, known
        if seconds < SHORTEST:
            raise ShortfallError(f"it takes {SHORTEST:g} s at least")
        lengths = _lengths(min(seconds, LONGEST))
        try:
            self.motion, self.payload = self._choose()
        except LieDynamicsError as error:
            raise ShortfallError(str(error)) from error
        mass, link = f"{self.payload.mass:.3g} kg", self.payload.link
        payload = self.payload.parameters()
        self.acts = (
            Act("exact", "computed torque with the exact model", lengths[0], {}, {}),
            # What is wrong with the model shows where nothing is learned.
            Act("payload", f"{mass} at {link} that was not given", lengths[1], payload, {"learn_drives": False}),
            Act("adaptive", "the adaptive controller learns it", lengths[2], {}, {"mode": "adaptive"}),
        )

    def _choose(self) -> tuple[Motion, Ball]:
        """Return motion and payload within the limits of efforts and, until it is learned, of the tracking error."""
        model, lengths = self.model, _lengths(LONGEST)  # the same however short the play is
        limit = np.where(model.limits.effort > 0.0, EFFORT_SHARE * model.limits.effort, np.inf)
        for scale in 0.75 ** np.arange(10):
            motion = Motion(model, float(scale))
            unlearned, longest = (motion.at(np.arange(0.0, length, 0.02), length) for length in lengths[1:])
            payload = Ball.largest(model).scaled(float(scale)).borne(model, *unlearned)
            taken = np.abs(inverse_dynamics(payload.on(model), *longest)).max(axis=0) / limit
            if (taken <= 1.0).all():
                return motion, payload
        j = int(np.argmax(taken))
        raise ShortfallError(
            f"its effort limits do not let it move with a payload: joint {model.joint_names[j]} takes "
            f"{EFFORT_SHARE * taken[j]:.0%} of its limit, at most {EFFORT_SHARE:.0%} is expected"
        )

    def points(self, duration: float) -> tuple[Array, tuple[Array, Array, Array]]:
        """Return times (k,) from the start of a trajectory, and position, velocity, acceleration (k, n) there."""
        t = np.linspace(0.0, duration, max(2, round(duration / STEP)) + 1)
        return LEAD + t, self.motion.at(t, duration)


def _lengths(seconds: float) -> list[float]:
    """Return those of the motions of a play that long [s]."""
    return [share * seconds - OVERHEAD for share in SHARES]


assert min(SHARES) * SHORTEST - OVERHEAD >= RAMP


# Played without ROS: whether a robot can be played is known before, with the reason.

SUBSTEPS = 2
"""Steps of the simulation in a period, as the node's."""


def rehearse(play: Play) -> list[float]:
    """Play all acts under the nodes' defaults; return the tracking error of each, of the worst joint, rms [rad, m].

    Raises ShortfallError where the controller stops the robot, or it cannot be simulated.
    """
    model, start = play.model, tuple(play.motion.center.tolist())
    arm = RobotSimulation(model, SimulationOptions(), 1.0 / (RATE * SUBSTEPS), start, 0)
    core = ComputedTorqueCore(model, ComputedTorqueOptions())
    core.start()
    arm.told[:] = EFFORT
    now, period, errors = 10**9, round(1e9 / RATE), []
    for act in play.acts:
        if act.robot:
            arm.set_options(SimulationOptions.from_values(act.robot))
        core = core.with_options(ComputedTorqueOptions.from_values(act.controller))
        times, states = play.points(act.duration)
        way, begin = JointPoints(np.arange(model.nv), times, *states), now + round(AHEAD * 1e9)
        first, last = begin + round(LEAD * 1e9), begin + round((LEAD + act.duration) * 1e9)
        end, farthest = last + round(PAUSE * 1e9), []
        while now < end:
            try:
                answer = core.answer(RobotState(now, *(x.copy() for x in arm.state)))
                if core.phase in (STOPPING, STOPPED):
                    raise ShortfallError(f"in act {act.name} the controller stops it: {core.reason}")
                if way is not None:
                    core.follow(way, begin)
                    way = None
                arm.value[:] = answer.total
                arm.advance(SUBSTEPS)
            except (LieDynamicsError, NodeError) as error:
                raise ShortfallError(f"act {act.name}: {error}") from error
            if first <= now <= last:
                farthest.append(float(np.abs(answer.error).max()))
            now += period
        errors.append(math.sqrt(sum(e * e for e in farthest) / len(farthest)))
    return errors
