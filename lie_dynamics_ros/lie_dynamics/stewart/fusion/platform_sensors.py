"""What the file of a platform says of its sensors: how legs are read, and which further ones there are.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ...texts import quoted
from ...yaml_sections import Section, read_section
from ..errors import StewartError
from ..geometry.platform import StewartPlatform
from ..geometry.yaml_files import PLATFORM_KEYS
from .leg_readings import READINGS, LegReadings, check_scales
from .sensors import AngleSensor, DisplacementSensor, InclinationSensor

_POINTS = ("base_point", "platform_point")
_NUMBERS = ("delay", "delay_deviation")
#: Smallest and largest number at each key of a sensor: [m or rad], [s], delays as of legs.
_RANGES = {
    "noise": (1e-12, 1e3), "offset": (-1e3, 1e3), "resolution": (0.0, 1e3), "delay": (0.0, 0.1),
    "delay_deviation": (0.0, 0.1), **dict.fromkeys(_POINTS, (-1e3, 1e3)),
}  # fmt: skip
_KINDS: dict[str, tuple[type[DisplacementSensor], tuple[str, ...]]] = {
    "length": (DisplacementSensor, _POINTS),
    "angle": (AngleSensor, (*_POINTS, "axis", "zero")),
    "inclination": (InclinationSensor, ("platform_point", "axis", "zero")),
}
_KEYS = ("name", "kind", "leg", "axis", "zero", "noise", "resolution", "scale", "offset", *_POINTS, *_NUMBERS)
#: Sensors beside the legs, at most: each costs time in every update.
MOST_SENSORS = 30


@dataclass(frozen=True)
class PlatformSensors:
    """How the sensors of a platform read.

    Attributes
    ----------
    readings : mapping, of what is told of the legs, by the names of `leg_readings.READINGS`: lists of one number or
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
        readings = _readings(top.section("readings", tuple(READINGS))) if "readings" in top else {}
        entries = top.sections("sensors", "sensor")
        if len(entries) > MOST_SENSORS:
            top.refuse(f"{len(entries)} sensors, expected at most {MOST_SENSORS}")
        found = [_sensor(entry.know(_KEYS), platform) for entry in entries]
        names = [sensor.name for sensor in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            top.refuse(f"two sensors are named {quoted(twice)}")
        scales = [entry.number("scale", 1.0) for entry in entries]
        offsets = [float(_within(entry, "offset", (), 0.0)) for entry in entries]
        for entry, scale in zip(entries, scales, strict=True):
            _usable(entry, lambda s=scale: check_scales("scale", [s]))  # type: ignore[misc]
        return cls(readings, tuple(found), tuple(scales), tuple(offsets))

    def values(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return all of `READINGS`: what is given and no default, else what is told here, else defaults."""
        known = {name: default for name, (default, *_) in READINGS.items()} | dict(self.readings)
        return known | {name: value for name, value in (given or {}).items() if not _is_default(name, value)}

    def overruled(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which of `readings` have another value, no default, among those given."""
        return tuple(name for name in self.readings if name in given and not _is_default(name, given[name]))

    def with_offsets(self, offsets: npt.ArrayLike) -> PlatformSensors:
        """Return the same with lengths that are longer by `offsets` (6,) [m] at the temperature of reference."""
        values, more = self.values(), np.asarray(offsets, dtype=np.float64)
        table = np.array(values["length_corrections"])
        if table.size > 1:  # what corrections are added to is to stay as it is
            changed = "length_corrections", (table.reshape(-1, 7) + np.append(0.0, more)).ravel().tolist()
        else:
            changed = "length_offsets", (np.broadcast_to(values["length_offsets"], 6) + more).tolist()
        return replace(self, readings={**self.readings, changed[0]: changed[1]})

    def to_yaml(self) -> str:
        """YAML text that follows that of a platform, see `StewartPlatform.to_yaml`; empty where nothing is told."""
        lines = ["readings:"] if self.readings else []
        for name, value in self.readings.items():
            rows = name == "length_corrections" and np.size(value) > 1
            lines.append(f"  {name}: {np.reshape(value, (-1, 7)).tolist() if rows else value}")
        lines += ["sensors:"] if self.sensors else []
        lines += [f"  - {_entry(*one)}" for one in zip(self.sensors, self.scales, self.offsets, strict=True)]
        return "".join(line + "\n" for line in lines)


def _is_default(name: str, value: Any) -> bool:
    """Tell whether a value says nothing: the default, or no reading at all."""
    default = READINGS[name][0] if name in READINGS else value
    return bool((list(value) if isinstance(default, list) else value) == default)


def _readings(section: Section) -> dict[str, list[float] | float]:
    """Return what is told of the legs."""
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
    _usable(section, lambda: LegReadings.from_values(PlatformSensors(found).values()))
    return found


def _place(index: npt.NDArray[np.int64], table: bool) -> str:
    """Return which of several numbers it is: of a leg, or in a table of lengths and of corrections of legs."""
    if not len(index):
        return ""
    if not table:
        return f" of leg {index[0] + 1}"
    row, column = (index[0], index[1]) if len(index) == 2 else divmod(index[0], 7)
    return f" of {f'leg {column}' if column else 'the length'} in row {row + 1}"


def _usable(section: Section, check: Callable[[], object]) -> None:
    """Call what may raise StewartError, with a message that begins with the place."""
    try:
        check()
    except StewartError as error:
        section.refuse(str(error))


def _within(entry: Section, key: str, shape: tuple[int, ...], default: float | None = None) -> npt.NDArray[np.float64]:
    """Return numbers of a sensor in the range of the key."""
    numbers, (low, high) = entry.numbers(key, shape, default), _RANGES[key]
    if not ((low <= numbers) & (numbers <= high)).all():
        entry.refuse(f"{key} is {quoted(numbers.tolist())}, expected {low:g} to {high:g}")
    return numbers


def _sensor(entry: Section, platform: StewartPlatform) -> DisplacementSensor:
    """Return the sensor of an entry."""
    kind = entry.text("kind", "length")
    if kind not in _KINDS:
        entry.refuse(f"kind is {quoted(kind)}, expected one of {', '.join(_KINDS)}")
    make, vectors = _KINDS[kind]
    entry.need(("name", "noise"), "its name in messages, its standard deviation [m or rad]")
    given: dict[str, Any] = {}
    if "leg" in entry:
        leg = entry.number("leg")
        if any(key in entry for key in _POINTS) or leg not in range(1, 7):
            entry.refuse(f"leg is {leg:g}, expected 1 to 6, and then neither {' nor '.join(_POINTS)}")
        if kind != "angle":
            entry.refuse(f"leg has no part in a sensor of kind {kind}")
        given = {key: tuple(getattr(platform, f"{key}s")[int(leg) - 1].tolist()) for key in _POINTS}
    entry.need(tuple(key for key in vectors if key not in given), "x, y, z")
    others = [key for key in ("leg", *_POINTS, "axis", "zero") if key in entry and key not in (*vectors, "leg")]
    if others:
        entry.refuse(f"{', '.join(others)} have no part in a sensor of kind {kind}")
    given |= {key: tuple(_within(entry, key, (3,)).tolist()) for key in _POINTS if key in vectors and key not in given}
    given |= {key: tuple(entry.numbers(key, (3,)).tolist()) for key in vectors if key not in given}
    given |= {key: float(_within(entry, key, (), 0.0)) for key in _NUMBERS}
    resolution = float(_within(entry, "resolution", ())) if entry.names("resolution") else None
    name = entry.text("name")
    if not name.isprintable() or name != name.strip():
        entry.refuse(f"name is {quoted(name)}, expected a text on one line without blanks around it")
    sensor = make(name, noise=float(_within(entry, "noise", ())), resolution=resolution, **given)
    _usable(entry, sensor.row)
    return sensor


def _entry(sensor: DisplacementSensor, scale: float, offset: float) -> str:
    """Return what a file says of a sensor, in one line."""
    kind, (_, vectors) = next(item for item in _KINDS.items() if item[1][0] is type(sensor))
    found: dict[str, Any] = {"name": sensor.name, "kind": kind}
    found |= {key: np.asarray(getattr(sensor, key), dtype=np.float64).tolist() for key in vectors}
    found |= {key: float(getattr(sensor, key)) for key in ("noise", *_NUMBERS)}
    if sensor.resolution is not None:
        found["resolution"] = float(sensor.resolution)
    return json.dumps(found | {"scale": scale, "offset": offset})
