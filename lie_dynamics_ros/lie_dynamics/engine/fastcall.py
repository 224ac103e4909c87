"""Entry points of kernels that the interpreter calls without numba's dispatcher in between.

For kernels that take a microsecond, finding the compiled version for the types of the arguments and unpacking them
takes a quarter as long as the arithmetic. An entry point here is a C function of the interpreter's fast calling
convention that knows what it wants: it compares the arguments with that, reads where their numbers lie, and calls the
kernel. It can also make the arrays of the results.

For this it reads arrays as they lie in memory. `known_layout` compares that once in each process with what Python says
of some arrays. Where anything differs, or the environment variable `SWITCH` is 0, nothing is read so, and numba's
dispatcher serves.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.core import sigutils
from numba.core.ccallback import CFunc

from .cache import enable_cache
from .compilers import kernel_compiler
from .helpers import LINKED, MISFIT

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
    """Return whether arrays lie in memory here as this module assumes, and may be read so."""
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


njit: Any = numba.njit  # its declared types know less than it takes
_Base: Any = CFunc


class DirectFunction(_Base):  # type: ignore[misc]
    """A compiled entry point; what it is compiled from is looked up only if it is not in the cache."""

    #: The function and numba's options for it.
    kernel: tuple[Any, dict[str, Any]]

    def _compile_uncached(self) -> Any:
        function, options = self.kernel
        self._pyfunc.__globals__.update(_tools(), kernel=njit(**options)(function))
        return super()._compile_uncached()


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


def make_entry(
    function: Callable[..., int], kinds: Kinds, fresh: tuple[int, tuple[int, ...]], options: dict[str, Any], quick: bool
) -> Callable[..., Any]:
    """Compile the entry point of a kernel, or load it, and return it as a function of the interpreter.

    Parameters
    ----------
    function : callable
        The kernel, a function that returns a status.
    kinds : list of (name, int)
        Types and numbers of axes of its arguments.
    fresh : (int, tuple of int)
        How many of its last arguments may be left out, and their shape: columns of the first row of the first argument
        that hold it, or negative numbers for what is `fixed`. The entry point then makes these arrays and returns them
        in place of the status, or None unless that is zero.
    options : dict
        Options for numba.
    quick : bool
        Whether the kernel keeps the interpreter lock.
    """
    entry = _source(function, kinds, *fresh, quick)
    arguments, result = sigutils.normalize_signature("intp(intp, intp, intp)")
    own = {k: v for k, v in options.items() if k not in LINKED}
    compiled = DirectFunction(entry, (arguments, result), locals={}, options=own, pipeline_class=kernel_compiler)
    compiled.kernel = (function, {"inline": "always"} if quick else {**options, **LINKED})
    enable_cache(compiled, entry)
    compiled.compile()
    block = np.array([id(np.ndarray), new_array_address(), id(None)], dtype=np.int64)
    name = function.__name__.encode()
    definition = _MethodDef(name, compiled.address, _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    _kept.append((compiled, definition, name))
    return make(ctypes.addressof(definition), block, None)  # type: ignore[no-any-return]


def _source(function: Any, kinds: Kinds, fresh: int, sizes: tuple[int, ...], quick: bool) -> Any:
    """Return the Python function that numba makes the entry point from; its names are those of `_tools`."""
    total, given = len(kinds), len(kinds) - fresh
    names = [f"a{k}" for k in range(total)]
    lines = ["def entry(block, arguments, count):", f"    constants = word(block, {DATA})"]
    shape = ", ".join(f"int(row[0, {size}])" if size >= 0 else str(-size) for size in sizes)
    wrong = f"return from_long({MISFIT})"
    lines.append(f"    if count != {total}" + (f" and count != {given}: {wrong}" if fresh else f": {wrong}"))
    if fresh:
        wrong += f" if count == {total} else hold(word(constants, 16))"
    for k, (kind, ndim) in enumerate(kinds):
        indent = "    "
        if k >= given:
            lines += [f"    if count == {given}:", f"        {names[k]} = new_array_{len(sizes)}(constants, {shape})"]
            lines += [f"        if {names[k]} == 0:"] + [f"            drop({name})" for name in names[given:k]]
            lines += ["            return 0", "    else:"]
            indent = "        "
        lines.append(f"{indent}{names[k]} = word(arguments, {8 * k})")
        lines.append(f"{indent}if not fits(constants, {names[k]}, {ndim}, {NUMBERS[kind]}): {wrong}")
        if k == 0 and fresh:
            lines.append("    row = array_float64_2(a0)")
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


@cache
def _tools() -> dict[str, Any]:
    """Return what entry points call, by name; one set for all, for each of which numba would compile it anew."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic
    from numba.np import arrayobj

    make: Any = intrinsic
    i64, i32 = ir.IntType(64), ir.IntType(32)
    helper = njit(forceinline=True, _nrt=False, **LINKED)

    def load(builder: Any, kind: Any, address: Any, offset: Any) -> Any:
        return builder.load(builder.inttoptr(builder.add(address, offset), kind.as_pointer()))

    def reader(width: int) -> Any:
        @make
        def read(typingctx: Any, address: Any, offset: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                return builder.zext(load(builder, ir.IntType(width), *args), i64)

            return types.int64(types.int64, types.int64), generate

        return read

    @make
    def word(typingctx: Any, address: Any, offset: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return load(builder, i64, *args)

        return types.int64(types.int64, types.int64), generate

    half, byte = reader(32), reader(8)

    def viewer(dtype: Any, ndim: int) -> Any:
        """Make a function that returns the array that lies at an address."""
        kind = types.Array(dtype, ndim, "C")

        @make
        def view(typingctx: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                dims = load(builder, i64, args[0], i64(DIMS))
                shape = [load(builder, i64, dims, i64(8 * k)) for k in range(ndim)]
                item = i64(context.get_abi_sizeof(context.get_data_type(dtype)))
                strides = [item]
                for size in reversed(shape[1:]):
                    strides.insert(0, builder.mul(strides[0], size))
                array = arrayobj.make_array(kind)(context, builder)
                numbers = context.get_data_type(dtype).as_pointer()
                data = builder.inttoptr(load(builder, i64, args[0], i64(DATA)), numbers)
                arrayobj.populate_array(array, data, shape, strides, item, meminfo=None)
                return array._getvalue()

            return kind(types.int64), generate

        return view

    def generate_new(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(i64, [i64, i32, i64.as_pointer(), i32, i64, i64, i32, i32, i64])
        maker = builder.inttoptr(load(builder, i64, args[0], i64(8)), kind.as_pointer())
        ndim = len(args) - 1
        dims = builder.alloca(i64, ndim)
        for k in range(ndim):
            builder.store(args[1 + k], builder.gep(dims, [i32(k)]))
        number, none = i32(NUMBERS["float64"]), i64(0)
        array_type = load(builder, i64, args[0], i64(0))
        return builder.call(maker, [array_type, i32(ndim), dims, number, none, none, i32(0), i32(0), none])

    @make
    def new_array_1(typingctx: Any, constants: Any, i: Any) -> Any:
        return types.int64(*[types.int64] * 2), generate_new

    @make
    def new_array_2(typingctx: Any, constants: Any, i: Any, j: Any) -> Any:
        return types.int64(*[types.int64] * 3), generate_new

    @make
    def new_array_3(typingctx: Any, constants: Any, i: Any, j: Any, k: Any) -> Any:
        return types.int64(*[types.int64] * 4), generate_new

    @helper
    def fits(constants: Any, x: Any, ndim: Any, number: Any) -> Any:
        if word(x, TYPE) != word(constants, 0) or half(x, NDIM) != ndim:
            return False
        descr = word(x, DESCR)
        if half(descr, NUMBER) != number or byte(descr, ORDER) == SWAPPED:
            return False
        return half(x, FLAGS) & CONTIGUOUS_ALIGNED == CONTIGUOUS_ALIGNED

    def external(name: str, result: Any, *arguments: Any) -> Any:
        return types.ExternalFunction(name, result(*arguments))

    hold_one, drop = (external(name, types.void, types.int64) for name in ("Py_IncRef", "Py_DecRef"))
    release = external("PyEval_SaveThread", types.int64)
    take_back = external("PyEval_RestoreThread", types.void, types.int64)
    no_memory = external("PyErr_NoMemory", types.int64)
    new_tuple = external("PyTuple_New", types.int64, types.int64)
    set_item = external("PyTuple_SetItem", types.int32, types.int64, types.int64, types.int64)

    @helper
    def hold(x: Any) -> Any:
        hold_one(x)
        return x

    @helper
    def pair(x: Any, y: Any) -> Any:
        both = new_tuple(2)
        if both == 0:
            drop(x)
            drop(y)
            return both
        set_item(both, 0, x)
        set_item(both, 1, y)
        return both

    views = {
        f"array_{dtype}_{ndim}": viewer(getattr(types, dtype), ndim)
        for dtype in ("float64", "boolean", "int64")
        for ndim in (1, 2, 3)
    }
    tools = {"word": word, "fits": fits, "drop": drop, "hold": hold, "pair": pair}
    tools |= {"new_array_1": new_array_1, "new_array_2": new_array_2, "new_array_3": new_array_3}
    tools |= {"release": release, "take_back": take_back, "no_memory": no_memory}
    return {**views, **tools, "from_long": external("PyLong_FromLongLong", types.int64, types.int64)}
