"""Derivatives of loops along q and qd: of A qd, of A qdd + dA/dt qd, and of A^T lambda.

The motion of a frame, relative to the common ancestor of a loop's two bodies, is differentiated by recursion along its
branch; then everything is a function of the two frames' motions. For a step S with arrival twist V and acceleration dV:

    along q_i:  d(Ad V) = ad_V S,  d(Ad dV) = ad_dV S        along qd_i:  of ad_V S qd_i: ad_V S + ad_dV/dqd S qd_i

Then bounds of second derivatives of loops in a ball of configurations: what tracking proves with. There coordinates are
measured by their largest rates, so that distances are times [s]; see ``doc/closed_loop_tracking.md``.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import constants3, constants9, has_transform, subspace
from ...dynamics.kernels.common.spatial import (
    add,
    bracket,
    cross,
    dot,
    get_twist,
    inward,
    minus,
    on_wrench,
    plus,
    power,
    put_twist,
    scale,
    times,
    unrotate,
)
from ...engine.compile import inline, kernel, outline, straight
from ...engine.lanes import get2, get3, get9, lift, put, workspace
from ...model.layout import FIRST, LAST, N_V, OK, PARENT
from . import loops as lk
from .loops import loop_pose, put_transforms, unit_wrench

# Columns of the table of a branch: for coordinate i, columns of J, of dV and d(dV/dt) along q, of d(dV/dt) along qd.
_J, _VQ, _AQ, _AV, _COLUMNS = 0, 6, 12, 18, 24


@outline
def differentiate_branch(rows, state, transforms, leaf, stop, pose, branch, motion):
    """Fill the table of a branch and the frame's own motion, in the frame whose pose on row `leaf` is given.

    `branch` is a path and a table: the path (nv + 1) gets the branch's rows, root first, and their number is returned;
    `motion` (2, 6) gets twist and acceleration of the frame.
    """
    (q, qd, qdd), (r, p), (path, table) = state, pose, branch
    zero = 0.0 * qd[0]
    none = ((zero, zero, zero), (zero, zero, zero))
    count = 0
    i = leaf
    while i != stop:
        count += 1
        i = int(rows[i, PARENT])
    i = leaf
    for k in range(count - 1, -1, -1):
        path[k] = i
        i = int(rows[i, PARENT])
    v, a = none, none
    k = 0
    while k < count:
        first = int(path[k])
        size = int(rows[first, LAST]) - first + 1
        if has_transform(rows, first):
            rr, pp = get9(transforms, first, lk.R), get3(transforms, first, lk.P)
            v, a = inward(rr, pp, v), inward(rr, pp, a)
            for j in range(k):
                row = int(path[j])
                for c in range(0, _COLUMNS, 6):
                    put_twist(table, row, c, inward(rr, pp, get_twist(table, row, c)))
        step, push = none, none  # S qd and S qdd of the joint
        for j in range(size):
            sw, sv = subspace(rows, first + j, q, zero)
            s = (sw, sv)
            put_twist(table, first + j, _J, s)
            put_twist(table, first + j, _VQ, bracket(v, s))
            put_twist(table, first + j, _AQ, bracket(a, s))
            put_twist(table, first + j, _AV, bracket(v, s))
            step = plus(step, times(qd[first + j - 1], s))
            push = plus(push, times(qdd[first + j - 1], s))
        for j in range(k):
            row = int(path[j])
            put_twist(table, row, _AV, plus(get_twist(table, row, _AV), bracket(get_twist(table, row, _J), step)))
        for j in range(k + size):
            row = int(path[j])
            put_twist(table, row, _AQ, plus(get_twist(table, row, _AQ), bracket(get_twist(table, row, _VQ), step)))
        a = plus(plus(a, push), bracket(v, step))
        v = plus(v, step)
        k += size
    for j in range(count):
        row = int(path[j])
        for c in range(0, _COLUMNS, 6):
            put_twist(table, row, c, inward(r, p, get_twist(table, row, c)))
    put_twist(motion, 0, 0, inward(r, p, v))
    put_twist(motion, 1, 0, inward(r, p, a))
    return count


@straight
def relative_acceleration(v1, a1, v2, a2):
    """Return twist and acceleration of frame 2 relative to frame 1, all seen from frame 2."""
    w = minus(v2, v1)
    return w, plus(minus(a2, a1), bracket(w, v2))


@inline
def scalar_derivatives(scalars, s, pose, motion, k, wq, dwq, dwv):
    """Return what rate and acceleration of scalar `s` are along one coordinate, and the rate of its unit wrench.

    `pose` and `motion` are relative twist and acceleration, `k` the column of the relative Jacobian, the others their
    derivatives along q and qd. Returned are those of A qd along q, of A qdd + dA/dt qd along q and along qd, and of the
    unit wrench along q.
    """
    (r, p), (w, dw) = pose, motion
    kind, length = scalars[s, lk.TYPE], scalars[s, lk.OFFSET]
    a, b = constants3(scalars, s, lk.VECTOR_1), constants3(scalars, s, lk.VECTOR_2)
    zero = 0.0 * w[0][0]
    none = (zero, zero, zero)
    if kind == lk.ANGLE:
        x = unrotate(r, a)
        m = cross(b, x)
        dx, rate = cross(x, k[0]), cross(x, w[0])
        dm = cross(b, dx)
        drate = add(cross(dx, w[0]), cross(x, wq[0]))
        turn = cross(b, rate)
        vq = dot(dm, w[0]) + dot(m, wq[0])
        aq = dot(dm, dw[0]) + dot(m, dwq[0]) + dot(cross(b, drate), w[0]) + dot(turn, wq[0])
        av = dot(m, dwv[0]) + dot(dm, w[0]) + dot(turn, k[0])
        return vq, aq, av, dm, none
    moved = add(dw[1], cross(w[0], w[1]))
    moved_q = add(dwq[1], add(cross(wq[0], w[1]), cross(w[0], wq[1])))
    moved_v = add(dwv[1], add(cross(k[0], w[1]), cross(w[0], k[1])))
    if kind == lk.ALONG:
        f = unrotate(r, a)
        df = cross(f, k[0])
        return dot(df, w[1]) + dot(f, wq[1]), dot(df, moved) + dot(f, moved_q), dot(f, moved_v), none, df
    f = scale(1.0 / length, unrotate(r, p))
    df = add(cross(f, k[0]), scale(1.0 / length, k[1]))
    aq = dot(df, moved) + dot(f, moved_q) + 2.0 / length * dot(w[1], wq[1])
    av = dot(f, moved_v) + 2.0 / length * dot(w[1], k[1])
    return dot(df, w[1]) + dot(f, wq[1]), aq, av, none, df


@outline
def differentiate_loop(rows, loops, j, scalars, state, force, space, out):
    """Add the derivatives of loop `j` to the outputs (m, nv), three times, and (nv, nv)."""
    transforms, (path1, table1), (path2, table2), motion, wrench_q = space
    rate_q, acceleration_q, acceleration_v, force_q = out
    leaf1, leaf2, stop = int(loops[j, lk.ROW_1]), int(loops[j, lk.ROW_2]), int(loops[j, lk.ANCESTOR])
    r1, p1 = constants9(loops, j, lk.R_1), constants3(loops, j, lk.P_1)
    n1 = differentiate_branch(rows, state, transforms, leaf1, stop, (r1, p1), (path1, table1), motion)
    v1, a1 = get_twist(motion, 0, 0), get_twist(motion, 1, 0)
    r2, p2 = constants9(loops, j, lk.R_2), constants3(loops, j, lk.P_2)
    n2 = differentiate_branch(rows, state, transforms, leaf2, stop, (r2, p2), (path2, table2), motion)
    v2, a2 = get_twist(motion, 0, 0), get_twist(motion, 1, 0)
    r, p = loop_pose(rows, loops, j, transforms)
    v1, a1 = inward(r, p, v1), inward(r, p, a1)  # the first frame's motion, seen from the second
    w, dw = relative_acceleration(v1, a1, v2, a2)
    zero = 0.0 * state[1][0]
    none = (zero, zero, zero)
    first, after = int(loops[j, lk.START]), int(loops[j, lk.START] + loops[j, lk.COUNT])

    for i in range(n1 + n2):
        row = int(path1[i]) if i < n1 else int(path2[i - n1])
        if i < n1:
            for c in range(0, _COLUMNS, 6):
                put_twist(table1, row, c, inward(r, p, get_twist(table1, row, c)))
            k = times(-1.0, get_twist(table1, row, _J))
            wq = times(-1.0, get_twist(table1, row, _VQ))
            dwq = times(-1.0, get_twist(table1, row, _AQ))
            dwv = times(-1.0, get_twist(table1, row, _AV))
            own = (none, none)  # derivative of v2 along q and along qd
            own_v = (none, none)
        else:
            k, wq = get_twist(table2, row, _J), get_twist(table2, row, _VQ)
            dwq, dwv = get_twist(table2, row, _AQ), get_twist(table2, row, _AV)
            own, own_v = wq, k
        wq = plus(wq, bracket(k, v1))
        dwq = plus(plus(dwq, bracket(k, a1)), plus(bracket(wq, v2), bracket(w, own)))
        dwv = plus(dwv, plus(bracket(k, v2), bracket(w, own_v)))
        total = (none, none)
        for s in range(first, after):
            vq, aq, av, dm, df = scalar_derivatives(scalars, s, (r, p), (w, dw), k, wq, dwq, dwv)
            rate_q[s, row - 1] = vq
            acceleration_q[s, row - 1] = aq
            acceleration_v[s, row - 1] = av
            total = plus(total, times(force[s], (dm, df)))
        put_twist(wrench_q, row, 0, total)

    # A^T lambda = K^T G with the wrench G at the cut: along q_j, G changes and the columns of K do.
    g0 = (none, none)
    for s in range(first, after):
        g0 = plus(g0, times(force[s], unit_wrench(scalars, s, r, p)))
    for i in range(n1 + n2):
        one = i < n1
        row = int(path1[i]) if one else int(path2[i - n1])
        column = get_twist(table1, row, _J) if one else get_twist(table2, row, _J)
        sign = -1.0 if one else 1.0
        turned = on_wrench(column, g0)
        for k in range(n1 + n2):
            other = int(path1[k]) if k < n1 else int(path2[k - n1])
            x = sign * power(column, get_twist(wrench_q, other, 0))
            same = one == (k < n1)
            beyond = same and other > row and int(rows[other, FIRST]) != int(rows[row, FIRST])
            # Where the column's own frame moves with it, seen from the second: ad of column and other column.
            if (beyond and not one) or (one and not beyond):
                along = get_twist(table1, other, _J) if k < n1 else get_twist(table2, other, _J)
                x = x + (1.0 if one and not same else -1.0) * power(along, turned)
            force_q[row - 1, other - 1] += x


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1],"
    " float64[:,:,::1], float64[:,:,::1], float64[:,:,::1], float64[:,:,::1])",
    direct=True,
)
def loop_derivatives(rows, loops, scalars, q, qd, qdd, force, rate_q, acceleration_q, acceleration_v, force_q):
    """Add the derivatives of all loops, for a batch, to the outputs (B, m, nv), three times, and (B, nv, nv)."""
    n = int(rows[0, N_V])
    if q.shape[0] == 0:
        return OK
    transforms = workspace(n + 1, 12, q[0])
    one = workspace(1, n + 1, q[0])[0], workspace(n + 1, _COLUMNS, q[0])
    two = workspace(1, n + 1, q[0])[0], workspace(n + 1, _COLUMNS, q[0])
    space = transforms, one, two, workspace(2, 6, q[0]), workspace(n + 1, 6, q[0])
    for s in range(q.shape[0]):
        put_transforms(rows, q[s], transforms)
        state, out = (q[s], qd[s], qdd[s]), (rate_q[s], acceleration_q[s], acceleration_v[s], force_q[s])
        for j in range(loops.shape[0]):
            differentiate_loop(rows, loops, j, scalars, state, force[s], space, out)
    return OK


#: Columns of the table of links: a joint's part of the chain from a loop's first frame to its second, last part first.
#: Row of its first coordinate, their number, which frame its columns of J belong to, how often the square of its lever
#: is in the sum of their squares, largest rate, and largest angular rate.
ROW, SIZE, SIDE, TIMES, SPEED, TURN, LINK_SIZE = range(7)

#: Columns of the table of chains, one for each loop: where its links begin, how many, sum of the largest angular rates,
#: and whether the place of the second frame in the first is needed: it is where the loop does not hold it at zero.
FIRST_LINK, LINKS, TURNS, PLACED, CHAIN_SIZE = range(5)

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
    first = int(chains[j, FIRST_LINK])
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
    first, passed, velocity, acceleration = int(chains[j, FIRST_LINK]), 0.0, 0.0, 0.0
    for l in range(first, first + int(chains[j, LINKS])):
        turn = links[l, TURN]
        lever = levers[l] + radius * turn * velocity  # only what is beyond a joint changes its lever
        passed += turn
        acceleration += lever * (turn + 2.0 * (chains[j, TURNS] - passed))
        velocity += lever
    return velocity, acceleration


@outline
def second_bound(tables, levers, values, inverses, radius, sums, totals):
    """Return the largest |C D^2 f[x, x]| in the ball for unit x, C^T being the inverse (equations, unknown).

    `inverses` are numbers and lanes of one array, and so are `sums`.
    """
    (loops, scalars, chains, links, groups), (inverse, inverse_lanes), (sums, sum_lanes) = tables, inverses, sums
    count = totals.shape[0]
    for u in range(count):
        totals[u] = 0.0
    for j in range(loops.shape[0]):
        velocity, acceleration = rates_in_ball(chains, links, j, levers, radius)
        turns = chains[j, TURNS]
        first, after = int(loops[j, lk.START]), int(loops[j, lk.START] + loops[j, lk.COUNT])
        for c in range(sum_lanes.shape[0]):
            total = lift(0.0, get2(inverse_lanes, 0, c))
            for k in range(first, after):
                if scalars[k, lk.TYPE] == lk.ALONG:
                    y = get2(inverse_lanes, k, c)
                    total = total + y * y
            put(sum_lanes, c, total)
        for k in range(first, after):
            if scalars[k, lk.TYPE] != lk.ALONG:
                size = turns * turns
                if scalars[k, lk.TYPE] == lk.DISTANCE:
                    length = scalars[k, lk.OFFSET]
                    far = np.sqrt(max(length * (2.0 * values[lk.ERROR, k] + length), 0.0)) + radius * velocity
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
