"""Nodes at 1 kHz, or another rate, under disturbances for as long as asked: ``make soak HOURS=1``.

Real processes: a simulated arm with a platform beside it as the driver, and the nodes that answer it, in two network
namespaces where the system allows that. What is disturbed when follows from a seed. Robots are those of the tests of
nodes.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "nodes"))
