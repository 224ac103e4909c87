"""Arrays of scalars in compiled kernels: what `lanes` says in Python, said to numba."""

from __future__ import annotations

import inspect

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from .helpers import HELPER
from .simd import WIDTH

_I32 = ir.IntType(32)

#: Numbers that a kernel for a single state may keep on the stack, a quarter of a megabyte; it touches what it needs.
STACK = 32768


@njit
def aligned_numbers(vectors):
    """Allocate vectors that start at multiples of their size: those that straddle cache lines are slower by half."""
    numbers = np.empty((vectors + 1) * WIDTH)
    skip = (-(numbers.ctypes.data >> 3)) & (WIDTH - 1)
    return numbers[skip : skip + vectors * WIDTH]


def _array_at(context, builder, array_type, data, shape):
    """Return an array of the numbers at `data`, which somebody else keeps alive."""
    array = make_array(array_type)(context, builder)
    size = ir.Constant(shape[0].type, 8)
    strides = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size = builder.mul(size, extent)
    populate_array(
        array, data=data, shape=cgutils.pack_array(builder, shape), strides=cgutils.pack_array(builder, strides),
        itemsize=ir.Constant(shape[0].type, 8), meminfo=None,
    )  # fmt: skip
    return array._getvalue()


def _stack_array(size):
    """Return an intrinsic that returns `size` numbers on the stack of the function that calls it."""
    array_type = types.Array(types.float64, 1, "C")

    @intrinsic
    def stack_array(typing_context):
        def codegen(context, builder, sig, args):
            with builder.goto_entry_block():  # cgutils.alloca_once would fill it with zeros
                data = builder.alloca(ir.ArrayType(ir.DoubleType(), size))
            data.align = 8 * WIDTH
            pointer = builder.bitcast(data, ir.DoubleType().as_pointer())
            return _array_at(context, builder, array_type, pointer, [ir.Constant(ir.IntType(64), size)])

        return array_type(), codegen

    return stack_array


stack_numbers = _stack_array(STACK)
stack_transforms = _stack_array(12 * WIDTH)


@intrinsic
def single_workspace(typing_context, numbers, rows, columns, like):
    """Return the first of `numbers` as a table; they must outlive it."""
    array_type = types.Array(types.float64, 2, "C")

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return _array_at(context, builder, array_type, data, [args[1], args[2]])

    return array_type(numbers, types.intp, types.intp, like), codegen


@intrinsic
def on_stack(typing_context, rows, columns):
    """Tell whether `stack_numbers` has room for a table."""

    def codegen(context, builder, sig, args):
        return builder.icmp_signed("<=", builder.mul(args[0], args[1]), ir.Constant(ir.IntType(64), STACK))

    return types.boolean(types.intp, types.intp), codegen


@intrinsic
def entry(typing_context, integers, k):
    """Return integer `k` of a list, and ask not, as numba does, whether `k` is counted from the end."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]], inbounds=True))

    return types.int64(integers, types.intp), codegen


@intrinsic
def fetch_ahead(typing_context, a, k):
    """Fetch the cache line of number `k` into the second cache."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        pointer = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(prefetch, [pointer, *(ir.Constant(_I32, x) for x in (0, 2, 1))])
        return context.get_dummy_value()

    return types.void(a, types.intp), codegen


def register(shared_integer, workspace, vector_space, column_space, width):
    """Overload what `lanes` allocates, for scalars (last axis absent) and lanes (last axis present)."""
    assert width == WIDTH

    @overload(shared_integer, jit_options=HELPER)
    def _shared_integer(a, i):
        return (lambda a, i: int(a[i])) if a.ndim == 1 else (lambda a, i: int(a[i, 0]))

    @overload(workspace)
    def _workspace(rows, columns, like):
        if like.ndim == 1:
            return lambda rows, columns, like: np.empty((rows, columns))
        return lambda rows, columns, like: aligned_numbers(rows * columns).reshape((rows, columns, WIDTH))

    @overload(vector_space)
    def _vector_space(n, like):
        if like.ndim == 1:
            return lambda n, like: np.empty(n)
        return lambda n, like: aligned_numbers(n).reshape((n, WIDTH))

    @overload(column_space)
    def _column_space(n, like):
        return lambda n, like: aligned_numbers(n).reshape((n, WIDTH))


def for_one_state(function, name):
    """Let compiled kernels run the decorated code in place of `function` where argument `name` holds a single state.

    For tiles they run `function` itself.
    """

    def decorate(single):
        def choose(*arguments):
            return single if arguments[place].ndim == 1 else function

        choose.__signature__ = inspect.signature(function)
        place = list(choose.__signature__.parameters).index(name)
        overload(function, jit_options=HELPER)(choose)
        return function

    return decorate
