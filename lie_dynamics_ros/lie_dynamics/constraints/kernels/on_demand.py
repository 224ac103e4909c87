"""Kernels that are compiled when they are called first, not with all others: what few processes need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from ...engine.compile import kernel


def on_demand(signature: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an entry point as `kernel` does, at its first call."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made = cache(lambda: kernel(signature, **options)(function))

        @wraps(function)
        def call(*args: Any) -> Any:
            return made()(*args)

        return call

    return decorate
