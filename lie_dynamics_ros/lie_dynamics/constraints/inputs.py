"""Inputs and results shared by the constrained algorithms."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..dynamics.inputs import _check_quaternions, _require_finite, _shaped_wrench, _spread, is_plain
from ..engine.compile import COMPILED
from ..errors import InputError, SingularityError
from ..lie._arrays import as_numbers, flatten_batch
from ..model import layout
from ..model.arguments import require_model
from ..model.configuration import coordinate_name, require_finite, shaped
from ..model.model import Model
from ..model.pack import extend
from .constraint_set import ConstraintSet
from .kernels import loops as lk
from .kinds import Loop

_BOOL = np.dtype(np.bool_)
_NO_WRENCH = np.zeros((0, 0))


class ConstrainedDynamics:
    """Motion and forces of a constrained model, M qdd + b = tau + A^T multipliers.

    Attributes
    ----------
    qdd, tau : ndarray, shape (..., nv)
        Accelerations [rad/s^2, m/s^2] and joint forces [N m, N]: what was given and what follows.
    multipliers : ndarray, shape (..., m)
        Constraint forces, in the order of `ConstraintSet.slices` [N, N m].
    wrenches : ndarray, shape (..., n_loops, 6)
        What each cut joint exerts on its second body: moment and force in frame 2, about its origin [N m, N]. The
        first body gets the opposite.
    rank : int, or ndarray of int, shape (...)
        Number of constraints that are independent (where forces are requested: at the coordinates that they must hold).
    residual : float, or ndarray, shape (...)
        Largest violation of A qdd + dA/dt qd = target, relative to the terms of its sum; of the equations of motion in
        inverse dynamics. Round-off unless the constraints contradict each other.
    """

    # `packed` has all but tau as it comes from the kernel; views of its parts are made when they are requested.
    __slots__ = ("_constraints", "packed", "tau")

    packed: Array
    tau: Array

    def __init__(self, packed: Array, constraints: ConstraintSet, tau: Array) -> None:
        self.packed = packed
        self._constraints = constraints
        self.tau = tau

    @property
    def qdd(self) -> Array:
        """Accelerations (..., nv)."""
        return self.packed[..., : self._constraints.table.ends[0]]

    @property
    def multipliers(self) -> Array:
        """Constraint forces (..., m)."""
        first, last = self._constraints.table.ends
        return self.packed[..., first:last]

    @property
    def wrenches(self) -> Array:
        """Wrenches of the cut joints on their second bodies (..., n_loops, 6)."""
        return self.packed[..., self._constraints.table.ends[1] : -2].reshape(*self.packed.shape[:-1], -1, 6)

    @property
    def rank(self) -> Any:
        """Number of independent constraints."""
        return np.real(self.packed[..., -2]).astype(int)[()]

    @property
    def residual(self) -> Any:
        """Largest relative violation."""
        return np.real(self.packed[..., -1])[()]

    def __repr__(self) -> str:
        return (
            f"ConstrainedDynamics(qdd={self.qdd!r}, tau={self.tau!r}, multipliers={self.multipliers!r}, "
            f"wrenches={self.wrenches!r}, rank={self.rank!r}, residual={self.residual!r})"
        )


class States(NamedTuple):
    """Validated inputs, flat over the batch: q as the kernels want it, and as the user gave it."""

    batch: tuple[int, ...]
    extended: Array
    arrays: dict[str, Array]
    f_ext: Array

    def with_accelerations(self, qdd: Array) -> States:
        """Return the same states with other "qdd" (B, nv)."""
        return States(self.batch, self.extended, {**self.arrays, "qdd": qdd}, self.f_ext)


def require_constraints(model: Model, constraints: ConstraintSet) -> None:
    """Raise InputError for anything but a Model and a `ConstraintSet` of it."""
    require_model(model)
    if not isinstance(constraints, ConstraintSet):
        raise InputError(f"constraints: a ConstraintSet is expected, got {constraints!r}", name="constraints")
    constraints.check_model(model)


def read_states(
    model: Model,
    constraints: ConstraintSet,
    inputs: dict[str, ArrayLike],
    f_ext: ArrayLike | None = None,
    given: Mask | None = None,
) -> States:
    """Validate "q" (..., nq) and any arrays (..., nv), and broadcast them.

    `given` marks, for "qdd" and "tau", which entries of the one count and which of the other; the rest is set to zero.
    Raises InputError, GroupError for wrong shapes, NaN, and invalid quaternions; names the joint.
    """
    require_constraints(model, constraints)
    found = plain_state(model, constraints, inputs) if f_ext is None and given is None else None
    if found is not None:
        return found
    shapes: dict[str, Any] = {k: shaped(v, model.nq if k == "q" else model.nv, k, model) for k, v in inputs.items()}
    if given is not None:
        for name, mask in (("qdd", given), ("tau", ~given)):
            if name in shapes:
                shapes[name] = np.where(mask, shapes[name], 0.0)
    wrench = None if f_ext is None else _shaped_wrench(model, f_ext)
    everything = [*shapes.values()] + ([] if wrench is None else [wrench])
    try:
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in everything))
    except ValueError:
        listed = ", ".join(f"{name} {a.shape}" for name, a in shapes.items())
        raise InputError(f"batch dimensions do not fit each other: {listed}") from None
    kind = np.result_type(*everything)
    if kind != np.float64 and COMPILED:
        raise InputError("complex numbers are taken by the plain-Python kernels only: set NUMBA_DISABLE_JIT=1")
    count = int(np.prod(batch))
    flat = {name: _spread(a, batch, kind).reshape(count, a.shape[-1]) for name, a in shapes.items()}
    for name, array in flat.items():
        _require_finite(model, name, array)
    _check_quaternions(model, flat["q"])
    forces = np.zeros((0, 0), kind)
    if wrench is not None:
        forces = _spread(wrench, batch, kind).reshape(count, wrench.shape[-1])
        _require_finite(model, "f_ext", forces)
    extended = flat["q"]
    if model.custom_joints:
        extended = extend(model.custom_joints, extended, flat.get("qd", np.zeros((count, model.nv))))
    return States(batch, extended, flat, forces)


def plain_state(model: Model, constraints: ConstraintSet, inputs: dict[str, ArrayLike]) -> States | None:
    """Return one good state of plain arrays, which is most of what comes; None for all else."""
    if not model.plain or constraints.joints is not model.joints:
        return None
    arrays: dict[str, Array] = {}
    for name, a in inputs.items():
        if not is_plain(a):
            return None
        if a.shape != (model.nq if name == "q" else model.nv,) or not isfinite(sum(a.tolist())):
            return None
        arrays[name] = a[None]
    for start in constraints.table.quaternions:
        squares = [x * x for x in arrays["q"][0, start : start + 4].tolist()]  # which overflow without a warning
        if not abs(sum(squares) - 1.0) < layout.QUATERNION_TOLERANCE:
            return None
    return States((), arrays["q"], arrays, _NO_WRENCH)


def as_mask(model: Model, value: ArrayLike, name: str) -> Mask:
    """Return truth values, one for each velocity coordinate, given as such or as names of joints."""
    if type(value) is np.ndarray and value.dtype is _BOOL and value.shape == (model.nv,):
        return value.copy()
    try:
        array = np.asarray(None if isinstance(value, np.ma.MaskedArray) else value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind in "US" and array.ndim == 1:
        mask = np.zeros(model.nv, np.bool_)
        for joint in array.tolist():
            mask[model.joint(str(joint)).v_slice] = True
        return mask
    if array.dtype != np.bool_ or array.shape != (model.nv,):
        raise InputError(
            f"{name}: {model.nv} truth values, one for each coordinate, or names of joints are expected, "
            f"got {array.dtype} {array.shape}",
            name=name,
            value=value,
        )
    return np.array(array)


def refuse(model: Model, constraints: ConstraintSet, status: int) -> NoReturn:
    """Raise what the status of a kernel stands for, after the inputs were found good."""
    row, code = divmod(status, layout.STATUS_STEP)
    if code == lk.UPSIDE_DOWN:
        _refuse_loop(model, constraints.loops[row - 1])
    if code == layout.SINGULAR:
        joint = coordinate_name(model, row - 1, False)
        raise SingularityError(
            f"joint {joint!r}: with its loops cut, the articulated inertia along it vanishes, so the recursion has no "
            "finite acceleration there; a body with inertia beyond it, an armature, or a prescribed acceleration is "
            "expected",
            name=joint,
        )
    raise SingularityError(f"model {model.name!r}: the result is not finite: the articulated inertia is singular")


def refuse_upside_down(model: Model, constraints: ConstraintSet, errors: Array) -> None:
    """Raise InputError if a loop is closed upside down, for errors (B, m) of the constraints: see `kernels.loops`."""
    found = np.abs(errors)
    if not (found[:, : len(constraints.table.scalars)] > 1.0).any():
        return
    angles = constraints.table.scalars[:, lk.TYPE] == lk.ANGLE
    for loop in constraints.loops:
        part = constraints.slices[loop.name]
        far = angles[part] & (found[:, part] > 1.0)
        folded = np.where(far, lk.AWAY - found[:, part], found[:, part])
        if (far.any(axis=1) & (folded.max(axis=1) < lk.LOOKS_CLOSED)).any():
            _refuse_loop(model, loop)


def _refuse_loop(model: Model, loop: Loop) -> NoReturn:
    raise InputError(
        f"q: loop {loop.name!r} of model {model.name!r} is closed upside down, its frames {loop.first!r} and "
        f"{loop.second!r} turned against each other; an upright configuration is expected, which assemble or "
        "project_to_constraints finds",
        name=loop.name,
    )


def read_passive_forces(model: Model, states: States, passive_torque: ArrayLike | None) -> Array:
    """Return `passive_torque` for all states (B, nv)."""
    if passive_torque is None:
        return np.zeros(states.arrays["qd"].shape)
    given = as_numbers(passive_torque, "passive_torque").real
    try:
        passive = np.array(flatten_batch(np.broadcast_to(given, (*states.batch, model.nv))), order="C")
        require_finite(passive, "passive_torque", model)
    except ValueError:
        raise InputError(
            f"passive_torque: shape (..., {model.nv}) is expected, got {given.shape}", name="passive_torque"
        ) from None
    return passive


def read_torque_limits(
    model: Model,
    limits: ArrayLike | tuple[ArrayLike, ArrayLike] | None,
    mask: Mask,
) -> tuple[Array, Array] | None:
    """Return the smallest and largest forces of the coordinates in a mask; None for no limits."""
    if limits is None:
        return None
    try:
        if isinstance(limits, tuple) and len(limits) == 2:
            lower, upper = (np.broadcast_to(np.asarray(x, dtype=float), (model.nv,)) for x in limits)
        else:
            upper = np.broadcast_to(np.asarray(limits, dtype=float), (model.nv,))
            lower = -upper
    except (TypeError, ValueError):
        lower = upper = np.full(model.nv, np.nan)
    if not (lower <= upper).all():
        raise InputError(
            f"torque_limits: {model.nv} numbers of at least zero, or a pair of smallest and largest, are expected, "
            f"got {limits!r}",
            name="torque_limits",
            value=limits,
        )
    return lower[mask], upper[mask]
