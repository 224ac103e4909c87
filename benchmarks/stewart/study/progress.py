"""A progress bar for the terminal; plain lines where the output is no terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

_WIDTH = 32


class Progress:
    """Count steps of known number and show them, ``with Progress(total) as bar: bar.step("what")``."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total, self._done = max(total, 1), 0
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._tenth = -1

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._stream.write("\n")

    def step(self, what: str) -> None:
        """Count one step as done and print what it was."""
        self._done += 1
        share = min(self._done / self._total, 1.0)
        seconds = time.monotonic() - self._start
        text = f"{100.0 * share:3.0f}%  {seconds:5.0f} s  {what}"
        if self._terminal:
            filled = round(_WIDTH * share)
            self._stream.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {text:<60.60}")
            self._stream.flush()
        elif int(10.0 * share) > self._tenth:
            self._tenth = int(10.0 * share)
            self._stream.write(text + "\n")
