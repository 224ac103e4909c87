"""Functions of a test run in another process without numba, where kernels are plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

PROGRAM = """
import importlib, sys
sys.modules["numba"] = None  # which would take half a second to load
import numpy as np
sys.path[:0] = sys.argv[1:3]
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED
assert not COMPILED
shared = importlib.import_module(sys.argv[3])
results = {}
for name in sys.argv[5:]:
    results |= getattr(shared, name)()
np.savez(sys.argv[4], **results)
"""


def run_in_plain_python(test: str, folder: Path, *functions: str) -> dict[str, np.ndarray]:
    """Return what functions of a test return, which are arrays by name.

    Parameters
    ----------
    test : str
        The test's file, ``__file__``.
    folder : Path
        For the results.
    functions : str
        Names of functions without arguments.
    """
    file, here = folder / "plain.npz", Path(test).resolve()
    places = [str(Path(__file__).resolve().parents[1]), str(here.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, *places, here.stem, str(file), *functions]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    with np.load(file) as data:
        return dict(data)
