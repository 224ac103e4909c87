"""What all targets have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

MEMORY = 4 * 2**30
"""Address space that a target may add to what its imports took [bytes]."""


class DefectError(AssertionError):
    """A case showed a defect; the text says which."""


class Target(ABC):
    """Random input of one kind; a context manager, for what all cases share.

    Attributes
    ----------
    cases : int
        How many there are in the long run.
    """

    cases: int = 1000

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        return

    @abstractmethod
    def check(self, rng: np.random.Generator, index: int) -> None:
        """Run one case; raises `DefectError`, or whatever else comes out, where it shows a defect."""


def run_case(target: Target, seed: int, index: int) -> None:
    """Run one case of a target with its own random numbers, which depend on nothing else."""
    target.check(np.random.default_rng([seed, index]), index)
