"""Texts from users: numbers as every language writes them, and quotes short enough for a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

#: The most characters of a foreign text that a message quotes.
QUOTED = 80
#: Longest name of a robot, link, joint or constraint.
MAX_NAME = 500
#: Largest magnitude of a figure in a file: beyond it products of a few figures leave float64, and no robot is.
LARGEST = 1e50
_BEGINNING = 25  # characters of it that are kept; the rest is its end, where the file's name of a path stands
_LONGEST_NUMBER = 1000  # characters; float64 never needs as many
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@lru_cache(4096)  # files say the same few figures again and again
def plain_number(text: str) -> float | None:
    """Return the number that a text is in plain decimal notation, such as -1, 0.5, .5 or 1e-3; None for all else.

    Else are, among others, what only Python takes for a number (1_000, digits of other scripts), inf and nan, and
    numbers that float64 cannot hold (1e400).
    """
    if len(text) > _LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if abs(value) != float("inf") else None


def unique(name: str, taken: set[str]) -> str:
    """Return a name, in as many brackets as it takes to differ from those that are taken, and note it there."""
    while name in taken:
        name = f"({name})"
    taken.add(name)
    return name


def shortened(text: str) -> str:
    """Return a text on one line, without its middle where it has more than `QUOTED` characters."""
    line = repr(text if len(text) <= 2 * QUOTED else text[:QUOTED] + text[-QUOTED:])[1:-1]
    return line if len(line) <= QUOTED else line[:_BEGINNING] + "..." + line[_BEGINNING + 3 - QUOTED :]


def quoted(value: object) -> str:
    """Return `repr(value)`, shortened to about `QUOTED` characters."""
    return f"'{shortened(value)}'" if isinstance(value, str) else shortened(repr(value))


def listed(names: Iterable[str], most: int = 12) -> str:
    """Return names in quotes, each shortened to `QUOTED` characters, with commas between, the first few only."""
    names = list(names)
    shown = ", ".join(f"'{shortened(name)}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
