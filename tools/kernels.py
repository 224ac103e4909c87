"""Compile kernels ahead: all that tests call, those too that processes compile when they call them first.

``tools/kernels.py demo`` compiles those that the demo calls, so that it need not wait for more.
"""

from __future__ import annotations

import sys

from lie_dynamics_ros.lie_dynamics.engine.__main__ import main

if __name__ == "__main__":
    if sys.argv[1:] == ["demo"]:
        from lie_dynamics_ros.demo import NEEDED

        sys.exit(main(NEEDED))
    from lie_dynamics_ros.lie_dynamics.engine.compile import compile_on_demand

    status = main()  # which imports all modules with kernels
    compile_on_demand()
    sys.exit(status)
