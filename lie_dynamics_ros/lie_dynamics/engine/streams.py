"""Storing whole cache lines past the caches."""

from __future__ import annotations

from .helpers import COMPILED
from .width import LANES


def line_offset(numbers):
    """Return the place of an array's first number in its cache line; in plain Python it does not matter."""
    return 0


def drain():
    """Wait until all results have left the processor."""


if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .simd import LANES_T

    @intrinsic
    def stream(typing_context, flat, first, vector):
        """Store a vector in the numbers from `first` on, a whole cache line, past the caches."""

        def codegen(context, builder, sig, args):
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            pointer = builder.bitcast(builder.gep(data, [args[1]]), args[2].type.as_pointer())
            written = builder.store(args[2], pointer, align=8 * LANES)
            written.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
            return context.get_dummy_value()

        return types.void(flat, types.intp, LANES_T), codegen

    @intrinsic
    def drain(typing_context):  # noqa: D103
        def codegen(context, builder, sig, args):
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.void(), codegen

    @intrinsic
    def line_offset(typing_context, numbers):
        """Return the place of an array's first number in its cache line."""

        def codegen(context, builder, sig, args):
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            address = builder.udiv(builder.ptrtoint(data, ir.IntType(64)), ir.Constant(ir.IntType(64), 8))
            return builder.urem(address, ir.Constant(ir.IntType(64), LANES))

        return types.intp(numbers), codegen
