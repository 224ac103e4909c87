"""Eigenvalues of the loop that a sampled controller closes around an arm, exact between the samples.

The arm is MuJoCo's, linearised at rest; the controller is a black box, whose gains are read off its answers.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from lie_dynamics_ros.core.robot_state import RobotState

from ..mujoco_arm import MujocoArm

LATER = 6
"""Answers in which it is seen how a memory fades."""

def linearised(arm: MujocoArm, q: np.ndarray, step: float = 1e-6) -> tuple[np.ndarray, np.ndarray]:
    """Return A (2n, 2n) and B (2n, n) of d/dt (dq, dqd) = A (dq, dqd) + B dtau at rest under gravity's efforts."""
    n = len(q)
    inverse = np.linalg.inv(arm.mass_matrix(q))
    slope = np.column_stack([(arm.gravity(q + e) - arm.gravity(q - e)) / (2 * step) for e in step * np.eye(n)])
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:, :n] = -inverse @ slope
    return A, np.vstack([np.zeros((n, n)), inverse])


def sampled_loop(A: np.ndarray, B: np.ndarray, K: np.ndarray, period: float, delay: float) -> np.ndarray:
    """Return the matrix that takes the loop from one sample to the next.

    Parameters
    ----------
    A, B : ndarray, shape (m, m), (m, n)
        The arm.
    K : ndarray, shape (n, m)
        dtau = K x.
    period : float
        [s].
    delay : float
        From a sample to its effort [periods], from 0 on.

    Returns
    -------
    ndarray, shape (m + k n, m + k n)
        On (x, the last k efforts, the newest first), k = ceil(delay).
    """
    m, n = B.shape
    whole = int(np.ceil(delay - 1e-12))
    late = delay - (whole - 1) if whole else 0.0  # part of the period in which the older effort still acts

    def over(part: float) -> tuple[np.ndarray, np.ndarray]:
        block = np.zeros((m + n, m + n))
        block[:m, :m], block[:m, m:] = A, B
        found = expm(block * (part * period))
        return found[:m, :m], found[:m, m:]

    phi, gamma = over(1.0)
    if not whole:
        return phi + gamma @ K
    phi_new, gamma_new = over(1.0 - late)
    gamma_old = phi_new @ over(late)[1]
    size = m + whole * n
    loop = np.zeros((size, size))
    loop[:m, :m] = phi
    loop[m : m + n, :m] = K
    loop[m + n :, m:-n] = np.eye((whole - 1) * n)
    older = m + (whole - 1) * n
    loop[:m, older : older + n] += gamma_old
    if whole == 1:
        loop[:m, :m] += gamma_new @ K
    else:
        loop[:m, older - n : older] += gamma_new
    return loop


def with_memory(
    A: np.ndarray,
    B: np.ndarray,
    K: np.ndarray,
    W: np.ndarray,
    period: float,
    delay: float,
    kept: np.ndarray | None = None,
) -> np.ndarray:
    """Return the matrix of `sampled_loop` for a controller that remembers: dtau = K x + z, then z becomes F z + W x.

    F is what is `kept`, all by default; z may be longer than dtau, its first numbers count. The matrix is on (x, z, the
    last efforts).
    """
    (m, n), k = B.shape, len(W)
    big_A, big_B = np.zeros((m + k, m + k)), np.vstack([B, np.zeros((k, n))])
    big_A[:m, :m] = A
    loop = sampled_loop(big_A, big_B, np.hstack([K, np.eye(n, k)]), period, delay)
    loop[m : m + k, :m] += W
    if kept is not None:
        loop[m : m + k, m : m + k] = kept
    return loop


def read_gains(core, stamp: int, period: int, q: np.ndarray, step: float = 1e-5) -> tuple[np.ndarray, np.ndarray, int]:
    """Return K and W of `with_memory`, each (n, 2n), of a core that holds the arm at rest at q, and the next stamp.

    A state each period [ns], as if the arm were perturbed for one and put back.
    """
    n, still = len(q), np.zeros(2 * len(q))

    def ask(x: np.ndarray) -> np.ndarray:
        nonlocal stamp
        effort = np.array(core.answer(RobotState(stamp, q + x[:n], x[n:])).effort)
        stamp += period
        return effort

    K, W = np.zeros((n, 2 * n)), np.zeros((n, 2 * n))
    before = ask(still)
    for k, e in enumerate(step * np.eye(2 * n)):
        ahead, between, behind, after = ask(e), ask(still), ask(-e), ask(still)
        W[:, k] = (between - 0.5 * (before + after)) / step
        K[:, k] = 0.5 * (ahead - behind) / step + 0.5 * W[:, k]
        before = after
    return K, W, stamp


def read_fading(core, stamp: int, period: int, q: np.ndarray, step: float = 1e-5) -> tuple[np.ndarray, ...]:
    """Return K, W and F of `with_memory` of a core whose memory is empty now, and fades, as in a stop.

    What it answers to a state k periods later is y_k, and y_k+2 = a y_k+1 + b y_k, with a and b as seen in the answers.
    """
    n, answers = len(q), []

    def ask(x: np.ndarray) -> np.ndarray:
        nonlocal stamp
        effort = np.array(core.answer(RobotState(stamp, q + x[:n], x[n:])).effort)
        stamp += period
        return effort

    still = np.zeros(2 * n)
    empty, left = ask(still), np.zeros((2, n))  # what is left of the perturbations before, in the next two answers
    fading = None
    for e in step * np.eye(2 * n)[::-1]:  # velocities first: they are what is remembered
        y = np.array([ask(x) - empty for x in (e, *[still] * LATER)])
        if fading is None:
            pairs = np.stack([y[2:-1].ravel(), y[1:-2].ravel()], axis=1)
            fading = np.linalg.lstsq(pairs, y[3:].ravel(), rcond=None)[0]
            assert np.abs(pairs @ fading - y[3:].ravel()).max() < 1e-3 * np.abs(y[1:]).max()
        for k in range(len(y)):
            y[k] -= left[0]
            left = np.array([left[1], fading @ left[::-1]])
        answers.append(y[:3] / step)
        after = [y[-2], y[-1]]
        for _ in range(2):
            after.append(fading @ after[:-3:-1])
        left = left + after[2:]
    now, first, second = np.moveaxis(np.array(answers[::-1]), 0, 2)
    a, b = fading
    one, none = np.eye(n), np.zeros((n, n))
    return now, np.vstack([first, second - a * first]), np.block([[a * one, one], [b * one, none]])
