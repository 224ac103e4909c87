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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ...texts import quoted
from ...yaml_sections import read_section
from ..errors import StewartError
from ..geometry.platform import StewartPlatform
from ..geometry.yaml_files import PLATFORM_KEYS
from .leg_readings import READINGS, check_scales
from .sensor_entries import KEYS, KINDS, NUMBERS, read_readings, read_sensor, usable, within
from .sensors import AngleSensor, DisplacementSensor

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

    def with_offsets(self, offsets: npt.ArrayLike, gains: npt.ArrayLike = 1.0) -> PlatformSensors:
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

    def with_further(
        self, legs: Sequence[DisplacementSensor], offsets: npt.ArrayLike, gains: npt.ArrayLike
    ) -> PlatformSensors:
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
