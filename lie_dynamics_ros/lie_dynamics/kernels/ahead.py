"""Compilation of all kernels ahead of their first call."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .compile import KERNELS


def load_all() -> list[Any]:
    """Import every module that holds kernels and return the kernels."""
    library = Path(__file__).resolve().parent.parent
    package = __name__.rpartition(".kernels")[0]
    for file in sorted({*library.glob("kernels/*.py"), *library.glob("*/*_kernels.py")}):
        if not file.stem.startswith("__"):
            importlib.import_module(f"{package}.{file.parent.name}.{file.stem}")
    return list(KERNELS)


def compile_all(kernels: list[Any]) -> Iterator[str]:
    """Compile kernels, or load them from the disk cache; yield each one's name when it is ready."""
    for kernel in kernels:
        kernel.compile_all()
        yield str(kernel.py_func.__name__)
