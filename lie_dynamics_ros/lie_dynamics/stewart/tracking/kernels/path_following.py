"""Following the pose of a Stewart platform along a straight line in the squared leg lengths, in proven steps."""

from __future__ import annotations

from ....arrays import Array
from ....engine.compile import kernel, outline
from ...solvers.kernels.certificate import MAX_H, proven_step, settle_core
from ...solvers.kernels.newton import (
    BALL,
    HALF_SQUARES,
    LIPSCHITZ,
    MARGIN,
    MAX_STEPS,
    POSITION,
    QUATERNION,
    RADIUS,
    REPORT,
    TARGET,
)

#: What `follow_core` returns.
ARRIVED, AT_SINGULARITY, TOO_MANY_STEPS = 0, 1, 2

#: Share of the largest provable step that is taken, so that rounding does not spoil the proof.
_AIM = 0.9
#: The path ends at a singularity where no step that moves the platform by this share of its radius can be proven.
_SMALLEST_MOVE = 1e-6
#: It also ends where the corrections fail even for this fraction of the line: rounding errors have taken over.
_SHORTEST = 1e-12


@outline
def follow_core(m: Array, lengths: Array) -> int:
    """Move the state along the line to `lengths` (6,) [m]; it stays at the last point reached when it cannot go on.

    The pose is a proven one of its branch all along. Returns ARRIVED, AT_SINGULARITY or TOO_MANY_STEPS and writes
    the memory's REPORT.
    """
    o0, o1, o2 = m[HALF_SQUARES], m[HALF_SQUARES + 1], m[HALF_SQUARES + 2]
    o3, o4, o5 = m[HALF_SQUARES + 3], m[HALF_SQUARES + 4], m[HALF_SQUARES + 5]
    done = 0.0
    stride = 1.0
    steps = 0
    corrections = 0
    worst = 0.0
    code = TOO_MANY_STEPS
    while steps < m[MAX_STEPS]:
        if stride > 1.0 - done:
            stride = 1.0 - done
        s = done + stride
        m[TARGET] = o0 + s * (0.5 * lengths[0] * lengths[0] - o0)
        m[TARGET + 1] = o1 + s * (0.5 * lengths[1] * lengths[1] - o1)
        m[TARGET + 2] = o2 + s * (0.5 * lengths[2] * lengths[2] - o2)
        m[TARGET + 3] = o3 + s * (0.5 * lengths[3] * lengths[3] - o3)
        m[TARGET + 4] = o4 + s * (0.5 * lengths[4] * lengths[4] - o4)
        m[TARGET + 5] = o5 + s * (0.5 * lengths[5] * lengths[5] - o5)
        q0, q1, q2, q3 = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
        p0, p1, p2 = m[POSITION], m[POSITION + 1], m[POSITION + 2]
        n = proven_step(m, False)
        if n > 0:
            steps += 1
            corrections += n
            worst = max(worst, m[MARGIN])
            done = s
            if done >= 1.0:
                code = ARRIVED
                break
            stride *= 2.0
            continue
        if n == 0:
            # h and the first correction grow linearly with the stride, so this makes the next attempt succeed.
            h = m[MARGIN]
            correction = h / m[LIPSCHITZ]
            shrink = _AIM * min(MAX_H / h, 0.5 * m[BALL] / correction)
            stuck = not (m[LIPSCHITZ] * _SMALLEST_MOVE * m[RADIUS] < MAX_H)
        else:
            m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3] = q0, q1, q2, q3
            m[POSITION], m[POSITION + 1], m[POSITION + 2] = p0, p1, p2
            settle_core(m)
            shrink = 0.5
            stuck = False
        stride *= shrink
        if not (stride > _SHORTEST) or stuck:
            code = AT_SINGULARITY
            break
    m[REPORT] = steps
    m[REPORT + 1] = corrections
    m[REPORT + 2] = done
    m[REPORT + 3] = worst
    return code


@kernel("int64(float64[::1], float64[::1])")
def follow(m: Array, lengths: Array) -> int:
    """Run `follow_core`."""
    return follow_core(m, lengths)
