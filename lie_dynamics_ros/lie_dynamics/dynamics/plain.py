"""Arrays that kernels take as they are: the short way from a batch to its kernel.

To look at everything that a caller may hand over (`inputs`) takes some 15 us; after other work has filled the caches,
ten times as long, which is a good part of the time that a batch of ten thousand states takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..model import layout
from ..model.model import Model

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
