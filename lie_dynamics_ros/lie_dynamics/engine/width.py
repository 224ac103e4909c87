"""Numbers of states in a SIMD vector, and of rows in a vector of columns."""

from __future__ import annotations

LANES = 8
