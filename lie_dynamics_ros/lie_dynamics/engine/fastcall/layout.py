"""How numpy lays arrays out in memory: all that is read there without asking numpy.

`known_layout` compares it once in each process with what Python says of some arrays. Where anything differs, or the
environment variable `SWITCH` is 0, nothing is read so, and numba's dispatcher serves.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from functools import cache
from typing import Any

import numpy as np

#: Environment variable: 0 to call kernels by numba's dispatcher, with the same results.
SWITCH = "LIE_DYNAMICS_FAST_CALLS"

# Where things lie in an array and in its dtype [bytes].
TYPE, DATA, NDIM, DIMS, DESCR, FLAGS, ORDER, NUMBER = 8, 16, 24, 32, 56, 64, 26, 28
CONTIGUOUS_ALIGNED, SWAPPED = 0x101, ord(">")
NUMBERS = {"float64": 12, "boolean": 0, "int64": np.dtype(np.int64).num}  # numbers of the types in numpy
_API_VERSION, _API_NEW = 0, 93  # numpy's table of C functions: version, and the maker of arrays
_KNOWN_VERSIONS = (0x01000009, 0x02000000)


@cache
def known_layout() -> bool:
    """Return whether arrays lie in memory here as this module believes, and may be read so."""
    if os.environ.get(SWITCH) == "0":
        return False
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False or np.ndarray.__basicsize__ < FLAGS + 4:
        return False
    if np.dtype.__basicsize__ < NUMBER + 4:
        return False
    grid = np.zeros((3, 5))
    samples = (grid, grid[:, ::2], grid.T, np.zeros(0), np.zeros(2, bool), np.zeros(4, ">f8"), np.zeros((2, 1, 7), int))
    return all(map(_as_believed, samples)) and new_array_address() != 0


def _as_believed(a: Any) -> bool:
    def read(kind: Any, address: int) -> Any:
        return kind.from_address(address).value

    at, word, number = id(a), ctypes.c_int64, ctypes.c_int32
    if read(word, at + TYPE) != id(np.ndarray) or read(word, at + DATA) != a.__array_interface__["data"][0]:
        return False
    if read(number, at + NDIM) != a.ndim or read(word, at + DESCR) != id(a.dtype):
        return False
    dims, flags = read(word, at + DIMS), read(number, at + FLAGS)
    if [read(word, dims + 8 * k) for k in range(a.ndim)] != list(a.shape):
        return False
    if (flags & CONTIGUOUS_ALIGNED) != 0x1 * a.flags.c_contiguous + 0x100 * a.flags.aligned:
        return False
    order = chr(read(ctypes.c_uint8, id(a.dtype) + ORDER))
    return bool(order == a.dtype.byteorder and read(number, id(a.dtype) + NUMBER) == a.dtype.num)


def new_array_address() -> int:
    """Return the address of numpy's function that makes an array, or 0 where it is not known."""
    try:
        core = np._core if hasattr(np, "_core") else np.core
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        table = pointer(core.multiarray._ARRAY_API, None)
        version = ctypes.CFUNCTYPE(ctypes.c_uint)(ctypes.c_void_p.from_address(table + 8 * _API_VERSION).value or 0)
    except (AttributeError, ValueError, TypeError):
        return 0
    if version() not in _KNOWN_VERSIONS:
        return 0
    return int(ctypes.c_void_p.from_address(table + 8 * _API_NEW).value or 0)
