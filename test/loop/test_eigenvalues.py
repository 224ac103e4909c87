"""The gains that the controller really has, in the exact sampled loop: no eigenvalue outside the unit circle."""

import itertools

import numpy as np
import pytest
from support import arms
from support.cores import MODES, make_core
from support.sampled_loop import linearised, read_gains, with_memory

GROWTH = 1e-3
"""Above this rate a motion grows [1/s]: differences tell the eigenvalues no better, and 1 itself is neutral."""


def growths(name, count, rng):
    """Yield what was judged and how fast it grows [1/s], for poses at random and those in which axes line up."""
    arm, judge = arms.load(name), arms.physics(name)
    poses = [arm.aligned(k) for k in range(len(arms.ALIGNED[name]))]
    poses += [arm.random_pose(rng) for _ in range(count - len(poses))]
    plants = [linearised(judge, q) for q in poses]
    for mode, rate in itertools.product(MODES, (250.0, 500.0, 1000.0)):
        core, period = make_core(arm.model, mode=mode), round(1e9 / rate)
        for q, (A, B) in zip(poses, plants, strict=True):
            for stopped in (False, True) if mode in ("computed_torque", "adaptive") else (False,):
                core.start()
                stamp = 10**9
                for k in range(40):  # the core learns the period from the stamps
                    core.answer(stamp, q, np.zeros_like(q))
                    stamp += period
                    if stopped and k == 0:
                        core.stop("asked to")
                K, W, _ = read_gains(core, stamp, period, q)
                for delay in (0.0, 1.0):
                    radius = np.abs(np.linalg.eigvals(with_memory(A, B, K, W, 1.0 / rate, delay))).max()
                    yield (mode, core.phase, rate, delay, q.round(3).tolist()), rate * np.log(radius)


def judge(name, count, rng):
    unstable, total = [], 0
    for what, growth in growths(name, count, rng):
        total += 1
        if growth > GROWTH:
            unstable.append((*what, round(growth, 4)))
    assert not unstable, f"{len(unstable)} of {total} unstable, such as {unstable[:: max(1, len(unstable) // 5)][:6]}"


@pytest.mark.parametrize("name", ["panda", "ur5", "xarm7"])
def test_no_mode_and_no_stop_is_unstable_at_any_pose(name, rng):
    judge(name, 8, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", arms.NAMES)
def test_no_mode_and_no_stop_is_unstable_at_a_thousand_poses(name, rng):
    judge(name, 1000, rng)
