"""One step of learning from what efforts did: filtered equations of the momentum, and how far estimates miss them."""

from __future__ import annotations

import math

from ...engine.compile import inline, kernel

#: Square of efforts, over their scale, below which nothing is concluded from them about the delay.
_NOTHING = 1e-13


@inline
def _scaled(p_before, p_now, h_before, h_now, effort, shift, weight, period, row):
    """Write the equations of a period, row (parameters, given part and effort, shift); False where not finite."""
    m = p_now.shape[1] - 1
    for i in range(p_now.shape[0]):
        for j in range(m + 1):
            row[i, j] = weight[i] * ((p_now[i, j] - p_before[i, j]) / period - 0.5 * (h_before[i, j] + h_now[i, j]))
        row[i, m] = weight[i] * effort[i] - row[i, m]
        row[i, m + 1] = weight[i] * shift[i]
        for j in range(m + 2):
            if not math.isfinite(row[i, j] * row[i, j]):
                return False
    return True


@inline
def _take_in(row, units, share, filtered):
    """Filter the equations, with the coordinates as unknowns in place of parameters."""
    m = filtered.shape[1] - 2
    for i in range(filtered.shape[0]):
        for b in range(units.shape[0]):
            for j in range(10):
                x = 0.0
                for k in range(10):
                    x += row[i, 10 * b + k] * units[b, k, j]
                filtered[i, 10 * b + j] += share * (x - filtered[i, 10 * b + j])
        for j in range(m, m + 2):
            filtered[i, j] += share * (row[i, j] - filtered[i, j])


@inline
def _solve(information, epsilon, root, slope):
    """Replace `slope` by (A + epsilon)^-1 slope, by Cholesky; A without what the shift explains."""
    m = slope.shape[0]
    late = 1.0 / (information[m + 1, m + 1] + _NOTHING)
    for j in range(m):
        for k in range(j + 1):
            x = information[j, k] - late * information[m + 1, j] * information[m + 1, k]
            if k == j:
                x += epsilon
            for i in range(k):
                x -= root[j, i] * root[k, i]
            root[j, k] = x / root[k, k] if k < j else math.sqrt(max(x, epsilon))
    for j in range(m):
        for k in range(j):
            slope[j] -= root[j, k] * slope[k]
        slope[j] /= root[j, j]
    for j in range(m - 1, -1, -1):
        for k in range(j + 1, m):
            slope[j] -= root[k, j] * slope[k]
        slope[j] /= root[j, j]


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[:,:,::1], float64[::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1],"
    " float64[::1])",
    quick=True,
)
def digest(
    p_before, p_now, h_before, h_now, effort, shift, weight,
    numbers, units, coordinates, row, filtered, information, root,
    slope,
):  # fmt: skip
    """Take in the equations of one period, and write the slope that the estimates go down.

    Parameters
    ----------
    p_before, p_now, h_before, h_now : ndarray, shape (n, m + 1)
        Of `momentum_terms` at both ends of the period.
    effort, shift : ndarray, shape (n,)
        Mean of what acted on the joints in it, and what it would be more by if it acted a period earlier [N m, N].
    weight : ndarray, shape (n,)
        Of the joints' equations [1 / (N m), 1 / N].
    numbers : ndarray, shape (5,)
        Period [s], the same over the time of the filter and over the memory, epsilon, surprise.
    units : ndarray, shape (k, 10, 10)
        Parameters of the b-th body are `units[b]` times its coordinates.
    coordinates : ndarray, shape (m,)
        r, those of the estimates.
    row : ndarray, shape (n, m + 2)
        Room to work in.
    filtered : ndarray, shape (n, m + 2)
        (F, f, g) of the filtered equations F r = f + x g, x being by how many periods efforts act earlier than thought.
    information : ndarray, shape (m + 2, m + 2)
        Mean of (F, f, g)^T (F, f, g), lower triangle.
    root : ndarray, shape (m, m)
        Room to work in.
    slope : ndarray, shape (m,)
        (A + epsilon)^-1 (A r - b), where A r = b are the equations of least squares without x.

    Returns
    -------
    int
        1; 0 where a number is not finite, and nothing is taken in.
    """
    n, m = p_now.shape[0], p_now.shape[1] - 1
    share = -math.expm1(-numbers[1])
    if not _scaled(p_before, p_now, h_before, h_now, effort, shift, weight, numbers[0], row):
        return 0
    _take_in(row, units, share, filtered)
    worst = 0.0
    for i in range(n):
        x = -filtered[i, m]
        for j in range(m):
            x += filtered[i, j] * coordinates[j]
        worst = max(worst, abs(x))
    worst /= numbers[4]
    keep = min(share, -math.expm1(-numbers[2] * (1.0 + worst * worst)))
    for j in range(m + 2):
        for k in range(j + 1):
            x = 0.0
            for i in range(n):
                x += filtered[i, j] * filtered[i, k]
            information[j, k] += keep * (x - information[j, k])
    late = 1.0 / (information[m + 1, m + 1] + _NOTHING)
    for j in range(m):
        x = -information[m, j] + late * information[m + 1, j] * information[m + 1, m]
        for k in range(m):
            a = information[max(j, k), min(j, k)] - late * information[m + 1, j] * information[m + 1, k]
            x += a * coordinates[k]
        slope[j] = x
    _solve(information, numbers[3], root, slope)
    return 1
