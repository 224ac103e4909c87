"""One step of the error-state filter, and the evidence against each sensor (Willsky and Jones, 1976)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Integers
from ...engine.compile import kernel, outline
from ...engine.symmetric import factorize, solve_factorized
from .readings import (
    ACCEL_WALK,
    AGE,
    ANGLE,
    ANGULAR,
    BASE,
    DELAY_WALK,
    DT,
    E_DELAY,
    E_DV,
    E_DW,
    E_P,
    E_V,
    E_W,
    GRAVITY,
    GYRO_MATRIX,
    GYRO_WALK,
    HORN,
    INCLINATION,
    INERTIAL,
    KIND,
    LAPSE,
    LINEAR,
    N_INERTIAL,
    POINT,
    ROD,
    SUDDEN,
    UNTOLD_DELAY,
    X_DELAY,
    X_DV,
    X_DW,
    X_P,
    X_V,
    X_W,
    geometric_reading,
    inclination,
    inertial_readings,
    move_error,
    predict,
    turn,
)

#: The evidence of one hypothesis: its information, and what the innovations say for it.
INFORMATION, SUPPORT = 0, 1
#: How long an error of a rate stays the same, and with it what an unknown delay makes of it [s]: readings meanwhile
#: tell no more than one.
PERSISTENCE = 0.2
#: What `fuse` reports: chi-square of the innovations, logarithm of the determinant of their covariance.
MISFIT, LOG_DETERMINANT = 0, 1


@outline
def all_readings(x: Array, constants: Array, geometry: Array, values: Array, slopes: Array, work: Array) -> None:
    """Write the readings (m,) that a state predicts, and their derivatives (m, n)."""
    count = geometry.shape[0]
    slopes[:, :] = 0.0
    for i in range(count):
        if geometry[i, KIND] == INCLINATION:
            values[i] = inclination(x, constants, geometry[i], i, slopes[i], work)
        else:
            values[i] = geometric_reading(x, geometry[i], i, slopes[i], work)
    if values.shape[0] > count:
        inertial_readings(x, constants, values[count:], slopes[count:])


@kernel("int64(float64[::1], float64[::1], float64[:, ::1], float64[::1], float64[:, ::1])", direct=True)
def model(x: Array, constants: Array, geometry: Array, values: Array, slopes: Array) -> int:
    """Write the readings (m,) that a state predicts, and their derivatives (m, n) along its error; 0."""
    all_readings(x, constants, geometry, values, slopes, np.empty(9))
    return 0


@outline
def wrapped(angle: float) -> float:
    """Return the angle between -pi and pi."""
    return angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[::1])",
    direct=True,
)
def fuse(
    x: Array,
    covariance: Array,
    constants: Array,
    geometry: Array,
    variances: Array,
    readings: Array,
    use: Array,
    judged: Array,
    signatures: Array,
    evidence: Array,
    report: Array,
) -> int:
    """Move a state on by a step and correct it by the readings whose `use` is 1; 0, or 1 where the numbers fail.

    `judged` (3, m) gets innovations of all readings, their variances and what of these is the state's; `signatures`
    (slots, m, n) and `evidence` (slots, m, 2) carry, for each reading, a constant error of it since the slot was
    cleared: what this error makes of the state's, and how well it explains the innovations.
    """
    n, m = covariance.shape[0], readings.shape[0]
    turned, half = np.empty(18), np.empty(3)
    gain, spread = np.empty((m, n)), np.empty((m, m))
    innovation, noise, change, seen, values = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    slopes, step, index = np.empty((m, n)), np.zeros(n), np.empty(m, np.int64)
    places, counts = np.empty((m, n), np.int64), np.empty(m, np.int64)
    predict(x, covariance, constants, turned, half)
    all_readings(x, constants, geometry, values, slopes, turned[9:])
    active = 0
    for i in range(m):
        difference = readings[i] - values[i]
        if i < geometry.shape[0] and geometry[i, KIND] >= ANGLE:
            difference = wrapped(difference)
        on = use[i] > 0.0
        share, row = 0.0, gain[active]
        row[:] = 0.0
        for j in range(n):
            slope = slopes[i, j]
            if slope != 0.0:  # most are
                for k in range(n):
                    row[k] += slope * covariance[j, k]
        for k in range(n):
            share += row[k] * slopes[i, k]
        judged[0, i] = difference
        blur = variances[i]
        if i < geometry.shape[0]:
            blur += max(1.0, PERSISTENCE / geometry[i, LAPSE]) * delay_blur(covariance, slopes[i], E_DELAY + i)
            if geometry[i, KIND] == INCLINATION:
                blur += unfelt(covariance, constants, slopes[i], abs(x[X_DELAY + i] + geometry[i, AGE]))
            else:
                blur += bend(x, covariance, geometry[i], slopes[i])
        else:
            blur += skew_blur(covariance, i - geometry.shape[0])
            blur += untold_delay_blur(x, constants, slopes[i], i - geometry.shape[0])
        judged[1, i] = share + blur
        judged[2, i] = share
        if on:
            innovation[active] = difference
            noise[active] = blur
            index[active] = i
            active += 1
    spread = spread[:active, :active]
    index = index[:active]
    for j in range(active):
        counts[j] = 0
        for i in range(j, active):
            spread[i, j] = noise[i] if i == j else 0.0
        for k in range(n):
            slope = slopes[index[j], k]
            if slope != 0.0:
                places[j, counts[j]] = k
                counts[j] += 1
                for i in range(j, active):
                    spread[i, j] += gain[i, k] * slope
    if not factorize(spread):
        return 1
    report[LOG_DETERMINANT] = 0.0
    for i in range(active):
        report[LOG_DETERMINANT] += 2.0 * math.log(spread[i, i])
    if not math.isfinite(report[LOG_DETERMINANT]):
        return 1
    for i in range(active):
        change[i] = innovation[i]
    change = change[:active]
    solve_factorized(spread, change)
    report[MISFIT] = 0.0
    for i in range(active):
        report[MISFIT] += change[i] * innovation[i]
    taken = Taken(index, slopes, places, counts, gain, spread)
    for slot in range(signatures.shape[0]):
        for c in range(m):
            if use[c] > 0.0 or evidence[slot, c, INFORMATION] > 0.0:
                u, found = signatures[slot, c], evidence[slot, c]
                move_error(u, constants[DT], turned, half)
                weigh(c, taken, innovation, u, found, seen, values)
    correct(x, covariance, gain, spread, change, active, step, turned)
    return 0 if math.isfinite(report[MISFIT]) else 1


@outline
def delay_blur(covariance: Array, slope: Array, delay: int) -> float:
    """Return the variance of what a first-order model misses: an error of the delay times one of the rate."""
    total = 0.0
    for i in range(6):
        for j in range(6):
            total += slope[i] * slope[j] * covariance[E_W + i, E_W + j]
    return float(covariance[delay, delay] * total)


@outline
def skew_blur(covariance: Array, i: int) -> float:
    """Return the variance of what a first-order model misses: errors of a scale or alignment times one of the motion.

    `i` counts the readings of the IMU, from 0 to 5.
    """
    unknown, total, first = 0.0, 0.0, covariance.shape[0] - N_INERTIAL + GYRO_MATRIX + 3 * i
    for k in range(3):
        unknown += covariance[first + k, first + k]
        if i < 3:
            total += covariance[E_W + k, E_W + k]
        else:
            total += covariance[E_DV + k, E_DV + k]
    return float(unknown * total)


@outline
def untold_delay_blur(x: Array, constants: Array, slope: Array, i: int) -> float:
    """Return the variance of what a delay of the IMU that nobody told makes of reading `i` of it, from 0 to 5.

    A gyroscope's reading changes by the angular acceleration; an accelerometer's as the platform turns, and by the jerk
    of a motion to and fro at 1 / (2 pi `PERSISTENCE`). Where the motion is disturbed they are as sudden as it may be.
    """
    unknown, rate, moved = constants[UNTOLD_DELAY], 0.0, 0.0
    if unknown == 0.0:
        return 0.0
    for k in range(3):
        if i < 3:
            rate += slope[E_W + k] * x[X_DW + k]
        else:
            a, b = (k + 1) % 3, (k + 2) % 3
            turned = x[X_W + a] * slope[E_DV + b] - x[X_W + b] * slope[E_DV + a]
            rate += turned * (x[X_DV + k] - constants[GRAVITY + k])
            moved += x[X_V + k] * x[X_V + k]
    total = rate * rate + moved / PERSISTENCE**4
    total *= max(1.0, PERSISTENCE / max(constants[DT], 1e-6)) * unknown * unknown
    return float(total + constants[SUDDEN + i // 3])


@outline
def bend(x: Array, covariance: Array, sensor: Array, slope: Array) -> float:
    """Return the square of what a first-order model misses of a pose that is uncertain: at most |g| (s/l + b r) / 2.

    s and r are the traces of the covariances of the platform point and of the rotation, b the point's distance from
    the origin of {B}, l that from the base point, g the gradient of the reading; noise has no part in it. Of a horn l
    is the length of the rod.
    """
    turned = covariance[0, 0] + covariance[1, 1] + covariance[2, 2]
    moved = covariance[3, 3] + covariance[4, 4] + covariance[5, 5]
    point, line, steep = 0.0, 0.0, 0.0
    for k in range(3):
        arm = x[3 * k] * sensor[POINT] + x[3 * k + 1] * sensor[POINT + 1] + x[3 * k + 2] * sensor[POINT + 2]
        point += arm * arm
        line += (arm + x[X_P + k] - sensor[BASE + k]) * (arm + x[X_P + k] - sensor[BASE + k])
        steep += slope[E_P + k] * slope[E_P + k]
    curved = 1.0 / math.sqrt(line)
    if sensor[KIND] == HORN:
        curved = 1.0 / abs(sensor[ROD])
    missed = 0.5 * (2.0 * (moved + point * turned) * curved + math.sqrt(point) * turned)
    return float(steep * missed * missed)


@outline
def unfelt(covariance: Array, constants: Array, slope: Array, age: float) -> float:
    """Return the variance of what an inclination misses: jerk since it was read, and an uncertain rotation squared."""
    total, turned = 0.0, 0.5 * (covariance[0, 0] + covariance[1, 1] + covariance[2, 2])
    for k in range(3):
        linear, angular = constants[LINEAR] * slope[E_DV + k], constants[ANGULAR] * slope[E_DW + k]
        total += age * (linear * linear + angular * angular)
    return float(total + turned * turned)


@kernel("int64(float64[::1], float64[:, ::1], float64[::1])", direct=True)
def project(x: Array, covariance: Array, constants: Array) -> int:
    """Move a state from the time of the IMU's reading to that of its arrival: on by its delay, the last of delays; 0.

    The jerk meanwhile, and how far the delay may be off, count in the covariance.
    """
    n = covariance.shape[0]
    turned, half, fixed, nothing = np.empty(18), np.empty(3), constants.copy(), np.zeros((n, n))
    last = n - 1 - int(constants[INERTIAL])
    delay = x[X_P + last - E_P]
    fixed[GYRO_WALK] = fixed[ACCEL_WALK] = fixed[DELAY_WALK] = 0.0
    fixed[DT] = abs(delay)
    predict(x.copy(), nothing, fixed, turned, half)
    fixed[DT], fixed[LINEAR], fixed[ANGULAR] = delay, 0.0, 0.0
    predict(x, covariance, fixed, turned, half)
    change = np.zeros(n)
    for k in range(3):
        change[k], change[E_P + k] = x[X_W + k], x[X_V + k]
        change[E_W + k], change[E_V + k] = x[X_DW + k], x[X_DV + k]
    with_delay, variance = covariance[last].copy(), covariance[last, last]
    for i in range(n):
        for j in range(n):
            both = change[i] * with_delay[j] + with_delay[i] * change[j] + change[i] * change[j] * variance
            covariance[i, j] += nothing[i, j] + both
    return 0


class Taken(NamedTuple):
    """Readings in use: their numbers, and slopes of all, those of number `chosen[i]` not zero at `counts[i]` places.

    `gain` and `spread` are the covariance with the state and the factor of that of the innovations.
    """

    chosen: Integers
    slopes: Array
    places: Integers
    counts: Integers
    gain: Array
    spread: Array


@outline
def weigh(
    c: int, taken: Taken, innovation: Array, u: Array, evidence: Array, seen: Array, solved: Array
) -> None:
    """Carry on what a constant error of reading c makes of the state's error, `u` (n,), and its `evidence` (2,).

    `seen` and `solved` are room to work in.
    """
    slopes, places, counts, index = taken.slopes, taken.places, taken.counts, taken.chosen
    active, n = index.shape[0], slopes.shape[1]
    for i in range(active):
        value, row = 1.0 if index[i] == c else 0.0, slopes[index[i]]
        for j in range(counts[i]):
            value -= row[places[i, j]] * u[places[i, j]]
        seen[i] = value
        solved[i] = value
    solve_factorized(taken.spread, solved[:active])
    for i in range(active):
        evidence[INFORMATION] += seen[i] * solved[i]
        evidence[SUPPORT] += innovation[i] * solved[i]
        for k in range(n):
            u[k] += taken.gain[i, k] * solved[i]


@outline
def correct(
    x: Array, covariance: Array, gain: Array, spread: Array, change: Array, active: int, step: Array, work: Array
) -> None:
    """Correct the state by gain' change, and the covariance by as much as that determines.

    `gain` (active, n) is lost, `step` (n,) holds zeros, `work` (18,) is room to work in.
    """
    n = covariance.shape[0]
    for i in range(active):
        for k in range(n):
            step[k] += gain[i, k] * change[i]
    for i in range(active):
        for j in range(i):
            for k in range(n):
                gain[i, k] -= spread[i, j] * gain[j, k]
        for k in range(n):
            gain[i, k] /= spread[i, i]
    for i in range(active):
        for r in range(n):
            for c in range(r + 1):
                covariance[r, c] -= gain[i, r] * gain[i, c]
    for r in range(n):
        for c in range(r):
            covariance[c, r] = covariance[r, c]
    turn(x, step[0], step[1], step[2], work)
    for k in range(3, n):
        x[X_P + k - 3] += step[k]
    # Rounding bends R by 1e-16 a step: back towards a rotation, R (3 - R^T R) / 2.
    for i in range(3):
        for j in range(3):
            value = 0.0
            for k in range(3):
                value += x[3 * k + i] * x[3 * k + j]
            work[3 * i + j] = (1.5 if i == j else 0.0) - 0.5 * value
    for i in range(3):
        r0, r1, r2 = x[3 * i], x[3 * i + 1], x[3 * i + 2]
        for j in range(3):
            x[3 * i + j] = r0 * work[j] + r1 * work[3 + j] + r2 * work[6 + j]
