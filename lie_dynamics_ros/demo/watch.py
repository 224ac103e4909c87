"""Listens for a while and shows what happens."""

from __future__ import annotations

import time

import numpy as np
import rclpy
from rclpy.executors import Executor
from rclpy.signals import SignalHandlerOptions

from ..lie_dynamics import Model
from ..ros.spinning import make_executor
from .processes import Children
from .recorder import Recorder, ShortfallError
from .view import Figures, View

START_LIMIT = 120.0
"""Longest time until the first torques [s]: the first start on a machine may have kernels to compile."""
SETTLING = 1.0
"""Time between the first torques and the recording [s]: discovery goes on, and messages come in bursts."""
REFRESH = 0.1
"""Time between two updates of the view [s]."""
WINDOW = 1.0
"""Time over which the shown figures are taken [s]."""


def watch(model: Model, children: Children, duration: float) -> Recorder:
    """Record for ``duration`` seconds from the first torques on, with a live view.

    Raises
    ------
    ShortfallError
        A node ended, or no torques came.
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("demo")
    executor = make_executor("events")
    executor.add_node(node)
    try:
        recorder = Recorder(node)
        _await_torques(recorder, executor, children)
        _settle(recorder, executor)
        _record(recorder, executor, children, model, duration)
        return recorder
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


def _await_torques(recorder: Recorder, executor: Executor, children: Children) -> None:
    end = time.monotonic() + START_LIMIT
    while not recorder.answers:
        executor.spin_once(timeout_sec=0.05)
        _check_alive(children)
        if recorder.errors or time.monotonic() > end:
            said = [f"{name}: {status.message}" for name, status in recorder.diagnostics.items()]
            raise ShortfallError("no torques came; " + ("; ".join(said) or "the nodes said nothing"))


def _settle(recorder: Recorder, executor: Executor) -> None:
    end = time.monotonic() + SETTLING
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.05)
    recorder.start()


def _check_alive(children: Children) -> None:
    for name in children.ended():
        raise ShortfallError(f"{name} ended unexpectedly; it printed\n{children.output(name)}")


def _record(
    recorder: Recorder, executor: Executor, children: Children, model: Model, duration: float
) -> None:
    view = View(model)
    start = time.monotonic()
    history = [(0.0, len(recorder.states), len(recorder.answers))]
    shown = 0.0
    while (now := time.monotonic() - start) < duration:
        executor.spin_once(timeout_sec=REFRESH)
        if now - shown < REFRESH:
            continue
        shown = now
        _check_alive(children)
        history.append((now, len(recorder.states), len(recorder.answers)))
        while history[-1][0] - history[1][0] > WINDOW:
            del history[0]
        figures = _figures(recorder, model, history, duration)
        if figures is not None:
            view.show(figures)


def _figures(
    recorder: Recorder, model: Model, history: list[tuple[float, int, int]], duration: float
) -> Figures | None:
    (before, states_before, answers_before), (now, states, answers) = history[0], history[-1]
    period = max(now - before, 1e-9)
    stamp = next((stamp for stamp in reversed(recorder.answers) if stamp in recorder.states), None)
    if stamp is None:
        return None
    names, position, _ = recorder.states[stamp]
    recent = [answer.latency for answer in list(recorder.answers.values())[-500:]]
    return Figures(
        time=now,
        duration=duration,
        rate=(states - states_before) / period,
        answered=min(1.0, (answers - answers_before) / max(1, states - states_before)),
        latency=tuple(float(p) for p in np.percentile(recent, (50, 99))),
        position=_ordered(names, position, model),
        efforts=_ordered(recorder.names, recorder.answers[stamp].efforts, model),
    )


def _ordered(names: list[str], values: np.ndarray, model: Model) -> np.ndarray:
    by_name = dict(zip(names, values, strict=True))
    return np.array([by_name[name] for name in model.joint_names])
