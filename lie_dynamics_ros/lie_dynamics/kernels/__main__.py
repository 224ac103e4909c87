"""Compile all kernels ahead of time: ``python -m lie_dynamics_ros.lie_dynamics.kernels``."""

from __future__ import annotations

import sys
import time

from .ahead import compile_all, load_all
from .cache import cache_folder
from .compile import COMPILED


def main() -> int:
    """Compile, showing progress, and say where the result lies."""
    if not COMPILED:
        print("numba is not in use: nothing to compile")
        return 0
    start = time.perf_counter()
    kernels = load_all()
    for index, name in enumerate(compile_all(kernels), 1):
        line = f"\rcompiling kernels {index}/{len(kernels)} {name:<40}" if sys.stdout.isatty() else ""
        print(line, end="", flush=True)
    print(f"\r{len(kernels)} kernels ready after {time.perf_counter() - start:.1f} s, kept in {cache_folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
