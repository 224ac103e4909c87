"""Entry points of kernels that the interpreter calls without numba's dispatcher in between.

For kernels that take a microsecond, finding the compiled version for the types of the arguments and unpacking them
takes a quarter as long as the arithmetic. An entry point here is a C function of the interpreter's fast calling
convention that knows what it wants: it compares the arguments with that, reads where their numbers lie, and calls the
kernel. It can also make the arrays of the results.

For this it reads arrays as they lie in memory: see `layout`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .layout import DATA, NUMBERS, new_array_address

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
    from numba.core import sigutils

    from ..cache import enable_cache
    from ..compilers import kernel_compiler
    from ..helpers import LINKED
    from .tools import DirectFunction

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
    """Return the Python function that numba makes the entry point from; its names are those of `tools`."""
    total, given = len(kinds), len(kinds) - fresh
    names = [f"a{k}" for k in range(total)]
    lines = ["def entry(block, arguments, count):", f"    constants = word(block, {DATA})"]
    shape = ", ".join(f"int(row[0, {size}])" if size >= 0 else str(-size) for size in sizes)
    wrong = f"return from_long({_MISFIT})"
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
