"""A force of 5 N at the last link of each arm, in motion: is it felt within 10 ms, where noise allows?

Motions of `false_alarms` at 1 kHz, forces in any direction, 30 for each arm: with torque sensors at the joints, and
beyond dry friction that is known to a tenth. Noise allows it where the statistic of noise alone, whose
mean and variance are those of chi-square off the centre, would be above the threshold by two deviations within 8 ms.
"""

from __future__ import annotations

import warnings

import numpy as np

from lie_dynamics_ros.lie_dynamics import JointFriction, Model, jacobian, mass_matrix
from lie_dynamics_ros.lie_dynamics.estimation import ContactObserver, SensorNoise

from ..results import Figure
from .false_alarms import CLASSES, FreeMotion, arm

FORCE, RATE, WITHIN = 5.0, 1000, 10
LASTS, TOUCHES = 4.0, 30
VELOCITY_NOISE, EFFORT_NOISE = 1e-3, 0.02
"""Of arms whose largest effort is 60 N m; of heavier ones that of efforts is as much larger [rad/s, N m]."""
WINDOW = 2
"""Number of the window of 8 states."""


def allowed(model: Model, noise: SensorNoise, q: np.ndarray, torque: np.ndarray, threshold: float) -> bool:
    """Return whether noise alone would let a torque be felt within eight states."""
    M = mass_matrix(model, q)
    gone = 8.0 / RATE * torque
    size = float(gone @ np.linalg.solve(M @ noise.velocity[WINDOW] @ M + noise.impulse[WINDOW], gone))
    return model.nv + size - 2.0 * np.sqrt(2.0 * model.nv + 4.0 * size) > threshold


def touches(model: Model, friction: bool) -> tuple[int, int]:
    """Return how many touches noise allows, and how many of these are felt; friction is known to a tenth."""
    could, felt, seed = 0, 0, 0
    frame = model.body_names[-1]
    for _ in range(TOUCHES):
        moves = np.zeros(0, int)
        while not moves.size:  # a motion of all joints that lasts
            motion, seed = FreeMotion(model, 1000 + seed, RATE, LASTS), seed + 1
            moving = np.abs(motion.qd).max(axis=1) > 0.02
            moves = np.flatnonzero(moving[1000:-100] & moving[1020:-80]) + 1000
        rng, level = np.random.default_rng(seed), EFFORT_NOISE * max(1.0, float(np.abs(motion.effort).max()) / 60.0)
        begin = int(rng.choice(moves))
        noise = SensorNoise.white(model, VELOCITY_NOISE, level, 1.0 / RATE)
        if friction:
            law = JointFriction(np.zeros(model.nv), motion.dry)
            unknown = {"friction_error": 0.1 * motion.dry, "offset_error": 0.05 * motion.dry}
            observer, effort = ContactObserver(model, noise, friction=law, **unknown), motion.effort
        else:
            observer, effort = ContactObserver(model, noise), motion.bodies
        force = rng.normal(size=3)
        force *= FORCE / np.linalg.norm(force)
        torque = jacobian(model, motion.q[begin], frame)[3:].T @ force
        if not allowed(model, noise, motion.q[begin], torque, observer.threshold):
            continue
        could += 1
        for k in range(begin - 900, begin + WITHIN + 1):
            v = motion.qd[k] + VELOCITY_NOISE * rng.normal(size=model.nv)
            e = effort[k] + level * rng.normal(size=model.nv) - (torque if k > begin else 0.0)
            found = observer.update(motion.q[k], v, e)
            if k > begin and found is not None and found.begun:
                felt += 1
                break
    return could, felt


def run() -> tuple[list[Figure], list[str]]:
    """Return for each arm how many of the touches that noise allows are felt."""
    warnings.simplefilter("ignore")
    figures = []
    for arms in CLASSES.values():
        for name, path in arms.items():
            if not path.is_file():
                continue
            model = arm(name, path)
            for friction, what in ((False, "torque sensors"), (True, "dry friction")):
                could, felt = touches(model, friction)
                figures.append(Figure(f"{name}, {what}: felt within 10 ms, of {could} that noise allows", felt, ""))
                print(figures[-1].name, felt, flush=True)
    return figures, []
