"""Where the demo shows what happens: in place on a terminal, as plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from .showcase import Moment, Showcase


@dataclass
class Screen:
    """Live view of all showcases.

    Parameters
    ----------
    out : TextIO
        Where to; whether it is a terminal decides how.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)
    _drawn: int = 0
    _next_line: float = 0.0

    def show(self, time: float, duration: float, moments: Sequence[tuple[Showcase, Moment]]) -> None:
        """Show the showcases at a time [s] of the run."""
        if self.out.isatty():
            self._draw(self._table(time, duration, moments))
        elif time >= self._next_line:
            self._next_line = time + 2.0
            for showcase, moment in moments:
                line = f"{time:4.1f} of {duration:.0f} s   {showcase.title:8} {moment}   {showcase.line()}"
                print(line, file=self.out, flush=True)

    def _table(self, time: float, duration: float, moments: Sequence[tuple[Showcase, Moment]]) -> list[str]:
        size = shutil.get_terminal_size()
        # A line for the time, one for the cursor; three of each showcase are its own title and space.
        left = size.lines - 2 - 3 * len(moments)
        lines = [f"{time:4.1f} of {duration:.0f} s"]
        for index, (showcase, moment) in enumerate(moments):
            table = showcase.table(max(1, left // (len(moments) - index)))
            left -= len(table)
            lines += ["", f"{showcase.title}: {moment}", "", *table]
        return [line[: size.columns - 1] for line in lines[: max(1, size.lines - 1)]]

    def _draw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self.out.write(up + "".join(f"\r{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self.out.flush()
        self._drawn = len(lines)
