"""Descriptions of robots, changed in elements and characters; where Pinocchio reads one too, the dynamics agree."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lie_dynamics_ros.lie_dynamics import LieDynamicsError, Model, inverse_dynamics

from .target import DefectError, Target
from .xml_mutations import mutated_text, mutated_tree

LARGEST = 80_000
AGREE = 1e-8


@cache
def originals() -> tuple[str, ...]:
    """Texts to change: those of example-robot-data where it is installed, and the package's own."""
    from support.robots import folder, urdf_files

    import lie_dynamics_ros

    files = [folder() / name for name in urdf_files()]
    files += sorted((Path(lie_dynamics_ros.__file__).parent / "urdf").glob("*.urdf"))
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files)
    return tuple(text for text in texts if "<link" in text and len(text) < LARGEST)


class Subject(Target):
    """See the module."""

    cases = 500

    def __enter__(self) -> Subject:
        self._judge = Judge()
        return self

    def __exit__(self, *_: object) -> None:
        self._judge.close()

    def check(self, rng: np.random.Generator, index: int) -> None:
        texts = originals()
        text = texts[int(rng.integers(len(texts)))]
        change = mutated_text if rng.random() < 0.25 else mutated_tree
        text = change(text, rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = Model.from_urdf(text)
        except LieDynamicsError as error:
            if len(str(error)) > 2000:
                raise DefectError(f"a refusal of {len(str(error))} characters") from error
            return
        q, qd, qdd = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        try:
            tau = inverse_dynamics(model, q, qd, qdd)
        except LieDynamicsError:
            return
        if not np.isfinite(tau).all():
            raise DefectError(f"efforts that are not finite: {tau}")
        self._compare(text, model, q, qd, qdd, tau)

    def _compare(self, text: str, model: Model, *values: np.ndarray) -> None:
        *state, tau = values
        if any(joint.kind not in ("revolute", "continuous", "prismatic") for joint in model.joints):
            return
        if "mimic" in text:
            return  # Pinocchio couples, or drops, what are coordinates of their own here
        found = self._judge.ask(text, model.joint_names, *state)
        if found is None:
            return
        difference = np.abs(found - tau).max(initial=0.0)
        scale = max(1.0, np.abs(tau).max(initial=0.0))
        if not difference <= AGREE * scale:
            raise DefectError(f"Pinocchio finds efforts that differ by {difference:g}:\n{found}\n{tau}")


class Judge:
    """Pinocchio in a process of its own, which some texts end."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None

    def ask(self, text: str, names: tuple[str, ...], *state: np.ndarray) -> np.ndarray | None:
        """Return its efforts in the order of the names; None where it does not read the text as the same joints."""
        if self._process is None or not self._process.is_alive():
            self._here, there = self._context.Pipe()
            self._process = self._context.Process(target=_judge, args=(there,), daemon=True)
            self._process.start()
            there.close()
        try:
            self._here.send((text, names, *state))
            return self._here.recv() if self._here.poll(60.0) else None
        except (EOFError, OSError):
            self._process.join()
            return None

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.join()


def _judge(pipe: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what its parser prints is no news
    import pinocchio as pin

    while True:
        text, names, q, qd, qdd = pipe.recv()
        try:
            pipe.send(_efforts(pin, text, names, q, qd, qdd))
        except Exception:
            pipe.send(None)


def _efforts(pin: Any, text: str, names: tuple[str, ...], q: Any, qd: Any, qdd: Any) -> Any:
    model = pin.buildModelFromXML(text)
    if sorted(model.names[1:]) != sorted(names):
        return None
    full, rate, acceleration = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    order = []
    for k, name in enumerate(names):
        joint = model.joints[model.getJointId(name)]
        if joint.nv != 1:
            return None
        full[joint.idx_q : joint.idx_q + joint.nq] = [q[k]] if joint.nq == 1 else [np.cos(q[k]), np.sin(q[k])]
        rate[joint.idx_v], acceleration[joint.idx_v] = qd[k], qdd[k]
        order.append(joint.idx_v)
    return pin.rnea(model, model.createData(), full, rate, acceleration)[order]
