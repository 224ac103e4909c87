"""Compilation of all kernels ahead of their first call."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import queue
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from .compile import KERNELS

_reports: Any = None  # where a process records what it has compiled


def load_all() -> list[Any]:
    """Import every module that holds kernels and return the kernels."""
    library = Path(__file__).resolve().parent.parent
    package = __name__.rpartition(".engine")[0]
    for file in sorted(library.glob("**/kernels/**/*.py")):
        importlib.import_module(".".join([package, *file.relative_to(library).with_suffix("").parts]))
    return list(KERNELS)


def compile_all(processes: int, wanted: Collection[str] | None = None) -> Iterator[tuple[str, int]]:
    """Compile kernels into the disk cache, or those of some names; yield (name, their number) as each becomes ready."""
    kernels = load_all()
    modules = [kernel.py_func.__module__ for kernel in kernels if wanted is None or kernel.py_func.__name__ in wanted]
    jobs = _jobs(modules)
    if processes == 1:
        for job in jobs:
            for name in _compile_modules(job, wanted):
                yield name, len(modules)
        return
    # Fresh interpreters, not forks: threads of the parent must not be copied.
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    with ProcessPoolExecutor(processes, context, _report_to, (reports,)) as pool:
        futures = [pool.submit(_compile_and_report, job, wanted) for job in jobs]
        for _ in modules:
            while True:
                try:
                    name = reports.get(timeout=1.0)
                    break
                except queue.Empty:
                    for future in futures:
                        if future.done():
                            future.result()  # raises what went wrong there
            yield name, len(modules)


def _jobs(modules: list[str]) -> list[list[str]]:
    """Return the modules folder by folder, the largest folder first.

    Modules of a folder share most of their helpers: one process compiles them a third faster than several would.
    """
    jobs: dict[str, list[str]] = {}
    for module in dict.fromkeys(modules):
        jobs.setdefault(module.rpartition(".")[0], []).append(module)
    return sorted(jobs.values(), key=lambda job: -sum(map(_size, job)))


def _size(module: str) -> int:
    return Path(str(sys.modules[module].__file__)).stat().st_size


def _report_to(reports: Any) -> None:
    global _reports
    _reports = reports


def _compile_and_report(modules: list[str], wanted: Collection[str] | None) -> None:
    for name in _compile_modules(modules, wanted):
        _reports.put(name)


def _compile_modules(modules: list[str], wanted: Collection[str] | None) -> Iterator[str]:
    """Compile the kernels of some modules, or load them from the disk cache; yield the name of each."""
    for module in modules:
        importlib.import_module(module)
    collects = gc.isenabled()
    gc.disable()  # looking through all that stays, again and again, takes a tenth of the time
    gc.freeze()
    try:
        for kernel in [kernel for kernel in KERNELS if kernel.py_func.__module__ in modules]:
            if wanted is None or kernel.py_func.__name__ in wanted:
                kernel.compile_all()
                gc.collect()
                gc.freeze()
                yield kernel.py_func.__name__
    finally:
        if collects:
            gc.enable()
