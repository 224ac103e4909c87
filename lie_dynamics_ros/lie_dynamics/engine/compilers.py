"""Numba's compiler without what helpers and kernels do not need.

Numba optimises each function that it compiles, with all that it calls, and makes machine code of it. Helpers are never
called from Python: LLVM meets them again in the kernels that they are linked into, which it optimises as a whole. So
they are compiled only as far as kernels need them: LLVM code to be linked, and no more.
"""

from __future__ import annotations

from functools import cache
from typing import Any

# What helpers do not use: contexts, closures, `literally`, array expressions, overloads that are inlined, and reports.
_NOT_NEEDED = {
    *("WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "FindLiterallyCalls", "LiteralUnroll"),
    *("LiteralPropagationSubPipelinePass", "MakeFunctionToJitFunction", "InlineOverloads", "NopythonRewrites"),
    *("NoPythonSupportedFeatureValidation", "AnnotateTypes", "DumpParforDiagnostics"),
}


def helper_compiler(*args: Any) -> Any:
    """Return the compiler of a helper: a ``pipeline_class`` for `numba.njit`, loaded when it is first used."""
    return _compilers()[0](*args)


def kernel_compiler(*args: Any) -> Any:
    """Return the compiler of a kernel, likewise."""
    return _compilers()[1](*args)


@cache
def _compilers() -> tuple[Any, Any]:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, DefaultPassBuilder
    from numba.core.compiler_machinery import LoweringPass, register_pass
    from numba.core.typed_passes import NativeLowering

    hooks = ("_optimize_functions", "_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
    if not all(hasattr(JITCodeLibrary, hook) for hook in hooks):
        return Compiler, Compiler  # another numba: slower to compile, with the same result

    class KernelLibrary(JITCodeLibrary):
        """Code optimised as numba does, in less time."""

        def _optimize_functions(self, ll_module: Any) -> None:
            if not hasattr(self._codegen, "_pass_builder"):
                super()._optimize_functions(ll_module)  # an older numba, with another interface of LLVM
                return
            # Numba's method makes a pass manager for each function, also for those that are declared only.
            ll_module.data_layout = self._codegen._data_layout
            passes, builder = self._codegen._function_pass_manager()
            for function in ll_module.functions:
                if not function.is_declaration:
                    passes.run(function, builder)

    class HelperLibrary(KernelLibrary):
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

    class KernelCompiler(Compiler):
        """The default compiler with a library of our own."""

        def define_pipelines(self) -> list[Any]:
            state = self.state
            state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            pipelines: list[Any] = super().define_pipelines()
            return pipelines

    class HelperCompiler(Compiler):
        """The default compiler without its last step, and without those for which helpers have no use."""

        def define_pipelines(self) -> list[Any]:
            state = self.state
            state.flags.no_compile = True
            state.library = HelperLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            build: Any = DefaultPassBuilder.define_nopython_pipeline
            passes = build(state)
            passes.add_pass_after(RegisterHelper, NativeLowering)
            passes.passes = [entry for entry in passes.passes if entry[0].__name__ not in _NOT_NEEDED]
            passes.finalize()
            return [passes]

    return HelperCompiler, KernelCompiler
