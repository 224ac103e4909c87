"""Joints matched by name: where each joint of the model stands in the name list of a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE_SIZE = 16
MOST_KEPT = 1000
"""Names in a list that is kept, at most: so many joints has no driver, and memory is not filled by others."""


@dataclass(frozen=True)
class JointMatch:
    """Match of the names of one message with the wanted joints."""

    indices: NDArray[np.intp]  # place of each wanted joint, the last of several; -1 where it is missing
    size: int  # number of names in the message
    identity: bool  # the message names exactly the wanted joints in the wanted order
    missing: tuple[str, ...]  # wanted joints that the message does not name
    duplicated: tuple[str, ...]  # wanted joints that it names more than once
    unknown: tuple[str, ...]  # names in it that are not wanted; ignored

    @property
    def complete(self) -> bool:
        """Whether every wanted joint is named exactly once."""
        return not self.missing and not self.duplicated

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the names, each of the wanted joints in their order; zero for those that are missing."""
        found, named = np.zeros(len(self.indices), values.dtype), self.indices >= 0
        found[named] = values[self.indices[named]]
        return found

    @property
    def problem(self) -> str:
        """Problems of the names, or an empty string."""
        parts = []
        if self.missing:
            parts.append(f"joints missing from the message: {', '.join(self.missing)}")
        if self.duplicated:
            parts.append(f"joints named more than once: {', '.join(self.duplicated)}")
        return "; ".join(parts)


class JointMapping:
    """Finds wanted joints, each once, in messages whose names come in any order, with others between them.

    The result is kept for the name list last seen, and for a few before it: drivers send the same list
    every time, and comparing lists costs far less than building the permutation.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self._last_names: Sequence[str] | None = None
        self._last: JointMatch | None = None
        self._seen: dict[tuple[str, ...], JointMatch] = {}

    def match(self, names: Sequence[str]) -> JointMatch:
        """Match the name list of a message against the wanted joints."""
        if self._last is not None and names == self._last_names:
            return self._last
        key = tuple(names)
        match = self._seen.get(key)
        if match is None:
            match = _match(self.joints, key)
            if len(self._seen) >= CACHE_SIZE:
                self._seen.clear()
            if len(key) <= MOST_KEPT:
                self._seen[key] = match
        self._last_names, self._last = list(names), match
        return match


def _match(joints: tuple[str, ...], names: tuple[str, ...]) -> JointMatch:
    place = {name: index for index, name in enumerate(names)}
    count = Counter(names)
    wanted = set(joints)
    missing = tuple(joint for joint in joints if joint not in place)
    duplicated = tuple(joint for joint in joints if count[joint] > 1)
    return JointMatch(
        indices=np.array([place.get(joint, -1) for joint in joints], dtype=np.intp),
        size=len(names),
        identity=names == joints,
        missing=missing,
        duplicated=duplicated,
        unknown=tuple(name for name in place if name not in wanted),
    )
