"""Library: single calls against Pinocchio called from Python.

Each figure is the ratio of our time to Pinocchio's, both called by their public names, results in new arrays, and our
time for one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lie_dynamics_ros.lie_dynamics as library

from ..results import Figure, at_most
from .library_bench import Array, Comparison, Robot, compare, loop, np, pin, robots

STATES = 50


@dataclass(frozen=True)
class Pair:
    """The same thing in both libraries, as expressions in q, v, a; targets by robot (arms, humanoid)."""

    name: str
    ours: str
    theirs: str
    arms: float | None = None
    humanoid: float | None = None


PAIRS = (
    Pair("inverse_dynamics", "inverse_dynamics(model, q, v, a)", "pin.rnea(m, d, q, v, a)", 0.95, 0.5),
    Pair("forward_dynamics", "forward_dynamics(model, q, v, a)", "pin.aba(m, d, q, v, a)", 0.70, 0.5),
    Pair("mass_matrix", "mass_matrix(model, q)", "pin.crba(m, d, q)", 1.0, 0.8),
    Pair("bias_force", "bias_force(model, q, v)", "pin.nonLinearEffects(m, d, q, v)", 0.95, 0.5),
    Pair("gravity_force", "gravity_force(model, q)", "pin.computeGeneralizedGravity(m, d, q)", 0.95, 0.5),
    Pair("coriolis_matrix", "coriolis_matrix(model, q, v)", "pin.computeCoriolisMatrix(m, d, q, v)", 0.9, 0.8),
    Pair("coriolis_matrix, ploen", "coriolis_matrix(model, q, v, 'ploen')", "pin.computeCoriolisMatrix(m, d, q, v)"),
    Pair(
        "forward_kinematics, poses read",
        "forward_kinematics(model, q)",
        "pin.forwardKinematics(m, d, q); np.array([d.oMi[i].homogeneous for i in joints])",
        1.0,
        1.0,
    ),
    Pair(
        "forward_kinematics, poses left inside",
        "forward_kinematics(model, q)",
        "pin.forwardKinematics(m, d, q)",
        1.0,
        1.0,
    ),
    Pair("jacobian", "jacobian(model, q, last)", "pin.computeJointJacobian(m, d, q, last + 1)", 1.0, 1.0),
    Pair("center_of_mass", "center_of_mass(model, q)", "pin.centerOfMass(m, d, q)", 1.0, 1.0),
    Pair("kinetic_energy", "kinetic_energy(model, q, v)", "pin.computeKineticEnergy(m, d, q, v)", 1.0, 1.0),
    Pair("solve_mass_matrix", "solve_mass_matrix(model, q, a)", "pin.computeMinverse(m, d, q) @ a"),
)
#: Hybrid dynamics against our own forward dynamics, whatever the mask.
HYBRID = 1.15


def run() -> tuple[list[Figure], Any]:
    figures: list[Figure] = []
    raw: dict[str, list[float]] = {}
    for robot in robots():
        compare_calls(robot, PAIRS, "", HYBRID, figures, raw)
    return figures, {"seconds per call, ours and Pinocchio's": raw}


def compare_calls(
    robot: Robot, pairs: Sequence[Pair], kind: str, most: float, figures: list[Figure], raw: dict[str, list[float]]
) -> None:
    """Compare pairs, and our hybrid with our forward dynamics or what ``kind`` says of them; adds what is found."""
    ours, theirs = programs(robot)
    for pair in pairs:
        result = compare(ours(pair.ours), theirs(pair.theirs), STATES)
        limit = pair.humanoid if robot.name == "Talos" else pair.arms
        figures.append(judged(f"{robot.name}, {pair.name}", result, limit))
        raw[f"{robot.name}, {pair.name}"] = [result.ours, result.theirs]
    for name, mask in masks(robot.model.nv).items():
        hybrid = ours(f"hybrid_dynamics{kind}(model, q, v, a, a, mask)", mask=mask)
        result = compare(hybrid, ours(f"forward_dynamics{kind}(model, q, v, a)"), STATES)
        name = f"{robot.name}, hybrid_dynamics{kind}, {name}, to our forward_dynamics{kind}"
        figures.append(judged(name, result, most))


def programs(robot: Robot) -> Any:
    """Makers of timed programs: ours and Pinocchio's."""
    mine, others = ([tuple(x) for x in zip(*arrays, strict=True)] for arrays in robot.states(STATES))
    last = robot.model.n_bodies - 1
    public = {name: getattr(library, name) for name in library.__all__}

    def ours(call: str, **more: Any) -> Any:
        return loop(call, {**public, "model": robot.model, "last": last, **more}, mine)

    def theirs(call: str) -> Any:
        names = {"pin": pin, "np": np, "m": robot.pin_model, "d": robot.pin_data}
        return loop(call, {**names, "joints": range(1, last + 2), "last": last}, others)

    return ours, theirs


def masks(n: int) -> dict[str, Array]:
    """Accelerations given: none, every other one, all."""
    return {
        "none given": np.zeros(n, dtype=bool),
        "every other given": np.arange(n) % 2 == 0,
        "all given": np.ones(n, dtype=bool),
    }


def judged(name: str, result: Comparison, limit: float | None) -> Figure:
    """A ratio and our time, with a target for the ratio if it has one."""
    unit = f"x, at {result.ours * 1e6:.2f} us"
    return Figure(name, result.ratio, unit) if limit is None else at_most(name, result.ratio, unit, limit)
