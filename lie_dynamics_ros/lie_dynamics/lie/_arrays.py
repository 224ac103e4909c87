"""Input checks shared by the modules of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

#: Real or complex array. Complex values carry complex-step derivatives through the analytic functions.
Array = npt.NDArray[Any]


def as_array(value: npt.ArrayLike, tail: tuple[int, ...], name: str) -> Array:
    """Return `value` as a float64 (or complex128) array of shape (..., *tail) without NaN or infinity.

    Raises
    ------
    InputError
        If the type is not numeric, the trailing shape differs or an entry is not finite.
    """
    array = np.asarray(value)
    if array.dtype != np.float64 and array.dtype != np.complex128:
        if array.dtype.kind not in "biufc":
            message = f"{name}: numbers expected, got an array of type {array.dtype}"
            raise InputError(message, name=name, value=value, expected="numbers")
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if array.shape[array.ndim - len(tail) :] != tail or array.ndim < len(tail):
        expected = "(..., " + ", ".join(str(n) for n in tail) + ")"
        raise InputError(
            f"{name}: shape {expected} expected, got {array.shape}", name=name, value=array.shape, expected=expected
        )
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{name}: finite numbers expected, got {array[where]} at index {where}",
            name=name,
            value=array[where],
            expected="finite numbers",
        )
    return array


def as_real(value: npt.ArrayLike, tail: tuple[int, ...], name: str) -> npt.NDArray[np.float64]:
    """Like `as_array`, for functions that are not analytic: refuses complex input."""
    array = as_array(value, tail, name)
    if array.dtype.kind == "c":
        message = f"{name}: real numbers expected, got complex ones"
        raise InputError(message, name=name, value=value, expected="real numbers")
    return array


def numbers(value: object) -> npt.NDArray[np.float64]:
    """Return `value` as a float64 array; a single NaN for what is no array of numbers, so that one check will do."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.asarray(np.nan)


def assemble(rows: list[list[Array]]) -> Array:
    """Return the matrices made of the given blocks (..., r, c); batch axes of the blocks are broadcast."""
    blocks = [block for row in rows for block in row]
    batch = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    heights = [row[0].shape[-2] for row in rows]
    widths = [block.shape[-1] for block in rows[0]]
    matrix = np.empty((*batch, sum(heights), sum(widths)), dtype=np.result_type(*blocks))
    top = 0
    for row, height in zip(rows, heights, strict=True):
        left = 0
        for block, width in zip(row, widths, strict=True):
            matrix[..., top : top + height, left : left + width] = block
            left += width
        top += height
    return matrix


def matrix_of(entries: list[Array], rows: int) -> Array:
    """Return matrices (..., rows, columns) of their entries (...), row by row."""
    flat = np.stack(entries, axis=-1)
    return flat.reshape(*flat.shape[:-1], rows, len(entries) // rows)
