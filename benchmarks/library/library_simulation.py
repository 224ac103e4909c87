"""Library: time to simulate one second of a robot at 1 kHz, and one call of each controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pinocchio as pin

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, frame_pose
from lie_dynamics_ros.lie_dynamics.control import (
    AdaptiveController,
    MomentumObserver,
    computed_torque,
    impedance,
    operational_space,
    passivity_based,
    slotine_li_regressor,
)
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, simulate

from ..results import Figure, at_most

REPEATS, CALLS = 9, 300
URDF = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"


def run() -> tuple[list[Figure], Any]:
    """Measure on the package's 7-joint arm; returns figures and all repeats."""
    model = Model.from_urdf(URDF)
    q, zero = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.5]), np.zeros(7)
    figures, raw = [], {}
    for method in ("semi_implicit", "rkmk4", "variational"):
        for what, joints in (("", None), (", damping and stops", JointPhysics.from_model(model))):
            name = f"1 s, {method}{what}"
            raw[name] = _times(lambda m=method, j=joints: simulate(model, q, zero, duration=1.0, method=m, joints=j), 1)
            figures.append(at_most(name, float(np.median(raw[name])) * 1e3, "ms", 50.0))
    adaptive, observer = AdaptiveController(model, 10.0, 10.0, 1.0, ["panda_link7"]), MomentumObserver(model, 50.0)
    goal = frame_pose(model, q, 6) @ se3.exp(np.full(6, 0.1))
    calls: dict[str, Callable[[], Any]] = {
        "computed_torque": lambda: computed_torque(model, q, zero, q, zero, zero, 100.0, 20.0),
        "passivity_based": lambda: passivity_based(model, q, zero, q, zero, zero, 10.0, 10.0),
        "slotine_li_regressor": lambda: slotine_li_regressor(model, q, zero, zero, zero),
        "AdaptiveController.update, one body": lambda: adaptive.update(q, zero, q, zero, zero, 1e-3),
        "operational_space": lambda: operational_space(model, q, zero, 6, goal, kp=1.0, kd=1.0),
        "impedance": lambda: impedance(model, q, zero, 6, goal, stiffness=100.0),
        "impedance, with Pinocchio and numpy": with_pinocchio(URDF, q, zero, goal),
        "MomentumObserver.update": lambda: observer.update(q, zero, zero, 1e-3),
    }
    for name, call in calls.items():
        raw[name] = _times(call, CALLS)
        figures.append(Figure(name, float(np.median(raw[name])) * 1e6, "us"))
    ratio = np.median(raw["impedance"]) / np.median(raw["impedance, with Pinocchio and numpy"])
    figures.append(at_most("impedance, ratio to Pinocchio and numpy", float(ratio), "", 1.0))
    return figures, {"seconds": raw}


def with_pinocchio(urdf: Path, q: Any, qd: Any, goal: Any) -> Callable[[], Any]:
    """Return a call of the law of `impedance`, as one writes it with Pinocchio: damped as here, without limits."""
    model = pin.buildModelFromUrdf(str(urdf))
    data, tool, desired = model.createData(), model.nq, pin.SE3(goal)
    swap, one, still = np.roll(np.eye(6), 3, axis=0), np.eye(6), pin.Motion.Zero()

    def call() -> Any:
        pin.forwardKinematics(model, data, q, qd, 0.0 * qd)
        M, bias = pin.crba(model, data, q), pin.nonLinearEffects(model, data, q, qd)
        J = swap @ pin.computeJointJacobian(model, data, q, tool)
        away = data.oMi[tool].actInv(desired)
        e, slope = swap @ pin.log6(away).vector, swap @ pin.Jlog6(away) @ pin.SE3.toActionMatrix(away) @ swap.T
        de = swap @ (away.act(still) - data.v[tool]).vector
        drift = swap @ data.a[tool].vector
        weighted = np.linalg.solve(M, J.T)
        mobility = J @ weighted
        root = 10.0 * one
        values, vectors = np.linalg.eigh(root @ mobility @ root)
        modes = root @ vectors
        damper = (modes * (2.0 / np.sqrt(np.maximum(values, 1e-6 * values[-1])))) @ modes.T
        values, vectors = np.linalg.eigh(mobility)
        x = np.maximum(values, 0.0) / (4e-4 * values[-1])
        inverse = (vectors * np.where(x < 1.0, x * (2.0 - x * x) / (4e-4 * values[-1]), 1.0 / values)) @ vectors.T
        null = np.eye(len(q)) - J.T @ inverse @ weighted.T
        force = damper @ de + slope.T @ (root @ root @ e) - inverse @ drift
        return bias + J.T @ force + null @ (M @ (-8.0 * qd))

    return call


def _times(call: Callable[[], Any], count: int) -> list[float]:
    call()
    found = []
    for _ in range(REPEATS):
        begin = perf_counter()
        for _ in range(count):
            call()
        found.append((perf_counter() - begin) / count)
    return found
