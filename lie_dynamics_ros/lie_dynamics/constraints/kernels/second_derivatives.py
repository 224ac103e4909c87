"""Bounds of the second derivatives of loops in a ball of configurations: what tracking proves with.

Coordinates are measured by their largest rates, so that distances are times [s]; see ``doc/closed_loop_tracking.md``.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.spatial import add, cross, dot
from ...engine.compile import inline, outline
from ...engine.lanes import get2, get3, lift, put
from .loops import ALONG, COUNT, DISTANCE, ERROR, OFFSET, START, TYPE

#: Columns of the table of links: a joint's part of the chain from a loop's first frame to its second, last part first.
#: Row of its first coordinate, their number, which frame its columns of J belong to, how often the square of its lever
#: is in the sum of their squares, largest rate, and largest angular rate.
ROW, SIZE, SIDE, TIMES, SPEED, TURN, LINK_SIZE = range(7)

#: Columns of the table of chains, one for each loop: where its links begin, how many, sum of the largest angular rates,
#: and whether the place of the second frame in the first is needed: it is where the loop does not hold it at zero.
FIRST, LINKS, TURNS, PLACED, CHAIN_SIZE = range(5)

#: Columns of the table of groups of coordinates that are measured together: first row, number, time that they take to
#: move by 1 at their largest rate, place in q, and whether they are a coordinate, a rotation or a displacement. First
#: come the unknown ones, in their order; the last are the measured ones, in theirs.
GROUP_ROW, GROUP_SIZE, GROUP_TIME, GROUP_PLACE, GROUP_KIND, GROUP_WIDTH = range(6)
SINGLE, ROTATION, DISPLACEMENT = 0.0, 1.0, 2.0


@outline
def put_levers(chains, links, j, place, columns, levers):
    """Fill the rates of the second frame's origin, as the first sees it, that each link makes at its largest rate.

    `place` is where that origin is in the first frame.
    """
    if chains[j, PLACED] == 0.0:
        place = (0.0, 0.0, 0.0)
    first = int(chains[j, FIRST])
    for l in range(first, first + int(chains[j, LINKS])):
        total = 0.0
        row = int(links[l, ROW])
        for i in range(row, row + int(links[l, SIZE])):
            v = get3(columns, i, 3)
            if links[l, SIDE] == 1.0:
                v = add(v, cross(get3(columns, i, 0), place))
            total += dot(v, v)
        levers[l] = np.sqrt(total / links[l, TIMES]) * links[l, SPEED]


@inline
def rates_in_ball(chains, links, j, levers, radius):
    """Return the largest velocity and acceleration of the origin in a ball, at constant rates of all joints."""
    first, passed, velocity, acceleration = int(chains[j, FIRST]), 0.0, 0.0, 0.0
    for l in range(first, first + int(chains[j, LINKS])):
        turn = links[l, TURN]
        lever = levers[l] + radius * turn * velocity  # only what is beyond a joint changes its lever
        passed += turn
        acceleration += lever * (turn + 2.0 * (chains[j, TURNS] - passed))
        velocity += lever
    return velocity, acceleration


@outline
def second_bound(
    loops, scalars, chains, links, groups, levers, values, inverse, inverse_lanes, radius, sums, sum_lanes, totals
):  # fmt: skip
    """Return the largest |C D^2 f[x, x]| in the ball for unit x, C^T being `inverse` (equations, unknown)."""
    count = totals.shape[0]
    for u in range(count):
        totals[u] = 0.0
    for j in range(loops.shape[0]):
        velocity, acceleration = rates_in_ball(chains, links, j, levers, radius)
        turns = chains[j, TURNS]
        first, after = int(loops[j, START]), int(loops[j, START] + loops[j, COUNT])
        for c in range(sum_lanes.shape[0]):
            total = lift(0.0, get2(inverse_lanes, 0, c))
            for k in range(first, after):
                if scalars[k, TYPE] == ALONG:
                    y = get2(inverse_lanes, k, c)
                    total = total + y * y
            put(sum_lanes, c, total)
        for k in range(first, after):
            if scalars[k, TYPE] != ALONG:
                size = turns * turns
                if scalars[k, TYPE] == DISTANCE:
                    length = scalars[k, OFFSET]
                    far = np.sqrt(max(length * (2.0 * values[ERROR, k] + length), 0.0)) + radius * velocity
                    size = (velocity * velocity + far * acceleration) / length
                for u in range(count):
                    totals[u] += abs(inverse[k, u]) * size
        for u in range(count):
            totals[u] += np.sqrt(sums[u]) * acceleration
    return largest(groups, totals)


@outline
def largest(groups, x):
    """Return the norm of entries at the unknown coordinates, those of a group of them side by side."""
    result, u = 0.0, 0
    for g in range(groups.shape[0]):
        if u == x.shape[0]:
            break
        size = abs(x[u])
        if groups[g, GROUP_SIZE] > 1.0:
            size = np.sqrt(x[u] * x[u] + x[u + 1] * x[u + 1] + x[u + 2] * x[u + 2])
            u += 2
        u += 1
        result = max(result, size * groups[g, GROUP_TIME])
    return result
