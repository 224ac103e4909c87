"""What the compiled entry points of `entries` are made of: reading arrays from memory, making new ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
from numba.core.ccallback import CFunc

from ..helpers import LINKED
from .layout import (
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    DIMS,
    FLAGS,
    NDIM,
    NUMBER,
    NUMBERS,
    ORDER,
    SWAPPED,
    TYPE,
)

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
