"""Unmodelled efforts of drives: a Kalman filter for each joint, and pushes for those that do not follow."""

from __future__ import annotations

import math

from ...arrays import Array, Mask
from ...engine.compile import kernel

#: Columns of the estimate: reflected inertia, dry friction, viscous friction, offset, all over the effort limit; and by
#: what part bodies are heavier than modelled, so that this is not taken for reflected inertia.
ROTOR, DRY, VISCOUS, OFFSET, BODIES = range(5)
COLUMNS = 5
#: Columns of the bounds: usual size, what it changes by in a second, most, least, what is not compensated.
USUAL, DRIFT, MOST, LEAST, IGNORED = range(5)
#: Numbers: rate of the filter [1/s], least effort that the model is off by, over the limit, reflected inertia that has
#: to be found, over the limit and over that of the bodies, rate at which it is taken into use [1/s], standard
#: deviations which are not believed, speed at which dry friction is nearly whole, rate at which misses are forgotten
#: [1/s], least part of its usual change that the offset has, period [s].
RATE, NOISE, NOTABLE, SHARE, ENGAGING, SURE, SMOOTH, CALMING, STEADY, PERIOD = range(10)
NUMBERS = 10
#: Rows of the workspace: what multiplies the estimate, its covariance with that, and 1 for what stays.
_H, _PH, _STAYS = range(3)
#: Part of the inertia of bodies from which on a rotor counts in feedback; from twice that on it counts wholly.
HALF = 0.5
#: Square of a miss, over the usual one, from which on the offset is taken to have jumped.
SURPRISE = 4.0
#: Numbers of `loosen`: error from which on a found joint is pushed [rad, m], least rate at which errors fade [1/s], how
#: fast the push grows at most [1/s] and at first, over the inertia [rad/s^3], rate at which it grows while nothing
#: moves [1/s], the largest, rate from which on an error fades swiftly [1/s], rates at which the push fades then, and
#: else [1/s], factor by which pushes grow slower after each of them while joints are to rest, the least and the largest
#: of their product, which counts up to 1, rates at which that rises again while joints are to move, and else [1/s],
#: period [s], for how many periods a change of velocity is taken to go on, how fast pushes grow at first by a velocity
#: away, over the inertia [1/s^2], the factor while joints are to move.
BEHIND, APPROACH, PUSH, GENTLE, GROWTH, LARGEST, SWIFT, RELEASE, FADING = range(9)
EASED, LEAST_EASE, MOST_EASE, EASING, EASING_AT_REST, STEP, FORESEEN, RUSH, EASED_MOVING = range(9, 18)
#: Rows of the state of `loosen`: push over the limit, side that a joint is pushed to, 0 for none, factor of the rate at
#: which pushes grow, and the last error of the velocity.
PUSHED, SIDE, EASE, CAME = range(4)
#: Whether no joint's model was found to be wrong, some was, or nothing fits.
IDLE, FOUND, NOT_FINITE = 0, 1, 2


@kernel(
    "(float64[:,::1], float64[:,:,::1], float64[:,:,::1], float64[::1], float64[::1], float64[::1], boolean[::1],"
    " boolean[::1], float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[:,::1], float64[:,::1], float64[::1], float64[:,::1], float64[::1], float64[::1])",
    quick=True,
)
def learn(
    value: Array,  # (n, 5); overwritten, as all that follows up to `amiss`
    covariance: Array,  # (n, 5, 5)
    filtered: Array,  # (2, 5, n): filtered once; and twice, the first as acceleration
    spread: Array,  # square of the effort that the model misses by, over the limit, beyond the covariance (n,)
    wander: Array,  # by what part of its usual change the offset changes, as misses show (n,)
    used: Array,  # what part is used (n,)
    found: Mask,  # whether the model was found to be wrong (n,)
    amiss: Mask,  # whether that was surely by more than what is not compensated (n,)
    bounds: Array,  # (5, 5)
    numbers: Array,  # (10,)
    velocity: Array,  # measured (n,) [rad/s, m/s]
    beyond: Array,  # efforts beyond the model without acceleration, over the limits (n,)
    desired: Array,  # velocities (n,) [rad/s, m/s]
    scale: Array,  # limits (n,) [N m, N]
    mass: Array,  # (n, n)
    work: Array,  # (3, 5)
    sure: Array,  # inertias that are accepted, over the limits (n,); overwritten, as all that follows
    taken: Array,  # what is taken into use of the estimate, over the limits (n, 5)
    rotors: Array,  # of reflected inertias (n,) [kg m^2, kg]
    felt: Array,  # what feedback counts on of these (n,) [kg m^2, kg]
) -> int:
    """Learn from a state; return `IDLE`, `FOUND` or `NOT_FINITE`.

    Filtered are velocity, effort beyond the model, direction, velocity, and what of the effort the acceleration may
    explain that was not known at the begin. Feedback counts on reflected inertias by two standard deviations at
    present: a false one beside a heavy body would shake joints whose axes line up, and joints that break loose look
    heavy at first.
    """
    n = velocity.shape[0]
    if value.shape[0] != n or covariance.shape[0] != n or filtered.shape[2] != n or mass.shape[0] != n:
        return -1
    if mass.shape[1] != n or beyond.shape[0] != n or desired.shape[0] != n or scale.shape[0] != n:
        return -1
    if used.shape[0] != n or found.shape[0] != n or spread.shape[0] != n or felt.shape[0] != n:
        return -1
    if wander.shape[0] != n or amiss.shape[0] != n:
        return -1
    if value.shape[1] != COLUMNS or covariance.shape[1] != COLUMNS or covariance.shape[2] != COLUMNS:
        return -1
    if numbers.shape[0] != NUMBERS or work.shape[0] != 3 or work.shape[1] != COLUMNS:
        return -1
    if taken.shape[0] != n or taken.shape[1] != COLUMNS or rotors.shape[0] != n or sure.shape[0] != n:
        return -1
    if bounds.shape[0] != COLUMNS or bounds.shape[1] != 5 or filtered.shape[0] != 2 or filtered.shape[1] != 5:
        return -1
    rate, period = numbers[RATE], numbers[PERIOD]
    share = -math.expm1(-rate * period)
    for i in range(n):
        v = velocity[i]
        moves = v if abs(v) > abs(desired[i]) else desired[i]
        sign = math.tanh(moves / numbers[SMOOTH])
        filtered[0, 0, i] += share * (v - filtered[0, 0, i])
        filtered[0, 1, i] += share * (beyond[i] - filtered[0, 1, i])
        filtered[0, 2, i] += share * (sign - filtered[0, 2, i])
        filtered[0, 3, i] += share * (v - filtered[0, 3, i])
        filtered[1, 0, i] += share * (rate * (v - filtered[0, 0, i]) - filtered[1, 0, i])  # acceleration
        filtered[0, 4, i] -= share * filtered[0, 4, i]
        for k in range(1, 5):
            filtered[1, k, i] += share * (filtered[0, k, i] - filtered[1, k, i])
    status, wrong, shrink = IDLE, False, -math.expm1(-numbers[CALMING] * period)
    for i in range(n):
        bodies = 0.0
        for j in range(n):
            bodies += mass[i, j] * filtered[1, 0, j]
        work[_H, ROTOR], work[_H, DRY] = filtered[1, 0, i], filtered[1, 2, i]
        work[_H, VISCOUS], work[_H, OFFSET] = filtered[1, 3, i], 1.0
        work[_H, BODIES] = bodies / scale[i]
        doubt = filtered[1, 4, i]
        miss = filtered[1, 1, i] - bodies / scale[i]
        for k in range(COLUMNS):
            usual, drift = bounds[k, USUAL], bounds[k, DRIFT] * (wander[i] if k == OFFSET else 1.0)
            covariance[i, k, k] = min(covariance[i, k, k] + drift * drift * period, usual * usual)
            miss -= work[_H, k] * value[i, k]
        expected = 0.0
        for k in range(COLUMNS):
            sum_ = 0.0
            for j in range(COLUMNS):
                sum_ += covariance[i, k, j] * work[_H, j]
            work[_PH, k] = sum_
            expected += work[_H, k] * sum_
        changes = abs(miss) / (bounds[OFFSET, DRIFT] * math.sqrt(max(period, 1e-9)))
        changes = min(max(changes, numbers[STEADY]), 1.0)
        wander[i] = max(wander[i] + shrink * (changes - wander[i]), changes)
        excess = max(miss * miss - expected, numbers[NOISE] * numbers[NOISE])
        if excess > SURPRISE * spread[i]:  # a load came or went: what else was learned may stay
            loads = min(excess, bounds[OFFSET, USUAL] * bounds[OFFSET, USUAL] - covariance[i, OFFSET, OFFSET])
            covariance[i, OFFSET, OFFSET] += loads
            work[_PH, OFFSET] += loads
            expected += loads
        spread[i] = max(spread[i] + shrink * (excess - spread[i]), excess)
        total = expected + (spread[i] + doubt * doubt) / (rate * period)
        for k in range(COLUMNS):
            new = value[i, k] + work[_PH, k] / total * miss
            if not abs(new) <= 1e150:
                return NOT_FINITE
            bound = new < bounds[k, LEAST]  # others explain it, and this stays as uncertain as it is
            work[_STAYS, k] = 1.0 if bound else 0.0
            value[i, k] = value[i, k] if bound else min(new, bounds[k, MOST])
        for k in range(COLUMNS):
            for j in range(COLUMNS):
                if work[_STAYS, k] + work[_STAYS, j] < 2.0:
                    covariance[i, k, j] -= work[_PH, k] / total * work[_PH, j]
        deviation = math.sqrt(max(covariance[i, 0, 0], 0.0))
        own = mass[i, i] / scale[i]
        least = numbers[NOTABLE] + numbers[SHARE] * own
        heavy = value[i, ROTOR] + own * min(value[i, BODIES], 0.0)  # a rotor is none for which bodies are taken away
        if not found[i] and heavy - 3.0 * deviation > least:
            found[i] = True
        if found[i]:
            status = FOUND
            for k in range(DRY, BODIES):
                least = bounds[k, IGNORED] + numbers[SURE] * math.sqrt(max(covariance[i, k, k], 0.0))
                amiss[i] = amiss[i] or abs(value[i, k]) > least
            if amiss[i] or sure[i] > numbers[NOTABLE]:
                amiss[i] = wrong = True
        # What idleness makes uncertain is still so.
        sure[i] = min(max(sure[i], value[i, ROTOR] - numbers[SURE] * deviation, 0.0), value[i, ROTOR])
    for i in range(n):  # where one joint surely is not its model, none is
        used[i] = min(1.0, used[i] + numbers[ENGAGING] * period) if found[i] or wrong else 0.0
        deviation = math.sqrt(max(covariance[i, 0, 0], 0.0))
        rotors[i] = sure[i] * scale[i] * used[i]
        heavy = min(max(value[i, ROTOR] - 2.0 * deviation, 0.0), sure[i]) * scale[i] * used[i]
        felt[i] = heavy * min(max(heavy / (HALF * mass[i, i]) - 1.0, 0.0), 1.0)
        for k in range(COLUMNS):
            taken[i, k] = used[i] * math.copysign(max(abs(value[i, k]) - bounds[k, IGNORED], 0.0), value[i, k])
    return status


@kernel(
    "(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], boolean[::1],"
    " float64[:,::1], float64[::1], float64[::1])",
    quick=True,
)
def loosen(
    error: Array,  # desired minus measured positions (n,) [rad, m]
    rate: Array,  # and velocities (n,) [rad/s, m/s]
    inertia: Array,  # of each joint while the others are free (n,) [kg m^2, kg]
    far: Array,  # errors from which on the model of a joint is taken to be wrong (n,) [rad, m]
    desired: Array,  # velocities (n,) [rad/s, m/s]
    haste: Array,  # by what all of a joint changes slower (n,)
    scale: Array,  # limits (n,) [N m, N]
    found: Mask,  # whether it was found to be wrong (n,); overwritten
    push: Array,  # (4, n): pushes over the limits, sides, factors, last errors of velocities; overwritten
    numbers: Array,  # (18,)
    out: Array,  # the push (n,) [N m, N]; overwritten
) -> int:
    """Push joints that do not follow; return `IDLE`, or `FOUND` where the model of some was found to be wrong."""
    n = error.shape[0]
    if rate.shape[0] != n or inertia.shape[0] != n or far.shape[0] != n or scale.shape[0] != n:
        return -1
    if found.shape[0] != n or push.shape[0] != 4 or push.shape[1] != n:
        return -1
    if out.shape[0] != n or numbers.shape[0] != 18 or desired.shape[0] != n or haste.shape[0] != n:
        return -1
    status, moving = IDLE, False
    for i in range(n):
        moving = moving or desired[i] != 0.0
    eased, easing = numbers[EASED], numbers[EASING_AT_REST]
    if moving:
        eased, easing = numbers[EASED_MOVING], numbers[EASING]
    for i in range(n):
        e, period = error[i], haste[i] * numbers[STEP]
        push[EASE, i] = min(push[EASE, i] * math.exp(easing * period), numbers[MOST_EASE])
        bound = numbers[BEHIND] if found[i] else far[i]
        if push[SIDE, i] != 0.0 and e * push[SIDE, i] < bound:  # the push has ended: the next grows slower
            push[EASE, i], push[SIDE, i] = max(eased * push[EASE, i], numbers[LEAST_EASE]), 0.0
        soon, push[CAME, i] = rate[i] + numbers[FORESEEN] * (rate[i] - push[CAME, i]), rate[i]
        if abs(e) > bound and e * rate[i] > -numbers[APPROACH] * e * e:
            found[i] = True
            side = push[SIDE, i] = 1.0 if e > 0.0 else -1.0
            if e * soon > -numbers[APPROACH] * e * e:  # else it will follow once what was pushed so far has acted
                first = numbers[GENTLE] + numbers[RUSH] * max(side * rate[i], 0.0)
                grows = first * inertia[i] / scale[i] + numbers[GROWTH] * abs(push[PUSHED, i])
                step = min(push[EASE, i], 1.0) * min(numbers[PUSH], grows) * period * side
                push[PUSHED, i] = min(max(push[PUSHED, i] + step, -numbers[LARGEST]), numbers[LARGEST])
        else:
            swift = e * rate[i] < -numbers[SWIFT] * e * e
            push[PUSHED, i] *= math.exp(-(numbers[RELEASE] if swift else numbers[FADING]) * period)
        if found[i]:
            status = FOUND
        out[i] = push[PUSHED, i] * scale[i]
    return status
