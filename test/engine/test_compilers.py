"""Helpers are linked into kernels and nothing else; where numba is not the known one, it compiles as usual."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.engine.helpers import COMPILED, HELPER, LINKED

if not COMPILED:
    pytest.skip("nothing is compiled in plain Python", allow_module_level=True)

import numba
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import Compiler

from lie_dynamics_ros.lie_dynamics.engine import compilers
from lie_dynamics_ros.lie_dynamics.engine.compile import inline


def helpers(compiler):
    """A helper that calls another for two types of arguments, and an entry point that calls both."""
    options = {**HELPER, "pipeline_class": compiler}

    @numba.njit(**options)
    def inner(x):
        return x * 2

    @numba.njit(**options)
    def outer(a, n):
        return inner(a[0]) + inner(n)

    @numba.njit
    def entry(a, n):
        return outer(a, n) + inner(n)

    return inner, outer, entry


def expected(a, n):
    return 2 * a[0] + 4 * n


def test_an_entry_point_calls_helpers_that_are_no_machine_code():
    inner, outer, entry = helpers(compilers.helper_compiler)
    a = np.array([1.25])
    assert entry(a, 3) == expected(a, 3)
    assert len(inner.overloads) == 2
    for dispatcher in (inner, outer):
        for result in dispatcher.overloads.values():
            assert "define" in result.library.get_llvm_str()
            assert result.library._codegen is not None
            assert not result.library._codegen._engine.is_symbol_defined(result.fndesc.mangled_name)


def test_a_kernel_gives_what_numba_makes_of_the_same_function():
    @inline
    def scaled(x, k):
        return x * k if k > 1 else x

    def total(a, out):
        for i in range(a.shape[0]):
            out[0] += scaled(a[i], 2) + scaled(a[i], i)
        return 0

    made = numba.njit(pipeline_class=compilers.kernel_compiler)(total)
    a, out, usual = np.linspace(-1.0, 2.0, 9), np.zeros(1), np.zeros(1)
    assert made(a, out) == numba.njit(total)(a, usual) == 0
    assert type(made.overloads[made.signatures[0]].library).__name__ == "KernelLibrary"
    np.testing.assert_allclose(out, usual, rtol=1e-15)


def test_another_numba_compiles_as_usual(monkeypatch):
    """Private methods may be gone one day."""
    monkeypatch.delattr(CPUCodeLibrary, "_optimize_final_module")
    make = compilers._compilers.__wrapped__
    assert make() == (Compiler, Compiler)


def test_a_helper_that_fails_tells_the_entry_point():
    @numba.njit(**LINKED)
    def positive(x):
        if x < 0.0:
            raise ValueError("negative")
        return x

    @numba.njit
    def entry(x):
        return positive(x) + 1.0

    assert entry(2.0) == 3.0
    with pytest.raises(ValueError, match="negative"):
        entry(-2.0)
