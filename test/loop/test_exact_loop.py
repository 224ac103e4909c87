"""The exact sampled loop against closed forms, and that a damper by diag(M) is found out."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm
from support import arms
from support.control.sampled_loop import linearised, read_gains, sampled_loop, with_memory

RATES = ((250.0, 0.0), (250.0, 0.5), (500.0, 0.0), (500.0, 1.0), (1000.0, 1.0), (1000.0, 1.5))


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.parametrize(("delay", "largest"), [(0.0, 2.0), (0.25, 4.0), (0.5, 2.0), (0.75, 4 / 3), (1.0, 1.0)])
def test_a_damped_mass_is_stable_up_to_the_closed_form(delay, largest):
    """z^2 - (1 - x (1 - d)) z + x d = 0 for x = h rate: stable below min(2 / (1 - 2 d), 1 / d)."""
    A, B = np.zeros((1, 1)), np.ones((1, 1))
    for x, stable in ((0.99 * largest, True), (1.01 * largest, False)):
        assert (radius(sampled_loop(A, B, np.array([[-x]]), 1.0, delay)) < 1.0) == stable


@pytest.mark.parametrize(("delay", "parts"), [(0.0, 1), (0.5, 2), (1.0, 1), (1.5, 2), (2.0, 1), (0.25, 4), (2.75, 4)])
def test_it_is_the_loop_stepped_part_by_part(delay, parts, rng):
    """Against a simulation in parts of a period, each with the effort that acts in it."""
    A, B, K = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), 0.3 * rng.normal(size=(2, 4))
    h = 0.1
    block = np.zeros((6, 6))
    block[:4, :4], block[:4, 4:] = A, B
    step = expm(block * h / parts)
    x, late = rng.normal(size=4), round(delay * parts)
    efforts = [np.zeros(2)] * 3  # before the first
    matrix = sampled_loop(A, B, K, h, delay)
    state = np.concatenate([x, np.zeros(len(matrix) - 4)])
    for _ in range(8):
        efforts.append(K @ x)
        for part in range(parts):
            age = -(-(late - part) // parts) if late > part else 0
            x = step[:4, :4] @ x + step[:4, 4:] @ efforts[-1 - age]
        state = matrix @ state
        np.testing.assert_allclose(state[:4], x, rtol=1e-10, atol=1e-12)


def test_damping_by_the_diagonal_of_the_mass_matrix_is_found_unstable(rng):
    """The judge can say no: rate * diag(M) + D is unstable in some per cent of the Panda's poses, rate * M in none."""
    arm, judge = arms.load("panda"), arms.physics("panda")
    n, count, unstable = len(arm.limit), 100, {"diagonal": 0, "full": 0}
    for _ in range(count):
        q = arm.random_pose(rng)
        A, B = linearised(judge, q)
        M, gravity = judge.mass_matrix(q), np.linalg.solve(B[n:], A[n:, :n])
        for shape, damping in (("diagonal", 20.0 * np.diag(np.diag(M)) + 0.5 * np.eye(n)), ("full", 20.0 * M)):
            K = np.hstack([-gravity, -damping])
            unstable[shape] += radius(sampled_loop(A, B, K, 1 / 500, 1.0)) > 1.0 + 1e-9
    assert unstable["diagonal"] >= 5 and unstable["full"] == 0


class Remembering:
    """A controller with known gains and an integral."""

    def __init__(self, K, W):
        self.K, self.W, self.z = K, W, np.zeros(len(K))

    def answer(self, state):
        x = np.concatenate([state.position, state.velocity])
        effort, self.z = self.K @ x + self.z, self.z + self.W @ x
        return SimpleNamespace(effort=effort)


def test_gains_and_memory_are_read_off_answers(rng):
    K, W = rng.normal(size=(2, 2, 4))
    found = read_gains(Remembering(K, W), 0, 1, np.zeros(2))
    np.testing.assert_allclose(found[0], K, atol=1e-9)
    np.testing.assert_allclose(found[1], W, atol=1e-9)


@pytest.mark.parametrize("delay", [0.0, 0.5, 1.0, 2.0])
def test_an_integral_is_a_state_of_the_loop(delay):
    """A mass under PID, against the continuous loop sampled quickly."""
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    h, kp, kd, ki = 1e-4, 100.0, 20.0, 300.0
    K, W = np.array([[-kp, -kd]]), np.array([[-ki * h, 0.0]])
    found = np.sort_complex(np.log(np.linalg.eigvals(with_memory(A, B, K, W, h, delay)) + 0j)[:] / h)
    found = found[np.abs(found) < 100.0]
    np.testing.assert_allclose(found, np.sort_complex(np.roots([1.0, kd, kp, ki])), rtol=3e-2)
