"""One step of learning from what efforts did: filtered equations of the momentum, and how far estimates miss them."""

from __future__ import annotations

import math

from ...engine.compile import inline, kernel
from .inertia_set import stiffness

#: Keeps what nothing is known of from division by zero.
_NOTHING = 1e-200
#: Part of the square of a nuisance's column which may be round-off when others have been eliminated.
_ALIKE = 1e-15
#: Part of all information below which what is left of it may be round-off.
_DIGITS = 1e-7
#: Mean square of the share with which a joint's equation counts, below which its friction is hardly known.
_FEW = 1e-4


@inline
def _scaled(p, h, qd, efforts, numbers, row):
    """Write the equations of a period (parameters, given part and effort, shift, nuisances); False if not finite.

    That of a joint which rests or turns round is zero: what friction does then is not known, not even its sign. In the
    second half of the rows it counts a little all the same, without nuisances, while another joint is faster.
    """
    n, m, period, rest, fastest = p.shape[1], p.shape[2] - 1, numbers[0], numbers[5], 0.0
    now = int(numbers[9])
    p_before, p_now, h_before, h_now, qd_before, qd_now = p[1 - now], p[now], h[1 - now], h[now], qd[1 - now], qd[now]
    effort, shift, weight = efforts[0], efforts[1], efforts[2]
    for i in range(n):
        speed = 0.5 * (qd_before[i] + qd_now[i])
        row[i, m + 1] = speed * speed / (speed * speed + rest * rest)
        fastest = max(fastest, row[i, m + 1])
    for i in range(n):
        speed = 0.5 * (qd_before[i] + qd_now[i])
        own = row[i, m + 1] if qd_before[i] * qd_now[i] > 0.0 else 0.0
        for k, share in ((i, own), (n + i, numbers[8] * (fastest - own))):
            for j in range(m + 1):
                row[k, j] = p_now[i, j] - p_before[i, j]
                row[k, j] = share * weight[i] * (row[k, j] / period - 0.5 * (h_before[i, j] + h_now[i, j]))
            row[k, m] = share * weight[i] * effort[i] - row[k, m]
            row[k, m + 1] = share * weight[i] * shift[i]
            row[k, m + 2] = math.copysign(own, speed) if k == i else 0.0
            row[k, m + 3] = own * speed if k == i else 0.0
            row[k, m + 4] = own * (qd_now[i] - qd_before[i]) / period if k == i else 0.0
            for j in range(m + 5):
                if not math.isfinite(row[k, j] * row[k, j]):
                    return False
    return True


@inline
def _filter(row, units, fade, filtered):
    """Filter the equations, with the coordinates as unknowns in place of parameters."""
    m, keep, share = filtered.shape[1] - 5, math.exp(-fade), -math.expm1(-fade)
    for i in range(filtered.shape[0]):
        for b in range(units.shape[0]):
            for j in range(10):
                x = 0.0
                for k in range(10):
                    x += row[i, 10 * b + k] * units[b, k, j]
                filtered[i, 10 * b + j] = keep * filtered[i, 10 * b + j] + share * x
        for j in range(m, m + 5):
            filtered[i, j] = keep * filtered[i, j] + share * row[i, j]


@inline
def _orthogonal(own, m, least, row):
    """Write products of a joint's nuisances, each without those before it, with all columns, and 1 over their squares.

    These are the last three rows; the squares, to which `least` is added, are those of what is left.
    """
    base = row.shape[0] - 3
    for k in range(3):
        for j in range(m + 5):
            row[base + k, j] = own[k, j]
        for i in range(k):
            part = row[base + i, m + 2 + k] * row[base + i, m + 5]
            for j in range(m + 5):
                row[base + k, j] -= part * row[base + i, j]
        row[base + k, m + 5] = 1.0 / (max(row[base + k, m + 2 + k], 0.0) + _ALIKE * own[k, m + 2 + k] + least)


@inline
def _innovation(filtered, nuisances, coordinates, row):
    """Return by how much the worst equation is missed, with the nuisances that explained most so far."""
    m, base, worst = coordinates.shape[0], row.shape[0] - 3, 0.0
    for i in range(nuisances.shape[0]):
        _orthogonal(nuisances[i], m, _NOTHING, row)
        x = -filtered[i, m]
        for j in range(m):
            x += filtered[i, j] * coordinates[j]
        for k in range(base, base + 3):
            own, miss = filtered[i, m + 2 + k - base], -row[k, m]
            for j in range(base, k):
                own -= row[j, m + 2 + k - base] * row[j, m + 5] * row[j, m + 6]
            row[k, m + 6] = own
            for j in range(m):
                miss += row[k, j] * coordinates[j]
            x -= row[k, m + 5] * miss * own
        worst = max(worst, abs(x))
    return worst


@inline
def _accumulate(filtered, fade, information, nuisances):
    """Put products of the filtered equations in place of a part 1 - exp(-fade) of the older ones."""
    m, keep, share = filtered.shape[1] - 5, math.exp(-fade), -math.expm1(-fade)
    for j in range(m + 2):
        for k in range(j + 1):
            x = 0.0
            for i in range(filtered.shape[0]):
                x += filtered[i, j] * filtered[i, k]
            information[j, k] = keep * information[j, k] + share * x
    for i in range(nuisances.shape[0]):
        for k in range(3):
            for j in range(m + 5):
                nuisances[i, k, j] = keep * nuisances[i, k, j] + share * filtered[i, m + 2 + k] * filtered[i, j]


@inline
def _eliminate(information, nuisances, coordinates, left, row):
    """Write the products of (F, F r - f), lower triangle (m + 1, m + 1), less what nuisances explain of them."""
    m = coordinates.shape[0]
    for j in range(m + 2):
        for k in range(j + 1):
            left[j, k] = information[j, k]
    for j in range(m + 2):
        miss = -information[max(j, m), min(j, m)]
        for k in range(m):
            miss += information[max(j, k), min(j, k)] * coordinates[k]
        left[max(j, m), min(j, m)] = miss if j != m else -miss
    for k in range(m):
        left[m, m] += left[m, k] * coordinates[k]
    for i in range(nuisances.shape[0]):
        _orthogonal(nuisances[i], m, _NOTHING, row)
        for t in range(row.shape[0] - 3, row.shape[0]):
            row[t, m] = -row[t, m]
            for k in range(m):
                row[t, m] += row[t, k] * coordinates[k]
            for j in range(m + 2):
                for k in range(j + 1):
                    left[j, k] -= row[t, m + 5] * row[t, j] * row[t, k]
    late = 1.0 / (max(left[m + 1, m + 1], 0.0) + _ALIKE * information[m + 1, m + 1] + _NOTHING)
    for j in range(m + 1):
        for k in range(j + 1):
            left[j, k] -= late * left[m + 1, j] * left[m + 1, k]


@inline
def _solve(left, epsilon, root, slope):
    """Replace `slope` by A^-1 slope, by Cholesky; return the square that the best fit leaves.

    What is not above epsilon in A is taken for epsilon.
    """
    m = slope.shape[0]
    rest = left[m, m]
    for j in range(m):
        for k in range(j + 1):
            x = left[j, k]
            for i in range(k):
                x -= root[j, i] * root[k, i]
            root[j, k] = x / root[k, k] if k < j else math.sqrt(max(x, epsilon))
    for j in range(m):
        x = left[m, j]
        for k in range(j):
            slope[j] -= root[j, k] * slope[k]
            x -= root[j, k] * root[m, k]
        slope[j] /= root[j, j]
        root[m, j] = x / root[j, j]
        rest -= root[m, j] * root[m, j]
    for j in range(m - 1, -1, -1):
        for k in range(j + 1, m):
            slope[j] -= root[k, j] * slope[k]
        slope[j] /= root[j, j]
    return max(rest, 0.0)


@inline
def _fit_friction(nuisances, coordinates, slope, information, left, row, found):
    """Write dry and viscous friction (n, 2) where the equations fit best, at the coordinates less the slope."""
    m, base = coordinates.shape[0], row.shape[0] - 3
    late = left[m + 1, m]
    for k in range(m):
        late -= left[m + 1, k] * slope[k]
    late /= max(left[m + 1, m + 1], 0.0) + _ALIKE * information[m + 1, m + 1] + _NOTHING
    late = min(max(late, -1.0), 1.0)
    for i in range(nuisances.shape[0]):
        _orthogonal(nuisances[i], m, _FEW, row)
        for k in range(base + 2, base - 1, -1):
            fit = row[k, m] + late * row[k, m + 1]
            for j in range(m):
                fit -= row[k, j] * (coordinates[j] - slope[j])
            row[k, m + 6] = fit * row[k, m + 5]
            for j in range(k + 1, base + 3):
                row[k, m + 6] -= row[k, m + 2 + j - base] * row[k, m + 5] * row[j, m + 6]
        found[i, 0], found[i, 1] = row[base, m + 6], row[base + 1, m + 6]


@kernel(
    "(float64[:,:,::1], float64[:,:,::1], float64[:,::1], float64[:,::1], float64[::1], float64[:,:,::1],"
    " float64[::1], float64[:,::1], float64[:,::1],"
    " float64[:,::1], float64[:,:,::1], float64[:,::1], float64[:,::1], float64[::1], float64[:,::1],"
    " float64[:,:,::1], float64[:,:,::1], float64[::1], float64[:,::1], float64[::1])",
    quick=True,
)
def update(
    p,  # of `momentum_terms` at both ends of the period (2, n, m + 1)
    h,  # likewise
    qd,  # velocities there (2, n) [rad/s, m/s]
    efforts,  # what acted in the mean, that more if it acted a period earlier, weights of equations (3, n)
    numbers,  # (10,), see below
    units,  # parameters of body b are `units[b]` times its coordinates (k, 10, 10)
    coordinates,  # r, those of the estimates (m,)
    row,  # to work in (2 n + 3, m + 7)
    filtered,  # (F, f, g, s, v, z) of joints, then of those at rest (2 n, m + 5)
    information,  # mean of (F, f, g)^T (F, f, g), lower triangle (m + 2, m + 2)
    nuisances,  # mean of (s, v, z)^T (F, f, g, s, v, z) of each joint (n, 3, m + 5)
    left,  # to work in (m + 2, m + 2)
    root,  # to work in (m + 1, m)
    nearest,  # (A + epsilon G)^-1 (A r - b) (m,)
    found,  # the c and d that fit best (n, 2)
    estimates,  # Z, those of the estimates (k, 4, 4)
    turn,  # to work in (2, 4, 4)
    values,  # to work in (4,)
    stiff,  # G = dZ/dR, lower triangle (m, m)
    slope,  # G times `nearest` (m,)
):
    """Take in the equations of one period, and write the slope that the estimates go down.

    Filtered equations are F r = f + x g - c s - d v - j z, x being by how many periods efforts act earlier than
    thought, c, d and j dry and viscous friction and inertia of the rotor of each joint; A r = b are those of least
    squares without them. Numbers: period [s], the same over the time of the filter and over the memory, epsilon,
    surprise, speed of rest [rad/s, m/s], weight of what fits leave, what the last fit left, which is written, how much
    equations of joints at rest count while others move, and which of the pairs is the end of the period. Return 1; 0
    where a number is not finite, and nothing is taken in.
    """
    m = p.shape[2] - 1
    if not _scaled(p, h, qd, efforts, numbers, row):
        return 0
    _filter(row, units, numbers[1], filtered)
    worst = _innovation(filtered, nuisances, coordinates, row) / numbers[4]
    _accumulate(filtered, min(numbers[1], numbers[2] * (1.0 + worst * worst)), information, nuisances)
    _eliminate(information, nuisances, coordinates, left, row)
    epsilon = numbers[3] + numbers[6] * numbers[7]
    for j in range(m):
        epsilon += _DIGITS * information[j, j]
        nearest[j] = left[m, j]
    stiffness(estimates, turn[0], turn[1], values, stiff)
    for j in range(m):
        for k in range(j + 1):
            left[j, k] += epsilon * stiff[j, k]
    numbers[7] = _solve(left, epsilon, root, nearest)
    _fit_friction(nuisances, coordinates, nearest, information, left, row, found)
    for j in range(m):
        slope[j] = 0.0
        for k in range(m):
            slope[j] += stiff[max(j, k), min(j, k)] * nearest[k]
    return 1
