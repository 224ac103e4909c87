"""Inputs of the algorithms: the slow path of every public function.

The fast path hands its arguments straight to a kernel, which checks shapes as it goes. Whatever it refuses (lists,
integers, batches to be broadcast, strided arrays, bad values) comes here. Arrays that kernels take as they are go the
short way: to look at everything that a caller may hand over takes some 15 us; after other work has filled the caches,
ten times as long, which is a good part of the time that a batch of ten thousand states takes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..engine.compile import COMPILED
from ..errors import GroupError, InputError, SingularityError
from ..lie._arrays import as_numbers
from ..model import layout
from ..model.arguments import require_model
from ..model.configuration import coordinate_name, require_finite, shaped
from ..model.coupling import MimicCoupling
from ..model.model import Model
from ..model.user_joints import extend

#: Stands for "no external wrenches" in a call for one state.
NO_WRENCH = np.zeros((0, 0))

#: Stands for "no mask": not that of a robot without coordinates.
NO_MASK = np.zeros(0, np.bool_)

_FLOAT = np.dtype(np.float64)


def evaluate_contiguous(
    model: Model,
    batch_kernel: Callable[..., int],
    inputs: dict[str, Any],
    output_shapes: list[str | tuple[int, ...]],
    f_ext: Any,
    given: npt.NDArray[np.bool_],
    single: Callable[..., int] | None,
) -> list[Array] | None:
    """Run a kernel over a batch of plain arrays, or over a state alone where there is a kernel for one of any size.

    Parameters are those of `inputs.evaluate`.

    Returns
    -------
    list of ndarray, or None
        The outputs; None where the inputs are not plain, or where something is wrong with them.
    """
    if model.coupling is not None or model.custom_joints:
        return None
    batch = _batch(model, inputs, f_ext)
    if batch == ():
        if single is None:
            return None
        outputs = [np.empty(output_shape(tail, model.nv)) for tail in output_shapes]
        state = list(inputs.values())
        state.insert(3, NO_WRENCH if f_ext is None else f_ext)
        mask = () if given is NO_MASK else (given,)
        return outputs if single(model.table, *state, *mask, *outputs) == layout.OK else None
    if batch is None or batch == (0,):
        return None
    (count,) = batch
    outputs = [np.empty((count, *output_shape(tail, model.nv))) for tail in output_shapes]
    none = np.empty((count, 0))
    arrays = [*inputs.values(), none, none, none]
    load = none if f_ext is None else f_ext.reshape(count, 6 * model.n_bodies)
    targets = [*(o.reshape(count, o.size // count) for o in outputs), none]
    status = batch_kernel(model.table, arrays[0], arrays[1], arrays[2], load, arrays[3], given, targets[0], targets[1])
    return outputs if status == layout.OK else None


def _batch(model: Model, inputs: dict[str, Any], f_ext: Any) -> tuple[int, ...] | None:
    """Return the batch axes, at most one, that all inputs share; None where kernels do not take them as they are."""
    arrays = list(inputs.values())
    if not all(map(_is_plain, arrays)) or not 1 <= arrays[0].ndim <= 2:
        return None
    batch: tuple[int, ...] = arrays[0].shape[:-1]
    if arrays[0].shape[-1] != model.nq or any(x.shape != (*batch, model.nv) for x in arrays[1:]):
        return None
    if f_ext is not None and not (_is_plain(f_ext) and f_ext.shape == (*batch, model.n_bodies, 6)):
        return None
    return batch


def _is_plain(x: Any) -> bool:
    """Return whether kernels are compiled for this array."""
    return type(x) is np.ndarray and x.dtype is _FLOAT and x.flags.carray


def output_shape(tail: str | tuple[int, ...], n: int) -> tuple[int, ...]:
    """Return the shape of an output for one state: "force", "matrix", "columns" or a shape."""
    if tail == "force":
        return (n,)
    if tail == "matrix":
        return (n, n)
    return (6, n) if tail == "columns" else tail  # type: ignore[return-value]


def evaluate(
    model: Model,
    batch_kernel: Callable[..., int],
    inputs: dict[str, Any],
    output_shapes: list[str | tuple[int, ...]],
    f_ext: npt.ArrayLike | None = None,
    given: npt.NDArray[np.bool_] = NO_MASK,
    threads: int = 1,
    diagnose: Callable[..., int] | None = None,
    single: Callable[..., int] | None = None,
    parameters: Array | None = None,
    extension: Callable[..., Array] = extend,
) -> list[Array]:
    """Validate and broadcast the inputs, run a kernel over all states, and return its outputs.

    Parameters
    ----------
    model : Model
        The model.
    batch_kernel : callable
        Kernel made by `kernels.common.batch.make_batch`.
    inputs : dict
        "q" first (nq), then names and values of up to three arrays (nv), in the kernel's order.
    output_shapes : list
        Shape of each of the one or two outputs for one state; "force" (nv,), "matrix" (nv, nv) and "columns" (6, nv)
        are reduced to the independent coordinates where mimic joints are coupled.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches.
    given : ndarray of bool
        Mask, the same for all states.
    threads : int
        Number of threads that share a batch.
    diagnose : callable, optional
        Kernel for one state, same inputs, whose status says why a result is not finite.
    single : callable, optional
        Kernel for one state of any size, same inputs, which serves a state alone.
    parameters : ndarray, shape (k,) or (states, k), optional
        One more array, the same for all states or one row for each, which the kernel takes after the others.
    extension : callable
        ``extension(model, q, qd)`` appends to q what the kernel needs of user-defined joints.
    """
    require_model(model)
    if not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads: at least 1 is expected, got {threads!r}", name="threads", value=threads)
    if parameters is None and threads == 1:
        found = evaluate_contiguous(model, batch_kernel, inputs, output_shapes, f_ext, given, single)
        if found is not None:
            return found
    arrays = [shaped(value, model.nq if name == "q" else model.nv, name, model) for name, value in inputs.items()]
    names = list(inputs)
    if f_ext is not None:
        arrays.append(_shaped_wrench(model, f_ext))
        names.append("f_ext")
    try:
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    except ValueError:
        listed = ", ".join(f"{name} {a.shape}" for name, a in zip(names, arrays, strict=True))
        raise InputError(f"batch dimensions do not fit each other: {listed}") from None
    if model.coupling is not None:
        for name, a in zip(names, arrays, strict=True):  # before coupling smears NaN over all joints
            _require_finite(model, name, a.reshape(-1, a.shape[-1]))
        arrays = [_expanded(model.coupling, name, a) for name, a in zip(names, arrays, strict=True)]
    kind = np.result_type(*arrays)
    if kind != np.float64 and COMPILED:
        raise InputError("complex numbers are taken by the plain-Python kernels only: set NUMBA_DISABLE_JIT=1")
    count = int(np.prod(batch))
    flat = {name: _spread(a, batch, kind).reshape(count, a.shape[-1]) for name, a in zip(names, arrays, strict=True)}
    q = flat["q"]
    if model.custom_joints:
        for name, array in flat.items():
            _require_finite(model, name, array, given)
        q = extension(model, q, flat.get("qd", np.zeros((count, model.rows.shape[0] - 1))))
    n = int(model.rows[0, layout.N_V])
    outputs = [np.empty((*batch, *output_shape(tail, n)), kind) for tail in output_shapes]
    if count == 0:
        return _for_caller(model, output_shapes, outputs)
    none = np.empty((count, 0), kind)
    others = [array for name, array in flat.items() if name not in ("q", "f_ext")]
    if parameters is not None:
        others.append(_spread(parameters, (count,), kind))
    own = [q, *others]
    others += [none] * (3 - len(others))
    data = [q, others[0], others[1], flat.get("f_ext", none), others[2]]
    targets = [o.reshape(count, -1) if o.size else none for o in outputs] + [none] * (2 - len(outputs))
    if single is not None and batch == ():  # lanes for other states would be idle, and their memory slow
        results = [t[0] for t in targets[: len(output_shapes)]]
        status = _run_one(model, single, own, flat.get("f_ext"), given, results, 0)
    else:
        status = _run(model, batch_kernel, data, given, targets, threads)
    if status != layout.OK:  # only now is it worth the time to look for what was wrong
        for name, array in flat.items():
            _require_finite(model, name, array, given)
        _check_quaternions(model, arrays[0])
        if diagnose is not None:
            bad = int(np.argmin(np.isfinite(targets[0]).all(axis=-1) & np.isfinite(targets[1]).all(axis=-1)))
            results = [np.empty(t.shape[1], kind) for t in targets[: len(output_shapes)]]
            status = _run_one(model, diagnose, own, flat.get("f_ext"), given, results, bad)
        _refuse(model, status)
    return _for_caller(model, output_shapes, outputs)


def _for_caller(model: Model, output_shapes: list[str | tuple[int, ...]], outputs: list[Array]) -> list[Array]:
    """Return the outputs in the independent coordinates."""
    if model.coupling is None:
        return outputs
    return [_reduced(model.coupling, tail, output) for tail, output in zip(output_shapes, outputs, strict=True)]


def _expanded(coupling: MimicCoupling, name: str, array: Array) -> Array:
    """Return the coordinates or rates of all joints from the independent ones."""
    if name == "f_ext":
        return array
    if name == "q":
        return np.asarray(array @ coupling.positions.T + coupling.offset)
    return np.asarray(array @ coupling.rates.T)


def _reduced(coupling: MimicCoupling, tail: str | tuple[int, ...], array: Array) -> Array:
    """Return what of an output belongs to the independent coordinates."""
    if not isinstance(tail, str):
        return array
    array = array @ coupling.rates
    return np.asarray(coupling.rates.T @ array if tail == "matrix" else array)


def _spread(array: Array, batch: tuple[int, ...], kind: Any) -> Array:
    """Broadcast, as a writable contiguous array: the only kind that kernels are compiled for."""
    shape = (*batch, array.shape[-1])
    if array.shape == shape and array.dtype == kind and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(np.broadcast_to(array, shape), kind, order="C")


def _run(
    model: Model,
    batch_kernel: Callable[..., int],
    data: list[Array],
    given: npt.NDArray[np.bool_],
    targets: list[Array],
    threads: int,
) -> int:
    count = data[0].shape[0]
    if threads == 1:
        return int(batch_kernel(model.table, *data, given, *targets))

    def run(part: slice) -> int:
        return int(batch_kernel(model.table, *(a[part] for a in data), given, *(t[part] for t in targets)))

    return int(max(_over_parts(threads, count, run)))


def _over_parts(threads: int, count: int, run: Callable[[slice], Any]) -> list[Any]:
    """Return what `run` finds for each part of a batch, in threads; kernels let go of the interpreter lock."""
    chunk = -(-count // threads)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, (slice(start, start + chunk) for start in range(0, count, chunk))))


def in_parts(threads: int, function: Callable[..., tuple[Array, ...]], *arrays: Array) -> tuple[Array, ...]:
    """Return the arrays that a function makes of arrays (count, ...), state by state, in threads."""
    if threads == 1 or len(arrays[0]) < 2:
        return function(*arrays)
    parts = _over_parts(threads, len(arrays[0]), lambda part: function(*(a[part] for a in arrays)))
    return tuple(np.concatenate(results) for results in zip(*parts, strict=True))


def _run_one(
    model: Model,
    single: Callable[..., int],
    data: list[Array],
    f_ext: Array | None,
    given: npt.NDArray[np.bool_],
    results: list[Array],
    k: int,
) -> int:
    """Run a kernel for single states on state `k`."""
    state = [array[k] for array in data]
    state.insert(3, NO_WRENCH if f_ext is None else f_ext[k].reshape(-1, 6))
    mask = () if given is NO_MASK else (given,)
    return int(single(model.table, *state, *mask, *results))


def _shaped_wrench(model: Model, f_ext: npt.ArrayLike) -> Array:
    """Return external wrenches as (..., 6 n_bodies)."""
    wrench = as_numbers(f_ext, "f_ext")
    if wrench.ndim < 2 or wrench.shape[-2:] != (model.n_bodies, 6):
        raise InputError(
            f"f_ext: shape (..., {model.n_bodies}, 6) is expected by model {model.name!r}, got {wrench.shape}",
            name="f_ext",
            value=wrench.shape,
            expected=f"(..., {model.n_bodies}, 6)",
        )
    return wrench.reshape(*wrench.shape[:-2], 6 * model.n_bodies)


def _require_finite(model: Model, name: str, array: Array, given: npt.NDArray[np.bool_] = NO_MASK) -> None:
    """Raise an error that names the joint or body where a batch of inputs holds NaN or infinity."""
    if given.size and name in ("qdd", "tau"):  # what is not read may be anything
        array = np.where(given if name == "qdd" else ~given, array, 0.0)
    if name != "f_ext":
        require_finite(array, name, model)
    elif not np.isfinite(array).all():
        state, entry = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
        body = model.body_names[entry // 6]
        value = array[state, entry]
        raise InputError(f"f_ext: finite numbers are expected, got {value} on body {body!r}", name=body, value=value)


def _check_quaternions(model: Model, q: Array) -> None:
    for joint in model.joints:
        if joint.kind in ("spherical", "free"):
            start = joint.q_slice.start
            part = q[..., start : start + 4]
            with np.errstate(over="ignore"):
                norm = np.sqrt((part * part).sum(axis=-1))
                bad = np.abs(norm * norm - 1.0) >= layout.QUATERNION_TOLERANCE
            if bad.any():
                worst = part[bad][0]
                raise GroupError(
                    f"joint {joint.name!r}: a unit quaternion (x, y, z, w) is expected in q, got {worst.tolist()} "
                    f"of norm {np.abs(norm[bad].flat[0]):.6g}",
                    name=joint.name,
                    value=worst,
                    expected="a unit quaternion",
                )


def _refuse(model: Model, status: int) -> None:
    row, code = divmod(status, layout.STATUS_STEP)
    if code == layout.OK:  # alone the state passes: round-off decides, so no digit of the result would be right
        raise SingularityError(f"model {model.name!r}: the articulated inertia is singular to round-off")
    if code == layout.SINGULAR:
        joint = coordinate_name(model, row - 1, False)
        raise SingularityError(
            f"joint {joint!r}: the articulated inertia along it vanishes, so a force gives no finite acceleration; "
            "a body with inertia beyond it, an armature, or a prescribed acceleration is expected",
            name=joint,
        )
    raise InputError(f"model {model.name!r}: the result overflows; the inputs are finite but too large")
