"""What a platform's file says of its sensors: read, written, and in place of defaults only."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.stewart import (
    AngleSensor,
    DisplacementSensor,
    InclinationSensor,
    LegReadings,
    PlatformSensors,
    StewartPlatform,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.fusion.platform_sensors import READINGS

PLATFORM = reference_platform()
GEOMETRY = PLATFORM.to_yaml()
TABLE = [[0.3, 0, 1e-4, 0, 0, 0, 0], [0.7, 2e-4, 0, 0, 0, 0, 0]]
GOOD = f"""
readings: {{length_scales: 0.001, length_offsets: [1, 2, 3, 4, 5, 6], length_corrections: {TABLE},
  leg_expansions: 1.2e-5, reference_temperature: 25, leg_delays: 3e-3, leg_delay_deviations: [0, 0, 0, 0, 0, 1e-3]}}
sensors:
  - {{name: wire, base_point: [0, 0, 0], platform_point: [0, 0, 0.1], noise: 1e-5, scale: 0.5, offset: -1}}
  - {{name: "hinge: 3", kind: angle, leg: 3, axis: [0, 1, 0], zero: [0, 0, 1], noise: 1e-4, delay: 0.002,
     delay_deviation: 0.001, resolution: 1e-5}}
  - {{name: roll, kind: inclination, platform_point: [0.1, 0, 0], axis: [1, 0, 0], zero: [0, 0, 1], noise: 1e-3}}
"""
DEFAULTS = {name: default for name, (default, *_) in READINGS.items()}


def read(text):
    return PlatformSensors.from_yaml(GEOMETRY + text, PLATFORM)


def test_what_is_told_is_read_and_written():
    found = read(GOOD)
    assert StewartPlatform.from_yaml(GEOMETRY + GOOD).to_yaml() == GEOMETRY
    assert read("") == PlatformSensors() and read("").to_yaml() == ""
    wire, hinge, roll = found.sensors
    assert roll == InclinationSensor("roll", platform_point=(0.1, 0, 0), noise=1e-3, axis=(1, 0, 0), zero=(0, 0, 1))
    assert wire == DisplacementSensor("wire", (0.0, 0.0, 0.0), (0.0, 0.0, 0.1), 1e-5)
    assert isinstance(hinge, AngleSensor) and (hinge.delay, hinge.delay_deviation) == (0.002, 0.001)
    np.testing.assert_array_equal([hinge.base_point, hinge.platform_point],
                                  [PLATFORM.base_points[2], PLATFORM.platform_points[2]])  # fmt: skip
    assert (hinge.name, hinge.resolution, hinge.axis, hinge.zero) == ("hinge: 3", 1e-5, (0, 1, 0), (0, 0, 1))
    assert found.scales == (0.5, 1.0, 1.0) and found.offsets == (-1.0, 0.0, 0.0)
    assert found.readings["length_scales"] == [0.001] and found.readings["reference_temperature"] == 25.0
    assert found.readings["length_corrections"] == [*TABLE[0], *TABLE[1]]
    assert read(found.to_yaml()) == found


def test_given_values_other_than_defaults_win():
    found = read(GOOD)
    assert found.values(DEFAULTS) == found.values() == DEFAULTS | dict(found.readings)
    given = DEFAULTS | {"length_scales": [1.0] * 6, "leg_delays": [0.001]}
    assert found.overruled(given) == ("length_scales", "leg_delays") and found.overruled(DEFAULTS) == ()
    assert found.values(given) == DEFAULTS | dict(found.readings) | {"length_scales": [1.0] * 6, "leg_delays": [0.001]}
    assert PlatformSensors().values(given) == given and PlatformSensors().overruled(given) == ()


@pytest.mark.parametrize("gains", [np.ones(6), np.linspace(0.97, 1.04, 6)], ids=["ones", "gains"])
@pytest.mark.parametrize("text", ["", "readings: {length_offsets: 0.1}", GOOD])
def test_gains_and_offsets_make_all_lengths_longer(text, gains):
    """Also beyond the table, and after a file."""
    found, more = read(text), np.linspace(-2e-3, 3e-3, 6)
    written = read(found.with_offsets(more, gains).to_yaml())
    for x in np.linspace(-900.0, 1900.0, 15):
        lengths = []
        for sensors in (found, written):
            readings = LegReadings.from_values(sensors.values())
            lengths.append(np.full(6, x if text == GOOD else 1e-3 * x))
            readings.apply(lengths[-1], None, np.full(6, np.nan))
        np.testing.assert_allclose(lengths[1], gains * lengths[0] + more, rtol=0, atol=1e-13)


def test_further_legs_and_angles_of_legs_are_put_where_they_are():
    found = read(GOOD)
    wire, hinge, roll = found.sensors
    moved = DisplacementSensor("wire", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), 1e-5)
    again = read(found.with_further([moved], [0.03], [1.01]).to_yaml())
    assert again.sensors == (moved, hinge, roll)
    np.testing.assert_allclose(again.scales, (1.01 * 0.5, 1.0, 1.0), rtol=1e-15)
    np.testing.assert_allclose(again.offsets, (-1.01 + 0.03, 0.0, 0.0), rtol=1e-15)
    built = StewartPlatform(PLATFORM.base_points + 0.01, PLATFORM.platform_points - 0.02)
    new = found.on_legs(PLATFORM, built).sensors
    assert (new[0], new[2]) == (wire, roll) and new[1].name == hinge.name
    np.testing.assert_array_equal(new[1].base_point, built.base_points[2])
    np.testing.assert_array_equal(new[1].platform_point, built.platform_points[2])
