"""Inertia that joints have, felt by what efforts accelerate them: a regression for each joint, in one call."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array, Mask
from ...engine.compile import kernel

#: Rows of the table: efforts of the last answer, and those that act, which come later; these and velocities behind the
#: low-pass; what of efforts, accelerations and velocities stays; integrals of the products of efforts x, accelerations
#: y and velocities v, and of 1; inertia that is felt, what is used of it, the most, and what friction may add to it.
(
    TOLD, ACTING, EFFORT, VELOCITY, STAYING, DRIFTING, MEAN, XX, XY, YY, XV, YV, VV, TIME, FELT, USED, MOST, DOUBT,
) = range(18)  # fmt: skip
ROWS = 18
#: Numbers: period, by which efforts act late, time since the begin [s]; 1 while the stop moves joints, 0 once it holds
#: them.
PERIOD, LATE, SINCE, MOVING = range(4)
NUMBERS = 4
#: Rates of the low-pass of efforts and accelerations, whose reciprocal is the time for which their errors last, and of
#: the other one, by which loads and friction that stay are left out [1/s].
FELT_RATE, STAYING_RATE = 40.0, 5.0
#: Time until what acted before a stop is forgotten, over those of the low-pass and the delay of efforts.
BEGIN_TIMES = 2.0
#: Rates at which what is used of it grows, and at which the most rises again [1/s]; first value over the known inertia.
FELT_GROWTH, EASED_RISE, FIRST_PART = 30.0, 1.0, 0.1
#: Standard deviations by which joints may be lighter than felt, and are taken to be.
FELT_SURE = 3.0
#: Least speed at which anything is felt [rad/s, m/s], and part of the square of accelerations, beyond noise, that
#: efforts have to explain.
FELT_SPEED, EXPLAINED = 5e-3, 0.8
#: Part of what friction may be that is used all the same, as efforts have to move a joint for it to be felt.
TRIED = 0.03


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], boolean[::1], float64[:,::1], float64[::1], float64[::1],"
    " float64[::1])",
    quick=True,
)
def feel(
    table: Array,  # (18, n); overwritten, but for its first row and the last
    numbers: Array,  # (4,); `SINCE` is overwritten
    velocity: Array,  # (n,) [rad/s, m/s]
    lags: Mask,  # where more is to be used (n,)
    mass: Array,  # that is known (n, n) [kg m^2, kg]
    most: Array,  # the largest that may be used (n,) [kg m^2, kg]
    calm: Array,  # what noise of sensors adds to speeds at most (n,) [rad/s, m/s]
    noise: Array,  # its deviation in accelerations behind the low-pass (n,) [rad/s^2, m/s^2]
) -> int:
    """Take in a state; return 0."""
    n = velocity.shape[0]
    if table.shape[0] != ROWS or table.shape[1] != n or numbers.shape[0] != NUMBERS or lags.shape[0] != n:
        return -1
    if mass.shape[0] != n or mass.shape[1] != n or most.shape[0] != n or calm.shape[0] != n or noise.shape[0] != n:
        return -1
    h, rate, first = numbers[PERIOD], FELT_RATE, numbers[SINCE] == 0.0
    numbers[SINCE] += h
    begins = numbers[SINCE] < BEGIN_TIMES * (numbers[LATE] + 1.0 / rate)
    share, acts, staying = -math.expm1(-rate * h), -math.expm1(-h / numbers[LATE]), -math.expm1(-STAYING_RATE * h)
    grows, rises = math.exp(FELT_GROWTH * h), math.exp(EASED_RISE * h)
    for i in range(n):
        if first:
            table[VELOCITY, i] = velocity[i]
        table[ACTING, i] += acts * (table[TOLD, i] - table[ACTING, i])
        table[EFFORT, i] += share * (table[ACTING, i] - table[EFFORT, i])
        table[VELOCITY, i] += share * (velocity[i] - table[VELOCITY, i])
    for i in range(n):
        own, y, x = mass[i, i], rate * (velocity[i] - table[VELOCITY, i]), table[EFFORT, i]
        for j in range(n):
            if j != i:
                x -= mass[i, j] * rate * (velocity[j] - table[VELOCITY, j])
        if begins:
            table[STAYING, i], table[DRIFTING, i], table[MEAN, i] = x, y, table[VELOCITY, i]
            continue
        table[STAYING, i] += staying * (x - table[STAYING, i])
        table[DRIFTING, i] += staying * (y - table[DRIFTING, i])
        table[MEAN, i] += staying * (table[VELOCITY, i] - table[MEAN, i])
        if numbers[MOVING] > 0.0 and abs(table[VELOCITY, i]) > FELT_SPEED + calm[i]:
            x, y, v = x - table[STAYING, i], y - table[DRIFTING, i], table[VELOCITY, i] - table[MEAN, i]
            table[XX, i] += h * x * x
            table[XY, i] += h * x * y
            table[YY, i] += h * y * y
            table[XV, i] += h * x * v
            table[YV, i] += h * y * v
            table[VV, i] += h * v * v
            table[TIME, i] += h
        xx, xy, yy, time = table[XX, i], table[XY, i], table[YY, i], table[TIME, i]
        table[MOST, i] = max(table[MOST, i], FIRST_PART * own) * rises
        if time > 3.0 / rate and np.isfinite(xx * yy) and xx > 0.0 and own > 0.0:
            least, fits = 0.0, 0  # of the reciprocal; in how many ways efforts explain the motion
            for viscous in range(2):  # as friction may, too: it must be that heavy either way
                xv, yv, vv = viscous * table[XV, i], viscous * table[YV, i], max(table[VV, i], 1e-300)
                alone = max(xx - xv * xv / vv, 1e-12 * xx)  # what of the efforts friction does not explain
                slope = (xy - yv * xv / vv) / alone
                left = max(yy - yv * yv / vv - slope * (xy - yv * xv / vv), 0.0)
                deviation = math.sqrt(left / (time - 2.0 / rate) / rate / alone)
                # What else moves the joint, such as a hand, would make it seem heavy.
                explained = yy - left > EXPLAINED * yy or yy < 4.0 * time * noise[i] * noise[i]
                if slope > -deviation and explained:
                    fits += 1
                    least = max(least, max(slope, 0.0) + FELT_SURE * deviation)
            if fits > 0:
                heavy = 1.0 / max(least, 1e-300) - own
                heavy *= min(max(heavy / own - 1.0, 0.0), 1.0)  # bodies and loads may be the rest
                table[FELT, i] = max(min(heavy, most[i] if fits == 2 else table[FELT, i]), 0.0)
        used = table[USED, i]
        if lags[i]:
            used = max(used, FIRST_PART * own) * grows
        doubt = table[DOUBT, i]
        sure = max(table[FELT, i] / max(table[FELT, i] + doubt, 1e-300) * table[FELT, i], TRIED * doubt)
        table[USED, i] = min(used, table[FELT, i], sure, table[MOST, i])
    return 0
