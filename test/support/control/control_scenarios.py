"""What an arm goes through under a controller with default parameters, and what is measured of it.

Each scenario starts a loop of its own and returns figures, so that tests judge them and studies print them.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from lie_dynamics_ros.core.errors import MessageError

from .. import arms
from ..cores import DEFAULTS, make_core, options, sine
from .control_loop import ControlLoop, Encoders, Record

REST = 1e-3
"""Below this speed an arm is at rest [rad/s]."""
PRECISE = {"integrator": "rk4"}
"""Physics without errors of first order in the integrator's step, where errors of tenths of a mrad are judged."""


@dataclass(frozen=True)
class Case:
    """A robot, a mode, and a loop.

    Attributes
    ----------
    arm, mode : str
    rate : float
        [Hz].
    delay : float
        [periods].
    """

    arm: str
    mode: str
    rate: float
    delay: float

    def __str__(self) -> str:
        return f"{self.arm}-{self.mode}-{self.rate:g}Hz-{self.delay:g}"

    def loop(self, q, qd=0.0, physics=None, encoders: Encoders | None = None, **values) -> ControlLoop:
        """Return a loop that starts in a state."""
        arm = arms.load(self.arm)
        simulated = arm.simulated(**(physics or {}))
        simulated.set(q, qd)
        values.setdefault("mode", self.mode)
        return ControlLoop(simulated, make_core(arm.model, **values), self.rate, self.delay, encoders)


def payload(name: str, mass: float = 1.5) -> dict:
    """Return the physics of an arm that carries a ball at its last link."""
    last = {"ur5": "wrist_3_link", "xarm7": "link7", "kinova": "j2s6s200_link_6"}.get(name, "panda_link7")
    return {"payload": (last, mass, (0.0, 0.0, 0.1))}


def over_limits(case: Case, record: Record) -> float:
    """Largest effort over its limit, as a factor."""
    return float((np.abs(record.effort) / arms.load(case.arm).limit).max())


def rest(case: Case, q, rng: np.random.Generator, seconds: float = 1.5) -> dict:
    """Stand still, disturbed by a little velocity."""
    n = len(q)
    loop = case.loop(q, 1e-3 * rng.uniform(-1, 1, n))
    record = loop.run(seconds)
    return {
        "limits": over_limits(case, record),
        "speed": record.speed.max(),
        "last speed": record.speed[-1],
        "ripple": record.since(seconds - 0.5).ripple(),
        "phase": str(record.phase[-1]),
    }


def allowed_velocity(arm: arms.Arm, q, rng: np.random.Generator) -> np.ndarray:
    """Draw a velocity within the limits."""
    return arm.speed * rng.uniform(-1, 1, len(q))


def stop(case: Case, q, qd, physics=None, within: float = 1.0, watched: float = 1.0, **values) -> dict:
    """Stop from a state; times count from the state in which the stop was asked for, what is at rest from `within`.

    What rests is `watched` for that long [s]. Encoders have seen the arm on its way before.
    """
    loop = case.loop(q, qd, physics, **values)
    loop.come()
    loop.step()
    loop.core.stop("asked to")
    begun = loop.time
    record = loop.run(within + watched)
    late = record.since(begun + within)
    tail = record.since(loop.time - 0.5)
    return {
        "limits": over_limits(case, record),
        "rest after": record.rest_time(REST),
        "ripple": late.ripple(),
        "drift": float(np.ptp(late.q, axis=0).max()),
        "last speed": tail.speed.max(),
        "phase": str(record.phase[-1]),
        "fastest": record.speed.max(),
    }


def dropped(case: Case, q, qd, mass: float = 1.5) -> dict:
    """Learn a payload that falls off as a stop begins, from a velocity: the estimate is wrong by all of it."""
    loop = case.loop(q, 0.0, payload(case.arm, mass))
    loop.run(1.0)
    known = loop.core.estimate()[1].mass
    bare = arms.load(case.arm).simulated()
    bare.set(loop.arm.q, qd)
    loop.arm = bare
    loop.core.stop("asked to")
    record = loop.run(2.0)
    return {
        "known": known,
        "limits": over_limits(case, record),
        "rest after": record.rest_time(REST),
        "fastest": record.speed.max(),
        "phase": str(record.phase[-1]),
    }


def stiffness(mode: str) -> tuple[float, float]:
    """Return kp and kd of a mode with default parameters: the others have Lambda Kd and Lambda + Kd over M."""
    if mode == "computed_torque":
        return DEFAULTS["kp"][0], DEFAULTS["kd"][0]
    converge, slide = DEFAULTS["convergence_rate"][0], DEFAULTS["sliding_rate"][0]
    return converge * slide, converge + slide


def stated_error(case: Case, record: Record) -> float:
    """Return the largest error that the docs state for the exact model, from MuJoCo's dynamics [rad].

    Efforts act later by T than they are meant for, so e'' + kd e' + kp e = T M^-1 d/dt tau_d of the desired motion:
    half a period after the delay, not after what the controller took it for as it commanded them. Feedback is as late.
    """
    judge, (kp, kd) = arms.physics(case.arm), stiffness(case.mode)
    h = 1.0 / case.rate
    acts = (case.delay + 0.5) * h  # after the state that it answers
    late = acts - np.interp(record.t - acts, record.t, record.lead)
    motion = list(zip(record.desired, record.desired_rate, record.desired_acceleration, strict=True))
    effort = np.array([judge.inverse_dynamics(*row) for row in motion])
    rate = np.gradient(effort, h, axis=0)
    parts = 8  # of a period, in which it is integrated; feedback is as late as all efforts
    step, steps = h / parts, round(parts * acts / h) + 1
    errors, speeds = [np.zeros_like(effort[0])] * steps, [np.zeros_like(effort[0])] * steps
    for q, change, by in zip(record.desired, rate, late, strict=True):
        forcing = by * np.linalg.solve(judge.mass_matrix(q), change)
        for _ in range(parts):
            speeds.append(speeds[-1] + step * (forcing - kd * speeds[-steps] - kp * errors[-steps]))
            errors.append(errors[-1] + step * speeds[-1])
    return float(np.abs(errors).max())


def trajectory(case: Case, q, physics=None, seconds: float = 3.0, swing: float = 0.3, **values) -> dict:
    """Follow sines of all joints; errors are compared with what the docs state for the exact model."""
    arm = arms.load(case.arm)
    loop = case.loop(q, 0.0, {**PRECISE, **(physics or {})}, **values)
    loop.run(0.5)  # gains are lower at first
    room = np.abs(np.minimum(q - arm.lower, arm.upper - q))  # poses on purpose may be beyond a turn
    amplitude = np.minimum(0.8 * room, np.where(arm.speed < 0.5, 0.01, swing * np.minimum(1.0, arm.speed / 2.0)))
    frequency = 0.4 + 0.2 * np.linspace(0, 1, len(q))
    loop.core.follow(sine(q, amplitude, frequency, seconds), loop.stamp)
    record = loop.run(seconds)
    settled = loop.run(0.5)
    return {
        "limits": over_limits(case, record),
        "error": float(np.abs(record.error).max()),
        "stated": stated_error(case, record),
        "last error": float(np.abs(settled.error[-1]).max()),
        "phases": sorted({*record.phase.tolist(), *settled.phase.tolist()}),
        "ripple": settled.since(loop.time - 0.2).ripple(),
    }


def push(
    case: Case, q, rng: np.random.Generator, part: float = 0.3, seconds: float = 0.1, wait: float = 3.0
) -> dict:
    """Push all joints for a moment by a part of their effort limits, and wait until all is quiet."""
    arm = arms.load(case.arm)
    loop = case.loop(q)
    loop.run(0.1)
    loop.push = part * arm.limit * rng.choice([-1.0, 1.0], len(q)) * np.where(arm.speed < 0.5, 0.02, 1.0)
    pushed = loop.run(seconds)
    loop.push = None
    record = loop.run(wait)
    return {
        "limits": max(over_limits(case, pushed), over_limits(case, record)),
        "fastest": max(pushed.speed.max(), record.speed.max()),
        "rest after": record.rest_time(REST),
        "last speed": record.since(loop.time - 0.2).speed.max(),
        "ripple": record.since(loop.time - 0.5).ripple(),
        "phase": str(record.phase[-1]),
    }


def switch(
    case: Case, q, to: dict, physics=None, begun: float = 0.5, wait: float = 0.9, after: float = 1.5, **values
) -> dict:
    """Change parameters under way; efforts per limit: the largest step at the change, and after it within 10 ms.

    Beside them what damps a robot that moves while it is guided: that ends with its mode, for the way to rest begins
    from the motion as it is.
    """
    arm = arms.load(case.arm)
    loop = case.loop(q, 0.0, physics, **values)
    loop.run(begun)
    if case.mode != "gravity_compensation":
        room = np.minimum(q - arm.lower, arm.upper - q)
        amplitude = np.minimum(0.5 * room, np.where(arm.speed < 0.5, 0.01, 0.2 * np.minimum(1.0, arm.speed / 2.0)))
        with contextlib.suppress(MessageError):  # where the payload has made it stop
            loop.core.follow(sine(q, amplitude, 0.5 + 0.1 * np.arange(len(q)) / len(q), 4.0, 0.3), loop.stamp)
    before, guided = loop.run(wait), 0.0
    if case.mode == "gravity_compensation" != to.get("mode", case.mode):
        guided = float(np.abs(loop.core.control.parts.state.answer.law.damping / arm.limit).max())
    loop.core = loop.core.with_options(options(**{"mode": case.mode, **values, **to}))
    changed = loop.run(after)
    steps = np.abs(np.diff(np.vstack([before.effort[-1:], changed.effort]), axis=0)) / arm.limit
    near = max(2, round(0.01 * case.rate))
    return {
        "limits": over_limits(case, changed),
        "guided": guided,
        "step": float(steps[0].max()),
        "near steps": float(steps[:near].max()),
        "stepping phases": sorted({*before.phase.tolist()[-1:], *changed.phase.tolist()[: near + 1]}),
    }


def learn(
    case: Case, q, mass: float = 1.5, seconds: float = 14.0, settled: float = 10.0, dry=0.0, viscous=0.0, **values
) -> dict:
    """Carry a payload the model does not know: a second of passivity_based, then the mode, on exciting motion.

    Friction the model does not know either is given as parts of the effort limits, the viscous one at 1 rad/s. Errors
    count once it is to have `settled` [s].
    """
    arm = arms.load(case.arm)
    rubs = {"friction": dry * arm.limit, "damping": viscous * arm.limit}
    physics = {**payload(case.arm, mass), **(rubs if dry or viscous else PRECISE)}
    loop = case.loop(q, 0.0, physics, **{**values, "mode": "passivity_based"})
    before = loop.run(1.0)
    loop.core = loop.core.with_options(options(**values, mode=case.mode))
    held = loop.run(1.0)
    limits = arm.model.limits  # poses are drawn from a turn, which may end where they do
    room = np.minimum(q - limits.lower, limits.upper - q)
    amplitude = np.minimum(0.5 * room, np.where(arm.speed < 0.5, 0.01, 0.35 * np.minimum(1.0, arm.speed / 2.0)))
    frequency = 0.35 + 0.25 * np.linspace(0, 1, len(q))
    loop.core.follow(sine(q, amplitude, frequency, seconds, 1.0), loop.stamp)
    masses, smallest = [], np.inf
    first = len(loop._rows)
    for k in range(round((seconds + 1.0) * case.rate)):
        loop.step()
        if k % 20 == 0:
            masses.append(loop.core.estimate()[1].mass)
            values_ = np.linalg.eigvalsh(loop.core.learner.pseudo)
            smallest = min(smallest, float(values_.min()))
    record = loop.record(first)
    late = record.since(record.t[0] + settled)
    late = late.since(0.0) if late.t.size else record
    inside = late.t < record.t[-1] - 1.0
    steps = np.abs(np.diff(np.vstack([before.effort[-1:], held.effort]), axis=0)) / arm.limit
    return {
        "limits": max(over_limits(case, r) for r in (before, held, record)),
        "step": float(steps[0].max()),
        "settled error": float(np.abs(late.error[inside]).max()) if inside.any() else np.inf,
        "masses": (min(masses), max(masses), masses[-1]),
        "smallest eigenvalue": smallest,
        "phases": sorted({*held.phase.tolist(), *record.phase.tolist()}),
        "ripple": held.since(held.t[-1] - 0.2).ripple(),
    }
