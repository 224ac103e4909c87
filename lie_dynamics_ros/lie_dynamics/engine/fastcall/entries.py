"""Entry points of kernels that the interpreter calls without numba's dispatcher in between.

For kernels that take a microsecond, finding the compiled version for the types of the arguments and unpacking them
takes a quarter as long as the arithmetic. An entry point here is a C function of the interpreter's fast calling
convention that knows what it wants: it compares the arguments with that, reads where their numbers lie, and calls the
kernel. It can also make the arrays of the results.

For this it reads arrays as they lie in memory. `known_layout` compares that once in each process with what Python says
of some arrays; where anything differs, numba's dispatcher serves.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

# Where things lie in an array and in its dtype [bytes].
_TYPE, _DATA, _NDIM, _DIMS, _DESCR, _FLAGS, _ORDER, _NUMBER = 8, 16, 24, 32, 56, 64, 26, 28
_CONTIGUOUS_ALIGNED, _SWAPPED = 0x101, ord(">")
_NUMBERS = {"float64": 12, "boolean": 0, "int64": np.dtype(np.int64).num}  # numbers of the types in numpy
_API_VERSION, _API_NEW = 0, 93  # numpy's table of C functions: version, and the maker of arrays
_KNOWN_VERSIONS = (0x01000009, 0x02000000)
_MISFIT = -1  # returned for arguments that are not what is wanted
_NO_MEMORY = -2  # the only exception that a kernel knows
_FASTCALL = 0x80  # the interpreter's calling convention: (self, arguments, their number)

Kinds = list[tuple[str, int]]


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_kept: list[Any] = []  # what the interpreter only points to


@cache
def known_layout() -> bool:
    """Return whether arrays lie in memory here as this module believes."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False or np.ndarray.__basicsize__ < _FLAGS + 4:
        return False
    if np.dtype.__basicsize__ < _NUMBER + 4:
        return False
    grid = np.zeros((3, 5))
    samples = (grid, grid[:, ::2], grid.T, np.zeros(0), np.zeros(2, bool), np.zeros(4, ">f8"), np.zeros((2, 1, 7), int))
    return all(map(_as_believed, samples)) and _new_array_address() != 0


def _as_believed(a: Any) -> bool:
    def read(kind: Any, address: int) -> Any:
        return kind.from_address(address).value

    at, word, number = id(a), ctypes.c_int64, ctypes.c_int32
    if read(word, at + _TYPE) != id(np.ndarray) or read(word, at + _DATA) != a.__array_interface__["data"][0]:
        return False
    if read(number, at + _NDIM) != a.ndim or read(word, at + _DESCR) != id(a.dtype):
        return False
    dims, flags = read(word, at + _DIMS), read(number, at + _FLAGS)
    if [read(word, dims + 8 * k) for k in range(a.ndim)] != list(a.shape):
        return False
    if (flags & _CONTIGUOUS_ALIGNED) != 0x1 * a.flags.c_contiguous + 0x100 * a.flags.aligned:
        return False
    order = chr(read(ctypes.c_uint8, id(a.dtype) + _ORDER))
    return bool(order == a.dtype.byteorder and read(number, id(a.dtype) + _NUMBER) == a.dtype.num)


def _new_array_address() -> int:
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


def make_entry(
    function: Callable[..., int], kinds: Kinds, fresh: tuple[int, int], options: dict[str, Any], quick: bool
) -> Callable[..., Any]:
    """Compile the entry point of a kernel, or load it, and return it as a function of the interpreter.

    Parameters
    ----------
    function : callable
        The kernel, a function that returns a status.
    kinds : list of (name, int)
        Types and numbers of axes of its arguments.
    fresh : (int, int)
        How many of its last arguments may be left out, and the column of the first row of the first argument that
        holds the number of their entries. The entry point then makes these vectors and returns them in place of the
        status, or None unless that is zero.
    options : dict
        Options for numba.
    quick : bool
        Whether the kernel keeps the interpreter lock.
    """
    from numba.core import sigutils

    from ..cache import enable_cache
    from ..compile import LINKED
    from .tools import DirectFunction

    entry = _source(function, kinds, *fresh, quick)
    arguments, result = sigutils.normalize_signature("intp(intp, intp, intp)")
    own = {k: v for k, v in options.items() if k not in LINKED}
    compiled = DirectFunction(entry, (arguments, result), locals={}, options=own)
    compiled.kernel = (function, {"inline": "always"} if quick else {**options, **LINKED})
    enable_cache(compiled, entry)
    compiled.compile()
    block = np.array([id(np.ndarray), _new_array_address(), id(None)], dtype=np.int64)
    name = function.__name__.encode()
    definition = _MethodDef(name, compiled.address, _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    _kept.append((compiled, definition, name))
    return make(ctypes.addressof(definition), block, None)  # type: ignore[no-any-return]


def _source(function: Any, kinds: Kinds, fresh: int, size: int, quick: bool) -> Any:
    """Return the Python function that numba makes the entry point from; its names are those of `direct_tools`."""
    total, given = len(kinds), len(kinds) - fresh
    names = [f"a{k}" for k in range(total)]
    lines = ["def entry(block, arguments, count):", f"    constants = word(block, {_DATA})"]
    wrong = f"return from_long({_MISFIT})"
    lines.append(f"    if count != {total}" + (f" and count != {given}: {wrong}" if fresh else f": {wrong}"))
    if fresh:
        wrong += f" if count == {total} else hold(word(constants, 16))"
    for k, (kind, ndim) in enumerate(kinds):
        indent = "    "
        if k >= given:
            lines += [f"    if count == {given}:", f"        {names[k]} = new_vector(constants, size)"]
            lines += [f"        if {names[k]} == 0:"] + [f"            drop({name})" for name in names[given:k]]
            lines += ["            return 0", "    else:"]
            indent = "        "
        lines.append(f"{indent}{names[k]} = word(arguments, {8 * k})")
        lines.append(f"{indent}if not fits(constants, {names[k]}, {ndim}, {_NUMBERS[kind]}): {wrong}")
        if k == 0 and fresh:
            lines.append(f"    size = int(array_float64_2(a0)[0, {size}])")
    arrays = ", ".join(f"array_{kind}_{ndim}({name})" for name, (kind, ndim) in zip(names, kinds, strict=True))
    if quick:
        lines.append(f"    status = kernel({arrays})")
    else:
        lines += ["    thread = release()", "    try:", f"        status = kernel({arrays})"]
        lines += ["    except Exception:", f"        status = {_NO_MEMORY}", "    take_back(thread)"]
        lines += [f"    if status == {_NO_MEMORY}:", "        return no_memory()"]
    if fresh:
        made = names[given:]
        lines += [f"    if count == {given}:", "        if status != 0:"]
        lines += [f"            drop({name})" for name in made]
        lines.append("            return hold(word(constants, 16))")
        lines.append(f"        return {made[0] if fresh == 1 else f'pair({made[0]}, {made[1]})'}")
    lines.append("    return from_long(status)")
    space: dict[str, Any] = {}
    exec(compile("\n".join(lines), function.__code__.co_filename, "exec"), space)
    entry = space["entry"]
    entry.__module__ = function.__module__
    entry.__name__ = entry.__qualname__ = f"{function.__name__}_entry"
    return entry
