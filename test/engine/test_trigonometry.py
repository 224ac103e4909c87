"""Sine and cosine of the kernels against 50-digit arithmetic, in units in the last place."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED

mpmath = pytest.importorskip("mpmath")
pytestmark = pytest.mark.skipif(not COMPILED, reason="numba is not in use")

#: Half a unit for the reduced argument, one for the polynomial; the C library, beyond 1e5, stays below one.
ULPS = {1.0: 1.0, 10.0: 1.5, 1e3: 1.5, 1e5: 2.0, 1e12: 2.0}


@pytest.fixture(scope="module")
def sincos():
    """Functions x -> (sin, cos) of a plain number and of lanes."""
    import numba

    from lie_dynamics_ros.lie_dynamics.engine.lanes import LANES, sincos
    from lie_dynamics_ros.lie_dynamics.engine.simd import load, store

    options = {"fastmath": {"contract", "nsz", "arcp"}, "error_model": "numpy"}

    @numba.njit(**options)
    def one_by_one(x, s, c):
        for i in range(x.size):
            s[i], c[i] = sincos(x[i])

    @numba.njit(**options)
    def side_by_side(x, s, c):
        for i in range(x.shape[0]):
            a, b = sincos(load(x, i))
            store(s, i, a)
            store(c, i, b)

    def single(x):
        s, c = np.empty_like(x), np.empty_like(x)
        one_by_one(x, s, c)
        return s, c

    def lanes(x):
        wide = np.concatenate([x, np.zeros(-len(x) % LANES)]).reshape(-1, LANES)
        s, c = np.empty_like(wide), np.empty_like(wide)
        side_by_side(wide, s, c)
        return s.ravel()[: len(x)], c.ravel()[: len(x)]

    return {"single": single, "lanes": lanes}


def samples(reach):
    """Random numbers, and numbers next to the multiples of pi/4, where a reduction loses most."""
    rng = np.random.default_rng(11)
    near = np.round(rng.uniform(0, reach / (np.pi / 4), 150)) * (np.pi / 4)
    near = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 2 * reach), near * (1 + 1e-9)])
    x = np.concatenate([rng.uniform(-reach, reach, 200), reach * 10.0 ** rng.uniform(-20, 0, 100), near, -near])
    return np.concatenate([x[np.abs(x) < reach], [0.0, 5e-324, 1e-300, np.pi, 1e-8]])


def ulps(actual, expected):
    found = np.array([float(abs(mpmath.mpf(float(a)) - e)) for a, e in zip(actual, expected, strict=True)])
    return found / np.spacing(np.abs(np.array([float(e) for e in expected])))


@pytest.mark.parametrize("reach", ULPS, ids=str)
def test_accuracy(sincos, reach):
    """Beyond 1e5 the C library answers."""
    x = samples(reach)
    with mpmath.workdps(50):
        exact = [mpmath.cos_sin(mpmath.mpf(float(v))) for v in x]
        for function in sincos.values():
            sine, cosine = function(x)
            assert ulps(sine, [s for _, s in exact]).max() < ULPS[reach]
            assert ulps(cosine, [c for c, _ in exact]).max() < ULPS[reach]


@pytest.mark.parametrize("how", ["single", "lanes"])
def test_exact_values_and_symmetry(sincos, how):
    sine, cosine = sincos[how](np.zeros(8))
    assert not sine.any()
    assert (cosine == 1.0).all()
    x = samples(1e4)
    plus, minus = sincos[how](x), sincos[how](-x)
    assert (plus[0] == -minus[0]).all()
    assert (plus[1] == minus[1]).all()
    tiny = np.array([1e-9, -1e-30, 5e-324])
    assert (sincos[how](tiny)[0] == tiny).all()


@pytest.mark.parametrize("how", ["single", "lanes"])
def test_not_finite_gives_nan(sincos, how):
    """One bad lane does not spoil those beside it."""
    x = np.array([0.1, np.nan, 0.2, np.inf, 0.3, -np.inf, 1e300, 0.4])
    sine, cosine = sincos[how](x)
    bad = ~np.isfinite(x)
    assert np.isnan(sine[bad]).all()
    assert np.isnan(cosine[bad]).all()
    assert np.abs(sine[~bad] - np.sin(x[~bad])).max() < 1e-15
    assert np.abs(cosine[~bad] - np.cos(x[~bad])).max() < 1e-15


def test_lanes_and_single_agree(sincos):
    """To the last bit but one: the compiler may contract products and sums differently."""
    x = samples(1e5)
    for a, b in zip(sincos["single"](x), sincos["lanes"](x), strict=True):
        assert (np.abs(a - b) <= np.spacing(np.abs(a))).all()
