"""Helpers, which kernels call: numba's options for them, and whether numba is in use at all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .compilers import helper_compiler

F = TypeVar("F", bound=Callable[..., Any])

# "nnan" and "ninf" would break the checks for bad input, "reassoc" the range reduction of sin and cos.
_FAST_MATH = {"contract", "nsz", "arcp"}

try:
    import numba

    #: True when kernels are compiled, False when they run as plain Python.
    COMPILED: bool = not getattr(numba.config, "DISABLE_JIT", False)
    njit: Any = numba.njit
except ImportError:
    COMPILED, njit = False, None
    warnings.warn("numba is not installed: lie_dynamics runs its kernels as plain Python, slower", stacklevel=2)

#: What a direct kernel returns for arguments that it does not take, of another type or layout.
MISFIT = -1
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": _FAST_MATH, "error_model": "numpy"}
#: For what no Python calls; wrappers would be a third of all time.
LINKED: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": helper_compiler}
#: Options of helpers: they count no references.
HELPER: Any = {**OPTIONS, "_nrt": False, **LINKED}


def inline(function: F) -> F:
    """Make a helper that kernels call; it is compiled into each of them.

    Helpers do not count references to the arrays they are given, which would cost more than their
    arithmetic: so they cannot allocate, and kernels allocate for them.
    """
    return njit(forceinline=True, **HELPER)(function) if COMPILED else function


def outline(function: F) -> F:
    """Make a helper like `inline`, but for code that is long or rarely run: it is not copied into its callers."""
    return njit(forceinline=False, **HELPER)(function) if COMPILED else function


def pasted(function: F) -> F:
    """Make a helper that numba copies into what calls it before it looks at types: as if its text stood there.

    For code that takes functions or memory on the stack with it, which is faster so than as `inline`.
    """
    return njit(inline="always", **HELPER)(function) if COMPILED else function
