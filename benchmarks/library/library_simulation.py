"""Library: time to simulate one second of a robot at 1 kHz, and one call of each controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.control import (
    AdaptiveController,
    MomentumObserver,
    computed_torque,
    operational_space,
    passivity_based,
    slotine_li_regressor,
)
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, simulate

from ..results import Figure, at_most

REPEATS, CALLS = 9, 300


def run() -> tuple[list[Figure], Any]:
    """Measure on the package's 7-joint arm; returns figures and all repeats."""
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    q, zero = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.5]), np.zeros(7)
    figures, raw = [], {}
    for method in ("semi_implicit", "rkmk4", "variational"):
        for what, joints in (("", None), (", damping and stops", JointPhysics.from_model(model))):
            name = f"1 s, {method}{what}"
            raw[name] = _times(lambda m=method, j=joints: simulate(model, q, zero, duration=1.0, method=m, joints=j), 1)
            figures.append(at_most(name, float(np.median(raw[name])) * 1e3, "ms", 50.0))
    adaptive, observer = AdaptiveController(model, 10.0, 10.0, 1.0, ["panda_link7"]), MomentumObserver(model, 50.0)
    calls: dict[str, Callable[[], Any]] = {
        "computed_torque": lambda: computed_torque(model, q, zero, q, zero, zero, 100.0, 20.0),
        "passivity_based": lambda: passivity_based(model, q, zero, q, zero, zero, 10.0, 10.0),
        "slotine_li_regressor": lambda: slotine_li_regressor(model, q, zero, zero, zero),
        "AdaptiveController.update, one body": lambda: adaptive.update(q, zero, q, zero, zero, 1e-3),
        "operational_space": lambda: operational_space(model, q, zero, 6, se3.exp(np.zeros(6)), kp=1.0, kd=1.0),
        "MomentumObserver.update": lambda: observer.update(q, zero, zero, 1e-3),
    }
    for name, call in calls.items():
        raw[name] = _times(call, CALLS)
        figures.append(Figure(name, float(np.median(raw[name])) * 1e6, "us"))
    return figures, {"seconds": raw}


def _times(call: Callable[[], Any], count: int) -> list[float]:
    call()
    found = []
    for _ in range(REPEATS):
        begin = perf_counter()
        for _ in range(count):
            call()
        found.append((perf_counter() - begin) / count)
    return found
