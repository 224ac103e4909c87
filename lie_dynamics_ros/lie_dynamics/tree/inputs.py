"""Inputs of the algorithms: the slow path of every public function.

The fast path hands its arguments straight to a kernel, which checks shapes as it goes. Whatever it
refuses (lists, integers, batches to be broadcast, strided arrays, bad values) comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GroupError, InputError, SingularityError
from ..kernels.compile import COMPILED
from ..model import layout
from ..model.configuration import coordinate_name, require_finite, shaped
from ..model.model import Model
from ..model.user_joints import extend

Array = npt.NDArray[np.float64]

#: Stands for "no external wrenches" in a call for one state.
NO_WRENCH = np.zeros((0, 6))


def evaluate(
    model: Model,
    single: Callable[..., int],
    batched: Callable[..., int],
    inputs: dict[str, Any],
    tails: list[tuple[int, ...]],
    f_ext: npt.ArrayLike | None = None,
    constants: tuple[Any, ...] = (),
    threads: int = 1,
) -> list[Array]:
    """Validate and broadcast the inputs, run a kernel over all states, and return its outputs.

    Parameters
    ----------
    model : Model
        The model.
    single, batched : callable
        Kernels for one state and for many: ``kernel(rows, q, *others[, f_ext], *constants, *outputs)``.
    inputs : dict
        "q" first (nq), then names and values of further arrays (nv).
    tails : list of tuple
        Shape of each output for one state.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrenches; pass NO_WRENCH for a kernel that takes them where there are none, None for one that does not.
    constants : tuple
        Further arguments of the kernel that are the same for all states.
    threads : int
        Number of threads that share a batch.
    """
    arrays = [shaped(value, model.nq if name == "q" else model.nv, name, model) for name, value in inputs.items()]
    wrench = None if f_ext is None else _checked_wrench(model, f_ext)
    shapes = [a.shape[:-1] for a in arrays] + ([] if wrench is None else [wrench.shape[:-2]])
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        named = ", ".join(f"{name} {a.shape}" for name, a in zip(inputs, arrays, strict=True))
        raise InputError(f"batch dimensions do not fit each other: {named}") from None
    kind = np.result_type(*arrays) if wrench is None else np.result_type(*arrays, wrench)
    if kind != np.float64 and COMPILED:
        raise InputError("complex numbers are taken by the plain-Python kernels only: set NUMBA_DISABLE_JIT=1")
    arrays = [_spread(a, (*batch, a.shape[-1]), kind) for a in arrays]
    if wrench is not None:
        arrays.append(_spread(wrench, (*batch, *wrench.shape[-2:]), kind))
    if model._custom:
        for name, a in zip(inputs, arrays, strict=False):
            require_finite(a, name, model)
        arrays[0] = extend(model, arrays[0], arrays[1] if len(arrays) > 1 else np.zeros((*batch, model.nv)))
    outputs = [np.empty((*batch, *tail), kind) for tail in tails]
    if batch == ():
        status = single(model._rows, *arrays, *constants, *outputs)
    else:
        count = int(np.prod(batch))
        flat = [a.reshape(count, *a.shape[len(batch) :]) for a in arrays]
        targets = [o.reshape(count, *o.shape[len(batch) :]) for o in outputs]
        status = _run_batch(model, batched, flat, constants, targets, threads) if count else layout.OK
    if status != layout.OK:  # only now is it worth the time to look for what was wrong
        for (name, value), array in zip(inputs.items(), arrays, strict=False):
            require_finite(np.asarray(value) if array is arrays[0] else array, name, model)
        if wrench is not None:
            _require_finite_wrench(model, wrench)
        _check_quaternions(model, arrays[0])
        _refuse(model, status)
    return outputs


def _spread(array: Array, shape: tuple[int, ...], kind: Any) -> Array:
    """Broadcast, as a writable contiguous array: the only kind that kernels are compiled for."""
    if array.shape == shape and array.dtype == kind and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(np.broadcast_to(array, shape), kind, order="C")


def _run_batch(
    model: Model, batched: Callable[..., int], flat: list[Array], constants: tuple[Any, ...], targets: list[Array], threads: int
) -> int:
    count = flat[0].shape[0]
    if threads < 1:
        raise InputError(f"threads: at least 1 is expected, got {threads}", name="threads", value=threads)
    chunk = -(-count // threads)
    parts = [slice(start, start + chunk) for start in range(0, count, chunk)]

    def run(part: slice) -> int:
        return int(batched(model._rows, *(a[part] for a in flat), *constants, *(t[part] for t in targets)))

    if len(parts) == 1:
        return run(parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:  # kernels let go of the interpreter lock
        return max(pool.map(run, parts))


def _checked_wrench(model: Model, f_ext: npt.ArrayLike) -> Array:
    if f_ext is NO_WRENCH:
        return NO_WRENCH
    try:
        wrench = np.asarray(f_ext, dtype=np.complex128 if np.iscomplexobj(f_ext) else np.float64)
    except (TypeError, ValueError):
        raise InputError(f"f_ext: an array of numbers is expected, got {f_ext!r}", name="f_ext") from None
    if wrench.ndim < 2 or wrench.shape[-2:] != (model.n_bodies, 6):
        raise InputError(
            f"f_ext: shape (..., {model.n_bodies}, 6) is expected by model {model.name!r}, got {wrench.shape}",
            name="f_ext",
            value=wrench.shape,
            expected=f"(..., {model.n_bodies}, 6)",
        )
    return wrench  # type: ignore[return-value]


def _require_finite_wrench(model: Model, wrench: Array) -> None:
    if not np.isfinite(wrench).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(wrench))[0])
        body = model.body_names[at[-2]]
        raise InputError(f"f_ext: finite numbers are expected, got {wrench[at]} on body {body!r} (index {at})", name=body)


def _check_quaternions(model: Model, q: Array) -> None:
    for joint in model.joints:
        if joint.kind in ("spherical", "free"):
            start = joint.q_slice.start
            part = q[..., start : start + 4]
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
    if code == layout.SINGULAR:
        joint = coordinate_name(model, row - 1, False)
        raise SingularityError(
            f"joint {joint!r}: the articulated inertia along it vanishes, so a force gives no finite acceleration; "
            "a body with inertia beyond it, an armature, or a prescribed acceleration is expected",
            name=joint,
        )
    raise InputError(f"model {model.name!r}: the result overflows; the inputs are finite but too large")
