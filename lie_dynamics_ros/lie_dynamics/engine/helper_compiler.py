"""Compilation of helpers only as far as kernels need them: LLVM code to be linked, and no more.

Numba optimises each function that it compiles, with all that it calls, and makes machine code of it. Helpers are never
called from Python: LLVM meets them again in the kernels that they are linked into, which it optimises as a whole.
"""

from __future__ import annotations

from functools import cache
from typing import Any


def helper_compiler(*args: Any) -> Any:
    """Return numba's compiler for a helper: a ``pipeline_class`` for `numba.njit`, loaded when it is first used."""
    return _compiler_class()(*args)


@cache
def _compiler_class() -> Any:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, DefaultPassBuilder
    from numba.core.compiler_machinery import LoweringPass, register_pass
    from numba.core.typed_passes import NativeLowering

    hooks = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
    if not all(hasattr(JITCodeLibrary, hook) for hook in hooks):
        return Compiler  # another numba: slower to compile, with the same result

    class HelperLibrary(JITCodeLibrary):
        """Code that is linked into kernels and does not run by itself."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    make_pass: Any = register_pass

    @make_pass(mutates_CFG=True, analysis_only=False)
    class RegisterHelper(LoweringPass):
        """Let other functions find what has been lowered, under a key in place of its machine code."""

        _name = "register_helper"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            key = [state.library].copy  # numba wants a built-in function; this one is equal to no other
            state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
            state.cr = state.cr._replace(cfunc=key)
            return True

    class HelperCompiler(Compiler):
        """The default compiler without its last step."""

        def define_pipelines(self) -> list[Any]:
            state = self.state
            state.flags.no_compile = True
            codegen = state.targetctx.codegen()
            state.library = HelperLibrary(codegen, state.func_id.func_qualname)
            build: Any = DefaultPassBuilder.define_nopython_pipeline
            passes = build(state)
            passes.add_pass_after(RegisterHelper, NativeLowering)
            passes.finalize()
            return [passes]

    return HelperCompiler
