"""YAML of platforms and constraints: what is no plain value is refused with file and place, and bombs stay small."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from support.forked import run_in_copies
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics import ConstraintSet, DescriptionError, Model, StewartPlatform
from lie_dynamics_ros.lie_dynamics.stewart import StewartError
from lie_dynamics_ros.lie_dynamics.yaml_sections import MAX_DEPTH, MAX_SIZE, read_section

MODEL = Model.from_urdf(
    '<robot name="r"><link name="a"/><link name="b"/><link name="1"/><joint name="j" type="revolute"><parent link="a"/>'
    '<child link="b"/></joint><joint name="k" type="revolute"><parent link="b"/><child link="1"/></joint></robot>'
)
DESIGN = "semi_regular: {base_radius: 1.0, platform_radius: 0.7, base_half_angle: 0.2, platform_half_angle: 0.15}\n"
POINTS = "base_points: [[1, 0, 0], [0, 1, 0]]\nplatform_points: [[1, 0, 0], [0, 1, 0]]\n"

#: A way to read, the error it raises, and a text that it reads.
READERS = {
    "platform": (StewartPlatform.from_yaml, StewartError, DESIGN),
    "constraints": (lambda text: ConstraintSet.from_yaml(MODEL, text), DescriptionError, "couplings: []\n"),
}


@pytest.fixture(params=["C", "Python"])
def parser(request, monkeypatch):
    """Both parsers that PyYAML may come with."""
    if request.param == "C" and not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML was built without its parser in C")
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


REFUSED = {
    "anchor": ("x: &a 1\n", "line 2, column 4: anchors and aliases"),
    "alias": ("x: *a\n", "anchors and aliases"),
    "anchor of a key": ("&a x: 1\n", "anchors and aliases"),
    "merge": ("x: {<<: *a}\n", "anchors and aliases"),
    "tag": ("x: !!python/object/apply:os.system ['true']\n", "tags"),
    "tag of YAML": ("x: !!float 1\n", "tags"),
    "tag of a key": ("!!str x: 1\n", "tags"),
    "set": ("x: !!set {a, b}\n", "tags"),
    "key twice": ("x: 1\nx: 2\n", "line 3, column 1: the key 'x' is there twice"),
    "key twice, once quoted": ("x: 1\n'x': 2\n", "the key 'x' is there twice"),
    "list as a key": ("? [a]\n: 1\n", "a list or mapping as a key"),
    "mapping as a key": ("{a: 1}: 1\n", "a list or mapping as a key"),
    "second document": ("---\nx: 1\n", "a second document"),
    "bad syntax": ("x: [1, 2\n", "is not valid YAML at line"),
    "tabs": ("x:\n\t- 1\n", "is not valid YAML at line"),
    "null character": ("x: \0\n", "is not valid YAML"),
    "half a character": ("x: \ud800\n", "is not valid YAML"),
    "deep list": ("x: " + "[" * 20_000, "nested deeper than 20"),
    "deep mapping": ("x: " + "{a: " * 50_000, "nested deeper than 20"),
    "deep dashes": ("- " * 100_000, ""),
    "deep keys": ("? " * 100_000, ""),
    "long key": ("x" * 600 + ": 1\n", "a key of 600 characters"),
    "much": ("# " + "x" * MAX_SIZE + "\n", "at most 262144 expected"),
    "unknown key": ("x: 1\n", "unknown keys 'x'"),
}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("kind", "case"),
    every_run(
        [("platform", case) for case in REFUSED] + [("constraints", "anchor")],
        [(kind, case) for kind in READERS for case in REFUSED],
    ),
)
def test_refused_with_the_place(kind, case, tmp_path):
    read, error, good = READERS[kind]
    text, words = REFUSED[case]
    read(good)
    with pytest.raises(error) as caught:
        read(good + text)
    assert words in str(caught.value)
    assert str(caught.value).startswith("the YAML text")
    assert len(str(caught.value)) < 400
    file = tmp_path / "file.yaml"
    file.write_bytes((good + text).encode("utf-8", "surrogatepass"))
    with pytest.raises(error) as caught:
        read(file)
    assert str(file)[:20] in str(caught.value) and file.name in str(caught.value)


def number(text):
    """What the reader makes of a scalar where a number is expected."""
    return read_section(f"x: {text}\n", ("x",), DescriptionError).number("x")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ["1", "-1", "+0.5", ".5", "1.", "1e-5", "1E3", "0", "1" * 40])
def test_numbers_are_numbers(text):
    assert number(text) == float(text)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "text",
    [
        *('"1"', "'1'", "one", "true", "null", "", "1_000", "0x10", "0b1", "0o7", "010", "1:30", "1,5", ".inf", ".nan"),
        *("1e400", "1e60", "2024-01-01", "[1]", "{a: 1}", "\u0661", "yes", "1" * 100_000, "nan", "|\n 1"),
    ],
)
def test_everything_else_is_not(text):
    with pytest.raises(DescriptionError, match=r"the YAML text: x is .*, expected a finite number"):
        number(text)


@pytest.mark.parametrize("text", ['"false"', "'true'", "0", "1", "no", "off", "null", "", "[]", "{}", "y"])
@pytest.mark.parametrize("kind", READERS)
def test_booleans_are_true_or_false(kind, text):
    read, error, good = READERS[kind]
    key = {"platform": "allow_singular", "constraints": "mimics"}[kind]
    for word in ("true", "False", "TRUE", "false"):
        read(f"{good}{key}: {word}\n")
    with pytest.raises(error, match=f"{key} is .*, expected true or false"):
        read(f"{good}{key}: {text}\n")


BAD_VALUES = [
    (StewartPlatform, DESIGN + "leg_limits: [0.1, .nan]\n", "leg_limits is"),
    (StewartPlatform, DESIGN + "leg_limits: [0.1, [1]]\n", "leg_limits is .*lists of equal lengths"),
    (StewartPlatform, DESIGN + "leg_limits: ['0.1', '1']\n", "leg_limits is"),
    (StewartPlatform, DESIGN + "leg_limits: [true, true]\n", "leg_limits is"),
    (StewartPlatform, DESIGN + "home_pose: {position: ['0', 0, 1]}\n", "home_pose in the YAML text: position is"),
    (StewartPlatform, DESIGN + "home_pose: {quaternion: [0, 0, 0, 1]}\n", "home_pose .*has no position"),
    (
        StewartPlatform,
        DESIGN + "home_pose: {position: [0, 0, 1], quaternion: [0, 0, 0, 1], rotation: [[1,0,0],[0,1,0],[0,0,1]]}\n",
        "rotation or quaternion is expected, not both",
    ),
    (StewartPlatform, DESIGN.replace("0.7", "'0.7'"), "semi_regular in .*platform_radius is '0.7'"),
    (StewartPlatform, DESIGN.replace("0.7", "true"), "platform_radius is True"),
    (StewartPlatform, POINTS.replace("[0, 1, 0]", "[0, 1]"), "base_points is .*lists of equal lengths"),
    (StewartPlatform, POINTS.replace("1", "'1'"), "base_points is"),
    (StewartPlatform, POINTS.replace("1", "1e200"), "base_points is"),
    (ConstraintSet, "loops: [{kind: welded, first: 1, second: b}]\n", "first in loop 1 .* is a number, 1"),
    (ConstraintSet, "loops: [{kind: 1, first: a, second: b}]\n", "kind is 1, expected a text"),
    (ConstraintSet, f"loops: [{{kind: {'k' * 600}, first: a, second: b}}]\n", "kind is 'kkk"),
    (ConstraintSet, "loops: [{kind: revolute, first: a, second: b, axis: z}]\n", "axis is 'z', expected 3"),
    (ConstraintSet, "couplings: [{coefficients: {j: '1'}}]\n", "coefficients in coupling 1 .*: j is '1'"),
    (ConstraintSet, "couplings: [{follower: j, leader: k, ratio: true}]\n", "ratio is True"),
    (ConstraintSet, "couplings: {a: 1}\n", "couplings is .*, expected a list"),
]


@pytest.mark.parametrize(("what", "text", "message"), BAD_VALUES)
def test_values_of_another_kind(what, text, message):
    read, error, _ = READERS["platform" if what is StewartPlatform else "constraints"]
    with pytest.raises(error, match=message) as caught:
        read(text)
    assert len(str(caught.value)) < 400


def test_names_that_look_like_numbers_are_quoted_and_keys_need_not():
    made = ConstraintSet.from_yaml(MODEL, "loops: [{kind: welded, first: a, second: '1'}]\n")
    assert made.loops[0].second == "1"
    section = read_section("x: {1: 2, true: 3.5, null: -1}\n", ("x",), DescriptionError)
    assert section.mapping_of_numbers("x") == {"1": 2.0, "true": 3.5, "null": -1.0}


def test_depth_and_size_up_to_the_limit():
    lists = "[" * (MAX_DEPTH - 1) + "1" + "]" * (MAX_DEPTH - 1)
    assert read_section(f"x: {lists}\n", ("x",), DescriptionError).numbers("x", None).size == 1
    padded = DESIGN + "#" * (MAX_SIZE - len(DESIGN))
    np.testing.assert_array_equal(
        StewartPlatform.from_yaml(padded).base_points, StewartPlatform.from_yaml(DESIGN).base_points
    )


@pytest.mark.parametrize("content", ["root:$6$secret:1:0:9:7:::\nbin: *:1\n", "secret: 1\nother: 2\n", "secret\n", ""])
@pytest.mark.parametrize("kind", READERS)
def test_a_file_of_something_else_is_not_quoted(kind, content, tmp_path):
    read, error, _ = READERS[kind]
    file = tmp_path / "shadow"
    file.write_text(content)
    with pytest.raises(error) as caught:
        read(file)
    assert "secret" not in str(caught.value)
    for path in ("/dev/zero", tmp_path, "a\0b", "n" * 5000, "/proc/self/mem"):
        with pytest.raises(error, match="cannot be read"):
            read(path)
    with pytest.raises(error, match="got int"):
        read(7)


BOMBS = """
import resource
import yaml
from lie_dynamics_ros.lie_dynamics import ConstraintSet, LieDynamicsError, Model, StewartPlatform
arm = Model.from_urdf('<robot name="r"><link name="a"/></robot>')

def refuse(parser):
    if parser == "Python" and hasattr(yaml, "CSafeLoader"):
        del yaml.CSafeLoader
    less = 1 if parser == "C" else 8  # that in Python takes seconds for all
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\\n" + "".join(
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\\n" for k in range(1, 12))
    texts = [laughs, "loops: " + "[" * 200_000, "loops: " + "{a: " * 60_000, "- " * 100_000 + "\\n",
             "? " * 100_000 + "\\n", "loops: &a\\n  - *a\\n", "a: " + "9" * 200_000 + "\\n",
             "a: " + "9:" * 100_000 + "\\n",
             "x: [" + "1, " * (80_000 // less) + "]\\n",
             "".join(f"k{k}: 1\\n" for k in range(25_000 // less)), "a: " * 80_000 + "\\n",
             '"' + "\\\\n" * 100_000 + '": 1\\n', "#" * 10**8 + "\\n"]
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
    readers = (StewartPlatform.from_yaml, lambda text: ConstraintSet.from_yaml(arm, text))
    for k, text in enumerate(texts):
        try:
            readers[k % 2](text)
        except LieDynamicsError as error:
            assert len(str(error)) < 1000, str(error)[:2000]
        else:
            raise AssertionError(text[:40])
    assert len(texts) == 13

in_copies(refuse)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited by what Linux tells")
def test_bombs_cost_neither_memory_nor_time():
    """In a process that may take 300 MB more than it has, and 100 s of its processor; with both parsers."""
    run_in_copies(BOMBS, [("Python",)] + [("C",)] * hasattr(yaml, "CSafeLoader"))
