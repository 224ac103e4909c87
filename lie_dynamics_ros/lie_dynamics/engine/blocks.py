"""Blocks of eight numbers of eight states, transposed in registers between tiles and batches."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .simd import LANES_T, WIDTH

_I32, _I64 = ir.IntType(32), ir.IntType(64)
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
