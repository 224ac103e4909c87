"""Compilation of all kernels ahead of their first call."""

from __future__ import annotations

import importlib
import multiprocessing
import queue
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from .compile import KERNELS

#: Modules that share most of their helpers: one process compiles a group a third faster than several would. The groups
#: that take longest come first; what is in none is a group of its own.
GROUPS = (
    "inverse_derivatives hybrid_derivatives regressor regressor_kernels second_derivatives sensitivity"
    " loop_sensitivity_kernels",
    "inverse_dynamics gravity forward_dynamics simulation_kernels constrained_dynamics_kernels",
    "mass_matrix mass_matrix_columns kinematics jacobians motion christoffel coriolis_product curvature"
    " loop_kernels loop_derivative_kernels",
    "assembly_path_kernels assembly_pose_kernels certificate_kernels nearest_kernels path_following_kernels"
    " tracker_kernels covariance_kernels reach_search_kernels approach_kernels",
)

_reports: Any = None  # where a process tells of what it has compiled


def load_all() -> list[Any]:
    """Import every module that holds kernels and return the kernels."""
    library = Path(__file__).resolve().parent.parent
    package = __name__.rpartition(".kernels")[0]
    for file in sorted({*library.glob("kernels/*.py"), *library.glob("*/*_kernels.py")}):
        if not file.stem.startswith("__"):
            importlib.import_module(f"{package}.{file.parent.name}.{file.stem}")
    return list(KERNELS)


def compile_all(processes: int) -> Iterator[tuple[str, int]]:
    """Compile kernels into the disk cache; yield (name, number of kernels) as each one becomes ready."""
    modules = [kernel.py_func.__module__ for kernel in load_all()]
    jobs = _jobs(modules)
    if processes == 1:
        for job in jobs:
            for name in _compile_modules(job):
                yield name, len(modules)
        return
    # Fresh interpreters, not forks: threads of the parent must not be copied.
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    with ProcessPoolExecutor(processes, context, _report_to, (reports,)) as pool:
        futures = [pool.submit(_compile_and_report, job) for job in jobs]
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
    """Return the modules group by group."""
    group_of = {stem: k for k, group in enumerate(GROUPS) for stem in group.split()}
    jobs: dict[int | str, list[str]] = {k: [] for k in range(len(GROUPS))}
    for module in dict.fromkeys(modules):
        jobs.setdefault(group_of.get(module.rpartition(".")[2], module), []).append(module)
    return [job for job in jobs.values() if job]


def _report_to(reports: Any) -> None:
    global _reports
    _reports = reports


def _compile_and_report(modules: list[str]) -> None:
    for name in _compile_modules(modules):
        _reports.put(name)


def _compile_modules(modules: list[str]) -> Iterator[str]:
    """Compile the kernels of some modules, or load them from the disk cache; yield the name of each."""
    for module in modules:
        importlib.import_module(module)
    for kernel in [kernel for kernel in KERNELS if kernel.py_func.__module__ in modules]:
        kernel.compile_all()
        yield kernel.py_func.__name__
