"""Straight-line helpers: LLVM code straight from Python, without numba's front end.

Most helpers are arithmetic without branches: vectors, rotations, inertias, access to tables. Numba would take some
50 ms for each of them and each set of argument types. Here the Python function itself is run once for each call in a
kernel, on symbols in place of numbers, and every operation on a symbol writes its instruction into the kernel. So
compiling is several times faster, and the same source still runs as plain Python.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template, signature

from .simd import LANES_T, WIDTH, splat_value

_DOUBLE, _INTEGER = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_TYPES = {"integer": types.intp, "number": types.float64, "lanes": LANES_T}
_RANK = {"integer": 0, "number": 1, "lanes": 2}


class _NoBuilder:
    """Stands in for LLVM's builder where only the types of the results are asked for."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: None


class Symbol:
    """A value of the running kernel: an integer, a float64 or a vector of `WIDTH` of them."""

    __slots__ = ("_builder", "kind", "value")
    is_symbol = True

    def __init__(self, builder: Any, value: Any, kind: str) -> None:
        self._builder = builder
        self.value = value
        self.kind = kind

    def like(self, x: Any) -> Symbol:
        """Return a number or symbol as a symbol, an integer one only where both are integers."""
        if isinstance(x, Symbol):
            return x
        if isinstance(x, int) and self.kind == "integer":
            return Symbol(self._builder, ir.Constant(_INTEGER, x), "integer")
        return Symbol(self._builder, ir.Constant(_DOUBLE, float(x)), "number")

    def widened(self, kind: str) -> Symbol:
        """Return the symbol as one of a wider kind."""
        builder, value, own = self._builder, self.value, self.kind
        if own == "integer" and kind != "integer":
            value, own = builder.sitofp(value, _DOUBLE), "number"
        if own == "number" and kind == "lanes" and not isinstance(builder, _NoBuilder):
            value = splat_value(builder, value)
        return Symbol(builder, value, kind)

    def positive(self) -> Symbol:
        """Return 1 where the symbol is above zero, 0 elsewhere and for NaN."""
        kind = _VECTOR if self.kind == "lanes" else _DOUBLE
        zero, one = (ir.Constant(kind, [x] * WIDTH if self.kind == "lanes" else x) for x in (0.0, 1.0))
        above = self._builder.fcmp_ordered(">", self.value, zero)
        return Symbol(self._builder, self._builder.select(above, one, zero), self.kind)

    def _with(self, other: Any, instruction: str, swap: bool = False) -> Symbol:
        other = self.like(other)
        kind = max(self.kind, other.kind, key=_RANK.__getitem__)
        if instruction == "div" and kind == "integer":
            kind = "number"
        a, b = self.widened(kind).value, other.widened(kind).value
        name = instruction if kind == "integer" else f"f{instruction}"
        return Symbol(self._builder, getattr(self._builder, name)(*((b, a) if swap else (a, b))), kind)

    def __add__(self, other: Any) -> Symbol:
        return self._with(other, "add")

    def __radd__(self, other: Any) -> Symbol:
        return self._with(other, "add", True)

    def __sub__(self, other: Any) -> Symbol:
        return self._with(other, "sub")

    def __rsub__(self, other: Any) -> Symbol:
        return self._with(other, "sub", True)

    def __mul__(self, other: Any) -> Symbol:
        return self._with(other, "mul")

    def __rmul__(self, other: Any) -> Symbol:
        return self._with(other, "mul", True)

    def __truediv__(self, other: Any) -> Symbol:
        return self._with(other, "div")

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._with(other, "div", True)

    def __neg__(self) -> Symbol:
        name = "neg" if self.kind == "integer" else "fneg"
        return Symbol(self._builder, getattr(self._builder, name)(self.value), self.kind)

    def __bool__(self) -> bool:
        raise TypeError("a straight helper cannot branch on a value of the running kernel: use inline or outline")

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError("a straight helper cannot compare values of the running kernel: use inline or outline")

    def __index__(self) -> int:
        raise TypeError("a straight helper cannot make Python integers of the running kernel: use inline or outline")


class SymbolArray:
    """A C-contiguous float64 array of the running kernel; an index short of the last axis means a vector of lanes."""

    is_symbol = True

    def __init__(self, context: Any, builder: Any, array_type: Any, value: Any) -> None:
        self._builder, self._ndim = builder, array_type.ndim
        self._data = None
        shape: Any = [None] * array_type.ndim
        if not isinstance(builder, _NoBuilder):
            array = context.make_array(array_type)(context, builder, value)
            self._data = array.data
            shape = cgutils.unpack_tuple(builder, array.shape)
        self.shape = tuple(Symbol(builder, x, "integer") for x in shape)

    def _place(self, key: Any) -> tuple[Any, str]:
        indices = key if isinstance(key, tuple) else (key,)
        if not self._ndim - 1 <= len(indices) <= self._ndim:
            raise TypeError(f"{self._ndim} axes take {self._ndim} indices, or one less for a vector of lanes")
        offset: Any = indices[0]
        for index, size in zip(indices[1:], self.shape[1:], strict=False):
            offset = offset * size + index
        kind = "number" if len(indices) == self._ndim else "lanes"
        return self._pointer(offset, kind), kind

    def _pointer(self, offset: Any, kind: str, unit: int = WIDTH) -> Any:
        builder = self._builder
        if isinstance(builder, _NoBuilder):
            return None
        if isinstance(offset, int):
            offset = Symbol(builder, ir.Constant(_INTEGER, offset), "integer")
        if kind == "number":
            return builder.gep(self._data, [offset.value], inbounds=True)
        pointer = builder.gep(self._data, [(offset * unit).value], inbounds=True)
        return builder.bitcast(pointer, _VECTOR.as_pointer())

    def _load(self, pointer: Any, kind: str) -> Symbol:
        return Symbol(self._builder, self._builder.load(pointer, align=8), kind)

    def _store(self, pointer: Any, kind: str, x: Any) -> None:
        symbol = x if isinstance(x, Symbol) else Symbol(self._builder, ir.Constant(_DOUBLE, float(x)), "number")
        self._builder.store(symbol.widened(kind).value, pointer, align=8)

    def __getitem__(self, key: Any) -> Symbol:
        return self._load(*self._place(key))

    def __setitem__(self, key: Any, x: Any) -> None:
        self._store(*self._place(key), x)

    def flat(self, offset: Any, kind: str = "number") -> Symbol:
        """Return number or vector `offset` of the array read as a flat one."""
        return self._load(self._pointer(offset, kind), kind)

    def put_flat(self, offset: Any, x: Any, kind: str = "number", unit: int = WIDTH) -> None:
        """Store number or vector `offset` of the array read as a flat one; a vector's offset counts `unit` numbers."""
        self._store(self._pointer(offset, kind, unit), kind, x)


def _symbols(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the symbol, array of symbols or nested tuple of them for an argument; None where there is none."""
    if isinstance(kind, types.BaseTuple):
        entries: Any = kind
        parts = [None] * len(entries) if value is None else cgutils.unpack_tuple(builder, value, len(entries))
        symbols = tuple(_symbols(context, builder, k, v) for k, v in zip(entries, parts, strict=True))
        return None if None in [s if s is None else 0 for s in symbols] else symbols
    if isinstance(kind, types.Array):
        fits = kind.dtype == types.float64 and kind.layout == "C"
        return SymbolArray(context, builder, kind, value) if fits else None
    if isinstance(kind, types.Literal):
        kind = types.unliteral(kind)
    for name, wanted in (("lanes", LANES_T), ("number", types.float64)):
        if kind == wanted:
            return Symbol(builder, value, name)
    if kind in (types.int64, types.uint64):
        return Symbol(builder, value, "integer")
    return None


def _type_of(result: Any) -> Any:
    if result is None:
        return types.void
    if isinstance(result, tuple):
        return types.Tuple.from_types([_type_of(x) for x in result]) if result else types.Tuple(())
    if isinstance(result, Symbol):
        return _TYPES[result.kind]
    return types.float64


def _value_of(context: Any, builder: Any, kind: Any, result: Any) -> Any:
    if result is None:
        return context.get_dummy_value()
    if isinstance(result, tuple):
        values = [_value_of(context, builder, k, x) for k, x in zip(kind, result, strict=True)]
        return context.make_tuple(builder, kind, values)
    return result.value if isinstance(result, Symbol) else ir.Constant(_DOUBLE, float(result))


class _Straight:
    """A function known to numba as an intrinsic; Python calls it with numbers or with symbols."""

    def __init__(self, function: Any) -> None:
        parameters = inspect.signature(function).parameters.values()
        context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]

        def definition(typing_context: Any, *kinds: Any) -> Any:
            nothing = _NoBuilder()
            symbols = [_symbols(None, nothing, kind, None) for kind in kinds]
            if any(symbol is None for symbol in symbols):
                return None

            def write(context: Any, builder: Any, sig: Any, values: Any) -> Any:
                arguments = [_symbols(context, builder, k, v) for k, v in zip(sig.args, values, strict=True)]
                return _value_of(context, builder, sig.return_type, function(*arguments))

            return signature(_type_of(function(*symbols)), *kinds), write

        definition.__signature__ = inspect.Signature([context, *plain])  # type: ignore[attr-defined]
        definition.__name__ = definition.__qualname__ = function.__name__
        definition.__doc__ = function.__doc__
        functools.update_wrapper(self, function)
        self._function = function
        template = make_intrinsic_template(self, definition, function.__name__)
        infer(template)
        infer_global(self, types.Function(template))

    def __deepcopy__(self, memo: Any) -> _Straight:
        return self  # numba copies what its code refers to, and would no longer know the copy

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


def make_straight(function: Any) -> Any:
    """Return `function` for use in kernels and in other straight helpers."""
    return _Straight(function)
