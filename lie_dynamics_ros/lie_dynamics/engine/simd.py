"""A SIMD vector type for numba: eight float64 in one LLVM vector, with + - * / and memory access.

Explicit vectors, rather than loops over lanes left to the auto-vectoriser, so that one kernel
source serves single states and batches and the speed does not hang on the optimiser's mood. Blocks of eight numbers of
eight states are transposed in registers between tiles and batches.
"""

from __future__ import annotations

import math
import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from .helpers import outline

_I32 = ir.IntType(32)


class LanesType(types.Type):
    """Numba type of one SIMD vector."""

    def __init__(self, width):
        self.width = width
        super().__init__(name=f"lanes{width}")


WIDTH = 8
LANES_T = LanesType(WIDTH)
_LLVM = ir.VectorType(ir.DoubleType(), WIDTH)
_UNDEFINED = ir.Constant(_LLVM, ir.Undefined)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _LLVM)


def splat_value(builder, x):
    """Write the instructions that copy a float64 to all lanes."""
    first = builder.insert_element(_UNDEFINED, x, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, _UNDEFINED, zeros)


def _define_arithmetic(function, instruction):
    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and LANES_T in args:
                others = [a for a in args if a != LANES_T]
                if all(isinstance(a, types.Float) for a in others):
                    return signature(LANES_T, *args)
            return None

    def lower(context, builder, sig, args):
        a, b = (x if t == LANES_T else splat_value(builder, x) for x, t in zip(args, sig.args, strict=True))
        return getattr(builder, instruction)(a, b)

    for pair in ((LANES_T, LANES_T), (LANES_T, types.Float), (types.Float, LANES_T)):
        lower_builtin(function, *pair)(lower)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define_arithmetic(_function, _instruction)


@infer_global(operator.neg)
class _NegTemplate(AbstractTemplate):
    def generic(self, args, kws):
        return signature(LANES_T, LANES_T) if args == (LANES_T,) else None


@lower_builtin(operator.neg, LANES_T)
def _lower_neg(context, builder, sig, args):
    return builder.fsub(ir.Constant(_LLVM, [-0.0] * WIDTH), args[0])


def _unary_intrinsic(name):
    """Return an intrinsic that applies the LLVM function `name` to a float64 or to each lane."""

    @intrinsic
    def apply(typing_context, x):
        if x != LANES_T and not isinstance(x, types.Float):
            return None

        def codegen(context, builder, sig, args):
            kind, suffix = (_LLVM, f"v{WIDTH}f64") if sig.args[0] == LANES_T else (ir.DoubleType(), "f64")
            function_type = ir.FunctionType(kind, [kind])
            function = cgutils.get_or_insert_function(builder.module, function_type, f"{name}.{suffix}")
            return builder.call(function, args)

        return signature(x, x), codegen

    return apply


#: Nearest integer, ties to even; largest integer not above.
nearest = _unary_intrinsic("llvm.rint")
floor = _unary_intrinsic("llvm.floor")


def _vector_pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    offset = builder.mul(index, ir.Constant(index.type, WIDTH))
    return builder.bitcast(builder.gep(data, [offset]), _LLVM.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """Load vector `index` of a C-contiguous array whose last axis has `WIDTH` entries."""

    def codegen(context, builder, sig, args):
        return builder.load(_vector_pointer(context, builder, sig.args[0], *args), align=8)

    return LANES_T(array, types.intp), codegen


@intrinsic
def store(typing_context, array, index, value):
    """Store vector `index` of a C-contiguous array whose last axis has `WIDTH` entries."""

    def codegen(context, builder, sig, args):
        builder.store(args[2], _vector_pointer(context, builder, sig.args[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES_T), codegen


@intrinsic
def all_below(typing_context, vector, limit):
    """Tell whether the absolute value of every lane is below a limit; False where there is NaN."""

    def codegen(context, builder, sig, args):
        bound = splat_value(builder, args[1])
        negative = splat_value(builder, builder.fsub(ir.Constant(ir.DoubleType(), -0.0), args[1]))
        upper = builder.fcmp_ordered("<", args[0], bound)
        lower = builder.fcmp_ordered(">", args[0], negative)
        bits = builder.bitcast(builder.and_(upper, lower), ir.IntType(WIDTH))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(WIDTH), 2**WIDTH - 1))

    return types.boolean(LANES_T, types.float64), codegen


@intrinsic
def turn_quadrants(typing_context, t, s, c):
    """Return sine and cosine from those of the angle within its quadrant, whose number are the lowest bits of t.

    Odd quadrants swap the two, 2 and 3 negate the sine, 1 and 2 the cosine.
    """

    def codegen(context, builder, sig, args):
        integers = ir.VectorType(ir.IntType(64), WIDTH)

        def constant(x):
            return ir.Constant(integers, [x] * WIDTH)

        def negated(x, quadrants):
            sign = builder.shl(builder.and_(quadrants, constant(2)), constant(62))
            return builder.bitcast(builder.xor(builder.bitcast(x, integers), sign), _LLVM)

        quadrants = builder.bitcast(args[0], integers)
        odd = builder.icmp_unsigned("!=", builder.and_(quadrants, constant(1)), constant(0))
        sine, cosine = builder.select(odd, args[2], args[1]), builder.select(odd, args[1], args[2])
        pair = negated(sine, quadrants), negated(cosine, builder.add(quadrants, constant(1)))
        return context.make_tuple(builder, sig.return_type, pair)

    return types.UniTuple(LANES_T, 2)(LANES_T, LANES_T, LANES_T), codegen


@intrinsic
def _lane(typing_context, vector, index):
    """Return one lane."""

    def codegen(context, builder, sig, args):
        return builder.extract_element(args[0], builder.trunc(args[1], _I32))

    return types.float64(LANES_T, types.intp), codegen


@intrinsic
def _with_lane(typing_context, vector, index, value):
    """Return the vector with one lane replaced."""

    def codegen(context, builder, sig, args):
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], _I32))

    return LANES_T(LANES_T, types.intp, types.float64), codegen


@outline
def each_sin(x):
    """Return the C library's sine of each lane."""
    for lane in range(WIDTH):
        x = _with_lane(x, lane, math.sin(_lane(x, lane)))
    return x


@outline
def each_cos(x):
    """Return the C library's cosine of each lane."""
    for lane in range(WIDTH):
        x = _with_lane(x, lane, math.cos(_lane(x, lane)))
    return x


@intrinsic
def lane_sum(typing_context, vector):
    """Return the sum over the lanes."""

    def codegen(context, builder, sig, args):
        total = builder.extract_element(args[0], ir.Constant(_I32, 0))
        for lane in range(1, WIDTH):
            total = builder.fadd(total, builder.extract_element(args[0], ir.Constant(_I32, lane)))
        return total

    return types.float64(LANES_T), codegen


@intrinsic
def splat(typing_context, x):
    """Widen a float64 to a vector."""

    def codegen(context, builder, sig, args):
        return splat_value(builder, args[0])

    return LANES_T(types.float64), codegen


_I64 = ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_ZERO = ir.Constant(_VECTOR, [0.0] * WIDTH)


def _shuffle(builder, a, b, mask):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, WIDTH), mask))


def _transposed(builder, rows):
    """Return the columns of eight vectors."""
    for step in (1, 2, 4):
        low = [i if i & step == 0 else i - step + WIDTH for i in range(WIDTH)]
        high = [i + step if i & step == 0 else i + WIDTH for i in range(WIDTH)]
        found = list(rows)
        for j in range(WIDTH):
            if j & step == 0:
                found[j] = _shuffle(builder, rows[j], rows[j + step], low)
                found[j + step] = _shuffle(builder, rows[j], rows[j + step], high)
        rows = found
    return rows


def _data(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


def _pointers(builder, data, first, stride):
    """Return where the vectors of eight states begin in a flat array."""
    for _ in range(WIDTH):
        yield builder.bitcast(builder.gep(data, [first]), _VECTOR.as_pointer())
        first = builder.add(first, stride)


def _tile_pointers(builder, data, k, last):
    """Return where the vectors k, k + 1, ... of a tile are, the last time and again beyond it."""
    for j in range(WIDTH):
        step = ir.Constant(_I64, j)
        if last is not None:
            step = builder.select(builder.icmp_signed("<", step, last), step, last)
        offset = builder.mul(builder.add(k, step), ir.Constant(_I64, WIDTH))
        yield builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


def _mask(builder, count):
    """Return the mask of the first `count` lanes."""
    lanes = ir.Constant(ir.VectorType(_I64, WIDTH), list(range(WIDTH)))
    undefined = ir.Constant(ir.VectorType(_I64, WIDTH), ir.Undefined)
    counts = builder.insert_element(undefined, count, ir.Constant(_I32, 0))
    counts = builder.shuffle_vector(counts, undefined, ir.Constant(ir.VectorType(_I32, WIDTH), [0] * WIDTH))
    return builder.icmp_signed("<", lanes, counts)


def _masked(builder, name, result, arguments):
    kind = ir.FunctionType(result, [a.type for a in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.{name}.v{WIDTH}f64.p0")
    return builder.call(function, arguments)


def _load_codegen(part):
    def codegen(context, builder, sig, args):
        source = _data(context, builder, sig.args[0], args[0])
        target = _data(context, builder, sig.args[3], args[3])
        count = args[5] if part else None
        mask = _mask(builder, count) if part else None
        rows = []
        for pointer in _pointers(builder, source, args[1], args[2]):
            if part:
                row = _masked(builder, "load", _VECTOR, [pointer, ir.Constant(_I32, 8), mask, _ZERO])
            else:
                row = builder.load(pointer, align=8)
            rows.append(row)
        last = builder.sub(count, ir.Constant(_I64, 1)) if part else None
        pairs = list(zip(_transposed(builder, rows), _tile_pointers(builder, target, args[4], last), strict=True))
        for column, pointer in reversed(pairs):  # so that the last of a part is what stays
            builder.store(column, pointer, align=8)
        return context.get_dummy_value()

    return codegen


def _store_codegen(part):
    def codegen(context, builder, sig, args):
        source = _data(context, builder, sig.args[0], args[0])
        target = _data(context, builder, sig.args[2], args[2])
        count = args[5] if part else None
        last = builder.sub(count, ir.Constant(_I64, 1)) if part else None
        columns = [builder.load(p, align=8) for p in _tile_pointers(builder, source, args[1], last)]
        total, more = _ZERO, _ZERO
        for j in range(0, WIDTH, 2):
            total = builder.fadd(total, builder.fmul(columns[j], _ZERO))
            more = builder.fadd(more, builder.fmul(columns[j + 1], _ZERO))
        mask = _mask(builder, count) if part else None
        rows = _transposed(builder, columns)
        for row, pointer in zip(rows, _pointers(builder, target, args[3], args[4]), strict=True):
            if part:
                _masked(builder, "store", ir.VoidType(), [row, pointer, ir.Constant(_I32, 8), mask])
            else:
                builder.store(row, pointer, align=8)
        return builder.fadd(total, more)

    return codegen


@intrinsic
def load_block(typing_context, flat, first, stride, tile, k):
    """Transpose eight numbers of eight states s, from `flat[first + s stride]`, to vectors k to k + 7 of a tile."""
    return types.void(flat, types.intp, types.intp, tile, types.intp), _load_codegen(False)


@intrinsic
def load_part(typing_context, flat, first, stride, tile, k, count):
    """As `load_block`, but only `count` numbers of each state, 1 to 8."""
    return types.void(flat, types.intp, types.intp, tile, types.intp, types.intp), _load_codegen(True)


@intrinsic
def store_block(typing_context, tile, k, flat, first, stride):
    """Transpose vectors k to k + 7 of a tile, and store lane s of them at `flat[first + s stride]` and beyond.

    Return zero times their sum, which is zero in all lanes where they are finite.
    """
    return LANES_T(tile, types.intp, flat, types.intp, types.intp), _store_codegen(False)


@intrinsic
def store_part(typing_context, tile, k, flat, first, stride, count):
    """As `store_block`, but only `count` vectors, 1 to 8."""
    return LANES_T(tile, types.intp, flat, types.intp, types.intp, types.intp), _store_codegen(True)
