"""How many states lie side by side in a SIMD vector, and rows in a vector of columns."""

from __future__ import annotations

LANES = 8
