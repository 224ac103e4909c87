"""Compilation of all kernels ahead of their first call."""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from .compile import KERNELS

#: Modules that share most of their helpers: in one process they take a third less. As it takes longest, it begins.
TOGETHER = ("inverse_derivatives", "hybrid_derivatives", "regressor")


def load_all() -> list[Any]:
    """Import every module that holds kernels and return the kernels."""
    library = Path(__file__).resolve().parent.parent
    package = __name__.rpartition(".kernels")[0]
    for file in sorted({*library.glob("kernels/*.py"), *library.glob("*/*_kernels.py")}):
        if not file.stem.startswith("__"):
            importlib.import_module(f"{package}.{file.parent.name}.{file.stem}")
    return list(KERNELS)


def compile_all(processes: int) -> Iterator[tuple[str, int]]:
    """Compile kernels into the disk cache; yield (name, number of kernels) as each one becomes ready.

    Kernels of one module share helpers, so a module is compiled by one process; and those of `TOGETHER`.
    """
    names = [(kernel.py_func.__module__, kernel.py_func.__name__) for kernel in load_all()]
    modules = sorted({module for module, _ in names})
    family = [module for module in modules if module.rpartition(".")[2] in TOGETHER]
    jobs = [family, *([module] for module in modules if module not in family)]
    if processes == 1:
        for job in jobs:
            for name in _compile_modules(job):
                yield name, len(names)
        return
    # A fresh interpreter, not a fork: threads of the parent must not be copied.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for future in as_completed([pool.submit(_compile_modules, job) for job in jobs]):
            for name in future.result():
                yield name, len(names)


def _compile_modules(modules: list[str]) -> list[str]:
    """Compile the kernels of some modules, or load them from the disk cache, and return their names."""
    for module in modules:
        importlib.import_module(module)
    mine = [kernel for kernel in KERNELS if kernel.py_func.__module__ in modules]
    for kernel in mine:
        kernel.compile_all()
    return [kernel.py_func.__name__ for kernel in mine]
