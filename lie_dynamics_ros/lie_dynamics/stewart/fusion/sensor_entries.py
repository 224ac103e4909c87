"""Entries on sensors in the file of a platform, read and refused; see `platform_sensors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...texts import quoted
from ...yaml_sections import Section
from ..errors import StewartError
from ..geometry.platform import StewartPlatform
from .leg_readings import READINGS, LegReadings
from .sensors import AngleSensor, DisplacementSensor, InclinationSensor

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


def _place(index: npt.NDArray[np.int64], table: bool) -> str:
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


def within(entry: Section, key: str, shape: tuple[int, ...], default: float | None = None) -> npt.NDArray[np.float64]:
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
