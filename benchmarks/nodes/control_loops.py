"""Control: the node's controller on default parameters with arms in MuJoCo, and the eigenvalues of its sampled loop.

Nothing here is a time of this machine: states and answers are in lock step. The scenarios are those of the tests; the
figures are the worst of all modes, rates (250, 500, 1000 Hz) and delays (0 and 1 period).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..results import Figure, at_most

ARMS = ("panda", "ur5", "xarm7")
STOPS = 6
TESTS = Path(__file__).parents[2] / "test"


def run(poses: int = 200) -> tuple[list[Figure], Any]:
    """Judge each arm in a process of its own: on small matrices threads of BLAS wait for each other.

    The tests sweep a thousand poses an arm (``pytest -m slow test/loop``).
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    code = "import sys; from benchmarks.nodes.control_loops import judge; judge(sys.argv[1], int(sys.argv[2]))"
    figures, raw = [], {}
    for name in ARMS:
        found = subprocess.run(
            [sys.executable, "-c", code, name, str(poses)], env=environment, check=True, capture_output=True, text=True
        )
        raw[name] = json.loads(found.stdout)
        figures += _figures(name, raw[name])
    return figures, raw


def _figures(name: str, found: dict[str, Any]) -> list[Figure]:
    return [
        at_most(f"{name}: unstable of {found['loops']} sampled loops", found["unstable"], "", 0),
        at_most(f"{name}: at rest (1 mrad/s) after a stop", found["rest after"], "s", 1.0),
        at_most(f"{name}: torque ripple after it", found["ripple"], "N m", 1.0),
        at_most(f"{name}: largest effort over its limit", found["limits"], "", 1.0),
        at_most(f"{name}: tracking error over the stated one, exact model", found["error"], "", 1.25),
        at_most(f"{name}: step of the efforts at a change of mode, over the limits", found["step"], "", 0.05),
        at_most(
            f"{name}: error, 1.5 kg unknown, mode adaptive, after 10 s (500 Hz, delay 1)", found["learned"], "mrad", 3
        ),
    ]


def judge(name: str, poses: int) -> None:
    """Print the figures of one arm as JSON."""
    import itertools

    import numpy as np
    from support import arms
    from support.control import control_scenarios as scenarios
    from support.control.eigenvalue_sweep import DELAYS, GROWTH, RATES, growths
    from support.cores import MODES

    rng, arm = np.random.default_rng(0), arms.load(name)
    grown = [growth for _, growth in growths(name, poses, rng)]
    found = {"loops": len(grown), "unstable": sum(g > GROWTH for g in grown), "largest growth [1/s]": max(grown)}
    worst = dict.fromkeys(("rest after", "ripple", "limits", "error", "step"), 0.0)
    for mode, rate, delay in itertools.product(MODES, RATES, DELAYS):
        case = scenarios.Case(name, mode, rate, delay)
        for k in range(STOPS):
            q = arm.random_pose(rng, 0.1) if k % 2 else arm.aligned(k // 2)
            stop = scenarios.stop(case, q, scenarios.allowed_velocity(arm, q, rng))
            for key in ("rest after", "ripple", "limits"):
                worst[key] = max(worst[key], float(stop[key]))
        q = arm.random_pose(rng, 0.2)
        change = scenarios.switch(case, q, {"mode": MODES[(MODES.index(mode) + 1) % 4]})
        worst["step"] = max(worst["step"], change["near steps"])
        if mode != "gravity_compensation":
            followed = scenarios.trajectory(case, arm.aligned(0))
            worst["error"] = max(worst["error"], followed["error"] / followed["stated"])
    learned = scenarios.learn(scenarios.Case(name, "adaptive", 500.0, 1.0), arm.aligned(0))
    print(json.dumps({**found, **worst, "learned": 1e3 * learned["settled error"]}))


if __name__ == "__main__":
    run()
