"""Sweep of the controller's modes, stops included, over poses, rates and delays: how fast the sampled loop grows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from lie_dynamics_ros.core.robot_state import RobotState

from .. import arms
from ..cores import MODES, make_core
from .sampled_loop import linearised, read_fading, read_gains, with_memory

#: Above this rate a motion grows [1/s]: differences tell the eigenvalues no better, and 1 itself is neutral.
GROWTH = 1e-3
RATES, DELAYS = (250.0, 500.0, 1000.0), (0.0, 1.0)
SETTLED = 16  # states at rest from which the core learns the period


def growths(
    name: str, count: int, rng: np.random.Generator, modes: Sequence[str] = MODES, rates: Sequence[float] = RATES
) -> Iterator[tuple[tuple, float]]:
    """Yield what was judged (mode, phase, rate [Hz], delay [periods], pose) and how fast it grows [1/s].

    The poses are those in which axes line up, and others at random. Mode adaptive learns as by default: from what
    efforts did nothing to first order around rest, so the states that gains are read from need not follow from efforts.
    """
    arm, judge = arms.load(name), arms.physics(name)
    poses = [arm.aligned(k) for k in range(len(arms.ALIGNED[name]))]
    poses += [arm.random_pose(rng) for _ in range(count - len(poses))]
    plants = [linearised(judge, q) for q in poses]
    for mode, rate in itertools.product(modes, rates):
        core, period = make_core(arm.model, mode=mode), round(1e9 / rate)
        for q, (A, B) in zip(poses, plants, strict=True):
            for stopped in (False, True) if mode in ("computed_torque", "adaptive") else (False,):
                core.start()
                stamp = 10**9
                for k in range(SETTLED):
                    core.answer(RobotState(stamp, q, np.zeros_like(q)))
                    stamp += period
                    if stopped and k == 0:
                        core.stop("asked to")
                if stopped:
                    K, W, kept = read_fading(core, stamp, period, q)
                else:
                    (K, W, _), kept = read_gains(core, stamp, period, q), None
                for delay in DELAYS:
                    radius = np.abs(np.linalg.eigvals(with_memory(A, B, K, W, 1.0 / rate, delay, kept))).max()
                    yield (mode, core.phase, rate, delay, q.round(3).tolist()), float(rate * np.log(radius))
