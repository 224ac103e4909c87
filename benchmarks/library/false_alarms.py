"""Hours of free motion with dry friction, rests and gaps, for each class of arms: does anything ring?

Pieces of a minute, each with a motion, a friction, gaps and settings of its own: moves of all joints between poses,
rests between in which friction holds anything, states that are lost for up to 40 ms or come late in a burst, stamps
that jitter, friction that falls while the drive warms up. What is told to be unknown is as large as it is.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import numpy as np

from lie_dynamics_ros.lie_dynamics import JointFriction, Model, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.estimation import ContactObserver, SensorNoise

from ..results import Figure, at_most
from .bad_recordings import FILES, ROBOTS

ARMS = {
    "panda": FILES["panda"],
    "ur3": ROBOTS / "ur_description/urdf/ur3_robot.urdf",
    "ur5": FILES["ur5"],
    "ur10": ROBOTS / "ur_description/urdf/ur10_robot.urdf",
    "xarm7": FILES["xarm7"],
    "kinova": FILES["kinova"],
    "z1": ROBOTS / "z1_description/urdf/z1.urdf",
    "so_arm": ROBOTS / "so_arm_description/urdf/so101.urdf",
}
"""Descriptions of arms that lie beside those of other benchmarks."""
PIECE = 60.0
GRAIN = 2e-3
VELOCITY_NOISE, EFFORT_NOISE = 1e-3, 0.05


class FreeMotion:
    """A minute of an arm that nothing touches.

    Parameters
    ----------
    model : Model
    seed : int
    """

    def __init__(self, model: Model, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.model, n = model, model.nv
        self.known = bool(seed % 2)
        time = np.arange(0.0, PIECE, GRAIN)
        lower, upper = np.maximum(model.limits.lower, -2.0), np.minimum(model.limits.upper, 2.0)
        low, high = np.where(lower < upper, lower, -2.0), np.where(lower < upper, upper, 2.0)
        speed = np.minimum(np.where(model.limits.velocity > 0.0, model.limits.velocity, 1.0), 1.5)
        q, qd, qdd = (np.zeros((len(time), n)) for _ in range(3))
        stands = np.zeros(len(time), int)  # number of the rest, 0 in motion
        at, begin, rests = rng.uniform(low, high), 0.0, 0
        while begin < PIECE:
            rest, rests = begin + rng.choice([0.0, 0.3, 2.0, 8.0]), rests + 1
            here = (time >= begin) & (time < rest)
            q[here], stands[here] = at, rests
            to = np.where(rng.random(n) < 0.8, rng.uniform(low, high), at)
            lasts = max(1.875 * float((np.abs(to - at) / speed).max()), 0.2) * rng.uniform(1.0, 4.0)
            here = (time >= rest) & (time < rest + lasts)
            s = (time[here, None] - rest) / lasts
            q[here] = at + (to - at) * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
            qd[here] = (to - at) * 30.0 * (s * (1.0 - s)) ** 2 / lasts
            qdd[here] = (to - at) * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / lasts**2
            at, begin = to, rest + lasts
        bodies = np.asarray(inverse_dynamics(model, q, qd, qdd))
        self.dry = 0.05 * np.abs(bodies).max(axis=0) + 0.2
        warm = 1.0 - 0.1 * (1.0 - np.exp(-time / 300.0))[:, None]
        moves = warm * self.dry * (1.0 + 0.1 * rng.uniform(-1.0, 1.0, n)) * qd / np.sqrt(qd * qd + 1e-4)
        held = rng.uniform(-1.0, 1.0, (rests + 1, n))[stands] * self.dry
        moving = qd != 0.0
        offset = 0.05 * self.dry * rng.uniform(-1.0, 1.0, n)
        first = np.maximum.accumulate(np.where(moving, 0, np.arange(len(time))[:, None] + 1), axis=0) == 0
        last = np.where(first, 0.0, held)  # a joint that stands while others move holds what it held
        for k in range(1, len(time)):
            last[k] = np.where(moving[k], 0.0, np.where(moving[k - 1], held[k], last[k - 1]))
        self.time, self.q, self.qd = time, q, qd
        self.effort = bodies + np.where(moving, moves, last) + offset

    def states(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
        """Yield positions, velocities and efforts with noise, and the time since the state before."""
        rng, n, k, last = self.rng, self.model.nv, 0, -GRAIN
        while k < len(self.time):
            stop, stall = k + int(rng.integers(50, 600)), int(rng.integers(2, 21))
            burst = rng.random() < 0.3
            for i in range(k, min(stop + stall, len(self.time))):
                stamp = self.time[i] + rng.uniform(0.0, 4e-5)
                if i >= stop:
                    if not burst:
                        continue  # lost
                    end = self.time[min(stop + stall, len(self.time)) - 1]
                    stamp = max(end - 1e-4 * (stall - i + stop), last + 1e-5)
                noise = rng.normal(size=(2, n))
                v, e = self.qd[i] + VELOCITY_NOISE * noise[0], self.effort[i] + EFFORT_NOISE * noise[1]
                yield self.q[i], v, e, stamp - last
                last = stamp
            k = stop + stall

    def observer(self) -> ContactObserver:
        """Return one whose settings say what is not known: a tenth of the friction, or all of it."""
        noise = SensorNoise.white(self.model, VELOCITY_NOISE, EFFORT_NOISE, GRAIN)
        if not self.known:
            return ContactObserver(self.model, noise, friction_error=self.dry, offset_error=0.1 * self.dry)
        law = JointFriction(np.zeros(self.model.nv), self.dry)
        errors = {"friction_error": 0.1 * self.dry, "offset_error": 0.05 * self.dry}
        return ContactObserver(self.model, noise, friction=law, **errors)


def alarms(model: Model, hours: float, name: str = "") -> tuple[int, float, list[str]]:
    """Return how many contacts begin in so much motion, the largest evidence, and lines that tell of them."""
    count, most, rows = 0, 0.0, []
    for seed in range(round(hours * 3600.0 / PIECE)):
        motion = FreeMotion(model, seed)
        observer, now = motion.observer(), 0.0
        for q, qd, effort, step in motion.states():
            found, now = observer.update(q, qd, effort, step), now + step
            if found is None:
                continue
            most = max(most, found.evidence)
            if found.begun:
                count += 1
                rows.append(f"{name}, piece {seed}, {now:.3f} s: evidence {found.evidence:.2f}")
                print(rows[-1], flush=True)
    return count, most, rows


def run() -> tuple[list[Figure], list[str]]:
    """Return false alarms of each arm in as many hours as FALSE_ALARM_HOURS says, by default one."""
    warnings.simplefilter("ignore")
    hours, figures, rows = float(os.environ.get("FALSE_ALARM_HOURS", "1")), [], []
    for name, path in ARMS.items():
        count, most, lines = alarms(Model.from_urdf(path, inertia_check="ignore"), hours, name)
        figures.append(at_most(f"{name}: false alarms in {hours:g} h", count, "", 0))
        figures.append(Figure(f"{name}: largest evidence (1 is an alarm)", most, ""))
        rows += lines
        print(figures[-2], most, flush=True)
    return figures, rows


def describe(rows: list[str]) -> str:
    """Return what rang, and when."""
    return "\n".join(f"- {row}" for row in rows)
