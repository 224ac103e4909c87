"""Solution with the mass matrix of a tree, which stays sparse: M = L^T D L, eliminated from the leaves.

L has entries for pairs of rows on one path from the base, where M has them: no fill-in. A mask takes coordinates out of
the unknowns. Walking up the tree is slow, as each step waits for the one before; so paths are listed once.

Many right hand sides are solved eight columns side by side in a vector. A column that belongs to a coordinate is zero
at first in rows that are not on one path with it. So on the way in, from the leaves to the base, it takes only the rows
of its own path and branch; on the way out it fills up. Right hand sides come as three blocks of nv columns. Groups of
`LANES` columns, the same of each block, are solved by themselves: what they need stays in the fastest cache.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import COMPILED, inline, outline, straight
from ....engine.lanes import (
    LANES,
    entry,
    fetch_ahead,
    get,
    lift,
    place,
    place_vector,
    place_vector_from,
    positive,
    put,
    vector_at,
)
from ....engine.lanes import at as number_at
from ....model.layout import N_V, PARENT, ROUND_OFF


@inline
def counts(given, i):
    """Tell whether row `i` is among the unknowns: its acceleration is not given."""
    return given.shape[0] == 0 or not given[i - 1]


@inline
def paths_size(n):
    """Return how many integers `list_paths` wants."""
    return 3 * (n + 1) + n * (n + 1) // 2


@outline
def list_paths(rows, given, paths):
    """List the unknowns on the path from the base to each row, that of the row last, and the end of its branch.

    Those of row `i` are ``paths[paths[3 i] : paths[3 i + 1]]``, counted from zero; rows of one branch share a list. All
    rows beyond row `i` come before row ``paths[3 i + 2]``, counted from zero.
    """
    n = int(rows[0, N_V])
    at = 3 * (n + 1)
    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        start = at
        if i > 1 and parent == i - 1:
            start = paths[3 * parent]
        elif parent > 0:
            for e in range(paths[3 * parent], paths[3 * parent + 1]):
                paths[at] = paths[e]
                at += 1
        if counts(given, i):
            paths[at] = i - 1
            at += 1
        paths[3 * i] = start
        paths[3 * i + 1] = at
        paths[3 * i + 2] = i
    for i in range(n, 0, -1):
        parent = int(rows[i, PARENT])
        paths[3 * parent + 2] = max(paths[3 * parent + 2], paths[3 * i + 2]) if parent > 0 else n


@outline
def factorize(rows, given, paths, m):
    """Replace the lower half of the unknowns' block of `m` by L, the upper by L^T, the diagonal by D^-1.

    Its nv rows are filled up to whole vectors.

    A pivot is the articulated inertia along its row; one that vanishes is inverted to infinity. The rest of the upper
    half must be zero.
    """
    n = int(rows[0, N_V])
    width = m.shape[0] // max(n, 1)
    for i in range(n, 0, -1):
        if not counts(given, i):
            continue
        first, last = entry(paths, 3 * i), entry(paths, 3 * i + 1) - 1
        row = (i - 1) * width
        d = get(m, row + i - 1)
        inverse = 1.0 / (d * positive(d - rows[i, ROUND_OFF]))
        put(m, row + i - 1, inverse)
        for a in range(last - 1, first - 1, -1):
            k = entry(paths, a)
            x = get(m, row + k) * inverse
            for b in range(first, a + 1):
                j = entry(paths, b)
                put(m, k * width + j, get(m, k * width + j) - x * get(m, row + j))
            put(m, row + k, x)
            put(m, k * width + i - 1, x)


@outline
def solve_one(rows, given, paths, m, b):
    """Replace the unknowns' entries of the flat array `b` by the solution."""
    n = int(rows[0, N_V])
    width = m.shape[0] // max(n, 1)
    for i in range(n, 0, -1):
        if counts(given, i):
            x = get(b, i - 1)
            for a in range(entry(paths, 3 * i), entry(paths, 3 * i + 1) - 1):
                k = entry(paths, a)
                put(b, k, get(b, k) - get(m, (i - 1) * width + k) * x)
    for i in range(1, n + 1):
        if counts(given, i):
            x = get(b, i - 1) * get(m, (i - 1) * width + i - 1)
            for a in range(entry(paths, 3 * i), entry(paths, 3 * i + 1) - 1):
                k = entry(paths, a)
                x = x - get(m, (i - 1) * width + k) * get(b, k)
            put(b, i - 1, x)


#: Columns that a tile eliminates at a time: fewer have more zeros in common.
FEW = 4


@inline
def groups_of(n):
    """Return the number of groups of `LANES` columns."""
    return (n + LANES - 1) // LANES


@inline
def related_size(n, size):
    """Return how many integers `list_related` wants for groups of `size` columns."""
    groups = (n + size - 1) // size
    return groups + 2 + 2 * n * groups


@outline
def list_related(rows, paths, size, related):
    """List, for each group of `size` columns, the rows on one path with any of its coordinates, counted from zero.

    Each row comes with the place in the list where its branch ends. Those for group `c` begin at ``related[c]`` and end
    before ``related[c + 1]``.
    """
    n = int(rows[0, N_V])
    groups = (n + size - 1) // size
    at = groups + 1
    for c in range(groups):
        start = at
        related[c] = start
        first, beyond = size * c, min(size * c + size, n)
        for k in range(first, beyond):
            beyond = max(beyond, paths[3 * k + 5])
        for i in range(beyond):
            if paths[3 * i + 5] > first:
                related[at] = i
                at += 2
        for a in range(start, at, 2):
            i = related[a]
            b = at
            if i >= first:  # all rows from here on are listed
                b = min(at, a + 2 * (paths[3 * i + 5] - i))
            while related[b - 2] >= paths[3 * i + 5]:
                b -= 2
            related[a + 1] = b
    related[groups] = at


@straight
def _less(x, k, y, x0, x1, x2):
    return x0 - y * get(x, k), x1 - y * get(x, k + 1), x2 - y * get(x, k + 2)


@straight
def _put(x, k, x0, x1, x2):
    put(x, k, x0)
    put(x, k + 1, x1)
    put(x, k + 2, x2)


@inline
def _begin(z, related, at, end, i, d):
    """Return d times three vectors, zero where row i is not next in the list, and the next place in it."""
    zero = lift(0.0, get(z, 0))
    x0, x1, x2 = zero, zero, zero
    if at < end and entry(related, at) == i:
        e = 3 * ((at - entry(related, 0)) // 2)
        x0, x1, x2 = d * get(z, e), d * get(z, e + 1), d * get(z, e + 2)
        at += 2
    return x0, x1, x2, at


@straight
def _get_few(r, k):
    return get(r, k), get(r, k + 1), get(r, k + 2), get(r, k + 3)


@straight
def _put_few(r, k, x):
    put(r, k, x[0])
    put(r, k + 1, x[1])
    put(r, k + 2, x[2])
    put(r, k + 3, x[3])


@straight
def _less_few(x, y, z):
    return x[0] - y * z[0], x[1] - y * z[1], x[2] - y * z[2], x[3] - y * z[3]


@outline
def eliminate_tile(rows, related, m, r):
    """Eliminate from the leaves, r = L^-T r, in groups of `FEW` columns, as `related` lists them, of a tile.

    `r` (nv, 3, nv) has rows filled up to whole vectors. The third block is that of minus the unit matrix: it is not
    read, and its upper half is written. Two rows at once where one follows the other and their branches end together.
    """
    n = int(rows[0, N_V])
    width = LANES * groups_of(n)
    for c in range((n + FEW - 1) // FEW):
        begin, middle = entry(related, c), entry(related, c + 1)
        a = middle - 2
        while a >= begin:
            i, stop = entry(related, a), entry(related, a + 1)
            e = 3 * width * i + FEW * c
            x, u = _get_few(r, e), _get_few(r, e + width)
            if a > begin and entry(related, a - 2) == i - 1 and entry(related, a - 1) == stop:
                f = e - 3 * width
                v, w = _get_few(r, f), _get_few(r, f + width)
                for b in range(stop - 2, a, -2):
                    j = entry(related, b)
                    y, y0, k = get(m, i * width + j), get(m, (i - 1) * width + j), 3 * width * j + FEW * c
                    z = _get_few(r, k)
                    x, v = _less_few(x, y, z), _less_few(v, y0, z)
                    z = _get_few(r, k + width)
                    u, w = _less_few(u, y, z), _less_few(w, y0, z)
                y = get(m, (i - 1) * width + i)
                _put_few(r, f, _less_few(v, y, x))
                _put_few(r, f + width, _less_few(w, y, u))
                a -= 2
            else:
                for b in range(stop - 2, a, -2):
                    j = entry(related, b)
                    y, k = get(m, i * width + j), 3 * width * j + FEW * c
                    x, u = _less_few(x, y, _get_few(r, k)), _less_few(u, y, _get_few(r, k + width))
            _put_few(r, e, x)
            _put_few(r, e + width, u)
            a -= 2
        while entry(related, middle - 2) >= FEW * (c + 1):
            middle -= 2
        zero = lift(0.0, get(r, 0))
        for a in range(middle - 2, begin - 2, -2):
            i = entry(related, a)
            x = (zero, zero, zero, zero)
            for b in range(min(entry(related, a + 1), middle) - 2, a, -2):
                j = entry(related, b)
                x = _less_few(x, get(m, i * width + j), _get_few(r, (3 * j + 2) * width + FEW * c))
            e = (3 * i + 2) * width + FEW * c
            _put_few(r, e, x)
            if i >= FEW * c:
                put(r, e + i - FEW * c, -1.0)


@outline
def solve_columns(rows, given, lists, m, r, z, x, y):
    """Fill the unknowns' rows of `x` with minus the solution, the others with the right hand sides.

    `lists` are paths and `related`. `m` (nv times nv filled up to whole vectors) is what `factorize` made. `r` and `z`,
    which may be one array, have three vectors for each row that `related` lists; `x` has three for each row of each
    group of columns. If `r` is empty, `z` holds right hand sides that are eliminated from the leaves. `y` is where the
    solution will be handed out.
    """
    n, (paths, related) = int(rows[0, N_V]), lists
    width, origin = LANES * groups_of(n), entry(related, 0)
    for c in range(groups_of(n)):
        at, end, base = entry(related, c), entry(related, c + 1), 3 * n * c
        if r.shape[0] > 0:  # z = L^-T r
            for a in range(end - 2, at - 2, -2):
                i = entry(related, a)
                e = 3 * ((a - origin) // 2)
                x0, x1, x2 = get(r, e), get(r, e + 1), get(r, e + 2)
                if counts(given, i + 1):
                    for b in range(entry(related, a + 1) - 2, a, -2):  # the next row, found last, comes last
                        y0 = get(m, i * width + entry(related, b))
                        x0, x1, x2 = _less(z, 3 * ((b - origin) // 2), y0, x0, x1, x2)
                _put(z, e, x0, x1, x2)
        i = 0
        while i < n:  # x = -L^-1 D^-1 z, two rows at once where one follows the other on all paths
            d, first, last = 1.0, 0, 0
            if counts(given, i + 1):
                d, first, last = -get(m, i * width + i), entry(paths, 3 * i + 3), entry(paths, 3 * i + 4) - 1
            x0, x1, x2, at = _begin(z, related, at, end, i, d)
            e = base + 3 * i
            fetch_ahead(y, LANES * e)
            fetch_ahead(y, LANES * (e + 1))
            fetch_ahead(y, LANES * (e + 2))
            if i + 1 < n and last > first and entry(paths, 3 * i + 6) == first and counts(given, i + 2):
                fetch_ahead(y, LANES * (e + 3))
                fetch_ahead(y, LANES * (e + 4))
                fetch_ahead(y, LANES * (e + 5))
                x3, x4, x5, at = _begin(z, related, at, end, i + 1, -get(m, (i + 1) * width + i + 1))
                for a in range(first, last):
                    j = entry(paths, a)
                    y0, y3, k = get(m, i * width + j), get(m, (i + 1) * width + j), base + 3 * j
                    x0, x1, x2 = _less(x, k, y0, x0, x1, x2)
                    x3, x4, x5 = _less(x, k, y3, x3, x4, x5)
                y3 = get(m, (i + 1) * width + i)
                _put(x, e + 3, x3 - y3 * x0, x4 - y3 * x1, x5 - y3 * x2)
                i += 1
            else:
                for a in range(first, last):
                    j = entry(paths, a)
                    x0, x1, x2 = _less(x, base + 3 * j, get(m, i * width + j), x0, x1, x2)
            _put(x, e, x0, x1, x2)
            i += 1


@outline
def add_coupled(rows, given, m, x):
    """Add M_uv X_v to the rows u of `x` whose acceleration is given, v the unknowns; `factorize` left M_uv."""
    n = int(rows[0, N_V])
    width = LANES * groups_of(n)
    for i in range(1, n + 1):
        k = int(rows[i, PARENT])
        while k > 0:
            if counts(given, i) != counts(given, k):
                y = get(m, (i - 1) * width + k - 1)
                to, source = (k, i) if counts(given, i) else (i, k)
                for c in range(groups_of(n)):
                    for b in range(3):
                        e = 3 * n * c + b
                        put(x, e + 3 * to - 3, get(x, e + 3 * to - 3) + y * get(x, e + 3 * source - 3))
            k = int(rows[k, PARENT])


@outline
def pick_related(related, groups, r, side):
    """Copy right hand sides (nv, 3, nv), rows filled up to whole vectors, to `side` where `related` lists them."""
    origin = related[0]
    for c in range(groups):
        for a in range(related[c], related[c + 1], 2):
            for b in range(3):
                place_vector(side, 3 * ((a - origin) // 2) + b, vector_at(r, (3 * related[a] + b) * groups + c))


def hand_out(rows, given, x, y, z):
    """Copy the derivatives `x` to the outputs y and z, each after nv numbers, and tell if finite; `z` may be empty."""
    n = int(rows[0, N_V])
    groups, rest = groups_of(n), x.shape[2:]
    values = np.moveaxis(x.reshape(groups, n, 3, LANES, *rest), (2, 1, 0), (0, 1, 2))
    values = values.reshape(3, n, LANES * groups, *rest)[:, :, :n]
    known = given if given.shape[0] > 0 else np.zeros(n, np.bool_)
    for target, mine in ((y, ~known), (z, known)):
        if target.shape[0] > 0:
            own = np.where(mine.reshape(n, 1, *(1 for _ in rest)), values, 0.0)
            own[2, ~mine, ~mine] = 1.0
            target[n:] = own.reshape(3 * n * n, *rest)
    return bool(np.isfinite(values).all())


if COMPILED:
    from ....engine.simd import lane_sum

    @inline
    def _write_row(x, k, step, count, y, at):
        """Write `count` numbers from vector `k` on, and return zero times their sum, NaN unless they are finite.

        Those of the last vector beyond the row are overwritten by the next.
        """
        total = lift(0.0, get(x, 0))
        for c in range(0, count - LANES + 1, LANES):
            v = get(x, k)
            place_vector_from(y, at + c, v)
            total = total + v * 0.0
            k += step
        c = count // LANES * LANES
        if c < count:
            total = total + get(x, k) * 0.0
            if at + c + LANES <= y.shape[0]:
                place_vector_from(y, at + c, get(x, k))
            else:
                for e in range(c, count):
                    place(y, at + e, number_at(x, LANES * k + e - c))
        return total

    @inline
    def _write_zeros(count, y, at):
        """Write a row of zeros, and where there is room further ones, which the next row overwrites."""
        for e in range(at, min(at + count, y.shape[0] - LANES + 1), LANES):
            place_vector_from(y, e, 0.0)
        for e in range(max(at, y.shape[0] - LANES), at + count):
            place(y, e, 0.0)

    @outline
    def hand_out(rows, given, x, y, z):  # noqa: D103
        n = int(rows[0, N_V])
        both = z.shape[0] > 0
        total = lift(0.0, get(x, 0))
        for b in range(3):
            for i in range(n):
                to = n + (b * n + i) * n
                if counts(given, i + 1):
                    total = total + _write_row(x, 3 * i + b, 3 * n, n, y, to)
                    if both:
                        _write_zeros(n, z, to)
                else:
                    total = total + _write_row(x, 3 * i + b, 3 * n, n, z, to)
                    _write_zeros(n, y, to)
        for i in range(n):
            if not counts(given, i + 1):
                place(y, n + (2 * n + i) * n + i, 1.0)
            elif both:
                place(z, n + (2 * n + i) * n + i, 1.0)
        return lane_sum(total) == 0.0
