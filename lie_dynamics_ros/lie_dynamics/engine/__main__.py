"""Compile all kernels ahead of time: ``python -m lie_dynamics_ros.lie_dynamics.engine``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection

from .ahead import compile_all
from .compile import COMPILED


def main(wanted: Collection[str] | None = None) -> int:
    """Compile all kernels, or those of some names, showing progress, and say where the result lies."""
    if not COMPILED:
        print("numba is not in use: nothing to compile")
        return 0
    from .cache import cache_root  # imports numba

    if cache_root() is None:
        print("no folder for compiled kernels is writable: each process compiles its own")
        return 0
    start = time.perf_counter()
    done = 0
    for done, (name, total) in enumerate(compile_all(os.cpu_count() or 1, wanted), 1):
        line = f"compiled {done}/{total} {name}"
        print(f"\r{line:<60}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)
    end = "\r" if sys.stdout.isatty() else ""
    print(f"{end}{done} kernels ready after {time.perf_counter() - start:.1f} s, kept in {cache_root()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
