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
from collections.abc import Mapping
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
from .leg_readings import READINGS, LegReadings
from .sensors import AngleSensor, DisplacementSensor, InclinationSensor, allowed_repeats

_POINTS = ("base_point", "platform_point")
_NUMBERS = ("delay", "delay_deviation")
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
        scales, offsets = (
            [entry.number(key, value) for entry in entries] for key, value in (("scale", 1), ("offset", 0))
        )
        for entry, scale in zip(entries, scales, strict=True):
            if not scale:
                entry.refuse("scale is 0, expected another number")
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
        if name not in section:
            continue
        numbers = section.numbers(name, None if isinstance(default, list) else ())
        if not ((low <= numbers) & (numbers <= high)).all():
            section.refuse(f"{name} is {quoted(numbers.tolist())}, expected {low:g} to {high:g}")
        if name != "length_corrections" and numbers.ndim > 1:
            section.refuse(f"{name} is {quoted(numbers.tolist())}, expected one number or six")
        found[name] = numbers.ravel().tolist() if isinstance(default, list) else float(numbers)
    try:
        LegReadings.from_values(PlatformSensors(found).values())
    except StewartError as error:
        section.refuse(str(error))
    for name in ("leg_delays", "leg_delay_deviations"):
        if len(np.atleast_1d(found.get(name, 0.0))) not in (1, 6):
            section.refuse(f"{name} has {len(np.atleast_1d(found[name]))} numbers, expected one or six")
    return found


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
    given |= {key: tuple(entry.numbers(key, (3,)).tolist()) for key in vectors if key not in given}
    given |= {key: entry.number(key, 0.0) for key in _NUMBERS}
    sensor = make(
        entry.text("name"), noise=entry.number("noise"),
        resolution=entry.number("resolution") if "resolution" in entry else None, **given,
    )  # fmt: skip
    if not sensor.noise > 0.0 or not 0.0 <= sensor.delay_deviation <= 1.0 or not abs(sensor.delay) <= 1.0:
        entry.refuse("expected noise above 0, delay up to 1 s, delay_deviation 0 to 1 s")
    try:
        sensor.row()
        allowed_repeats(sensor.name, sensor.noise, sensor.resolution)
    except StewartError as error:
        entry.refuse(str(error))
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
