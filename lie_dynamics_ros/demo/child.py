"""Runs one node as a child process that ends with its parent, however the parent ends.

Arguments: process id of the parent, module of the node, ROS arguments.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Ask the system to send SIGTERM to this process when its parent dies (Linux; elsewhere nothing happens)."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    except (AttributeError, OSError):
        return
    if os.getppid() != parent:
        sys.exit("the parent has ended already")


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    module = importlib.import_module(sys.argv[2])
    sys.exit(module.main(sys.argv[2:]))
