"""Measures of disagreement."""

from __future__ import annotations

import re

import numpy as np
import pytest


def relative(actual, expected):
    """Largest difference, relative to the largest expected entry; infinite for NaN or another shape."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return np.inf
    if not expected.size:
        return 0.0
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), np.finfo(float).tiny))


def in_forces(M, actual, expected, tau=0.0):
    """Difference of two accelerations, as the forces it stands for, relative to the largest force there is.

    Round-off in forward dynamics grows with the condition of the mass matrix M, up to 1e8 for humanoids with fingers;
    in forces it does not.
    """
    if not np.isfinite(actual).all():
        return np.inf
    largest = max(np.max(np.abs(M) @ np.abs(expected)), np.max(np.abs(tau)))
    return float(np.abs(M @ (actual - expected)).max() / largest)


#: Numbers of a text; digits within names are none.
NUMBER = re.compile(r"(?<!\w)-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")


def assert_same_but_for_round_off(actual: str, expected: str) -> None:
    """Hold two texts against each other: numbers to 1e-12, for the last digits depend on the processor; else equal."""
    assert NUMBER.sub("#", actual) == NUMBER.sub("#", expected)
    numbers = ([float(x) for x in NUMBER.findall(text)] for text in (actual, expected))
    assert next(numbers) == pytest.approx(next(numbers), rel=1e-12, abs=1e-12)


def central(function, along, h=1e-3):
    """Derivatives of a function of a vector of n numbers, at zero, of order four; along the last axis.

    `along` are directions (m, n), or n, for each number by itself.
    """
    directions = np.eye(along) if isinstance(along, int) else along
    ends = [[(function(s * e), function(-s * e)) for s in (h, 2 * h)] for e in directions]
    return np.stack([(8 * (a - b) - (c - d)) / (12 * h) for (a, b), (c, d) in ends], axis=-1)
