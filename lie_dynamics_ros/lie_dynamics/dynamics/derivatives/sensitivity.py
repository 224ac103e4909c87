"""Derivatives of inverse, forward and hybrid dynamics along arbitrary parameters. Kim Tables 5, 6 and 7.

Forward and hybrid dynamics solve the equations of inverse dynamics for other unknowns, so their derivatives solve the
derivative of those equations: with M_vv the block of the mass matrix where forces are given,
``M_vv dqdd_v = dtau_v - (dtau along the parameter at constant qdd_v)``. The solution is one more recursion without bias
for each parameter, and no derivative of an articulated inertia is needed. `reference/kim_derivatives.py`
has the tables as they stand in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from ...arrays import AnyArray, Array, ArrayLike, Mask
from ...errors import InputError
from ...lie import inertial_parameters, se3
from ...model import layout
from ...model.arguments import require_model
from ...model.configuration import checked, shaped
from ...model.coupling import own_joints
from ...model.joint_types import rotation_from_z
from ...model.model import Model
from ...model.pack import body_turn, get_placement
from ...model.structure import Joint
from ...shown import shared_options
from ..forward_dynamics import _mask, forward_dynamics, hybrid_dynamics
from ..inputs import Algorithm, _shaped_wrench
from ..kernels.derivatives import sensitivity as seeds
from ..kernels.derivatives.sensitivity import sensitivity_batch
from ..losses import friction_columns, joint_terms_rate, joint_terms_slope, rotor_acceleration
from .inverse_derivatives import rate_derivatives, subspace_derivatives
from .parameters import Change, Parameter

if TYPE_CHECKING:
    from typing import Unpack

# From parameters to seeds: the table that the kernel of sensitivities reads.


def _joint(model: Model, where: Any) -> Joint:
    joints = model.joints
    if isinstance(where, (int, np.integer)):
        if not 0 <= where < len(joints):
            raise InputError(f"no joint {where}: 0 to {len(joints) - 1} are expected", value=where)
        return joints[where]
    return model.joint(where)


def _coordinate(model: Model, change: Change) -> int:
    where, part = change.where, change.part
    if isinstance(where, str):
        joint = model.joint(where)
        if isinstance(part, str) or not 0 <= part < joint.type.nv:
            raise InputError(
                f"joint {where!r} has {joint.type.nv} coordinates, not one of number {part!r}", name=where
            )
        return int(joint.v_slice.start) + part
    if where is None or not 0 <= where < model.nv:
        raise InputError(f"{change.what}: a coordinate from 0 to {model.nv - 1} is expected, got {where!r}")
    return int(where)


def _parent(model: Model, row: int) -> int:
    return int(model.rows[row, layout.PARENT])


class Seeding:
    """Changes by a list of parameters, collected entry by entry.

    `table` (entries, seeds.SIZE) is sorted by parameter and row; `starts` (parameters + 1,) is where the entries of
    each parameter begin; `values` (..., k) are data that differ from state to state. `direct` lists what acts on joint
    forces and accelerations without the tree, (parameter, name, coordinate or None, data): changes of "tau", "qdd",
    "armature", "damping" and "friction", and what losses make of changes of "qd"; and changes of "q", for what is not
    of the tree.
    """

    def __init__(
        self,
        model: Model,
        parameters: Sequence[Parameter],
        q: AnyArray,
        qd: AnyArray,
        given: Mask | None = None,
    ) -> None:
        self.model, self._q, self._qd, self._given = model, q, qd, given
        self.direct: list[tuple[int, str, int | None, AnyArray]] = []
        self.values: list[AnyArray] = []
        self._size = 0
        self._entries: list[AnyArray] = []
        self._first = np.cumsum([1, *(joint.type.nv for joint in model.joints)]).tolist()  # first row of each joint
        self._owner = [joint for joint in model.joints for _ in range(joint.type.nv)]  # of each row but the base's
        starts = [0]
        for number, parameter in enumerate(parameters):
            if not isinstance(parameter, Parameter):
                raise InputError(f"parameter: a Parameter, or a list of them, is expected, got {parameter!r}")
            begin = len(self._entries)
            for change in parameter.changes:
                self._add(number, change)
            # Turns after a row's own step come last, whatever else the row has.
            self._entries[begin:] = sorted(self._entries[begin:], key=_order)
            starts.append(len(self._entries))
        self.table = np.array(self._entries).reshape(-1, seeds.SIZE)
        self.starts = np.array(starts, np.int64)

    def _rows_of(self, joint: Joint) -> tuple[int, int]:
        first = self._first[joint.index]
        return first, first + joint.type.nv - 1

    # -- entries ---------------------------------------------------------------------------------------------------

    def _put(self, what: float, row: int, data: AnyArray, source: int = 0, base: int = 0, top: int = 0) -> None:
        entry = np.zeros(seeds.SIZE)
        entry[: seeds.OFFSET] = row, what, source, base, top
        entry[seeds.OFFSET] = -1.0
        if data.ndim == 1 and not np.iscomplexobj(data):
            if not data.any():
                return
            entry[seeds.DATA : seeds.DATA + data.size] = data
        else:
            entry[seeds.OFFSET] = self._size
            self.values.append(data)
            self._size += data.shape[-1]
        self._entries.append(entry)

    def _add(self, number: int, change: Change) -> None:
        what = change.what
        if what in ("q", "qd", "qdd", "tau"):
            self._tangent(number, change)
        elif what in ("armature", "damping", "friction"):
            self.direct.append((number, what, _coordinate(self.model, change), change.data))
        elif what == "gravity":
            self._put(seeds.GRAVITY_CHANGE, 0, change.data)
        elif what in ("inertia", "wrench"):
            self._body(change)
        elif what in ("axis", "pitch"):
            self._axis(change)
        else:
            self._motion(change)

    def _tangent(self, number: int, change: Change) -> None:
        """Add a direction of q, qd, qdd or tau: one coordinate, or a whole tangent vector."""
        model, data = self.model, change.data
        if change.where is None:
            if data.shape[-1:] != (model.nv,):
                raise InputError(
                    f"{change.what}: shape (..., {model.nv}) is expected, got {data.shape}", name=change.what
                )
            direction = data
        else:
            direction = np.zeros((*data.shape, model.nv), data.dtype)
            direction[..., _coordinate(self.model, change)] = data
        if self._given is not None and change.what == "qdd":
            direction = np.where(self._given, direction, 0.0)
        self.direct.append((number, change.what, None, direction))
        if change.what == "tau":
            return
        full = direction if model.coupling is None else direction @ model.coupling.rates.T
        what = {"q": seeds.Q, "qd": seeds.QD, "qdd": seeds.QDD}[change.what]
        for entry in np.flatnonzero(full.reshape(-1, full.shape[-1]).any(axis=0)).tolist():
            joint, row, weight = self._owner[entry], entry + 1, full[..., entry, None]
            first, last = self._rows_of(joint)
            begin = int(model.rows[row, layout.FIRST])
            top = row if joint.type.steps else last
            at = begin if change.what == "q" else row
            self._put(what, at, weight, source=row, base=_parent(self.model, begin), top=top)
            if joint.type.custom is not None and change.what != "qdd":
                self._user_joint(joint, row - first, weight, change.what)

    def _user_joint(self, joint: Joint, k: int, weight: AnyArray, what: str) -> None:
        """Add how S and dS/dt of a user's joint depend on its coordinate `k` and on the rate of it."""
        slope = subspace_derivatives(joint, self._q, k)
        if what == "q":
            self._columns(joint, seeds.SUBSPACE, weight[..., None] * slope)
            self._columns(joint, seeds.SUBSPACE_RATE, weight[..., None] * rate_derivatives(joint, self._q, self._qd, k))
        else:
            self._columns(joint, seeds.SUBSPACE_RATE, weight[..., None] * slope)

    def _columns(self, joint: Joint, what: float, columns: AnyArray) -> None:
        """Add changes (..., 6, n) of the columns of S or dS/dt, in the frame of the joint's body."""
        first, last = self._rows_of(joint)
        if columns.shape[-1] != joint.type.nv:
            raise InputError(
                f"joint {joint.name!r}: {joint.type.nv} columns are expected, got {columns.shape}", name=joint.name
            )
        turned = _turned(body_turn(self.model.rows[last]), np.swapaxes(columns, -1, -2))
        for k in range(joint.type.nv):
            self._put(what, first + k, turned[..., k, :], base=_parent(self.model, first), top=last)

    def _body(self, change: Change) -> None:
        """Add a change of a body's inertia or of the wrench on it, given in its frame or one fixed to it."""
        frame = self.model.moving_frame(change.where)  # type: ignore[arg-type]
        row, data = self.model.body_rows[frame.body], change.data
        turn, placed = body_turn(self.model.rows[row]), not np.array_equal(frame.placement, np.eye(4))
        if change.what == "inertia":
            if placed:
                Ad = se3.Ad(se3.inverse(frame.placement))
                G = Ad.T @ inertial_parameters.generalized_inertia(data) @ Ad
                data = inertial_parameters.from_generalized_inertia(G)
            about = turn @ inertial_parameters.rotational_inertia(data) @ turn.T
            upper = about[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
            turned = np.concatenate([data[..., :1], data[..., 1:4] @ turn.T, upper], axis=-1)
            self._put(seeds.INERTIA, row, turned, top=row)
        elif change.part == "body":
            self._put(seeds.BODY_WRENCH, row, _turned(turn, se3.transform_wrench(frame.placement, data)), top=row)
        elif change.part == "world":
            self._put(seeds.WORLD_WRENCH, row, data, top=row)
        elif frame.placement[:3, 3].any():
            raise InputError(
                f"external force on {frame.name!r}: aligned with the world, it is taken at the origin of a body only, "
                f"here {self.model.body_names[frame.body]!r}",
                name=frame.name,
            )
        else:
            self._put(seeds.ALIGNED_WRENCH, row, data, top=row)

    def _axis(self, change: Change) -> None:
        """Add a turn of an axis about the joint's origin, or a change of its pitch."""
        joint, step = _joint(self.model, change.where), change.part
        if isinstance(step, str) or not 0 <= step < len(joint.type.steps):
            raise InputError(
                f"joint {joint.name!r} is {joint.kind} with {len(joint.type.steps)} axes: there is no axis {step!r}",
                name=joint.name,
                value=step,
            )
        row = self._rows_of(joint)[0] + step
        base = _parent(self.model, row)
        if change.what == "pitch":
            self._put(seeds.PITCH, row, change.data[..., None], base=base, top=row)
            return
        turn = change.data @ rotation_from_z(joint.type.steps[step].axis)
        twist = np.concatenate([turn, np.zeros_like(turn)], axis=-1)
        # The joint turns, then its body is turned back by as much.
        self._put(seeds.JOINT_TWIST, row, twist, source=base, base=base, top=row)
        self._put(seeds.AFTER_TWIST, row, -twist, base=row, top=row)

    def _motion(self, change: Change) -> None:
        """Add a displacement of a joint, or a change of its S or dS/dt."""
        joint = _joint(self.model, change.where)
        first, last = self._rows_of(joint)
        base = _parent(self.model, first)
        if change.what == "transform":
            twist = _turned(body_turn(self.model.rows[last]), change.data)
            self._put(seeds.BODY_TWIST, first, twist, base=base, top=last)
        elif change.what == "placement":
            twist = change.data
            if change.part == "parent":
                own = own_joints(self.model.joints)[joint.index]
                twist = se3.transform_twist(se3.inverse(get_placement(self.model.table, own)), twist)
            steps = joint.type.steps
            turn = rotation_from_z(steps[0].axis).T if steps else np.eye(3)
            self._put(seeds.JOINT_TWIST, first, _turned(turn, twist), source=base, base=base, top=first)
        else:
            what = seeds.SUBSPACE if change.what == "subspace" else seeds.SUBSPACE_RATE
            self._columns(joint, what, change.data)


def _order(entry: AnyArray) -> tuple[float, bool]:
    return float(entry[seeds.ROW]), bool(entry[seeds.WHAT] == seeds.AFTER_TWIST)


def _turned(turn: AnyArray, x: AnyArray) -> AnyArray:
    """Return twists or wrenches (..., 6) with both parts turned."""
    return np.concatenate([x[..., :3] @ turn.T, x[..., 3:] @ turn.T], axis=-1)


Parameters = Parameter | Sequence[Parameter]
Hold = Literal["body", "world", "aligned"]

_HOLDS = {"body": seeds.HELD_BY_BODY, "world": seeds.HELD_BY_WORLD, "aligned": seeds.HELD_ALIGNED}


class SensitivityOptions(TypedDict, total=False):
    """Keywords of `sensitivity_options`."""

    f_ext_held: Hold
    threads: int


def sensitivity_options(*, f_ext_held: Hold = "body", threads: int = 1) -> tuple[Hold, int]:
    """Return what stays the same of wrenches when a body is displaced, and how many threads share a batch."""
    return f_ext_held, threads


@shared_options(sensitivity_options)
def inverse_dynamics_sensitivity(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None = None,
    **options: Unpack[SensitivityOptions],
) -> Array:
    """Return how the joint forces of a motion change with parameters. Kim Table 5; O(n) for each parameter.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    parameter : Parameter, or sequence of k of them
        What to differentiate along. Changes of "tau" have no effect.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches on the bodies, in their frames.
    f_ext_held : {"body", "world", "aligned"}
        What stays the same of `f_ext` when a body is displaced: its components in the body frame; the wrench in the
        world frame, moment about the world's origin; or force and moment in the world's axes, at the body's origin,
        as of a weight. It matters for parameters that displace bodies only: q, placements, axes.
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv), or (k, ..., nv) for a sequence
        dtau/dp.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`; also for a parameter of a joint or body that the model does not have.
    """
    require_model(model)
    (held, threads), (single, parameters) = sensitivity_options(**options), listed_parameters(parameter)
    change, _ = _inverse(model, SeededMotion(q, qd, qdd, parameters, f_ext, held, threads))
    return np.asarray(change[0]) if single else change


@shared_options(sensitivity_options)
def forward_dynamics_sensitivity(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None = None,
    **options: Unpack[SensitivityOptions],
) -> Array:
    """Return how the accelerations that joint forces cause change with parameters. Kim Table 6.

    Parameters
    ----------
    model, q, qd, parameter, f_ext, f_ext_held, threads
        As `inverse_dynamics_sensitivity`; changes of "qdd" have no effect.
    tau : array-like, shape (..., nv)
        Joint forces.

    Returns
    -------
    ndarray, shape (..., nv), or (k, ..., nv) for a sequence
        dqdd/dp.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`.
    """
    require_model(model)
    (held, threads), (single, parameters) = sensitivity_options(**options), listed_parameters(parameter)
    qdd = forward_dynamics(model, q, qd, tau, f_ext, threads=threads)
    free = np.zeros(model.nv, np.bool_)
    change, _ = _solved(model, SeededMotion(q, qd, qdd, parameters, f_ext, held, threads, free))
    return np.asarray(change[0]) if single else change


@shared_options(sensitivity_options)
def hybrid_dynamics_sensitivity(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None = None,
    **options: Unpack[SensitivityOptions],
) -> tuple[Array, Array]:
    """Return how accelerations and joint forces of hybrid dynamics change with parameters. Kim Table 7.

    Parameters
    ----------
    model, q, qd, parameter, f_ext, f_ext_held, threads
        As `inverse_dynamics_sensitivity`.
    qdd, tau, prescribed
        As `hybrid_dynamics`. Parameters that change what is not read, a "tau" where `prescribed` is True or a "qdd"
        where it is False, have no effect.

    Returns
    -------
    dqdd, dtau : ndarray, shape (..., nv), or (k, ..., nv) for a sequence
        Both complete: changes of what is given, as the parameter says, and of what follows.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `hybrid_dynamics`.
    """
    require_model(model)
    (held, threads), (single, parameters) = sensitivity_options(**options), listed_parameters(parameter)
    given = _mask(model, prescribed)
    qdd, _ = hybrid_dynamics(model, q, qd, qdd, tau, given, f_ext, threads=threads)
    motion = SeededMotion(q, qd, qdd, parameters, f_ext, held, threads, given)
    acceleration, force = _solved(model, motion)
    return (acceleration[0], force[0]) if single else (acceleration, force)


def listed_parameters(parameter: Parameters) -> tuple[bool, Sequence[Parameter]]:
    """Return whether it is a single parameter, and all of them in a list."""
    if isinstance(parameter, Parameter):
        return True, [parameter]
    try:
        return False, list(parameter)
    except TypeError:
        message = f"parameter: a Parameter, or a list of them, is expected, got {parameter!r}"
        raise InputError(message, name="parameter", value=parameter) from None


@dataclass(frozen=True, eq=False)
class SeededMotion:
    """A motion, and the parameters that it is differentiated along."""

    q: ArrayLike  # motion (..., nq)
    qd: ArrayLike  # (..., nv)
    qdd: ArrayLike  # (..., nv)
    parameters: Sequence[Parameter]
    f_ext: ArrayLike | None
    held: str  # `f_ext_held` of `inverse_dynamics_sensitivity`
    threads: int
    given: Mask | None = None  # accelerations do not change where it is False (nv,)


def _inverse(model: Model, motion: SeededMotion) -> tuple[Array, Seeding]:
    """Return dtau (k, ..., nv)."""
    change, seeding = run_seeded(model, sensitivity_batch, motion)
    if model.coupling is not None:
        change = change @ model.coupling.rates
    state = (np.asarray(a) for a in (motion.q, motion.qd, motion.qdd))
    return with_direct(model, seeding, np.ascontiguousarray(change), *state), seeding


def run_seeded(
    model: Model,
    kernel: Callable[..., int],
    motion: SeededMotion,
    columns: int = 0,
    more: Sequence[Array] = (),
) -> tuple[Array, Seeding]:
    """Return what a kernel with the arguments of `sensitivity_batch` finds (k, ..., joints' coordinates + `columns`).

    `more` arrays (..., j) come last in the kernel's `values`.
    """
    held, f_ext = motion.held, motion.f_ext
    if not isinstance(held, str) or held not in _HOLDS:
        raise InputError(f"f_ext_held: one of {tuple(_HOLDS)} is expected, got {held!r}", name="f_ext_held", value=held)
    q, qd = checked(motion.q, model.nq, "q", model), checked(motion.qd, model.nv, "qd", model)
    seeding = Seeding(model, motion.parameters, q, qd, motion.given)
    data = [*seeding.values, *more]
    shapes = [v.shape[:-1] for v in data]
    shapes += [d.shape[:-1] if at is None else d.shape for *_, at, d in seeding.direct]
    qdd = shaped(motion.qdd, model.nv, "qdd", model)
    wrench = [] if f_ext is None else [_shaped_wrench(model, f_ext)]
    try:
        batch = np.broadcast_shapes(*shapes, *(a.shape[:-1] for a in (q, qd, qdd, *wrench)))
    except ValueError:
        raise InputError(
            f"batch dimensions do not fit each other: those of states and of parameters {shapes}"
        ) from None
    count = int(np.prod(batch))
    kind = np.result_type(q, qd, qdd, *wrench, *data)
    values = np.empty((*batch, sum(v.shape[-1] for v in data)), kind)
    at = 0
    for v in data:
        values[..., at : at + v.shape[-1]] = v
        at += v.shape[-1]
    values = values.reshape(count, -1) if values.size else np.empty((count, 0), kind)
    starts = np.concatenate([[_HOLDS[held]], seeding.starts])

    def run(rows: Array, *arrays: Array) -> int:  # those of a kernel of batches, the last two are results
        q, qd, qdd, f, values, _, y, _ = arrays
        return kernel(rows, seeding.table, starts, q, qd, qdd, f, values, y)

    n = model.rows.shape[0] - 1
    inputs = {"q": np.broadcast_to(q, (*batch, model.nq)), "qd": qd, "qdd": qdd}
    found = Algorithm(run, f"{len(motion.parameters)} {n + columns}")
    (change,) = found.evaluate(model, inputs, f_ext, threads=motion.threads, parameters=values)
    return np.moveaxis(change, -2, 0), seeding


def with_direct(model: Model, seeding: Seeding, change: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Add what parameters do to joint forces without the tree: rotors and losses."""
    for number, what, at, data in seeding.direct:
        if at is None:
            if what == "qd" and model.actuation_terms is not None:
                change[number] += (joint_terms_rate(model, q, qd) @ np.asarray(data)[..., None])[..., 0]
            slope = joint_terms_slope(model, q, qd) if what == "q" else None
            if slope is not None:
                change[number] += (slope @ np.asarray(data)[..., None])[..., 0]
            continue
        if what == "friction":
            change[number] += np.asarray(data)[..., None] * friction_columns(model, q, np.sign(qd.real), qd)[..., at]
            continue
        factors = {"armature": rotor_acceleration(model, qd, qdd), "damping": qd}
        change[number][..., at] += data * factors[what][..., at]
    return change


def _solved(model: Model, motion: SeededMotion) -> tuple[Array, Array]:
    """Return dqdd and dtau (k, ..., nv), for accelerations that are complete and a mask that is there."""
    change, seeding = _inverse(model, motion)
    given = np.asarray(motion.given)
    acceleration, force = np.zeros_like(change), np.zeros_like(change)
    for number, what, at, data in seeding.direct:
        if at is None and what == "qdd":
            acceleration[number] += data
        elif at is None and what == "tau":
            force[number] += data
    still = model.with_gravity(np.zeros(3))
    zero = np.zeros(model.nv)
    answer, reaction = hybrid_dynamics(still, motion.q, zero, zero, force - change, given, threads=motion.threads)
    return acceleration + answer, np.where(given, change + reaction, force)
