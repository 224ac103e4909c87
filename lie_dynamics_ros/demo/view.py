"""Shows what happens in the terminal: in place on a terminal, as plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np

from ..lie_dynamics import Model

BAR = 20


@dataclass
class Figures:
    """What is shown at one moment."""

    time: float
    duration: float
    rate: float
    answered: float
    latency: tuple[float, ...]
    position: np.ndarray
    efforts: np.ndarray


@dataclass
class View:
    """Live view of the torques.

    Parameters
    ----------
    model : Model
        Whose joints are shown, in its order.
    out : TextIO
        Where to; whether it is a terminal decides how.
    """

    model: Model
    out: TextIO = field(default_factory=lambda: sys.stdout)
    _drawn: int = 0
    _largest: np.ndarray | None = None
    _next_line: float = 0.0

    def show(self, figures: Figures) -> None:
        """Show the figures of the moment."""
        largest = np.abs(figures.efforts)
        self._largest = largest if self._largest is None else np.maximum(self._largest, largest)
        if self.out.isatty():
            self._draw(self._table(figures))
        elif figures.time >= self._next_line:
            self._next_line = figures.time + 1.0
            print(self._line(figures), file=self.out, flush=True)

    def _summary(self, figures: Figures) -> str:
        p50, p99 = (f"{1e6 * value:.0f} us" for value in figures.latency) if figures.latency else ("-", "-")
        return (
            f"{figures.time:4.1f} of {figures.duration:.0f} s   {figures.rate:5.0f} states/s   "
            f"{100.0 * figures.answered:5.1f} % answered   latency p50 {p50}, p99 {p99}"
        )

    def _line(self, figures: Figures) -> str:
        joint = int(np.argmax(np.abs(figures.efforts)))
        torque = f"{figures.efforts[joint]:+.3f} {self._unit(joint)} at {self.model.joint_names[joint]}"
        return f"{self._summary(figures)}   largest {torque}"

    def _unit(self, joint: int) -> str:
        return "N" if self.model.joint(self.model.joint_names[joint]).kind == "prismatic" else "N m"

    def _table(self, figures: Figures) -> list[str]:
        size = shutil.get_terminal_size()
        names = self.model.joint_names
        shown = max(1, min(len(names), size.lines - 6))
        width = max(map(len, names))
        scale = max(float(self._largest.max()), 1e-12) if self._largest is not None else 1.0
        lines = [self._summary(figures), "", f"{'joint':{width}}   position      torque"]
        for joint in range(shown):
            effort = figures.efforts[joint]
            lines.append(
                f"{names[joint]:{width}} {figures.position[joint]:+10.4f} {effort:+11.4f} {self._unit(joint):3} "
                f"{_bar(effort / scale)}"
            )
        if shown < len(names):
            lines.append(f"... and {len(names) - shown} more joints")
        return [line[: size.columns - 1] for line in lines]

    def _draw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self.out.write(up + "".join(f"\r{line}\x1b[K\n" for line in lines))
        self.out.flush()
        self._drawn = len(lines)


def _bar(share: float) -> str:
    """Bar from the middle to the left or right, for a share from -1 to 1."""
    length = round(min(1.0, abs(share)) * BAR)
    bar = "#" * length
    return f"{bar if share < 0 else '':>{BAR}}|{bar if share >= 0 else '':<{BAR}}"
