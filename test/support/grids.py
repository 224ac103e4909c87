"""Grids of cells as parameters of tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

import pytest


def every_run(kept, cells):
    """Cells as parameters of a test: those that are kept in every run, the others in long studies only."""
    return [
        pytest.param(*(cell if isinstance(cell, tuple) else (cell,)), marks=() if cell in kept else pytest.mark.slow)
        for cell in cells
    ]


def all_of(names: str | tuple[str, ...], cells: Iterable) -> Callable:
    """Make one test of cells of a moment, which tells all that fail; as `pytest.mark.parametrize` otherwise.

    Each worker collects each test, which takes longer than such a cell.
    """
    keys = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    rows = [dict(zip(keys, cell if len(keys) > 1 else (cell,), strict=True)) for cell in cells]

    def decorate(judge: Callable) -> Callable:
        def test(**others) -> None:
            wrong = []
            for row in rows:
                try:
                    judge(**row, **others)
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append(f"{[*row.values()]!r:.200}: {type(error).__name__}: {error!s:.1000}")
            assert rows and not wrong, "\n".join(wrong)

        signature = inspect.signature(judge)
        others = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        test.__dict__.update(judge.__dict__)  # marks
        test.__signature__ = signature.replace(parameters=others)  # the fixtures that are left
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(test, name, getattr(judge, name))
        return test

    return decorate
