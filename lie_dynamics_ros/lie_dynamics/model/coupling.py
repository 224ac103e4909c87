"""Mimic joints coupled to the joints they follow: fewer coordinates, q_full = A q + c and qd_full = G qd."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..errors import DescriptionError
from .structure import Joint, JointLimits


@dataclass(frozen=True, eq=False)
class MimicCoupling:
    """Map from the independent coordinates to those of all joints."""

    positions: Array  # A in q_full = A q + c (nq_full, nq)
    offset: Array  # c (nq_full,)
    rates: Array  # G in qd_full = G qd; joint forces go the other way, tau = G^T tau_full (nv_full, nv)
    limits: JointLimits  # those of all joints, before coupling


def couple(
    joints: tuple[Joint, ...], limits: JointLimits
) -> tuple[tuple[Joint, ...], JointLimits, MimicCoupling] | None:
    """Return the joints, limits and coupling of a model whose mimic joints follow; None where there is none.

    Raises DescriptionError if a joint follows one that is not there or itself, or either has more than one coordinate.
    """
    if all(joint.mimic is None for joint in joints):
        return None
    followed = _followed(joints)
    independent = [joint for joint in joints if joint.mimic is None]
    q_start, v_start = _starts(independent)
    nq, nv = sum(j.type.nq for j in independent), sum(j.type.nv for j in independent)
    positions = np.zeros((limits.lower.size, nq))
    rates = np.zeros((limits.velocity.size, nv))
    offset, shifts = np.zeros(limits.lower.size), np.zeros(limits.velocity.size)
    coupled = []
    for joint in joints:
        master, ratio, shift = followed[joint.name]
        q, v = q_start[master.name], v_start[master.name]
        positions[joint.q_slice, q : q + joint.type.nq] = ratio * np.eye(joint.type.nq)
        rates[joint.v_slice, v : v + joint.type.nv] = ratio * np.eye(joint.type.nv)
        offset[joint.q_slice] = shifts[joint.v_slice] = shift
        q_slice, v_slice = slice(q, q + joint.type.nq), slice(v, v + joint.type.nv)
        coupled.append(replace(joint, q_slice=q_slice, v_slice=v_slice, coupled=joint.mimic is not None))
    own = _limits(limits, positions, offset, rates, shifts)
    return tuple(coupled), own, MimicCoupling(positions, offset, rates, limits)


def own_joints(joints: tuple[Joint, ...]) -> tuple[Joint, ...]:
    """Return coupled joints with coordinates of their own, as they were before."""
    q_start, v_start = _starts(list(joints))
    return tuple(
        replace(
            joint,
            q_slice=slice(q_start[joint.name], q_start[joint.name] + joint.type.nq),
            v_slice=slice(v_start[joint.name], v_start[joint.name] + joint.type.nv),
            coupled=False,
        )
        for joint in joints
    )


def _starts(joints: list[Joint]) -> tuple[dict[str, int], dict[str, int]]:
    q_start, v_start, q, v = {}, {}, 0, 0
    for joint in joints:
        q_start[joint.name], v_start[joint.name] = q, v
        q, v = q + joint.type.nq, v + joint.type.nv
    return q_start, v_start


def _followed(joints: tuple[Joint, ...]) -> dict[str, tuple[Joint, float, float]]:
    """Return, for each joint, the independent joint at the end of its chain of mimics, and ratio and offset to it."""
    by_name = {joint.name: joint for joint in joints}
    found = {joint.name: (joint, 1.0, 0.0) for joint in joints if joint.mimic is None}
    for joint in joints:
        chain: dict[str, tuple[str, float, float]] = {}
        follower = joint
        while follower.name not in found:
            assert follower.mimic is not None
            name = follower.mimic[0]
            chain[follower.name] = follower.mimic
            if name not in by_name or name in chain:
                problem = "which does not move" if name not in by_name else "and so itself"
                raise DescriptionError(
                    f"joint {follower.name!r} mimics joint {name!r}, {problem}", name=follower.name, value=name
                )
            if follower.type.nq != 1 or by_name[name].type.nq != 1:
                raise DescriptionError(
                    f"joint {follower.name!r} mimics joint {name!r}: joints of one coordinate are expected",
                    name=follower.name,
                )
            follower = by_name[name]
        for name, (target, factor, shift) in reversed(chain.items()):
            leader, ratio, offset = found[target]
            found[name] = (leader, factor * ratio, factor * offset + shift)
    return found


def _limits(full: JointLimits, positions: Array, offset: Array, rates: Array, shifts: Array) -> JointLimits:
    """Return limits within which every joint keeps its own; losses add up, efforts are those of the joint followed.

    Springs k (r q + c - q0)^2 / 2 add up to one, but for a constant; `shifts` (nv_full,) are their c.
    """
    nq, nv = positions.shape[1], rates.shape[1]
    lower, upper, effort = np.full(nq, -np.inf), np.full(nq, np.inf), np.full(nv, np.inf)
    motion = {key: np.full(nv, np.inf) for key in ("velocity", "acceleration", "deceleration", "jerk")}
    for row, column in zip(*np.nonzero(positions), strict=True):
        ends = (np.array([full.lower[row], full.upper[row]]) - offset[row]) / positions[row, column]
        lower[column], upper[column] = max(lower[column], ends.min()), min(upper[column], ends.max())
    for row, column in zip(*np.nonzero(rates), strict=True):
        for key, limit in motion.items():
            limit[column] = min(limit[column], getattr(full, key)[row] / abs(rates[row, column]))
        if rates[row, column] == 1.0:
            effort[column] = min(effort[column], full.effort[row])
    squares = rates.T**2
    stiffness = squares @ full.stiffness
    pull = rates.T @ (full.stiffness * (full.spring_reference - shifts))
    return JointLimits(
        lower=lower,
        upper=upper,
        effort=effort,
        damping=squares @ full.damping,
        friction=np.abs(rates).T @ full.friction,
        armature=squares @ full.armature,
        stiffness=stiffness,
        spring_reference=np.divide(pull, stiffness, out=np.zeros(nv), where=stiffness > 0.0),
        **motion,
    )
