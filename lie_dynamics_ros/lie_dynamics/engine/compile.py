"""Compilation of the kernels: one place for numba, its options and its disk cache.

Kernels are ordinary Python functions. With numba they are compiled at their first call,
for exactly the signatures they declare, and kept on disk; without it (or with
``NUMBA_DISABLE_JIT=1``) the same source runs as plain Python.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from .helpers import COMPILED as COMPILED
from .helpers import HELPER, MISFIT, OPTIONS, F, njit
from .helpers import inline as inline
from .helpers import outline as outline
from .helpers import pasted as pasted

#: All kernels declared so far, in order, for compilation ahead of time.
KERNELS: list[Any] = []
#: What makes each of those that are compiled when they are called first, not with all others: few processes need them.
_ON_DEMAND: list[Callable[[], Any]] = []


def straight(function: F) -> F:
    """Make a helper like `inline` of code without branches or loops over values: its compilation takes no time.

    It may index arrays of float64 and calculate with numbers and nested tuples of them; see `straight.py`.
    """
    if not COMPILED:
        return function
    from .straight import make_straight

    return make_straight(function)  # type: ignore[no-any-return]


@overload
def kernel(
    *signatures: str, quick: bool = False, direct: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., int]]: ...


@overload
def kernel(
    *signatures: str, quick: bool, fresh: int, size: int | tuple[int, ...]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def kernel(
    *signatures: str, quick: bool = False, direct: bool = False, fresh: int = 0, size: int | tuple[int, ...] = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an entry point, compiled lazily for the given numba signatures and no others.

    Parameters
    ----------
    *signatures : str
        Argument types, e.g. ``"(float64[:,::1], float64[::1])"``.
    direct : bool
        For kernels of single states, of one signature, which are called with what users give; see `fastcall`.
        Such a kernel returns `MISFIT` instead of raising TypeError.
    quick : bool
        Direct, for kernels that take microseconds: they keep the interpreter lock, and count no references, which would
        cost more than it gives. Such a kernel cannot allocate.
    fresh : int
        How many of the last arguments of a quick kernel may be left out. The call then makes them, and returns them, or
        None unless the status is zero.
    size : int or tuple of int
        Shape of each of these, an entry for each axis: it stands in this column of the first row of the first argument,
        or is `fixed`.

    Returns
    -------
    Callable
        Decorator. The decorated kernel raises TypeError, and compiles nothing, when it is called with any other types,
        a direct one returns `MISFIT`, or None for results: its caller then converts the arguments and tries again.
    """
    sizes = size if isinstance(size, tuple) else (size,)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not COMPILED:
            return _with_fresh(_interpreted(function, signatures, quick or direct), signatures[0], fresh, sizes)
        made: Callable[..., Any]
        if quick or direct:
            made = _direct(function, signatures[0], quick, fresh, sizes)
        else:
            made = _lazy_dispatcher(function, signatures, False)
        KERNELS.append(made)
        return made

    return decorate


def made_on_demand(make: Callable[[], Any]) -> Callable[[], Any]:
    """Let a function that makes an entry point do so once, at its first call or with all others of its kind."""
    once = functools.cache(make)
    _ON_DEMAND.append(once)
    return once


def on_demand(signature: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an entry point as `kernel` does, at its first call."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made = made_on_demand(lambda: kernel(signature, **options)(function))

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            return made()(*args)

        return call

    return decorate


def compile_on_demand() -> int:
    """Compile all such kernels into the disk cache, where numba is in use; return how many there are."""
    made = [make() for make in _ON_DEMAND]
    for entry in made:
        getattr(entry, "compile_all", lambda: None)()
    return len(made)


def raise_if_rejected(status: int) -> int:
    """Return the status of a direct kernel that was called with arrays made for it.

    Raises
    ------
    TypeError
        It did not take them, of another type or shape or not contiguous, and has left its output as it was.
    """
    if status == MISFIT:
        raise TypeError("a kernel was called with arrays that it does not take")
    return status


def fixed(count: int) -> int:
    """Return what stands for a fixed number of entries in `size` of a kernel."""
    return -count


def _kinds(signature: str) -> list[tuple[str, int]]:
    """Return types and numbers of axes of the arguments."""
    return [(kind, sizes.count(",") + 1) for kind, sizes in re.findall(r"(\w+)\[([^]]*)\]", signature)]


def _with_fresh(function: Callable[..., Any], signature: str, fresh: int, sizes: tuple[int, ...]) -> Callable[..., Any]:
    """Let the last arguments of a kernel be left out."""
    if fresh == 0:
        return function
    total = len(_kinds(signature))

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if len(args) == total:
            return function(*args)
        shape = tuple(int(args[0][0, size]) if size >= 0 else -size for size in sizes)
        made = tuple(np.empty(shape) for _ in range(fresh))
        if function(*args, *made) != 0:
            return None
        return made if fresh > 1 else made[0]

    return call


def _direct(function: Callable[..., Any], signature: str, quick: bool, fresh: int, sizes: tuple[int, ...]) -> Any:
    """Return a callable that makes the entry point when it is called first, and then is little but that."""

    def load() -> Callable[..., Any]:
        from .fastcall import known_layout, make_entry

        if known_layout():
            entry = make_entry(function, _kinds(signature), (fresh, sizes), HELPER if quick else OPTIONS, quick)
        else:
            entry = _with_fresh(_native(_lazy_dispatcher(function, (signature,), quick)), signature, fresh, sizes)
        call.__setstate__((entry, (), {}, call.__dict__))  # type: ignore[attr-defined]
        return entry

    call = functools.partial(lambda *args: load()(*args))
    call.py_func = function  # type: ignore[attr-defined]
    call.compile_all = load  # type: ignore[attr-defined]
    return call


def _native(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse what numba's dispatcher takes for plain arrays too: subclasses, and arrays of the other byte order."""
    from numba.core.errors import NumbaError

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if all(type(a) is np.ndarray and a.dtype.isnative for a in args):
            try:
                return function(*args)
            except (NumbaError, TypeError):  # old versions raise the first for entries that they do not know
                return MISFIT
        return MISFIT

    return call


def _interpreted(function: Callable[..., Any], signatures: tuple[str, ...], direct: bool) -> Callable[..., int]:
    """Let plain Python refuse the arguments that the compiled kernel would, but for complex numbers throughout."""
    wanted = [_kinds(signature) for signature in signatures]
    kinds = {"float64": ("float64", "complex128"), "boolean": ("bool",), "int64": ("int64",)}

    @functools.wraps(function)
    def interpreted(*args: Any) -> Any:
        found = [(a.dtype.name, a.ndim) if isinstance(a, np.ndarray) else ("", 0) for a in args]
        cut = found and found[-1][0] != "complex128" and any(name == "complex128" for name, _ in found)
        for arguments in () if cut else wanted:
            pairs = zip(arguments, found, strict=True) if len(arguments) == len(found) else [(("int64", -1), ("", 0))]
            if all(have in kinds[kind] and ndim == size for (kind, ndim), (have, size) in pairs):
                with np.errstate(all="ignore"):  # the status reports what is not finite
                    return function(*args)
        if direct:
            return MISFIT
        raise TypeError(f"kernel {function.__name__} has no signature for {found}, with real results of real numbers")

    return interpreted


def _lazy_dispatcher(function: Callable[..., Any], signatures: tuple[str, ...], quick: bool) -> Callable[..., int]:
    from numba.core import sigutils
    from numba.core.errors import TypingError

    from .cache import enable_cache
    from .compilers import kernel_compiler

    own = {"nogil": False, "_nrt": False} if quick else {}
    dispatcher = njit(**{**OPTIONS, **own}, pipeline_class=kernel_compiler)(function)
    enable_cache(dispatcher, function)
    allowed: list[tuple[Any, ...]] = []

    def allowed_types() -> list[tuple[Any, ...]]:
        if not allowed:  # parsing signatures costs milliseconds, so not at import
            allowed.extend(tuple(sigutils.normalize_signature(s)[0]) for s in signatures)
        return allowed

    def compile_for(*args: Any) -> Any:
        types = tuple(dispatcher.typeof_pyval(a) for a in args)
        if types not in allowed_types():
            raise TypeError(f"kernel {function.__name__} has no signature for {types}")
        return dispatcher.compile(types)

    def compile_all() -> None:
        for types in allowed_types():
            dispatcher.compile(types)

    def refuse_caller(*args: Any) -> Any:
        # Of a kernel on disk there is machine code alone: a caller would be linked to nothing.
        raise TypingError(f"kernel {function.__name__} is called by compiled code: only helpers can be, share one")

    # The dispatcher asks these attributes when no compiled version fits the arguments, and when compiled code calls it.
    dispatcher._compile_for_args = compile_for
    dispatcher.get_call_template = refuse_caller
    dispatcher.compile_all = compile_all
    return dispatcher  # type: ignore[no-any-return]
