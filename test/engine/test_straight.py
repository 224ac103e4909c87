"""Straight helpers: compiled and in plain Python they say the same, and what they cannot do they refuse."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED, straight

pytestmark = pytest.mark.skipif(not COMPILED, reason="numba is not in use")
if COMPILED:
    import numba
    from numba.core.errors import TypingError

    from lie_dynamics_ros.lie_dynamics.engine.lanes import get, get2, lift, positive, put, put2
    from lie_dynamics_ros.lie_dynamics.engine.simd import LANES_T, load


@straight
def arithmetic(a, b, pair, k):
    """Use every operation, with constants on both sides, integers, and nested tuples in and out."""
    (x, y), z = pair
    i = 2 * k + 1 - k
    return (a + 1.0) * (2.0 - b) / (x * x + 3.0), (-y, (z - 1, 1.0 / (z * z + 2), i, 0.5)), i * a - 7 / (y * y + 1.0)


def test_arithmetic(rng):
    @numba.njit
    def compiled(a, b, pair, k):
        return arithmetic(a, b, pair, k)

    for _ in range(20):
        a, b, x, y, z = rng.normal(size=5)
        k = int(rng.integers(-5, 5))
        got, wanted = compiled(a, b, ((x, y), z), k), arithmetic(a, b, ((x, y), z), k)
        assert got[1][1][2] == wanted[1][1][2]
        assert isinstance(got[1][1][2], int)
        flat = [(r[0], r[1][0], r[1][1][0], r[1][1][1], r[1][1][3], r[2]) for r in (got, wanted)]
        assert np.allclose(*flat, rtol=1e-15, atol=0.0)


def test_memory():
    """One number, or a vector of lanes where the last index is left out."""

    @straight
    def swap(a, i, k):
        x, y = get2(a, i, k), get2(a, k, i)
        put2(a, i, k, y)
        put2(a, k, i, x)

    @straight
    def double(a, i):
        put(a, i, 2.0 * get(a, i))

    @numba.njit
    def run(table, lanes, cube):
        swap(table, 1, 2)
        double(lanes, 1)
        swap(cube, 0, 1)
        put2(cube, 0, 0, 5)  # a number fills all lanes

    table, lanes, cube = np.arange(9.0).reshape(3, 3), np.arange(24.0).reshape(3, 8), np.arange(32.0).reshape(2, 2, 8)
    wanted = table.copy(), lanes.copy(), cube.copy()
    run(table, lanes, cube)
    swap(wanted[0], 1, 2)
    wanted[1][1] *= 2.0
    wanted[2][0, 1], wanted[2][1, 0] = wanted[2][1, 0].copy(), wanted[2][0, 1].copy()
    wanted[2][0, 0] = 5.0
    for got, want in zip((table, lanes, cube), wanted, strict=True):
        assert np.array_equal(got, want)


def test_widening_and_sign():
    @numba.njit
    def run(lanes, out):
        x = load(lanes, 0)
        put(out, 0, positive(x) + lift(2, x))
        return positive(-1.0), positive(0.0), positive(3.0), positive(np.nan)

    lanes = np.array([[-1.0, 0.0, 1.0, np.nan, np.inf, -np.inf, 1e-300, -0.0]])
    out = np.zeros((1, 8))
    assert run(lanes, out) == (0.0, 0.0, 1.0, 0.0)
    assert np.array_equal(out[0], 2.0 + np.array([0, 0, 1, 0, 1, 0, 1, 0]))


@pytest.mark.parametrize(
    "helper",
    [lambda x: x if x > 0.0 else -x, lambda x: 1.0 if x == 0.0 else x, lambda x: (1.0, 2.0)[x]],
    ids=["branch", "comparison", "index"],
)
def test_what_is_not_straight_is_refused(helper):
    """At compilation, and not with a wrong result."""
    refused = straight(helper)
    with pytest.raises((TypingError, TypeError), match=r"straight|not supported|must be|invalid"):
        numba.njit(lambda x: refused(x) + 0.0)(1.0)


def test_other_types_are_refused():
    """Neither single precision nor strided arrays may pass for what they are not."""
    read = numba.njit(lambda a: get(a, 0))
    for array in (np.zeros(3, np.float32), np.zeros(6)[::2], np.zeros(3, int)):
        with pytest.raises(TypingError):
            read(array)
    assert read(np.ones(3)) == 1.0
    assert LANES_T.width == np.zeros(8).size
