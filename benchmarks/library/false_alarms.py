"""Hours of free motion with dry friction, rests and gaps, for each class of arms: does anything ring?

Pieces of a minute, each with a motion, a friction, noise, a rate, gaps and settings of its own: moves of all joints
between poses, rests between in which friction holds anything, states that are lost or come late in a burst, stamps that
jitter, friction that falls while the drive warms up. What is told to be unknown is as large as it is.

FALSE_ALARM_HOURS is the time of each class. FALSE_ALARM_FOLDER has descriptions that no package brings
(github.com/Daniella1/urdf_files_dataset, its ``urdf_files``); arms without a file are left out. FALSE_ALARM_LOG is a
file that takes a line for each piece, and from which a run goes on.
"""

from __future__ import annotations

import os
import warnings
import zlib
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import JointFriction, Model, SpatialInertia, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.estimation import ContactObserver, SensorNoise

from ..results import Figure, at_most
from .bad_recordings import FILES, ROBOTS

MORE = Path(os.environ.get("FALSE_ALARM_FOLDER", "/nonexistent"))
CLASSES = {
    "six-axis cobots": {
        "ur3": FILES["ur3"],
        "ur5": FILES["ur5"],
        "ur10": FILES["ur10"],
        "ur10e": MORE / "matlab/ur_e_description/urdf/universalUR10e.urdf",
        "ur16e": MORE / "matlab/ur_e_description/urdf/universalUR16e.urdf",
    },
    "seven-axis arms": {
        "panda": FILES["panda"],
        "xarm7": FILES["xarm7"],
        "tiago_arm": ROBOTS / "tiago_description/robots/tiago_no_hand.urdf",
        "iiwa14": MORE / "matlab/iiwa_description/urdf/kukaIiwa14.urdf",
        "gen3": MORE / "matlab/kortex_description/urdf/kinovaGen3.urdf",
    },
    "light arms": {
        "kinova": FILES["kinova"],
        "z1": FILES["z1"],
        "so_arm": ROBOTS / "so_arm_description/urdf/so101.urdf",
        "jaco7": MORE / "matlab/kinova_description/urdf/kinovaJacoJ2S7S300.urdf",
    },
    "industrial arms": {
        "heavy": FILES["ur10"],
        "kr210": MORE / "ros-industrial/kuka/kuka_kr210_support/urdf/kr210l150.urdf",
        "rx160": MORE / "ros-industrial/staubli/staubli_rx160_support/urdf/rx160.urdf",
        "irb1200": MORE / "ros-industrial/xacro_generated/abb/abb_irb1200_support/urdf/irb1200_5_90.urdf",
    },
}
"""Descriptions of arms; the heavy one is thirty times as heavy as its own says, as a UR10 of 900 kg would be."""
MOVES = {"tiago_arm": "arm_", "jaco7": "_joint_"}
"""What names of the joints begin with, or have, that are no gripper's and no body's."""
PIECE = 60.0
RATES = (125, 125, 250, 500, 125, 250, 1000, 125, 250, 125)
LATER = (125, 125, 250, 125, 500, 125, 125, 250, 125, 125, 125, 125, 250, 125, 1000, 125, 125, 250, 125, 125)
"""Of an arm's pieces in turn [Hz], and of those from piece `FEWER` on: fast ones take ten times as long."""
FEWER = 240


def arm(name: str, path: Path) -> Model:
    """Return a model without the joints that are not the arm's."""
    model = Model.from_urdf(path, inertia_check="ignore")
    if name in MOVES:
        at = {}
        for joint in model.joint_names:
            if MOVES[name] not in joint or "finger" in joint:
                low, high = (float(x[model.joint(joint).v_slice][0]) for x in (model.limits.lower, model.limits.upper))
                at[joint] = min(max(0.0, low), high)
        model = Model.from_urdf(path, inertia_check="ignore", locked=at)
    if name == "heavy":
        for k, body in enumerate(model.body_names):
            own = model.inertia(k)
            model = model.with_inertia(body, SpatialInertia(30.0 * own.mass, own.com, 30.0 * own.inertia))
    return model


class FreeMotion:
    """A minute of an arm that nothing touches.

    Parameters
    ----------
    model : Model
    seed, rate : int
        The latter in hertz.
    lasts : float
        [s].
    """

    def __init__(self, model: Model, seed: int, rate: int, lasts: float = PIECE) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.model, self.grain, n = model, 1.0 / rate, model.nv
        self.known = bool(rng.integers(2))
        time = np.arange(round(lasts * rate)) / rate
        lower, upper = np.maximum(model.limits.lower, -2.0), np.minimum(model.limits.upper, 2.0)
        low, high = np.where(lower < upper, lower, -2.0), np.where(lower < upper, upper, 2.0)
        speed = np.minimum(np.where(model.limits.velocity > 0.0, model.limits.velocity, 1.0), 1.5)
        q, qd, qdd = (np.zeros((len(time), n)) for _ in range(3))
        stands = np.zeros(len(time), int)  # number of the rest, or of the move after it
        at, begin, rests = rng.uniform(low, high), 0.0, 0
        while begin < lasts:
            rest, rests = begin + rng.choice([0.0, 0.3, 2.0, 8.0]), rests + 1
            here = (time >= begin) & (time < rest)
            q[here] = at
            to = np.where(rng.random(n) < 0.8, rng.uniform(low, high), at)
            takes = max(1.875 * float((np.abs(to - at) / speed).max()), 0.2) * rng.uniform(1.0, 4.0)
            here = (time >= rest) & (time < rest + takes)
            s = (time[here, None] - rest) / takes
            q[here] = at + (to - at) * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
            qd[here] = (to - at) * 30.0 * (s * (1.0 - s)) ** 2 / takes
            qdd[here] = (to - at) * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / takes**2
            stands[(time >= begin) & (time < rest + takes)] = rests
            at, begin = to, rest + takes
        bodies = np.asarray(inverse_dynamics(model, q, qd, qdd))
        most = np.abs(bodies).max(axis=0)
        self.dry = 0.05 * most + 0.2 * min(1.0, 0.05 * float(most.max()))
        self.velocity_noise = 10.0 ** rng.uniform(-3.5, -2.5)
        self.effort_noise = (most + 0.02 * most.max()) * 10.0 ** rng.uniform(-3.5, -2.5)
        warm = 1.0 - 0.1 * (1.0 - np.exp(-time / 300.0))[:, None]
        moves = warm * self.dry * (1.0 + 0.1 * rng.uniform(-1.0, 1.0, n)) * qd / np.sqrt(qd * qd + 1e-4)
        held = rng.uniform(-1.0, 1.0, (rests + 1, n)) * self.dry
        offset = 0.05 * self.dry * rng.uniform(-1.0, 1.0, n)
        # A joint that stands while others move holds what it held when it came to rest.
        moving, since = qd != 0.0, np.zeros(qd.shape, int)
        since[1:] = np.where(moving[:-1] & ~moving[1:], np.arange(1, len(time))[:, None], 0)
        stopped = stands[np.maximum.accumulate(since, axis=0)]
        self.time, self.q, self.qd, self.bodies = time, q, qd, bodies
        self.effort = bodies + np.where(moving, moves, held[stopped, np.arange(n)]) + offset

    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float]]:
        """Return positions, velocities and efforts with noise, and the time since the state before each."""
        rng, k, size, grain = self.rng, 0, len(self.time), self.grain
        stamps = self.time + rng.uniform(0.0, min(4e-5, 0.02 * grain), size)
        comes = np.ones(size, bool)
        while k < size:
            stop = k + int(rng.integers(50, 600))
            k = min(stop + int(rng.integers(2, max(21, 0.04 / grain))), size)
            if stop < k and rng.random() < 0.3:  # a burst
                late = stamps[k - 1] - min(1e-4, 0.05 * grain) * np.arange(k - 1 - stop, -1, -1.0)
                stamps[stop:k] = np.maximum(late, stamps[stop:k])
            else:
                comes[stop:k] = False
        v = self.qd + self.velocity_noise * rng.normal(size=self.qd.shape)
        e = self.effort + self.effort_noise * rng.normal(size=self.qd.shape)
        return self.q[comes], v[comes], e[comes], np.diff(stamps[comes], prepend=-grain).tolist()

    def observer(self) -> ContactObserver:
        """Return one whose settings say what is not known: a tenth of the friction, or all of it."""
        noise = SensorNoise.white(self.model, self.velocity_noise, self.effort_noise, self.grain)
        if not self.known:
            return ContactObserver(self.model, noise, friction_error=self.dry, offset_error=0.1 * self.dry)
        law = JointFriction(np.zeros(self.model.nv), self.dry)
        errors = {"friction_error": 0.1 * self.dry, "offset_error": 0.05 * self.dry}
        return ContactObserver(self.model, noise, friction=law, **errors)


def piece(model: Model, seed: int, rate: int) -> tuple[int, int, float, int]:
    """Return states and contacts that begin in a minute, the largest evidence, and a checksum of all of it."""
    motion = FreeMotion(model, seed, rate)
    observer, begun, evidence = motion.observer(), 0, []
    for q, qd, effort, step in zip(*motion.states(), strict=True):
        found = observer.update(q, qd, effort, step)
        if found is not None:
            evidence.append(found.evidence)
            begun += found.begun
    return len(evidence), begun, max(evidence), zlib.crc32(np.array(evidence).tobytes())


def run() -> tuple[list[Figure], list[str]]:
    """Return false alarms of each class and arm; the raw rows are arm, seed, rate, states, alarms, evidence, sum."""
    warnings.simplefilter("ignore")
    hours = float(os.environ.get("FALSE_ALARM_HOURS", "1"))
    log = Path(os.environ.get("FALSE_ALARM_LOG", os.devnull))
    done = {tuple(row.split()[:2]): row for row in (log.read_text().splitlines() if log.is_file() else [])}
    models = {
        kind: {name: arm(name, path) for name, path in arms.items() if path.is_file()} for kind, arms in CLASSES.items()
    }
    rows: dict[str, list[str]] = {kind: [] for kind in models}
    with log.open("a") as file:
        for seed in range(round(hours * 3600.0 / PIECE)):
            for kind, arms in models.items():
                name = list(arms)[seed % len(arms)]
                rates, turn = (RATES if seed < FEWER else LATER), seed // len(arms)
                rate = rates[turn % len(rates)]
                if (name, str(seed)) not in done:
                    states, begun, most, code = piece(arms[name], seed, rate)
                    done[name, str(seed)] = f"{name} {seed} {rate} {states} {begun} {most:.4f} {code:08x}"
                    print(done[name, str(seed)], file=file, flush=True)
                rows[kind].append(done[name, str(seed)])
    figures = []
    for kind, lines in rows.items():
        pieces = [line.split() for line in lines]
        for name in [kind, *models[kind]]:
            mine = [p for p in pieces if name in (kind, p[0])]
            lasts = len(mine) * PIECE / 3600.0
            count = sum(int(p[4]) for p in mine)
            figures.append(at_most(f"{name}: false alarms in {lasts:.2f} h", count, "", 0))
            most = max((float(p[5]) for p in mine), default=0.0)
            figures.append(Figure(f"{name}: largest evidence (1 is an alarm)", most, ""))
    return figures, [line for lines in rows.values() for line in lines]


def describe(rows: list[str]) -> str:
    """Return what rang, and how much of the time states came at which rate."""
    pieces = [row.split() for row in rows]
    share = ", ".join(f"{r} Hz {sum(int(p[2]) == r for p in pieces) / len(pieces):.0%}" for r in sorted(set(RATES)))
    rang = [f"- {p[0]}, piece {p[1]} at {p[2]} Hz: evidence {p[5]}" for p in pieces if int(p[4])]
    return "\n".join([f"Rates: {share}.", *rang])
