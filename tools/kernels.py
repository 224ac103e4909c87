"""Compile all kernels ahead of the tests: those too that processes compile when they call them first."""

from __future__ import annotations

import sys

from lie_dynamics_ros.lie_dynamics.constraints.kernels.on_demand import compile_on_demand
from lie_dynamics_ros.lie_dynamics.engine.__main__ import main

if __name__ == "__main__":
    status = main()  # which imports all modules with kernels
    compile_on_demand()
    sys.exit(status)
