"""Grids of cells as parameters of tests."""

import pytest


def every_run(kept, cells):
    """Cells as parameters of a test: those that are kept in every run, the others in long studies only."""
    return [
        pytest.param(*(cell if isinstance(cell, tuple) else (cell,)), marks=() if cell in kept else pytest.mark.slow)
        for cell in cells
    ]
