"""Sine and cosine together, for one number or for SIMD lanes.

Cody-Waite range reduction by pi/2 in three parts and the minimax polynomials of fdlibm
(Sun Microsystems, k_sin.c and k_cos.c) on [-pi/4, pi/4]: within two units in the last place
of the true value up to `REDUCTION_LIMIT`, mostly within one, and free of branches.
"""

from __future__ import annotations

import math

from .helpers import inline

#: Largest |x| [rad] for which the three-part reduction keeps full accuracy; see `make_sincos` for what lies beyond.
REDUCTION_LIMIT = 1.0e5

# pi/2 = P1 + P2 + P3 + ...; P1 and P2 have 33 significant bits, so k * P1 and k * P2 are exact for k < 2^20.
_P1 = float.fromhex("0x1.921fb544p+0")
_P2 = float.fromhex("0x1.0b4611a6p-34")
_P3 = float.fromhex("0x1.3198a2e037073p-69")

_S = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_C = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
_S0, _S1, _S2, _S3, _S4, _S5 = _S
_C0, _C1, _C2, _C3, _C4, _C5 = _C
_TWO_OVER_PI = 2.0 / math.pi
_TO_INTEGER = 1.5 * 2.0**52  # what is added to this is rounded to an integer, found in the lowest bits of the sum


def make_sincos():
    """Return the compiled ``sincos(x)``; beyond `REDUCTION_LIMIT`, and for NaN, it calls the C library."""
    from numba.extending import overload

    from .simd import LANES_T, all_below, each_cos, each_sin, floor, nearest, turn_quadrants

    @inline
    def within_quadrant(x, k):
        r = ((x - k * _P1) - k * _P2) - k * _P3
        z = r * r
        s = r + r * z * (_S0 + z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * _S5)))))
        half = 0.5 * z
        w = 1.0 - half
        tail = z * z * (_C0 + z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * _C5)))))
        return s, w + (((1.0 - w) - half) + tail)

    @inline
    def reduced(x):
        k = nearest(x * _TWO_OVER_PI)
        s, c = within_quadrant(x, k)
        # Quadrant by arithmetic instead of branches: odd quadrants swap, 2 and 3 negate sin, 1 and 2 negate cos.
        odd = k - 2.0 * floor(0.5 * k)
        half_turn = k - 4.0 * floor(0.25 * k)
        sign_s = 1.0 - 2.0 * floor(0.5 * half_turn)
        upper = floor(0.5 * (half_turn + 1.0))
        sign_c = 1.0 - 2.0 * (upper - 2.0 * floor(0.5 * upper))
        even = 1.0 - odd
        return sign_s * (even * s + odd * c), sign_c * (even * c + odd * s)

    @inline
    def reduced_lanes(x):
        t = x * _TWO_OVER_PI + _TO_INTEGER
        s, c = within_quadrant(x, t - _TO_INTEGER)
        return turn_quadrants(t, s, c)

    def sincos(x):
        return math.sin(x), math.cos(x)

    @overload(sincos)
    def _sincos(x):
        if x == LANES_T:

            def lanes(x):
                if all_below(x, REDUCTION_LIMIT):
                    return reduced_lanes(x)
                return each_sin(x), each_cos(x)

            return lanes

        def single(x):
            if abs(x) < REDUCTION_LIMIT:
                return reduced(x)
            return math.sin(x), math.cos(x)

        return single

    return sincos
