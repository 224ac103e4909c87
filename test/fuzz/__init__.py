"""Random hostile input, seeded: ``make fuzz`` runs all targets, ``FUZZ_ARGS="urdf --seed 1 --index 17"`` one case.

A target is a module with a class `Subject`, a `Target`; its attribute `cases` says how many cases the long run has.
Targets use what the tests of nodes and of the library share.
"""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[1] / room) for room in ("nodes", "nodes/common", "dynamics", "model")]
