"""Entry points of the complex solver: kernels with complex arrays and single numbers among their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....engine.compile import COMPILED, kernel


def complex_kernel(*signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile as `kernel` does, whose plain-Python check knows real arrays only: here it takes what comes."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if COMPILED:
            return kernel(*signatures)(function)

        @functools.wraps(function)
        def interpreted(*args: Any) -> Any:
            with np.errstate(all="ignore"):  # what is not finite is told by the codes of the paths
                return function(*args)

        return interpreted

    return decorate
