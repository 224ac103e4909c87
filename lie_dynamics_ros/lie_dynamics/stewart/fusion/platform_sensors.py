"""Sensors in the file of a platform: how legs are read, and which further ones there are.

Both are optional, besides the geometry of `stewart.geometry.yaml_files`, which leaves them alone::

    readings:                           # see `LegReadings`; one number for all legs, or six
      length_scales: 1.0
      length_offsets: [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
      length_corrections: [[length, correction of leg 1, ..., of leg 6], ...]
      leg_expansions: 1.2e-5
      reference_temperature: 20.0
      leg_delays: 0.001
      leg_delay_deviations: 0.0005

    sensors:
      - {name: wire, kind: length, base_point: [x, y, z], platform_point: [x, y, z], noise: 1.0e-5}
      - {name: hinge, kind: angle, leg: 3, axis: [0, 1, 0], zero: [0, 0, 1], noise: 1.0e-4, scale: 1.0, offset: 0.0}
      - {name: roll, kind: inclination, platform_point: [x, y, z], axis: [1, 0, 0], zero: [0, 0, 1], noise: 1.0e-3}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from ...arrays import Array, ArrayLike, Integers
from ...errors import StewartError
from ...texts import quoted
from ...yaml_sections import Section, read_section
from ..geometry.checks import N_LEGS
from ..geometry.platform import StewartPlatform
from ..geometry.yaml_files import PLATFORM_KEYS
from .sensors import AngleSensor, DisplacementSensor, InclinationSensor

#: Settings of the readings of legs: the default, which changes nothing, and the smallest and largest number.
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
    """Raise StewartError where a reading would determine nothing, or too much."""
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

POINTS = ("base_point", "platform_point")
NUMBERS = ("delay", "delay_deviation")
#: Smallest and largest number at each key of a sensor: [m or rad], [s], delays as of legs.
_RANGES = {
    "noise": (1e-12, 1e3), "offset": (-1e3, 1e3), "resolution": (0.0, 1e3), "delay": (0.0, 0.1),
    "delay_deviation": (0.0, 0.1), **dict.fromkeys(POINTS, (-1e3, 1e3)),
}  # fmt: skip
KINDS: dict[str, tuple[type[DisplacementSensor], tuple[str, ...]]] = {
    "length": (DisplacementSensor, POINTS),
    "angle": (AngleSensor, (*POINTS, "axis", "zero")),
    "inclination": (InclinationSensor, ("platform_point", "axis", "zero")),
}
KEYS = ("name", "kind", "leg", "axis", "zero", "noise", "resolution", "scale", "offset", *POINTS, *NUMBERS)


def read_readings(section: Section) -> dict[str, list[float] | float]:
    """Return the entries of the legs."""
    found: dict[str, list[float] | float] = {}
    for name, (default, low, high) in READINGS.items():
        if not section.names(name):
            continue
        numbers = section.numbers(name, None if isinstance(default, list) else ())
        table = name == "length_corrections"
        if numbers.ndim > 1 + table or (numbers.ndim == 2 and numbers.shape[1] != 7):
            wanted = "rows of seven numbers" if table else "one number or six"
            section.refuse(f"{name} is {quoted(numbers.tolist())}, expected {wanted}")
        if not table and numbers.size not in (1, 6):
            section.refuse(f"{name} has {numbers.size} numbers; expected one or six")
        outside = np.argwhere(~((low <= numbers) & (numbers <= high)))
        if len(outside):
            section.refuse(
                f"{name}{_place(outside[0], table)} is {numbers[tuple(outside[0])]:g}, expected {low:g} to {high:g}"
            )
        found[name] = numbers.ravel().tolist() if isinstance(default, list) else float(numbers)
    values = {name: default for name, (default, *_) in READINGS.items()} | found
    usable(section, lambda: LegReadings.from_values(values))
    return found


def _place(index: Integers, table: bool) -> str:
    """Return which of several numbers it is: of a leg, or in a table of lengths and of corrections of legs."""
    if not len(index):
        return ""
    if not table:
        return f" of leg {index[0] + 1}"
    row, column = (index[0], index[1]) if len(index) == 2 else divmod(index[0], 7)
    return f" of {f'leg {column}' if column else 'the length'} in row {row + 1}"


def usable(section: Section, check: Callable[[], object]) -> None:
    """Call what may raise StewartError, with a message that begins with the place."""
    try:
        check()
    except StewartError as error:
        section.refuse(str(error))


def within(entry: Section, key: str, shape: tuple[int, ...], default: float | None = None) -> Array:
    """Return numbers of a sensor in the range of the key."""
    numbers, (low, high) = entry.numbers(key, shape, default), _RANGES[key]
    if not ((low <= numbers) & (numbers <= high)).all():
        entry.refuse(f"{key} is {quoted(numbers.tolist())}, expected {low:g} to {high:g}")
    return numbers


def read_sensor(entry: Section, platform: StewartPlatform) -> DisplacementSensor:
    """Return the sensor of an entry."""
    kind = entry.text("kind", "length")
    if kind not in KINDS:
        entry.refuse(f"kind is {quoted(kind)}, expected one of {', '.join(KINDS)}")
    make, vectors = KINDS[kind]
    entry.need(("name", "noise"), "its name in messages, its standard deviation [m or rad]")
    given: dict[str, Any] = {}
    if "leg" in entry:
        leg = entry.number("leg")
        if any(key in entry for key in POINTS) or leg not in range(1, 7):
            entry.refuse(f"leg is {leg:g}, expected 1 to 6, and then neither {' nor '.join(POINTS)}")
        if kind != "angle":
            entry.refuse(f"leg has no part in a sensor of kind {kind}")
        given = {key: tuple(getattr(platform, f"{key}s")[int(leg) - 1].tolist()) for key in POINTS}
    entry.need(tuple(key for key in vectors if key not in given), "x, y, z")
    others = [key for key in ("leg", *POINTS, "axis", "zero") if key in entry and key not in (*vectors, "leg")]
    if others:
        entry.refuse(f"{', '.join(others)} have no part in a sensor of kind {kind}")
    given |= {key: tuple(within(entry, key, (3,)).tolist()) for key in POINTS if key in vectors and key not in given}
    given |= {key: tuple(entry.numbers(key, (3,)).tolist()) for key in vectors if key not in given}
    given |= {key: float(within(entry, key, (), 0.0)) for key in NUMBERS}
    resolution = float(within(entry, "resolution", ())) if entry.names("resolution") else None
    name = entry.text("name")
    if not name.isprintable() or name != name.strip():
        entry.refuse(f"name is {quoted(name)}, expected a text on one line without blanks around it")
    sensor = make(name, noise=float(within(entry, "noise", ())), resolution=resolution, **given)
    usable(entry, sensor.row)
    return sensor


#: Sensors beside the legs, at most: each costs time in every update.
MOST_SENSORS = 30


@dataclass(frozen=True)
class PlatformSensors:
    """Sensors of a platform.

    Attributes
    ----------
    readings : mapping, of the readings of legs, by the names of `leg_readings.READINGS`: lists of one number or
        six, rows of `length_corrections` one after the other.
    sensors : further sensors.
    scales, offsets : of their readings, a pair for each: x reads as scale x + offset [m or rad].
    """

    readings: Mapping[str, list[float] | float] = field(default_factory=dict)
    sensors: tuple[DisplacementSensor, ...] = ()
    scales: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()

    @classmethod
    def from_yaml(cls, source: str | PathLike[str], platform: StewartPlatform) -> PlatformSensors:
        """Read them from the YAML text, or the file, of a platform.

        Raises
        ------
        StewartError : as `StewartPlatform.from_yaml`; unknown keys and values that cannot be used, by name.
        """
        top = read_section(source, PLATFORM_KEYS, StewartError)
        readings = read_readings(top.section("readings", tuple(READINGS))) if "readings" in top else {}
        entries = top.sections("sensors", "sensor")
        if len(entries) > MOST_SENSORS:
            top.refuse(f"{len(entries)} sensors, expected at most {MOST_SENSORS}")
        found = [read_sensor(entry.know(KEYS), platform) for entry in entries]
        names = [sensor.name for sensor in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            top.refuse(f"two sensors are named {quoted(twice)}")
        scales = [entry.number("scale", 1.0) for entry in entries]
        offsets = [float(within(entry, "offset", (), 0.0)) for entry in entries]
        for entry, scale in zip(entries, scales, strict=True):
            usable(entry, lambda s=scale: check_scales("scale", [s]))  # type: ignore[misc]
        return cls(readings, tuple(found), tuple(scales), tuple(offsets))

    def values(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return all of `READINGS`: what is given and no default, else what is given here, else defaults."""
        known = {name: default for name, (default, *_) in READINGS.items()} | dict(self.readings)
        return known | {name: value for name, value in (given or {}).items() if not _is_default(name, value)}

    def overruled(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which of `readings` have another value, no default, among those given."""
        return tuple(name for name in self.readings if name in given and not _is_default(name, given[name]))

    def with_offsets(self, offsets: ArrayLike, gains: ArrayLike = 1.0) -> PlatformSensors:
        """Return the same with lengths that are `gains` times as long, and longer by `offsets`.

        Both (6,), [m] and [1], at the temperature of reference; exact for lengths up to 100 m.
        """
        values, more = self.values(), np.asarray(offsets, dtype=np.float64)
        larger = np.broadcast_to(np.asarray(gains, dtype=np.float64), 6)
        table = np.array(values["length_corrections"])
        if table.size == 1:
            changed = {"length_offsets": (larger * np.broadcast_to(values["length_offsets"], 6) + more).tolist()}
            if (larger != 1.0).any():
                changed["length_scales"] = (larger * np.broadcast_to(values["length_scales"], 6)).tolist()
            return replace(self, readings={**self.readings, **changed})
        # What corrections are added to is to stay as it is: the table takes it all.
        table = table.reshape(-1, 7)
        if (larger != 1.0).any():  # corrections are constant beyond the table, and no longer would be
            low, high = READINGS["length_corrections"][1:]
            rows = [[low, *table[0, 1:]], *table, [high, *table[-1, 1:]]]
            table = np.array(rows[int(table[0, 0] <= low) : len(rows) - int(table[-1, 0] >= high)])
        table[:, 1:] = (larger - 1.0) * table[:, :1] + larger * table[:, 1:] + more
        return replace(self, readings={**self.readings, "length_corrections": table.ravel().tolist()})

    def with_further(self, legs: Sequence[DisplacementSensor], offsets: ArrayLike, gains: ArrayLike) -> PlatformSensors:
        """Return the same with some sensors, by name, between other points, and gain and offset for each (m,)."""
        sensors, scales, rest = list(self.sensors), list(self.scales), list(self.offsets)
        for leg, offset, gain in zip(legs, np.asarray(offsets).tolist(), np.asarray(gains).tolist(), strict=True):
            at = next(k for k, sensor in enumerate(sensors) if sensor.name == leg.name)
            sensors[at] = replace(sensors[at], base_point=leg.base_point, platform_point=leg.platform_point)
            scales[at], rest[at] = gain * scales[at], gain * rest[at] + offset
        return replace(self, sensors=tuple(sensors), scales=tuple(scales), offsets=tuple(rest))

    def on_legs(self, drawn: StewartPlatform, platform: StewartPlatform) -> PlatformSensors:
        """Return the same with angles of the legs of one platform those of the legs of another."""
        sensors = list(self.sensors)
        for at, sensor in enumerate(sensors):
            ends = np.concatenate((sensor.base_point, sensor.platform_point))
            for leg, own in enumerate(np.hstack((drawn.base_points, drawn.platform_points))):
                if type(sensor) is AngleSensor and np.array_equal(ends, own):
                    base, moving = platform.base_points[leg].tolist(), platform.platform_points[leg].tolist()
                    sensors[at] = replace(sensor, base_point=tuple(base), platform_point=tuple(moving))
        return replace(self, sensors=tuple(sensors))

    def to_yaml(self) -> str:
        """YAML text that follows that of a platform, see `StewartPlatform.to_yaml`; empty where nothing is given."""
        lines = ["readings:"] if self.readings else []
        for name, value in self.readings.items():
            rows = name == "length_corrections" and np.size(value) > 1
            lines.append(f"  {name}: {np.reshape(value, (-1, 7)).tolist() if rows else value}")
        lines += ["sensors:"] if self.sensors else []
        lines += [f"  - {_entry(*one)}" for one in zip(self.sensors, self.scales, self.offsets, strict=True)]
        return "".join(line + "\n" for line in lines)


def _is_default(name: str, value: Any) -> bool:
    """Return whether a value is the default, or no reading at all."""
    default = READINGS[name][0] if name in READINGS else value
    return bool((list(value) if isinstance(default, list) else value) == default)


def _entry(sensor: DisplacementSensor, scale: float, offset: float) -> str:
    """Return a file's entry for a sensor, in one line."""
    kind, (_, vectors) = next(item for item in KINDS.items() if item[1][0] is type(sensor))
    found: dict[str, Any] = {"name": sensor.name, "kind": kind}
    found |= {key: np.asarray(getattr(sensor, key), dtype=np.float64).tolist() for key in vectors}
    found |= {key: float(getattr(sensor, key)) for key in ("noise", *NUMBERS)}
    if sensor.resolution is not None:
        found["resolution"] = float(sensor.resolution)
    return json.dumps(found | {"scale": scale, "offset": offset})
