"""Second derivatives of inverse, forward and hybrid dynamics, in full and contracted with a vector."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, overload

import numpy as np

from ...arrays import Array, ArrayLike, Integers
from ...engine.width import LANES
from ...errors import InputError
from ...lie import so3
from ...lie._arrays import as_numbers
from ...model.arguments import require_model
from ...model.configuration import shaped
from ...model.model import Model
from ...shown import shared_options
from ..inputs import Algorithm, memory_for, over_parts, require_threads
from ..kernels.derivatives.packed_second_derivatives import packed_second_derivatives_batch as _packed_batch
from ..kernels.derivatives.second_derivatives import second_derivative_tensors as _tensors
from ..kernels.derivatives.second_derivatives import second_derivative_tensors_batch as _tensors_batch
from ..kernels.derivatives.second_derivatives import second_derivatives_batch as _batch
from ..kernels.derivatives.solved_second_derivatives import solved_second_derivatives as _solved
from ..losses import joint_terms_bend
from .forward_derivatives import block, forward_solution, hybrid_dynamics_derivatives
from .inverse_derivatives import WEIGHTS, inverse_dynamics_derivatives
from .tensors import (
    ForwardSecondDerivatives,
    HybridSecondDerivatives,
    PackedSecondDerivatives,
    SecondDerivatives,
    accelerations_of,
    gathered,
    is_tree,
    pattern_of,
    solving_of,
)

_Result = TypeVar("_Result")

if TYPE_CHECKING:
    from typing import Unpack

    class TensorOptions(TypedDict, Generic[_Result], total=False):
        """Keywords of `tensor_options`, for functions with results of one type."""

        threads: int
        out: _Result | None


def tensor_options(*, threads: int = 1, out: object = None) -> tuple[int, object]:
    """Return how many threads share a batch, and what an earlier call returned, whose memory is used again."""
    return threads, out


#: Step of differences [rad, m]. The derivatives that they difference are differences themselves, with errors of some
#: 1e-13, which become a hundred times that.
_STEP = 0.01
#: Numbers of one kind of a block of states, which a processor's own cache holds.
_BLOCK = 2**17

#: In place of the arrays of an earlier result.
_NOTHING = (None, None, None, None)

_TENSORS = Algorithm(_tensors_batch, "4nnn", single=_tensors)
_CONTRACTED = Algorithm(_batch, "4 n n")


class _Packed(Algorithm):
    """Its result has an entry for each of the model's pattern."""

    def _shapes(self, model: Model) -> tuple[tuple[int, ...], ...]:
        return ((pattern_of(model).indices.shape[1],),)


_PACKED = _Packed(_packed_batch, "")


@overload
def inverse_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    vector: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    packed: Literal[False] = False,
    **options: Unpack[TensorOptions[SecondDerivatives]],
) -> SecondDerivatives: ...


@overload
def inverse_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    vector: None = None,
    f_ext: ArrayLike | None = None,
    *,
    packed: Literal[True],
    **options: Unpack[TensorOptions[PackedSecondDerivatives[SecondDerivatives]]],
) -> PackedSecondDerivatives[SecondDerivatives]: ...


@shared_options(tensor_options)
def inverse_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    vector: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    packed: bool = False,
    **options: Unpack[TensorOptions[SecondDerivatives | PackedSecondDerivatives[SecondDerivatives]]],
) -> SecondDerivatives | PackedSecondDerivatives[SecondDerivatives]:
    """Return the second derivatives of inverse dynamics, of all joint forces or of ``vector . tau``.

    Exact: sums over pairs of coordinates on one branch, O(n d) for each vector and a tree of depth d. All others, along
    qd and qdd or along qdd twice, are zero. Third derivatives of user-defined joints are not given, so those along
    their coordinates follow from `inverse_dynamics_derivatives`, for all joint forces with or without a vector.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    vector : array-like, shape (..., nv), optional
        What to contract the joint forces with, for instance multipliers of the equations of motion. Left out, all
        joint forces are differentiated, O(n d^2).
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches on the bodies, constant in their frames.
    threads : int
        Threads that share a batch.
    out : optional
        What an earlier call returned, whose memory is used again where it fits; new memory of large tensors takes
        longer than their computation.
    packed : bool
        Without a vector: only entries of forces and coordinates on one branch, each pair of equal ones once. Batches
        take a tenth of the time, since that is the time of memory.

    Returns
    -------
    SecondDerivatives or PackedSecondDerivatives
        With entries (..., nv, nv) for a vector, (..., nv, nv, nv) without, the joint force first.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.

    Notes
    -----
    The functions of a user-defined joint are called for its dS up to 0.06 [rad, m] away from q along each of its
    coordinates: entries of `dq_dq` along these are central differences of eighth order of first derivatives, with
    errors of some 1e-11 of the largest entry for functions that bend over a radian or metre. All its other entries are
    differences over any step of what is quadratic or linear, and as good as the first derivatives.
    """
    require_model(model)
    threads, out = tensor_options(**options)
    if packed:
        _require_no_vector(vector)
        into = _earlier(out, PackedSecondDerivatives)[0]
        return PackedSecondDerivatives(_packed(model, q, qd, qdd, f_ext, threads, into), pattern_of(model))
    return _inverse(model, q, qd, qdd, vector, f_ext, threads, _base(_earlier(out, SecondDerivatives)))


def _packed(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None, threads: int, into: Array | None
) -> Array:
    """Return the values of what `pattern_of` keeps, of a plain model in `into` where it fits."""
    if model.plain:
        inputs: dict[str, ArrayLike] = {"q": q, "qd": qd, "qdd": qdd}
        return _PACKED.evaluate(model, inputs, f_ext, threads=threads, into=into)[0]
    return gathered(_inverse(model, q, qd, qdd, None, f_ext, threads, None), pattern_of(model)).values


def _require_no_vector(vector: object) -> None:
    if vector is not None:
        raise InputError("vector: none is expected with packed=True", name="vector", value=vector)


def _earlier(out: object, kind: type[Any]) -> Sequence[Any]:
    """Return the arrays of an earlier result, of a certain class, or None for each."""
    if out is None:
        return _NOTHING
    if not isinstance(out, kind):
        message = f"out: {kind.__name__} of an earlier call expected, got {type(out).__name__}"
        raise InputError(message, name="out", value=out)
    return [out.values] if isinstance(out, PackedSecondDerivatives) else [getattr(out, x.name) for x in fields(kind)]


def _base(memory: Sequence[Any]) -> Array | None:
    """Return the array that the first of an earlier result is a view of."""
    return None if memory[0] is None else memory[0].base


def _inverse(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    vector: ArrayLike | None,
    f_ext: ArrayLike | None,
    threads: int,
    into: Array | None,
) -> SecondDerivatives:
    n = model.rows.shape[0] - 1
    inputs: dict[str, ArrayLike] = {"q": q, "qd": qd, "qdd": qdd}
    rates = None if model.coupling is None else model.coupling.rates
    if vector is None:
        (found,) = _TENSORS.evaluate(model, inputs, f_ext, threads=threads, into=into)
        found = found.reshape(*found.shape[:-1], 4, n, n, n)
        if rates is not None:
            found = rates.T @ np.moveaxis(np.tensordot(found, rates, (-3, 0)), -1, -3) @ rates
        contract, axes = np.eye(model.nv), 3
    else:
        (found,) = _CONTRACTED.evaluate(model, {**inputs, "vector": vector}, f_ext, threads=threads, into=into)
        contract, axes = as_numbers(vector, "vector"), 2
    parts = np.moveaxis(found, -1 - axes, 0)
    _add_rotors(model, parts[2], contract)
    if model.actuation_terms is not None:
        place, speed = shaped(q, model.nq, "q", model), shaped(qd, model.nv, "qd", model)
        if axes == 3:
            place, speed = place[..., None, :], speed[..., None, :]
        bend = joint_terms_bend(model, place, speed, contract)
        if bend is not None:
            parts[0] += bend
    if model.custom_joints:
        return SecondDerivatives(*user_second_derivatives(model, parts[0], q, qd, qdd, vector, f_ext, threads))
    return SecondDerivatives(*parts)  # views: to copy large tensors takes longer than to compute them


def _add_rotors(model: Model, dqd_dqd: Array, vector: Array) -> None:
    """Add those of a w x v along the position of free joints, contracted."""
    for first, a in () if model.actuation_terms is None else model.actuation_terms.free_rotors:
        turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
        along = a * so3.hat(vector[..., slide])
        dqd_dqd[..., turn, slide] -= along
        dqd_dqd[..., slide, turn] += along


@overload
def forward_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    vector: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    packed: Literal[False] = False,
    **options: Unpack[TensorOptions[ForwardSecondDerivatives]],
) -> ForwardSecondDerivatives: ...


@overload
def forward_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    vector: None = None,
    f_ext: ArrayLike | None = None,
    *,
    packed: Literal[True],
    **options: Unpack[TensorOptions[PackedSecondDerivatives[ForwardSecondDerivatives]]],
) -> PackedSecondDerivatives[ForwardSecondDerivatives]: ...


@shared_options(tensor_options)
def forward_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    vector: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    packed: bool = False,
    **options: Unpack[TensorOptions[ForwardSecondDerivatives | PackedSecondDerivatives[ForwardSecondDerivatives]]],
) -> ForwardSecondDerivatives | PackedSecondDerivatives[ForwardSecondDerivatives]:
    """Return the second derivatives of forward dynamics, of all accelerations or of ``vector . qdd``.

    Those of inverse dynamics, contracted with the inverse mass matrix times the vector, and first derivatives: the
    equation tau = ID(q, qd, qdd(q, qd, tau)), differentiated twice. All others, along qd and tau or along tau twice,
    are zero. At user-defined joints as exact as `inverse_dynamics_second_derivatives`.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, tau : array-like, shape (..., nq), (..., nv), (..., nv)
        State and joint forces.
    vector : array-like, shape (..., nv), optional
        What to contract the accelerations with, for instance costates. Left out, all accelerations are differentiated.
    f_ext, threads, out
        As `inverse_dynamics_second_derivatives`.
    packed : bool
        Without a vector: only entries that the tree leaves, each pair of equal ones once, which takes two thirds of the
        time.

    Returns
    -------
    ForwardSecondDerivatives or PackedSecondDerivatives
        With entries (..., nv, nv) for a vector, (..., nv, nv, nv) without, the acceleration first.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics_derivatives`.
    """
    require_model(model)
    threads, out = tensor_options(**options)
    if packed:
        _require_no_vector(vector)
    memory = _earlier(out, PackedSecondDerivatives if packed else ForwardSecondDerivatives)
    slopes = forward_solution(model, q, qd, tau, f_ext, threads)
    inputs: dict[str, ArrayLike] = {"q": q, "qd": qd, "qdd": slopes[..., 0, :]}
    if packed and is_tree(model):
        found = solving_of(model)
        values = _by_runs(model, inputs, None, slopes, f_ext, threads, memory[0], found.kept)
        return PackedSecondDerivatives(values, found.pattern)
    memory = _NOTHING if packed else memory
    whole = ForwardSecondDerivatives(*_of_unknown(model, inputs, None, slopes, vector, f_ext, threads, memory))
    return gathered(whole, accelerations_of(model)) if packed else whole


@shared_options(tensor_options)
def hybrid_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    vector: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    **options: Unpack[TensorOptions[HybridSecondDerivatives]],
) -> HybridSecondDerivatives:
    """Return the second derivatives of what `hybrid_dynamics` finds, of all coordinates or contracted with a vector.

    From tau = ID(q, qd, qdd), differentiated twice, as `forward_dynamics_second_derivatives`, which it is where nothing
    is prescribed; where all is, it is `inverse_dynamics_second_derivatives`. All others, along qd and what is given
    or along that twice, are zero.

    Parameters
    ----------
    model, q, qd, qdd, tau, prescribed
        As `hybrid_dynamics`.
    vector : array-like, shape (..., nv), optional
        What to contract what is found with. Left out, all of it is differentiated.
    f_ext, threads, out
        As `inverse_dynamics_second_derivatives`.

    Returns
    -------
    HybridSecondDerivatives
        With entries (..., nv, nv) for a vector, (..., nv, nv, nv) without, what is found first.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `hybrid_dynamics_derivatives`.
    """
    require_model(model)
    threads, out = tensor_options(**options)
    first = hybrid_dynamics_derivatives(model, q, qd, qdd, tau, prescribed, f_ext, threads=threads)
    mask = np.asarray(prescribed)
    rows = mask[:, None]
    # What is found of the forces that are missing in the equation of motion: -M^-1 of free joints, the rest by theirs.
    found = np.where(rows, first.dtau_dgiven, first.dqdd_dgiven)
    solve = np.where(rows, np.eye(model.nv), 0.0) - np.where(mask, 0.0, found)
    inputs = {"q": q, "qd": qd, "qdd": first.qdd}
    memory = _earlier(out, HybridSecondDerivatives)
    slopes = first.accelerations
    return HybridSecondDerivatives(*_of_unknown(model, inputs, solve, slopes, vector, f_ext, threads, memory))


def _of_unknown(
    model: Model,
    inputs: dict[str, ArrayLike],
    solve: Array | None,
    slopes: Array,
    vector: ArrayLike | None,
    f_ext: ArrayLike | None,
    threads: int,
    memory: Sequence[Any],
) -> Sequence[Array]:
    """Return second derivatives of what is found from those of joint forces.

    `solve` (..., nv, nv) is what is found for missing forces, if not accelerations of free joints; `slopes` (..., 3 nv
    + 1, nv) are accelerations, and their derivatives along q, qd and what is given. Large batches go by blocks of
    states whose memory stays in the cache.
    """
    n, batch = model.nv, slopes.shape[:-2]
    if vector is None and is_tree(model):
        values = _by_runs(
            model, inputs, solve, slopes, f_ext, threads, _base(memory), solving_of(model).whole
        )
        # All that is found for a pair of coordinates lies side by side.
        return tuple(np.moveaxis(values.reshape(*batch, 4, n, n, n), (-4, -1), (0, -3)))
    require_threads(threads)
    matrices = [-block(slopes, 2) if solve is None else solve, *(block(slopes, k) for k in range(3))]
    states = [shaped(x, model.nq if name == "q" else n, name, model) for name, x in inputs.items()]
    wrench = None if f_ext is None else as_numbers(f_ext, "f_ext")
    y = None if vector is None else shaped(vector, n, "vector", model)
    if y is not None:
        batch = np.broadcast_shapes(batch, y.shape[:-1])
    axes = 3 if y is None else 2
    shape = batch + axes * (n,)
    found = [memory_for(shape, slopes.dtype, x) for x in memory]
    count, most = math.prod(batch), max(1, _BLOCK // max(1, n**axes))
    if count <= most or count * n == 0:
        if count * n > 0:
            _fill(model, states, matrices, y, wrench, found, None)
        return found
    states, matrices = [_flat(x, batch, 1) for x in states], [_flat(x, batch, 2) for x in matrices]
    wrench = None if wrench is None else _flat(wrench, batch, 2)
    targets = [x.reshape(count, *axes * (n,)) for x in found]
    y = None if y is None else _flat(y, batch, 1)

    def run(part: slice) -> None:
        scratch = np.empty((most, 4, n, n))
        for own in _slices(part, count, most):
            _fill(
                model, [x[own] for x in states], [x[own] for x in matrices], None if y is None else y[own],
                None if wrench is None else wrench[own], [x[own] for x in targets], scratch[: own.stop - own.start],
            )  # fmt: skip

    over_parts(threads, count, run)
    return found


def _flat(x: Array, batch: tuple[int, ...], last: int) -> Array:
    """Return an array with one axis for all states before its `last` own."""
    own = x.shape[x.ndim - last :]
    whole = x if x.shape == batch + own else np.broadcast_to(x, batch + own)
    return whole.reshape(-1, *own)


def _slices(part: slice, count: int, block: int) -> Iterator[slice]:
    """Return blocks of states of a part."""
    for first in range(part.start, min(part.stop, count), block):
        yield slice(first, min(first + block, part.stop, count))


def _by_runs(
    model: Model,
    inputs: dict[str, ArrayLike],
    solve: Array | None,
    slopes: Array,
    f_ext: ArrayLike | None,
    threads: int,
    memory: Array | None,
    leaving: tuple[Integers, Integers],
) -> Array:
    """Return what leaves the kernel for a tree, (..., numbers)."""
    require_threads(threads)
    n, batch, lists = model.nv, slopes.shape[:-2], solving_of(model).forces
    values = memory_for((*batch, int(leaving[0][:, 2].sum())), slopes.dtype, memory)
    count, entries = math.prod(batch), pattern_of(model).indices.shape[1]
    if values.size == 0:
        return values
    results, most = values.reshape(count, -1), max(LANES, _BLOCK // entries // LANES * LANES)
    states = [_flat(shaped(x, model.nq if name == "q" else n, name, model), batch, 1) for name, x in inputs.items()]
    states.append(np.empty((count, 0)) if solve is None else _flat(solve, batch, 2).reshape(count, -1))
    states.append(_flat(slopes, batch, 2).reshape(count, -1))
    wrench = None if f_ext is None else _flat(as_numbers(f_ext, "f_ext"), batch, 2)

    def run(part: slice) -> None:
        numbers = np.empty(min(most, count) * entries + LANES)  # the kernel looks a few numbers beyond
        for own in _slices(part, count, most):
            q, qd, qdd, *given = (np.require(x[own], requirements=["C", "W"]) for x in states)
            forces = numbers[: len(q) * entries].reshape(-1, entries)
            found = _packed(model, q, qd, qdd, None if wrench is None else wrench[own], 1, forces)
            if found is not forces:
                forces[:] = found
            _solved(model.table, q, *given, numbers, *lists, *leaving, results[own])

    over_parts(threads, count, run)
    return values


def _fill(
    model: Model,
    states: list[Array],
    matrices: Sequence[Array],
    y: Array | None,
    wrench: Array | None,
    found: Sequence[Array],
    scratch: Array | None,
) -> None:
    """Fill `found` for a few states, by the memory of `scratch`."""
    solve, *slopes = matrices
    q, qd, qdd = states
    vectors = None if y is None else (y[..., None, :] @ solve)[..., 0, :]
    d = _inverse(model, q, qd, qdd, vectors, wrench, 1, scratch)
    if y is None:
        slopes = [x[..., None, :, :] for x in slopes]
    dq_dq, dq_dqd, dqd_dqd, dq_dgiven = found
    bent = np.matmul(d.dq_dqdd, slopes[0], out=dq_dgiven)
    np.add(d.dq_dq, bent, out=dq_dq)
    np.add(dq_dq, np.swapaxes(bent, -1, -2), out=dq_dq)
    np.matmul(d.dq_dqdd, slopes[1], out=dq_dqd)
    np.add(dq_dqd, d.dq_dqd, out=dq_dqd)
    np.copyto(dqd_dqd, d.dqd_dqd)
    np.matmul(d.dq_dqdd, slopes[2], out=dq_dgiven)
    if y is None:
        for x in found:
            x[...] = (solve @ x.reshape(*x.shape[:-2], -1)).reshape(x.shape)


def user_second_derivatives(
    model: Model,
    dq_dq: Array,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    vector: ArrayLike | None,
    f_ext: ArrayLike | None,
    threads: int,
) -> tuple[Array, Array, Array, Array]:
    """Return what `SecondDerivatives` holds, for a model with user-defined joints, from first derivatives.

    tau is quadratic in qd and linear in qdd, so that derivatives of its derivatives along these are differences over
    any step, without error but rounding. Only those along q twice are differences over a small one.

    `dq_dq` is right for pairs of coordinates of other joints: whatever lies beyond these turns with them as a body.
    """
    n = model.nv
    q, qd, qdd = shaped(q, model.nq, "q", model), shaped(qd, n, "qd", model), shaped(qdd, n, "qdd", model)
    slices = [joint.v_slice for joint in model.joints if joint.type.custom is not None]  # also of coupled ones
    own = sorted({k for part in slices for k in range(part.start, part.stop)})
    y = None if vector is None else as_numbers(vector, "vector")
    wrench = None if f_ext is None else as_numbers(f_ext, "f_ext")[..., None, :, :]

    def contracted(along: Array) -> Array:
        """From (..., k, i, j) to what is returned of tau_i along j and k."""
        found = np.moveaxis(along, -3, -1)
        return found if y is None else np.einsum("...i,...ijk->...jk", y, found)

    def one(q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return dq and dqd without gravity and wrenches."""
        found = inverse_dynamics_derivatives(model.without_gravity(), q, qd, qdd, threads=threads)
        return found.dq, found.dqd

    units, still, q1, qd1 = np.eye(n), model.zero_velocity, q[..., None, :], qd[..., None, :]
    slope: Array = np.zeros(())
    for size, weight in enumerate(WEIGHTS, 1):
        step = size * _STEP * units[own]
        ahead, behind = (
            inverse_dynamics_derivatives(
                model, model.integrate(q1, s * step), qd1, qdd[..., None, :], wrench, threads=threads
            ).dq
            for s in (1.0, -1.0)
        )
        slope = slope + weight / _STEP * (ahead - behind)
    part = contracted(slope)
    between = 0.5 * (part[..., own, :] + np.swapaxes(part[..., own, :], -1, -2))
    dq_dq = dq_dq.copy()
    dq_dq[..., own] = part
    dq_dq[..., own, :] = np.swapaxes(part, -1, -2)
    dq_dq[..., np.array(own)[:, None], own] = between

    speed = np.abs(qd1).max(axis=-1, keepdims=True, initial=0.0)
    speed = np.where(speed > 0.0, speed, 1.0)
    ahead, behind = (one(q1, qd1 + s * speed * units, still)[0] for s in (1.0, -1.0))
    dq_dqd = contracted((ahead - behind) / (2.0 * speed[..., None]))
    ahead, behind = (one(q1, s * units, still)[1] for s in (1.0, -1.0))
    twice = contracted((ahead - behind) / 2.0)
    dqd_dqd = 0.5 * (twice + np.swapaxes(twice, -1, -2))
    dq_dqdd = contracted(one(q1, still, units)[0])

    def whole(x: Array) -> Array:
        return np.array(np.broadcast_to(x, dq_dq.shape))

    return dq_dq, whole(dq_dqd), whole(dqd_dqd), whole(dq_dqdd)
