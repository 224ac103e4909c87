"""Lengths of legs from readings: scale, offset, nonlinearity, temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ..errors import StewartError
from ..geometry.checks import N_LEGS

#: What may be told of the readings of legs: the default, which says nothing, and the smallest and largest number.
READINGS: dict[str, tuple[list[float] | float, float, float]] = {
    "length_scales": ([1.0], -1e6, 1e6),
    "length_offsets": ([0.0], -100.0, 100.0),
    "length_corrections": ([0.0], -100.0, 100.0),
    "leg_expansions": ([0.0], -0.01, 0.01),
    "reference_temperature": (20.0, -273.15, 2000.0),
    "leg_delays": ([0.0], 0.0, 0.1),
    "leg_delay_deviations": ([0.0], 0.0, 0.1),
}


#: Smallest and largest magnitude of a scale.
SCALES = (1e-12, 1e6)


def check_scales(name: str, scales: Sequence[float]) -> None:
    """Raise StewartError where a reading would tell nothing, or too much."""
    for leg, scale in enumerate(scales, start=1):
        if not SCALES[0] <= abs(scale) <= SCALES[1]:
            of = f" of leg {leg}" if len(scales) > 1 else ""
            raise StewartError(f"{name}{of} is {scale:g}; expected a magnitude of {SCALES[0]:g} to {SCALES[1]:g}")


def _check_growth(table: Array) -> None:
    """Raise StewartError unless lengths, and corrected ones of each leg, grow from row to row of a table (k, 7)."""
    whole = np.column_stack((table[:, 0], table[:, :1] + table[:, 1:]))
    row, column = next(iter(np.argwhere(~(np.diff(whole, axis=0) > 0.0))), (-1, 0))
    if row >= 0:
        what = f"the corrected length of leg {column}" if column else "the length"
        raise StewartError(
            f"length_corrections: {what} is {whole[row, column]:g} in row {row + 1} and {whole[row + 1, column]:g} in "
            f"row {row + 2}; expected to grow from row to row"
        )


@dataclass(frozen=True, eq=False)
class LegReadings:
    """Makes lengths of readings x: (s x + o + c(s x + o)) (1 + e (T - T0)), and rates of their rates.

    Attributes
    ----------
    scales, offsets, expansions : ndarray, shape (6,)
        s [m for each unit of the reading], o [m], e [1/K].
    points, corrections : ndarray, shapes (k,) and (k, 6)
        Lengths, ascending, and what is added there [m]; linear between them, constant beyond.
    reference : float
        T0 [deg C].
    """

    scales: Array
    offsets: Array
    points: Array
    corrections: Array
    expansions: Array
    reference: float

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> LegReadings:
        """Make them of values by the names of `READINGS`; raises StewartError where these make no sense."""
        given = {}
        for name in ("length_scales", "length_offsets", "leg_expansions"):
            if len(values[name]) not in (1, N_LEGS):
                raise StewartError(f"{name} has {len(values[name])} numbers; expected one or six")
            given[name] = np.broadcast_to(np.array(values[name], dtype=float), (N_LEGS,)).copy()
        check_scales("length_scales", values["length_scales"])
        table = np.array(values["length_corrections"], dtype=float)
        if table.tolist() == [0.0]:
            table = np.empty((0, 1 + N_LEGS))
        elif len(table) % (1 + N_LEGS) or not len(table):
            raise StewartError(
                f"length_corrections has {len(table)} numbers; expected rows of seven (length, correction of each "
                "leg), or [0.0] for none"
            )
        table = table.reshape(-1, 1 + N_LEGS)
        _check_growth(table)
        return cls(
            scales=given["length_scales"],
            offsets=given["length_offsets"],
            points=table[:, 0].copy(),
            corrections=table[:, 1:].copy(),
            expansions=given["leg_expansions"],
            reference=values["reference_temperature"],
        )

    @property
    def plain(self) -> bool:
        """Whether readings are lengths as they are."""
        return bool((self.scales == 1.0).all()) and not (
            self.offsets.any() or len(self.points) or self.expansions.any()
        )

    @np.errstate(over="ignore", invalid="ignore")
    def apply(self, lengths: Array, rates: Array | None, temperatures: Array) -> None:
        """Make lengths and rates of readings (6,) and of theirs, in place; temperatures (6,) [deg C], NaN: unknown."""
        lengths *= self.scales
        lengths += self.offsets
        factors = 1.0 + self.expansions * np.nan_to_num(temperatures - self.reference)
        slopes = self.scales * factors
        if len(self.points):
            slopes *= 1.0 + self._slopes(lengths)
            columns = self.corrections.T
            lengths += [np.interp(x, self.points, column) for x, column in zip(lengths, columns, strict=True)]
        lengths *= factors
        if rates is not None:
            rates *= slopes

    def _slopes(self, lengths: Array) -> Array:
        """Return how fast corrections change with the length."""
        below = np.searchsorted(self.points, lengths, side="right") - 1
        inside = (below >= 0) & (below < len(self.points) - 1)
        i = np.where(inside, below, 0)
        if len(self.points) < 2:
            return np.zeros(N_LEGS)
        rise = np.diff(self.corrections, axis=0)[i, np.arange(N_LEGS)]
        return np.where(inside, rise / np.diff(self.points)[i], 0.0)
