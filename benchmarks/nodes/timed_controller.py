"""Node computed_torque that takes note of each effort: when, and after how much of its processor time.

While a long message is made beside the stream, the process has always something to do: of two efforts that come one
after the other, the processor time between them is what an idle machine would have kept the driver waiting.
"""

from __future__ import annotations

import os
import sys
import time
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from lie_dynamics_ros.nodes.computed_torque.node import ComputedTorqueNode
from lie_dynamics_ros.ros.node.spinning import run as run_node

PLACE = "TIMES_OF_EFFORTS"
"""Environment variable with the file that the times go to as the node ends."""


class TimedController(ComputedTorqueNode):
    """See the module."""

    def __init__(self, **kwargs: Any) -> None:
        self._times = array("d")
        super().__init__(**kwargs)

    def publish(self, core: Any, answer: Any, stamp: Any) -> None:
        """Take note, and publish."""
        self._times.extend((time.perf_counter(), time.process_time()))
        super().publish(core, answer, stamp)

    def end(self) -> None:
        """Save the times, (n, 2) [s]."""
        super().end()
        np.save(os.environ[PLACE], np.array(self._times).reshape(-1, 2))


def main(args: Sequence[str] | None = None) -> int:
    """Run it."""
    return run_node(TimedController, args)


if __name__ == "__main__":
    sys.exit(main())
