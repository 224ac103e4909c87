"""Input checks shared by the modules of this room."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..arrays import AnyArray, Array, ArrayLike
from ..errors import InputError

#: Axes that numpy can broadcast.
MOST_AXES = 32


def as_numbers(value: object, name: str) -> AnyArray:
    """Return `value` as a float64 or complex128 array of any shape.

    Raises InputError for what is no array of numbers: text, even of digits, dates, masked arrays, whose masks would be
    lost, more axes than numpy can broadcast.
    """
    if type(value) is np.ndarray and value.dtype == np.float64 and value.ndim <= MOST_AXES:
        return value
    try:
        array = np.asarray(value)
        numeric = array.dtype.kind in "biufc" or (
            array.dtype.kind == "O" and not any(isinstance(x, (str, bytes)) for x in array.flat)
        )
        if numeric and not isinstance(value, np.ma.MaskedArray) and array.ndim <= MOST_AXES:
            return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    hint = "; tensors and tracers are taken by autodiff.torch_functions and autodiff.jax_functions"
    hint = hint if type(value).__module__.partition(".")[0] in ("torch", "jax", "jaxlib") else ""
    raise InputError(f"{name}: an array of numbers is expected, got {value!r}{hint}", name=name, value=value)


def flatten_batch(array: AnyArray) -> AnyArray:
    """Return an array (..., n) as a list of states (count, n), of none or of no coordinates too."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def as_array(value: ArrayLike, tail: tuple[int, ...], name: str) -> AnyArray:
    """Return `value` as a float64 (or complex128) array of shape (..., *tail) without NaN or infinity.

    Raises InputError if the type is not numeric, the trailing shape differs or an entry is not finite.
    """
    array = as_numbers(value, name)
    if array.shape[array.ndim - len(tail) :] != tail or array.ndim < len(tail):
        expected = "(..., " + ", ".join(str(n) for n in tail) + ")"
        raise InputError(
            f"{name}: shape {expected} expected, got {array.shape}", name=name, value=array.shape, expected=expected
        )
    if array.size <= 16 and array.dtype == np.float64 and math.isfinite(sum(array.ravel().tolist())):
        return array  # plain numbers take a third of the time of arrays
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{name}: finite numbers expected, got {array[where]} at index {where}",
            name=name,
            value=array[where],
            expected="finite numbers",
        )
    return array


def as_real(value: ArrayLike, tail: tuple[int, ...], name: str) -> Array:
    """Like `as_array`, for functions that are not analytic: refuses complex input."""
    return real_numbers(as_array(value, tail, name), name)


def own_real(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return a copy of `value`, read only, of exactly this shape, real and finite; errors as `as_real`."""
    if not (
        type(value) is np.ndarray
        and value.dtype == np.float64
        and value.shape == shape
        and math.isfinite(sum(value.ravel().tolist()))
    ):
        value = as_real(value, shape, name).reshape(shape)
    own = value.copy()
    own.flags.writeable = False
    return own


def real_numbers(value: object, name: str) -> Array:
    """Like `as_numbers`, for functions that are not analytic: refuses complex input."""
    array = as_numbers(value, name)
    if array.dtype.kind == "c":
        message = f"{name}: real numbers expected, got complex ones"
        raise InputError(message, name=name, value=value, expected="real numbers")
    return array


def numbers(value: object) -> Array:
    """Return `value` as a float64 array; a single NaN for what is no array of numbers, so that one check will do."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.asarray(np.nan)


def number_of(name: str, value: object, expected: str, good: Callable[[float], bool]) -> float:
    """Return a number, or raise an InputError where it is none, or none that is `good`: `expected` says which are."""
    number = numbers(value)
    if isinstance(value, (bool, str, bytes)) or number.ndim or not good(float(number)):
        raise InputError(f"{name}: {expected} is expected, got {value!r}", name=name, value=value, expected=expected)
    return float(number)


def count_of(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`, or raise an InputError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        expected = f"a whole number from {least} to {most}"
        raise InputError(f"{name}: {expected} is expected, got {value!r}", name=name, value=value, expected=expected)
    return int(value)


def assemble(rows: list[list[AnyArray]]) -> AnyArray:
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


def matrix_of(entries: list[AnyArray], rows: int) -> AnyArray:
    """Return matrices (..., rows, columns) of their entries (...), row by row."""
    flat = np.stack(entries, axis=-1)
    return flat.reshape(*flat.shape[:-1], rows, len(entries) // rows)
