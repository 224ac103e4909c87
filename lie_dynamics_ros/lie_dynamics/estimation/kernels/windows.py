"""Joint torques at a state, their sums over time, and what the model misses of them over windows of states."""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import kernel, outline
from ...engine.symmetric import factorize, solve_factorized

#: Sums over time of what acts on a joint: efforts with what the model knows, one, the direction of its motion, what it
#: may hold at rest, size of efforts; the variance of what may have happened in gaps; and what the first and the third
#: would have less if all steps had lasted as long as usual, and the third more if none had been shorter. Beside them
#: the momentum.
IMPULSE, OFFSET, DRY, HELD, EFFORT, GAPS, UNEVEN, UNEVEN_DRY, SHORT_DRY, MOMENTUM, N_SUMS = range(11)
#: Of the times (states, N_TIMES): since the beginning, of squared steps, of steps no shorter than usual, and of what
#: they are longer than usual.
NOW, SQUARES, LASTING, LONGER, N_TIMES = range(5)
#: Settings: states so far, period of the noise, part of the efforts that is missed, part of drift that is kept, the
#: number of the last state with an uneven step, and the window that torques are means of.
COUNT, PERIOD, PART, KEPT, UNEVEN_AT, CHOSEN, N_SETTINGS = range(7)
#: What is found: time of now, and since the middle of that window, place of the state there, the largest statistic.
FOUND_NOW, AGE, MIDDLE, STATISTIC, N_FOUND = range(5)
#: Of offset and dry friction of a joint, (n, N_DRIFT): values and covariance when they were learned, which of them is
#: kept until now being a setting; variances without learning; and that of torques that they do not explain.
D_OFFSET, D_DRY, D_OFFSETS, D_BOTH, D_DRIES, D_FREE_OFFSET, D_FREE_DRY, D_UNEXPLAINED, N_DRIFT = range(9)
#: Noise of velocities over a window is that of the window that lasts as long, to this factor.
_LONGER = 1.5


@outline
def half_congruence(mass: Array, spread: Array, n: int, work: Array, out: Array) -> None:
    """Write half of M S M to the lower triangle of `out`; `work` (n, n) is room to work in."""
    for i in range(n):
        for j in range(n):
            value = 0.0
            for k in range(n):
                value += mass[i, k] * spread[k, j]
            work[i, j] = 0.5 * value
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for k in range(n):
                value += work[i, k] * mass[j, k]
            out[i, j] = value


@kernel("(float64[::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, :, ::1])", quick=True)
def spread_noise(places: Array, masses: Array, velocity: Array, work: Array, out: Array) -> int:
    """Write what noise of velocities at states does to momenta, half of M V M for each window; lower triangles; 0.

    Parameters
    ----------
    places : from which state on, to which, and how many windows have a V of their own: the others have the last.
    masses, velocity : shape (s, n, n), (w, n, n), see `SensorNoise`.
    work, out : shape (n, n) or more, (s, w n, n).
    """
    n, windows, own = masses.shape[1], velocity.shape[0], int(places[2])
    for place in range(int(places[0]), int(places[1])):
        for w in range(own):
            half_congruence(masses[place], velocity[w], n, work, out[place, w * n : (w + 1) * n])
        for w in range(own, windows):
            for i in range(n):
                for j in range(i + 1):
                    out[place, w * n + i, j] = out[place, (own - 1) * n + i, j]
    return 0


@outline
def add_late(first: int, last: int, sums: Array, times: Array, work: Array, out: Array) -> None:
    """Add the square of what is missed where stamps between two states are off by what their steps are uneven.

    `work` (n, n + 3) holds the learned offset and dry friction in its last columns, and gives one to work in.
    """
    n, longer = sums.shape[1], times[last, LONGER] - times[first, LONGER]
    if first == last:
        return
    for i in range(n):
        a, b = sums[last, i], sums[first, i]
        work[i, n] = a[UNEVEN] - b[UNEVEN] + longer * work[i, n + 1]
        work[i, n] += (a[UNEVEN_DRY] - b[UNEVEN_DRY]) * work[i, n + 2]
        for j in range(i + 1):
            out[i, j] += work[i, n] * work[j, n]


@kernel(
    "(float64[::1], float64[::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1],"
    " float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[::1], float64[::1], float64[:, ::1])",
    quick=True,
)
def judge_windows(
    settings: Array,
    sizes: Array,
    spreads: Array,
    sums: Array,
    times: Array,
    impulse: Array,
    drift: Array,
    missed: Array,
    cover: Array,
    learned: Array,
    work: Array,
    found: Array,
    torque: Array,
    covariance: Array,
) -> int:
    """Write what is missed over each window that the states so far fill, (w, n), its covariance (w, n, n), statistics.

    Parameters
    ----------
    settings, sizes : see above; states of the windows (w,).
    spreads, sums, times : of the last states (s, w n, n) by `spread_noise`, (s, n, N_SUMS), (s, N_TIMES), each at its
        number modulo s.
    impulse : covariance of noise over the windows (w, n, n), see `SensorNoise`.
    drift : what is known of offset and dry friction, see above.
    missed, cover : written for the windows that are filled.
    learned : shape (n, 4), of the longest of these: the impulse that was missed without `drift`, its variance by noise,
        and by what lasts as long as friction: what is held at rest, and the part of the efforts squared.
    work : shape (n, n + 3).
    found, torque, covariance : shape (N_FOUND,), (n,), (n, n), written: the mean torque over one window.

    Returns
    -------
    int
        Number of windows that are filled; -1 - w where numbers of window w fail.
    """
    n, rows = sums.shape[1], sums.shape[0]
    count = int(settings[COUNT])
    here = (count - 1) % rows
    kept = settings[KEPT]
    for i in range(n):
        work[i, n + 1], work[i, n + 2] = kept * drift[i, D_OFFSET], kept * drift[i, D_DRY]
    # A state that waited has a stamp as late as it is longer after the state with the soonest one: whether that is so
    # may differ on both sides of the soonest, and of the last stall.
    filled, judged, before, soonest, stall = 0, 0, here, here, here
    found[FOUND_NOW], found[STATISTIC] = times[here, NOW], 0.0
    for w in range(sizes.shape[0]):
        size = int(sizes[w])
        if size >= count:
            break
        filled = w + 1
        first = (count - 1 - size) % rows
        span = times[here, LASTING] - times[first, LASTING]
        other = w
        while other + 1 < sizes.shape[0] and _LONGER * sizes[other] * settings[PERIOD] < span:
            other += 1
        squares = (times[here, SQUARES] - times[first, SQUARES]) / (size * settings[PERIOD] * settings[PERIOD])
        squares = max(squares, 1.0)
        S = cover[w]
        for i in range(n):
            for j in range(i + 1):
                S[i, j] = squares * impulse[w, i, j]
        if settings[UNEVEN_AT] >= count - size:
            for _ in range(judged, size):
                after, before = before, before - 1 if before > 0 else rows - 1
                if times[before, LONGER] <= times[soonest, LONGER]:
                    soonest = before
                if stall == here and times[after, LONGER] - times[before, LONGER] > 0.5 * settings[PERIOD]:
                    stall = before
            judged = size
            older, newer = soonest, stall
            if (here - soonest) % rows < (here - stall) % rows:
                older, newer = stall, soonest
            add_late(first, older, sums, times, work, S)
            add_late(older, newer, sums, times, work, S)
            add_late(newer, here, sums, times, work, S)
        for i in range(n):
            for j in range(i + 1):
                S[i, j] += spreads[here, other * n + i, j] + spreads[first, other * n + i, j]
        for i in range(n):
            a, b = sums[here, i], sums[first, i]
            offset, dry = a[OFFSET] - b[OFFSET], a[DRY] - b[DRY]
            held, effort = a[HELD] - b[HELD], settings[PART] * (a[EFFORT] - b[EFFORT])
            gone = a[MOMENTUM] - b[MOMENTUM] - (a[IMPULSE] - b[IMPULSE])
            S[i, i] += a[GAPS] - b[GAPS]
            learned[i, 0], learned[i, 1], learned[i, 2], learned[i, 3] = gone, S[i, i], held, effort * effort
            missed[w, i] = gone - offset * work[i, n + 1] - dry * work[i, n + 2]
            offset, dry = span, dry + a[SHORT_DRY] - b[SHORT_DRY]  # what is not known goes on for a usual step or more
            known = offset * offset * drift[i, D_OFFSETS] + 2.0 * offset * dry * drift[i, D_BOTH]
            known += dry * dry * drift[i, D_DRIES]
            free = offset * offset * drift[i, D_FREE_OFFSET] + dry * dry * drift[i, D_FREE_DRY]
            S[i, i] += kept * kept * known + (1.0 - kept * kept) * free + span * span * drift[i, D_UNEXPLAINED]
            S[i, i] += held * held + effort * effort
            work[i, n] = missed[w, i]
        for i in range(n):
            for j in range(i + 1):
                S[j, i] = S[i, j]
                work[i, j] = S[i, j]
        if not factorize(work[:, :n]):
            return -1 - w
        x = work[:, n]
        solve_factorized(work[:, :n], x)
        statistic = 0.0
        for i in range(n):
            statistic += missed[w, i] * x[i]
        if statistic > found[STATISTIC]:
            found[STATISTIC] = statistic
    w = min(int(settings[CHOSEN]), filled - 1)
    size = int(sizes[w])
    span = times[here, NOW] - times[(count - 1 - size) % rows, NOW]
    middle = (count - 1 - size // 2) % rows
    found[MIDDLE], found[AGE] = middle, times[here, NOW] - times[middle, NOW]
    for i in range(n):
        torque[i] = missed[w, i] / span
        for j in range(n):
            covariance[i, j] = cover[w, i, j] / (span * span)
    return filled


#: Beyond which a state is none: sums keep their digits [SI units].
LARGEST = 1e9
#: Rates (n, N_RATES): those of the sums that have one, the effort itself, and the momentum. Of joints (n, 2): what
#: friction holds at rest that is not known, and the speed below which its direction is not.
OWN, MOVING, N_RATES, HOLDS, SMOOTHING = 5, 6, 7, 0, 1
#: Settings: the step since the state before, by how much it is longer than usual, from where on that is a gap [s];
#: whether an effort acted over the period before its state; and the place of the state.
STEP, MORE, GAP, AS_HELD, PLACE, N_STEP = range(6)


@kernel(
    "(float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1])",
    quick=True,
)
def rates_at(v: Array, effort: Array, mass: Array, coriolis: Array, less: Array, joints: Array, rates: Array) -> int:
    """Write rates and momenta M v (n, N_RATES) at velocities v and efforts (n,); 1 where one is too large.

    What the model knows of the momenta's rates is C^T v less gravity and losses, `less`.
    """
    good = True
    n = v.shape[0]
    for i in range(n):
        momentum, known = 0.0, -less[i]
        for k in range(n):
            momentum += mass[i, k] * v[k]
            known += coriolis[k, i] * v[k]
        side = v[i] / math.sqrt(v[i] * v[i] + joints[i, SMOOTHING] * joints[i, SMOOTHING])
        rates[i, IMPULSE], rates[i, OFFSET], rates[i, DRY] = effort[i] + known, 1.0, side
        rates[i, HELD], rates[i, EFFORT] = joints[i, HOLDS] * (1.0 - side * side), abs(effort[i])
        rates[i, OWN], rates[i, MOVING] = effort[i], momentum
        good = good and abs(rates[i, IMPULSE]) <= LARGEST and abs(effort[i]) <= LARGEST
        good = good and abs(momentum) <= LARGEST and side * side <= 1.0
    return 0 if good else 1


@kernel(
    "(float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1],"
    " float64[:, ::1])",
    quick=True,
)
def add_state(
    settings: Array, before: Array, rates: Array, mass: Array, masses: Array, sums: Array, times: Array
) -> int:
    """Keep a state: what came since the state before, whose rates are `before`, is added to the sums there; 0.

    What is not known of torques goes on for no less than a usual step, however soon the next state comes.
    """
    step, more, n = settings[STEP], settings[MORE], rates.shape[0]
    place = int(settings[PLACE])
    last = (place if place > 0 else times.shape[0]) - 1
    lasts = max(step, step - more)
    for i in range(n):
        side = 0.5 * (rates[i, DRY] + before[i, DRY])
        a, b = sums[place, i], sums[last, i]
        a[OFFSET] = b[OFFSET] + step
        a[DRY] = b[DRY] + step * side
        a[UNEVEN_DRY] = b[UNEVEN_DRY] + more * side
        a[SHORT_DRY] = b[SHORT_DRY] + (lasts - step) * side
        for c in range(HELD, OWN):
            a[c] = b[c] + lasts * 0.5 * (rates[i, c] + before[i, c])
        mean = 0.5 * (rates[i, IMPULSE] + before[i, IMPULSE])
        mean += settings[AS_HELD] * 0.5 * (rates[i, OWN] - before[i, OWN])
        a[IMPULSE] = b[IMPULSE] + step * mean
        a[UNEVEN] = b[UNEVEN] + more * mean
        a[GAPS] = b[GAPS]
        if more > settings[GAP]:  # it may have been as before all the time, or as after it
            half = 0.5 * step * (rates[i, IMPULSE] - before[i, IMPULSE])
            a[GAPS] += half * half
        a[MOMENTUM] = rates[i, MOVING]
        for j in range(n):
            masses[place, i, j] = mass[i, j]
    times[place, NOW] = times[last, NOW] + step
    times[place, SQUARES] = times[last, SQUARES] + step * step
    times[place, LASTING] = times[last, LASTING] + lasts
    times[place, LONGER] = times[last, LONGER] + more
    return 0
