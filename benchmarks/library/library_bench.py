"""What the library's benchmarks share: robots in both libraries, random states, interleaved timing."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model

Array = np.ndarray
SWAP = [3, 4, 5, 0, 1, 2]  # angular first <-> linear first


def _example_robots() -> Path:
    for root in [*(Path(entry) / "cmeel.prefix" / "share" for entry in sys.path), Path(sys.prefix) / "share"]:
        if (root / "example-robot-data" / "robots").is_dir():
            return root / "example-robot-data" / "robots"
    raise FileNotFoundError("the package example-robot-data is not installed")


PANDA = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
UR5 = _example_robots() / "ur_description" / "urdf" / "ur5_robot.urdf"
TALOS = _example_robots() / "talos_data" / "robots" / "talos_reduced.urdf"


@dataclass(frozen=True)
class Robot:
    """A robot in both libraries, with the same random states in each one's coordinates."""

    name: str
    model: Model
    pin_model: Any
    pin_data: Any

    @classmethod
    def load(cls, name: str, urdf: Path, floating: bool) -> Robot:
        model = Model.from_urdf(urdf, floating)
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        pin_model = pin.buildModelFromUrdf(str(urdf), *root)
        assert list(pin_model.names)[1:] == list(model.joint_names)
        return cls(name, model, pin_model, pin_model.createData())

    def states(self, count: int) -> tuple[list[Array], list[Array]]:
        """(q, qd, qdd) of `count` states: ours, and Pinocchio's."""
        rng = np.random.default_rng(0)
        model = self.model
        q = np.array([model.random(rng) for _ in range(count)])
        v, a = rng.normal(size=(2, count, model.nv))
        theirs = [q.copy(), v.copy(), a.copy()]
        if model.nq > model.nv:  # a floating base: linear part first there
            theirs[0][:, :3], theirs[0][:, 3:7] = q[:, 4:7], q[:, :4]
            for x, y in zip(theirs[1:], (v, a), strict=True):
                x[:, :6] = y[:, SWAP]
        return [q, v, a], theirs


def robots() -> list[Robot]:
    """Two arms and a humanoid on a floating base; the Panda is the arm alone, without its hand."""
    return [
        Robot.load("Panda", PANDA, False),
        Robot.load("UR5", UR5, False),
        Robot.load("Talos", TALOS, True),
    ]


@dataclass(frozen=True)
class Comparison:
    """Median times [s] per evaluation of two programs, and the median of the ratios of neighbouring blocks."""

    ours: float
    theirs: float
    ratio: float


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], per_call: int, rounds: int = 121) -> Comparison:
    """Time two programs in alternating short blocks, in one process, by the processor time of this thread.

    Parameters
    ----------
    ours, theirs : callable
        Each evaluates `per_call` states.
    per_call : int
    rounds : int
        Pairs of blocks. What disturbs a pair disturbs both of its blocks; the median passes over the rest.
    """
    times = _interleaved((ours, theirs), per_call, rounds)
    ratios = [a / b for a, b in zip(*times, strict=True)]
    return Comparison(statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios))


def median_times(programs: Sequence[Callable[[], Any]], per_call: int = 1, rounds: int = 41) -> list[float]:
    """Median processor time [s] per evaluation of each of several programs, timed in turns."""
    return [statistics.median(times) for times in _interleaved(programs, per_call, rounds)]


def _interleaved(programs: Sequence[Callable[[], Any]], per_call: int, rounds: int) -> list[list[float]]:
    repeat = [_repetitions(program) for program in programs]
    times: list[list[float]] = [[] for _ in programs]
    order = list(range(len(programs)))
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            order.reverse()
            for side in order:
                times[side].append(_block(programs[side], repeat[side]) / per_call)
    finally:
        gc.enable()
    return times


def _repetitions(program: Callable[[], Any], block: float = 1e-3) -> int:
    program()
    program()
    return max(1, round(block / max(_block(program, 3), 1e-9)))


def _block(program: Callable[[], Any], repetitions: int) -> float:
    """Mean time of a call [s]."""
    start = time.thread_time_ns()
    for _ in range(repetitions):
        program()
    return (time.thread_time_ns() - start) * 1e-9 / repetitions


def loop(call: str, names: dict[str, Any], states: list[tuple[Array, ...]]) -> Callable[[], None]:
    """A program that runs the expression `call` for each state (q, v, a) of a list, with nothing around it."""
    source = f"def program():\n    for q, v, a in states:\n        {call}\n"
    scope = {**names, "states": states}
    exec(compile(source, "<benchmark>", "exec"), scope)  # source of our own; a lambda costs as much as a small call
    return scope["program"]  # type: ignore[no-any-return]
