"""Kernels that are compiled when they are called first, not with all others: what few processes need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from ...engine.compile import kernel

#: What makes each entry point, in order.
_MAKERS: list[Callable[[], Any]] = []


def made_on_demand(make: Callable[[], Any]) -> Callable[[], Any]:
    """Let a function that makes an entry point do so once, at its first call or with all others of its kind."""
    once = cache(make)
    _MAKERS.append(once)
    return once


def on_demand(signature: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an entry point as `kernel` does, at its first call."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made = made_on_demand(lambda: kernel(signature, **options)(function))

        @wraps(function)
        def call(*args: Any) -> Any:
            return made()(*args)

        return call

    return decorate


def compile_on_demand() -> int:
    """Compile all such kernels into the disk cache, where numba is in use; return how many there are."""
    made = [make() for make in _MAKERS]
    for entry in made:
        getattr(entry, "compile_all", lambda: None)()
    return len(made)
