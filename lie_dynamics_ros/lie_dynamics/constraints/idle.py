"""Idle freedoms: motions of a closed mechanism that joints leave, and on which nothing else depends.

The usual one is a rod on ball joints at both ends, which spins. With A the Jacobian of the constraints and held joints,
the motions N that remain have A N = 0 and no part at the held joints. Each body they move belongs to a group: bodies
that touch each other in joints or loops. A group spins if it touches the rest in two points or more that stay where
they are, all on one line, and a body of it turns about that line; it has others only if these stay with one of the
points, as the parts of a ball joint that is made of three hinges do. Then the motion is a finite one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Mask
from ..dynamics.inverse_dynamics import mass_matrix
from ..dynamics.kinematics import forward_kinematics, frame_pose, jacobian
from ..errors import InputError, SingularityError
from ..model.model import Model
from ..texts import listed
from .constraint_set import Constraint, ConstraintSet
from .kinds import Coupling, Loop
from .quantities import constraint_bias, constraint_error, constraint_jacobian
from .resolution import RANK_CUT, constraint_rank


def single_names(model: Model, given: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names of joints of one coordinate, each once and one at least; raises InputError for anything else."""
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    for joint in (model.joint(name) for name in names):
        if joint.type.nq != 1:
            raise InputError(f"{what}: joint {joint.name!r} has {joint.type.nq} coordinates, one is expected")
    if not names or len(set(names)) < len(names):
        raise InputError(f"{what}: names of joints, each once, are expected, got {given!r}", name=what)
    return names


def single_places(model: Model, given: Sequence[str], what: str) -> npt.NDArray[np.intp]:
    """Return their places among all rates (k,); errors as above."""
    return np.array([model.joint(name).v_slice.start for name in single_names(model, given, what)])


Places = npt.NDArray[np.intp]

#: Singular values of constraints and held joints together that are smaller, relative to the largest, hold nothing.
HELD = 1e-6
#: Parts of motions that are smaller are round-off.
_MOVES = 1e-7


@dataclass(frozen=True, eq=False)
class IdleFreedom:
    """Freedoms of one group of bodies that the held joints leave.

    Attributes
    ----------
    bodies : tuple of str
        That they move.
    joints : tuple of str
        That they move.
    count : int
        How many freedoms.
    spins : bool
        Whether they are turns of bodies about a line through points that stay where they are.
    held : tuple of str
        How a tracker holds them: names of joints that keep their position, or of joints whose spin is held as if they
        were universal joints.
    motions : ndarray, shape (nv, count)
        Rates that they may have at the configuration.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    count: int
    spins: bool
    held: tuple[str, ...] = ()
    motions: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    def __str__(self) -> str:
        count = f"{self.count} spin" if self.spins else f"{self.count} freedom"
        return f"{', '.join(self.bodies)}: {count}{'s' * (self.count > 1)}, held at {', '.join(self.held)}"


def free_motions(A: Array, places: Places) -> Array:
    """Return an orthonormal basis (nv, k) of the rates that constraints A (m, nv) and joints held at places leave."""
    n = A.shape[1]
    _, s, vt = np.linalg.svd(np.concatenate([A, np.eye(n)[places]]))
    return np.asarray(vt[int((s > HELD * s.max(initial=0.0)).sum()) :].T)


def idle_freedoms(model: Model, constraints: ConstraintSet, q: Array, motions: Array) -> list[IdleFreedom]:
    """Return what rates (nv, k), a basis of all that are left, move at a closed configuration, group by group."""
    if not motions.shape[1]:
        return []
    poses = forward_kinematics(model, q)
    twists = np.array([jacobian(model, q, i, "aligned") for i in range(model.n_bodies)]) @ motions
    size = 1.0 + float(np.abs(poses[:, :3, 3]).max())
    off = 10.0 * float(np.abs(constraint_error(model, constraints, q)).max(initial=0.0))  # loops may be open a little
    moved = np.abs(twists).max(axis=(1, 2)) > _MOVES * size
    index = {joint.body: joint.index for joint in model.joints}
    # What bodies touch each other, and where; -1 is the world.
    edges = [(index.get(j.parent_body, -1), j.index, poses[j.index, :3, 3]) for j in model.joints]
    for loop in constraints.loops:
        ends = [(model.frame(loop.first), loop.first_placement), (model.frame(loop.second), loop.second_placement)]
        points = [
            frame_pose(model, q, name) @ placement
            for name, placement in ((loop.first, loop.first_placement), (loop.second, loop.second_placement))
        ]
        edges += [(ends[0][0].body, ends[1][0].body, point[:3, 3]) for point in points]
    group = np.arange(model.n_bodies)
    for a, b, _ in edges:
        if a >= 0 and b >= 0 and moved[a] and moved[b]:
            group[group == group[a]] = group[b]
    for coupling in constraints.couplings:  # joints that move together
        together = [model.joint(name).index for name, c in coupling.coefficients.items() if c]
        together = [i for i in together if moved[i]]
        for i in together[1:]:
            group[group == group[i]] = group[together[0]]
    found = []
    for one in dict.fromkeys(group[moved].tolist()):
        inside = moved & (group == one)
        joints = [
            joint
            for joint in model.joints
            if (inside[joint.index] or (not moved[joint.index] and inside[index.get(joint.parent_body, joint.index)]))
            and np.abs(motions[joint.v_slice]).max() > _MOVES
        ]
        own = np.zeros(model.nv, np.bool_)
        for joint in joints:
            own[joint.v_slice] = True
        _, s, vt = np.linalg.svd(motions[own], full_matrices=False)
        alone = np.where(own[:, None], motions @ vt[s > _MOVES].T, 0.0)
        outside = [
            (a, p) if _is_in(inside, a) else (b, p) for a, b, p in edges if _is_in(inside, a) != _is_in(inside, b)
        ]
        spins = _spins(
            twists[inside] @ vt[s > _MOVES].T, poses[inside, :3, 3], outside, np.flatnonzero(inside), size, off
        )
        bodies = tuple(joint.body for joint in model.joints if inside[joint.index])
        found.append(IdleFreedom(bodies, tuple(j.name for j in joints), alone.shape[1], spins, (), alone))
    return found


def _is_in(inside: Mask, body: int) -> bool:
    return body >= 0 and bool(inside[body])


def _spins(
    twists: Array, origins: Array, outside: list[tuple[int, Array]], bodies: Places, size: float, off: float
) -> bool:
    """Return whether a group turns about a line through the points in which it touches the rest; see above."""
    if not outside:
        return False
    points, least = np.array([point for _, point in outside]), _MOVES + off

    def speed(k: int, point: Array) -> float:
        """Return how fast a point moves with the body at k."""
        x, y, z = point - origins[k]
        lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return float(np.abs(twists[k, 3:] - lever @ twists[k, :3]).max()) / size

    at = {int(body): k for k, body in enumerate(bodies)}
    if any(speed(at[body], point) > least for body, point in outside):
        return False
    line = max((points[i] - points[0] for i in range(len(points))), key=lambda x: float(x @ x))
    length = float(np.linalg.norm(line))
    if length < 1e-9 * size + off:
        return False
    line = line / length
    away = points - points[0]
    if np.linalg.norm(away - np.outer(away @ line, line), axis=1).max() > least * size:
        return False
    about = False
    for k in range(len(bodies)):
        across = twists[k, :3] - np.outer(line, line @ twists[k, :3])
        if np.abs(across).max() < least + off / length and speed(k, points[0]) < least:
            about = True
        elif not any(speed(k, point) < least for point in points):
            return False
    return about


def bends(model: Model, constraints: ConstraintSet, q: Array, motions: Array, places: Places) -> bool:
    """Return whether some of these motions go on for a moment only, as at a singular configuration.

    A second of constant rates z takes the constraints to z^T (d^2 f) z, the bias. What accelerations of joints that are
    not held cannot make up for ends the motion.
    """
    others = np.setdiff1d(np.arange(model.nv), places)
    A = constraint_jacobian(model, constraints, q)[:, others]
    u, s, _ = np.linalg.svd(A)
    left = u[:, int((s > HELD * s.max(initial=0.0)).sum()) :]
    count = motions.shape[1]
    rates = [motions[:, i] + (motions[:, j] if j > i else 0.0) for i in range(count) for j in range(i, count)]
    bias = constraint_bias(model, constraints, np.broadcast_to(q, (len(rates), len(q))), np.array(rates))
    return bool(np.abs(bias @ left).max(initial=0.0) > 1e-6 * (1.0 + np.abs(bias).max(initial=0.0)))


def holding(
    model: Model, constraints: ConstraintSet, q: Array, idle: Sequence[IdleFreedom]
) -> tuple[ConstraintSet, tuple[IdleFreedom, ...]]:
    """Return the constraints, with others that hold idle freedoms as they are at q, and the freedoms with what does.

    Of the joints that a freedom moves, the one that it moves most keeps its position. One of several coordinates keeps
    its turn about the axis of the freedom only: two axes stay perpendicular, as in a universal joint.
    """
    more: list[Constraint] = []
    told = []
    for one in idle:
        rest, held = one.motions.copy(), []
        for _ in range(one.count):
            best, row, what = 0.0, np.zeros(0), ("", np.zeros(3))
            for name in one.joints:
                joint = model.joint(name)
                if joint.type.nq == 1:
                    part, axis = rest[joint.v_slice], np.ones(1)
                else:
                    part = _turn(model, q, name) @ rest
                    axis = np.linalg.svd(part)[0][:, 0]
                size = float(np.linalg.norm(axis @ part))
                if size > best * (1.0 + 1e-9):
                    best, row, what = size, axis @ part, (name, axis)
            if best < _MOVES:
                break
            rest = rest - rest @ np.outer(row, row) / (row @ row)
            more.append(_held(model, q, *what, f"idle {len(more) + 1}: {what[0]}"))
            held.append(what[0])
        told.append(IdleFreedom(one.bodies, one.joints, one.count, one.spins, tuple(held), one.motions))
    given: tuple[Constraint, ...] = (*constraints.loops, *constraints.couplings, *constraints.user)
    return ConstraintSet(model, [*given, *more], constraints.rank_tolerance) if more else constraints, tuple(told)


def _turn(model: Model, q: Array, name: str) -> Array:
    """Return the map (3, nv) from rates to the angular velocity of a joint's body in its parent, in the body's axes."""
    joint = model.joint(name)
    turn = jacobian(model, q, joint.index, "aligned")[:3]
    if joint.parent_body in model.body_names:
        turn = turn - jacobian(model, q, joint.parent_body, "aligned")[:3]
    return np.asarray(frame_pose(model, q, joint.body)[:3, :3].T @ turn)


def _held(model: Model, q: Array, name: str, axis: Array, title: str) -> Constraint:
    joint = model.joint(name)
    if joint.type.nq == 1:
        return Coupling({name: 1.0}, float(q[joint.q_slice][0]), title)
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    turned = frame_pose(model, q, joint.body)[:3, :3] @ np.cross(axis, across)
    turned = frame_pose(model, q, joint.parent_body)[:3, :3].T @ turned
    return Loop("perpendicular", joint.parent_body, joint.body, title, axis=turned, second_axis=across)


def listed_joints(freedoms: Sequence[IdleFreedom]) -> str:
    """Return the joints that freedoms move, for messages."""
    return listed(dict.fromkeys(name for one in freedoms for name in one.joints), 6)


def idle_motion(model: Model, constraints: ConstraintSet, q: Array, A: Array, mask: Mask, left: Array) -> Array | None:
    """Return accelerations (nv,) that take what forces leave along passive coordinates that nothing holds; or None.

    `mask` are the coordinates that are given, as by motors, and `left` (nv,) given forces less what the motion takes,
    before constraint forces. Zero where nothing is left along them; None where something is and they are no spins, or
    have no inertia.
    """
    Z = passive_motions(A, mask)
    along = Z.T @ left
    if np.abs(along).max(initial=0.0) <= 1e-10 * np.abs(left).max(initial=0.0):
        return np.zeros(model.nv)
    if not _only_spins(model, constraints, q, Z, mask):
        return None
    inertia = Z.T @ mass_matrix(model, q) @ Z
    if np.linalg.cond(inertia) > 1e12:
        return None
    return np.asarray(Z @ np.linalg.solve(inertia, along))


def _only_spins(model: Model, constraints: ConstraintSet, q: Array, Z: Array, mask: Mask) -> bool:
    """Return whether these motions are spins; which coordinates spin is found once for each set of given ones."""
    key = mask.tobytes()
    known = constraints.known_spins.get(key)
    if known is not None and Z.shape[1] == known[0] and np.abs(Z[~known[1]]).max(initial=0.0) < _MOVES:
        return True
    found = idle_freedoms(model, constraints, q, Z)
    if not all(one.spins for one in found):
        return False
    moving = np.logical_or.reduce([np.abs(one.motions).max(axis=1) > 0.0 for one in found])
    constraints.known_spins[key] = Z.shape[1], moving
    return True


def passive_motions(A: Array, mask: Mask) -> Array:
    """Return a basis (nv, k) of the rates of passive coordinates alone that constraints A leave."""
    _, s, vt = np.linalg.svd(A[:, ~mask])
    found = vt[int((s > RANK_CUT * np.linalg.norm(A)).sum()) :].T
    out = np.zeros((A.shape[1], found.shape[1]))
    out[~mask] = found
    return out


def refuse_rank(model: Model, constraints: ConstraintSet, q: Array, A: Array, mask: Mask, rank: int) -> NoReturn:
    """Raise where the constraints cannot hold the passive coordinates: m < n_p, or A_p singular, of this rank."""
    n_p, independent = int((~mask).sum()), constraint_rank(A)
    moves = listed_joints([one for one in idle_freedoms(model, constraints, q, passive_motions(A, mask))])
    moves = f": nothing holds {moves}, and the motion takes forces there" if moves else ""
    way_out = (
        "give accelerations to the actuated coordinates only, and let the others move as they do: "
        "constrained_hybrid_dynamics"
    )
    if independent < n_p:
        raise InputError(
            f"model {model.name!r}: {independent} independent constraints cannot hold {n_p} passive coordinates, so no "
            f"forces of the actuated ones make this motion exactly{moves}; actuate {n_p - independent} more, or "
            f"{way_out}",
            name="actuated",
            value=independent,
            expected=f"at least {n_p} independent constraints",
        )
    raise SingularityError(
        f"model {model.name!r}: at this configuration the constraints hold only {rank} of {n_p} passive coordinates "
        f"(rank of A_p), so no forces of the actuated ones make this motion{moves}; actuate more, or {way_out}",
        name="actuated",
        value=rank,
    )
