"""Sensors in a platform's file that cannot be used: refused by leg or sensor, value, and what was expected."""

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics.stewart import (
    AngleSensor,
    DisplacementSensor,
    LegReadings,
    PlatformSensors,
    StewartError,
    StewartFusion,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.fusion.platform_sensors import READINGS

PLATFORM = reference_platform()
GEOMETRY = PLATFORM.to_yaml()
ROW, TABLE = "[0.3, 0, 0, 0, 0, 0, 0]", "length_corrections"
#: What `readings` may not be, and words of the error.
LEGS = {
    "[]": "is a list",
    "3": "is a number",
    "{scales: 1.0}": "unknown keys 'scales'; known are length_scales",
    "{length_scales: }": "length_scales is None",
    "{length_scales: []}": "length_scales is \\[\\]",
    "{length_scales: {a: 1}}": "length_scales is {'a': 1}",
    "{length_scales: '1.0'}": "length_scales is '1.0'",
    "{length_scales: yes}": "length_scales is",
    "{length_scales: [1, 1, 1, 1, 1, true]}": "length_scales is .*True",
    "{length_scales: .inf}": "length_scales is inf",
    "{length_scales: 0.0}": "length_scales is 0; expected a magnitude of 1e-12 to 1e.06",
    "{length_scales: [1, 1, 1, 1, 1, 0]}": "length_scales of leg 6 is 0; expected",
    "{length_scales: [1, -1e-13, 1, 1, 1, 1]}": "length_scales of leg 2 is -1e-13; expected",
    "{length_scales: -1e7}": "length_scales is -1e.07, expected -1e.06 to 1e.06",
    "{length_scales: [1, 2]}": "length_scales has 2 numbers; expected one or six",
    "{length_scales: 1, length_scales: 1}": "'length_scales' is there twice",
    f"{{length_offsets: [{', '.join(['0.1'] * 20_000)}]}}": "length_offsets has 20000 numbers; expected one or six",
    "{length_offsets: [0.1, .nan, 0, 0, 0, 0]}": "length_offsets is \\[0.1, nan",
    "{length_offsets: [0, 0, 0, 101, 0, 0]}": "length_offsets of leg 4 is 101, expected -100 to 100",
    "{length_offsets: [[1, 2, 3], [4, 5, 6]]}": "length_offsets is .*one number or six",
    "{leg_delays: -0.001}": "leg_delays is -0.001, expected 0 to 0.1",
    "{leg_delays: [0, 0, 0, 0, 0.2, 0]}": "leg_delays of leg 5 is 0.2, expected 0 to 0.1",
    "{leg_delays: [0.001, 0.001]}": "leg_delays has 2",
    "{leg_delay_deviations: 1e9}": "leg_delay_deviations is 1e.09, expected 0 to 0.1",
    "{leg_expansions: 1}": "leg_expansions is 1, expected -0.01 to 0.01",
    "{reference_temperature: [20]}": "reference_temperature is \\[20\\]",
    "{reference_temperature: -300}": "reference_temperature is -300, expected -273.15 to 2000",
    "{length_corrections: }": "is None",
    "{length_corrections: 0.5}": "length_corrections has 1 numbers; expected rows of seven",
    "{length_corrections: [[0.3, 0, 0]]}": "is .*rows of seven",
    f"{{{TABLE}: [{', '.join(['[1, 2, 3]'] * 7)}]}}": "is .*rows of seven",
    f"{{{TABLE}: [[{ROW}]]}}": "is .*rows of seven",
    f"{{{TABLE}: [{ROW}, [0.4, 0]]}}": "is .*equal lengths",
    f"{{{TABLE}: [{ROW}, [0.4, 0, 0, 0, .nan, 0, 0]]}}": "is .*nan",
    f"{{{TABLE}: [{ROW}, [0.4, 0, 0, 0, 200, 0, 0]]}}": "of leg 4 in row 2 is 200, expected",
    f"{{{TABLE}: [{ROW}, [400, 0, 0, 0, 0, 0, 0]]}}": "of the length in row 2 is 400",
    f"{{{TABLE}: [{ROW[1:-1]}, 400, 0, 0, 0, 0, 0, 0]}}": "of the length in row 2 is 400",
    f"{{{TABLE}: [{ROW}, [0.2, 0, 0, 0, 0, 0, 0]]}}": "is 0.3 in row 1 and 0.2 in row 2; expected",
    f"{{{TABLE}: [{ROW}, {ROW}]}}": "the length is 0.3 in row 1 and 0.3 in row 2",
    f"{{{TABLE}: [{ROW}, [0.4, 0, 0, -0.2, 0, 0, 0]]}}": "corrected length of leg 3 is 0.3 in row 1 and 0.2 in",
}  # fmt: skip
LENGTH = {"name": "a", "base_point": "[0, 0, 0]", "platform_point": "[0, 0, 0.1]", "noise": "1e-5"}
ANGLE = {"name": "a", "kind": "angle", "leg": "3", "axis": "[0, 1, 0]", "zero": "[0, 0, 1]", "noise": "1e-4"}
SIZES = (
    ("noise", "1e-12 to 1000", ("0", "-1e-5", "1e-200", "1e-320", "1e40")),
    ("offset", "-1000 to 1000", ("1e50", "-1001")),
    ("resolution", "0 to 1000", ("-1", "1e50")),
    ("delay", "0 to 0.1", ("-0.5", "2", "1e9")),
    ("delay_deviation", "0 to 0.1", ("-1", "5")),
    ("scale", "a magnitude of 1e-12 to 1e.06", ("0", "1e-300", "-1e50")),
    ("base_point", "-1000 to 1000", ("[0, 1e40, 0]",)),
    ("platform_point", "-1000 to 1000", ("[0, 0, -2e3]",)),
)
NOTHING = ("", ".nan", ".inf", "'1e-5'", "true", "[]", "{}", "[1, 2]")
#: Changes of a good sensor, None for a key that is left out, and words of the error.
ONE = [
    *(({key: x}, f"{key} is .*expected {wanted}") for key, wanted, values in SIZES for x in values),
    *(({key: x}, f"{key} is|has no {key}") for key, *_ in SIZES for x in NOTHING),
    ({"noise": None}, "has no noise"),
    ({"name": None}, "has no name"),
    *(({"name": x}, "name is") for x in ("3", "''", '" "', '"a\\nb"', '"a "', "a" * 600, '"\\a"')),
    ({"colour": "red"}, "unknown keys 'colour'"),
    ({"frame": "tool"}, "unknown keys 'frame'; known are name, kind"),
    *(({"kind": x}, "kind is") for x in ("light", "Length", "1", "")),
    ({"leg": "3"}, "leg is 3"),
    ({"axis": "[0, 0, 1]"}, "axis have no part in a sensor of kind length"),
    ({"base_point": None, "platform_point": None, "leg": "1"}, "leg has no part in"),
    ({"base_point": "[0, 0]"}, "base_point is"),
    ({"name": "a, noise: 1"}, "'noise' is there twice"),
]  # fmt: skip
ANGLES = [
    *(({"leg": x}, "leg is") for x in ("0", "7", "-1", "2.5", "leg_1", "true", "[1, 2]", "1e30")),
    ({"leg": "1, leg: 2"}, "'leg' is there twice"),
    ({"zero": None}, "has no zero"),
    ({"zero": "[0, 2, 0]"}, "lies along"),
    *(({"axis": x}, "lies along axis") for x in ("[0, 0, 0]", "[0, 1e-200, 0]")),
    *(({"axis": x}, "axis is") for x in ("[0, .inf, 0]", "[0, 1]", "y", "1")),
]  # fmt: skip


def entry(usual, change):
    given = usual | change
    return "{" + ", ".join(f"{key}: {value}" for key, value in given.items() if value is not None) + "}"


LIST = [
    ("{a: 1}", "sensors is"),
    ("1", "sensors is 1, expected a list"),
    ("[1]", "sensor 1 in .* is a number"),
    ("[null]", "sensor 1 in .* is nothing"),
    ("[[]]", "sensor 1 in .* is a list"),
    ("[{}]", "has no name, noise"),
    (f"[{entry(LENGTH, {})}, {entry(ANGLE, {})}]", "two sensors are named 'a'"),
    (f"[{entry(LENGTH, {})}, {entry(LENGTH, {'name': 'b', 'noise': '0'})}]", r"sensor 2 in .*'b'.*: noise is 0"),
    (f"[{', '.join(['{name: a, noise: 1}'] * 31)}]", "31 sensors, expected at most 30"),
    (f"[{', '.join(['{}'] * 50_000)}]", "50000 sensors, expected at most 30"),
    (f"[{', '.join(['{}'] * 100_000)}]", "at most 262144 expected"),
]
CASES = [
    *((f"readings: {text}", words) for text, words in LEGS.items()),
    *((f"sensors: {text}", words) for text, words in LIST),
    *((f"sensors: [{entry(LENGTH, change)}]", words) for change, words in ONE),
    *((f"sensors: [{entry(ANGLE, change)}]", words) for change, words in ANGLES),
]


def test_what_is_changed_here_is_good():
    for usual in (LENGTH, ANGLE):
        assert len(PlatformSensors.from_yaml(f"{GEOMETRY}sensors: [{entry(usual, {})}]", PLATFORM).sensors) == 1
    assert PlatformSensors.from_yaml(f"{GEOMETRY}readings: {{length_corrections: [{ROW}]}}", PLATFORM).readings


@all_of(("text", "words"), CASES)
def test_what_cannot_be_used_is_refused_by_name(text, words):
    with pytest.raises(StewartError, match=words) as caught:
        PlatformSensors.from_yaml(GEOMETRY + text, PLATFORM)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"length_scales": [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]}, "length_scales of leg 3 is 0"),
        ({"length_offsets": [0.0, 0.0]}, "length_offsets has 2 numbers"),
        ({"length_corrections": [0.3, *[0.0] * 6, 0.2, *[0.0] * 6]}, "the length is 0.3 in row 1 and 0.2 in row 2"),
        ({"length_corrections": [0.3, 0.0]}, "length_corrections has 2 numbers"),
    ],
)
def test_parameters_too(change, words):
    with pytest.raises(StewartError, match=words):
        LegReadings.from_values({name: default for name, (default, *_) in READINGS.items()} | change)


@pytest.mark.parametrize(
    "sensor",
    [
        DisplacementSensor("wire", (0.0, 0.0, 0.5), (0.0, 0.0, 0.0), 1e-5),
        AngleSensor("wire", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1e-4, axis=(0.0, 0.0, 1.0), zero=(1.0, 0.0, 0.0)),
    ],
)
def test_a_sensor_that_tells_nothing_where_the_platform_starts_is_named(sensor):
    home = np.eye(4)
    home[2, 3] = 0.5
    fusion = StewartFusion(PLATFORM, home, sensors=[sensor])
    with pytest.raises(StewartError, match="wire measures nothing where the platform starts"):
        fusion.update(np.append(PLATFORM.leg_lengths(home), 0.0), dt=1e-3)


def test_noise_whose_square_is_nothing_is_refused():
    with pytest.raises(StewartError, match="wire: noise is 1e-200"):
        StewartFusion(PLATFORM, np.eye(4), sensors=[DisplacementSensor("wire", (0, 0, 0), (0, 0, 0), 1e-200)])
