"""What the SDF reader refuses, and what it leaves out: each message names the element, link or joint, and the value."""

import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import ConstraintSet, Model
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, LieDynamicsError

MASS = "<mass>1</mass>"
INERTIA = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
SOLID = f"<inertial>{MASS}{INERTIA}</inertial>"
AXIS = "<axis><xyz>0 0 1</xyz></axis>"


def link(name, inside=SOLID, pose=""):
    return f'<link name="{name}">{pose}{inside}</link>'


def joint(name, parent, child, inside=AXIS, kind="revolute"):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def model(*inside, name="m", attributes=""):
    return f'<model name="{name}"{attributes}>' + "".join(inside) + "</model>"


def sdf(*inside, version="1.9"):
    return f'<sdf version="{version}">' + "".join(inside) + "</sdf>"


def robot(*inside, version="1.9", attributes=""):
    return sdf(model(*inside, attributes=attributes), version=version)


def chain(inside=AXIS, kind="revolute", version="1.9"):
    """Links a and b; the joint between them holds what is to be refused."""
    return robot(link("a"), link("b"), joint("j", "a", "b", inside, kind), version=version)


def body(inside, pose=""):
    return robot(link("a"), link("b", inside, pose), joint("j", "a", "b"))


def world(*inside):
    return sdf('<world name="w">' + "".join(inside) + "</world>")


def mimic(leader, inside="", axis=""):
    axis = f' axis="{axis}"' if axis else ""
    return f'<axis><xyz>0 0 1</xyz><mimic joint="{leader}"{axis}>{inside}</mimic></axis>'


TWO = link("a") + link("b")
CASES = {
    "empty text": ("", ["SDF", "empty"]),
    "not XML": ("hello\nworld", ["SDF: neither XML nor a path", "hello"]),
    "no such file": ("no/such/file.sdf", ["no/such/file.sdf", "No such file"]),
    "another type": (42, ["SDF", "int", "path expected"]),
    "malformed": ("<sdf version='1.9'><model>", ["malformed XML", "line 1"]),
    "binary": (b"\x00\x01\x02", ["malformed XML"]),
    "URDF": ("<robot name='r'/>", ["<robot>", "<sdf> expected", "this is URDF"]),
    "MJCF": ("<mujoco/>", ["<mujoco>", "this is MJCF"]),
    "no version": ("<sdf><model name='m'/></sdf>", ["'version' of <sdf> is missing", "1.4, "]),
    "unknown version": (sdf(version="1.3"), ["version '1.3'", "1.4, ", "1.12"]),
    "entity": ('<!DOCTYPE s [<!ENTITY e SYSTEM "file:///etc/passwd">]><sdf version="&e;"/>', ["document type"]),
    "deep": (sdf("<model name='m'>" * 200), ["deeper than 100"]),
    "xacro": (robot('<xacro:link name="x"/>'), ["xacro", "not been expanded"]),
    "xacro expression": (robot(link("${prefix}a")), ["xacro", "not been expanded"]),
    "much text": (robot("<!--" + "x" * 17_000_000 + "-->"), ["bytes, at most 16777216", "max_size"]),
    "no model": (sdf(), ["no <model>", "one robot expected"]),
    "two models": (sdf(model(TWO), model(TWO, name="n")), ["2 models that are not static", "'m', 'n'"]),
    "two worlds": (sdf("<world name='w'/><world name='v'/>"), ["2 <world>", "one of both expected"]),
    "world and model": (sdf("<world name='w'/>", model(TWO)), ["1 <world> and 1 <model>"]),
    "only included": (world("<include><uri>model://arm</uri></include>"), ["no <model>", "included files"]),
    "included": (
        robot("<include><uri>model://arm</uri></include>"),
        ["model 'm'", "<include> of 'model://arm'", "gz sdf -p"],
    ),
    "no links": (robot(), ["model 'm' has no links"]),
    "link without a name": (robot("<link/>"), ["link without a name in model 'm'"]),
    "joint without a name": (robot(TWO, "<joint type='fixed'/>"), ["joint without a name in model 'm'"]),
    "duplicate link": (robot(link("a"), link("a")), ["link 'a'", "a link of model 'm' has the name already"]),
    "joint named as a link": (robot(TWO, joint("a", "a", "b")), ["joint 'a'", "a link of model 'm' has the name"]),
    "reserved": (robot(link("__a__")), ["link '__a__'", "reserved"]),
    "link called world": (robot(link("world"), version="1.4"), ["link 'world'", "reserved"]),
    "same names by nesting": (
        robot(link("n::a"), model(link("a"), name="n"), joint("j", "n::a", "n::a")),
        ["joint 'j'", "'n::a' is both parent and child"],
    ),
    "long name": (robot(link("n" * 100_000)), ["link", "100000 characters", "at most 500"]),
    "no type": (robot(TWO, "<joint name='j'><parent>a</parent><child>b</child></joint>"), ["joint 'j'", "'type'"]),
    "unknown type": (chain(kind="hinge"), ["joint 'j'", "'hinge'", "revolute, "]),
    "gearbox": (chain(kind="gearbox"), ["joint 'j'", "'gearbox'", "<mimic>"]),
    "no parent": (robot(TWO, "<joint name='j' type='fixed'><child>b</child></joint>"), ["joint 'j'", "<parent>"]),
    "empty child": (
        robot(TWO, "<joint name='j' type='fixed'><parent>a</parent><child> </child></joint>"),
        ["joint 'j'", "<child>", "missing or empty"],
    ),
    "unknown parent": (robot(TWO, joint("j", "c", "b")), ["joint 'j': <parent>: there is no 'c'", "'a', 'b', 'j'"]),
    "unknown child": (robot(link("forearm"), joint("j", "world", "forarm")), ["'forarm'", "did you mean 'forearm'"]),
    "unknown in a nested model": (
        robot(TWO, model(link("a"), name="n"), joint("j", "a", "n::b")),
        ["joint 'j'", "no 'n::b'"],
    ),
    "own parent": (robot(TWO, joint("j", "a", "a")), ["joint 'j'", "'a' is both parent and child"]),
    "world as child": (robot(TWO, joint("j", "a", "world")), ["joint 'j'", "world cannot be a child"]),
    "two trees": (robot(TWO), ["falls apart", "'b'", "leads to 'a'"]),
    "no axis": (chain(""), ["joint 'j'", "<axis> is missing"]),
    "no second axis": (chain(AXIS, "universal"), ["joint 'j'", "<axis2> is missing"]),
    "parallel axes": (chain(AXIS + AXIS.replace("axis", "axis2"), "universal"), ["joint 'j'", "axes are parallel"]),
    "no xyz": (chain("<axis/>"), ["joint 'j'", "<xyz> is missing"]),
    "zero axis": (chain("<axis><xyz>0 0 0</xyz></axis>"), ["joint 'j'", "[0.0, 0.0, 0.0]", "no direction"]),
    "short axis": (chain("<axis><xyz>0 1</xyz></axis>"), ["joint 'j'", "<xyz> of its <axis> is '0 1'", "3 plain"]),
    "axis with NaN": (chain("<axis><xyz>0 nan 1</xyz></axis>"), ["joint 'j'", "<xyz>", "nan"]),
    "axis in no frame": (chain('<axis><xyz expressed_in="c">0 0 1</xyz></axis>'), ["joint 'j'", "no 'c'"]),
    "switch": (
        chain("<axis><xyz>0 0 1</xyz><use_parent_model_frame>yes</use_parent_model_frame></axis>", version="1.6"),
        ["joint 'j'", "<use_parent_model_frame> of its <axis> is 'yes'", "true or false"],
    ),
    "limits swapped": (
        chain("<axis><xyz>0 0 1</xyz><limit><lower>1</lower><upper>-1</upper></limit></axis>"),
        ["joint 'j'", "lower limit [1.0]", "upper limit [-1.0]"],
    ),
    "limit NaN": (
        chain("<axis><xyz>0 0 1</xyz><limit><lower>nan</lower></limit></axis>"),
        ["joint 'j'", "<lower> of its <limit> is 'nan'", "or inf"],
    ),
    "negative damping": (
        chain("<axis><xyz>0 0 1</xyz><dynamics><damping>-1</damping></dynamics></axis>"),
        ["joint 'j'", "damping must not be negative", "-1"],
    ),
    "friction infinite": (
        chain("<axis><xyz>0 0 1</xyz><dynamics><friction>inf</friction></dynamics></axis>"),
        ["joint 'j'", "<friction> of its <dynamics> is 'inf'"],
    ),
    "thread of no pitch": (chain("<thread_pitch>0</thread_pitch>" + AXIS, "screw"), ["joint 'j'", "<thread_pitch>"]),
    "mimic of nobody": (chain(mimic("k")), ["joint 'j'", "<mimic>", "no 'k'"]),
    "mimic of a link": (chain(mimic("a")), ["joint 'j'", "<mimic> of 'a'", "is a link"]),
    "mimic of itself": (chain(mimic("j")), ["joint 'j'", "mimics itself"]),
    "mimic of a second axis": (chain(mimic("j", axis="axis2")), ["joint 'j'", "<mimic> of <axis2>"]),
    "mimic NaN": (chain(mimic("j", "<multiplier>nan</multiplier>")), ["joint 'j'", "<multiplier> of its <mimic>"]),
    "mass a word": (body("<inertial><mass>heavy</mass></inertial>"), ["link 'b'", "<mass> of its <inertial>", "heavy"]),
    "mass NaN": (body("<inertial><mass>nan</mass></inertial>"), ["link 'b'", "<mass>", "nan"]),
    "mass huge": (body("<inertial><mass>1e308</mass></inertial>"), ["link 'b'", "<mass>", "1e308"]),
    "negative mass": (body(f"<inertial><mass>-1</mass>{INERTIA}</inertial>"), ["link 'b'", "-1 kg", "negative"]),
    "triangle inequality": (
        body(f"<inertial>{MASS}{INERTIA.replace('<izz>1', '<izz>2.5')}</inertial>"),
        ["link 'b'", "triangle inequality", "inertia_check='warn'"],
    ),
    "inertia from shapes": (body('<inertial auto="true"/>'), ["link 'b'", "auto of <inertial>", "--expand-auto"]),
    "inertial elsewhere": (
        body('<inertial><pose relative_to="a">0 0 0 0 0 0</pose></inertial>'),
        ["link 'b'", "relative_to of the <pose> of its <inertial>", "'a'"],
    ),
    "pose of five": (body("", "<pose>0 0 0 0 0</pose>"), ["link 'b'", "<pose> is '0 0 0 0 0'", "6 plain decimal"]),
    "pose with infinity": (body("", "<pose>0 0 inf 0 0 0</pose>"), ["link 'b'", "<pose>", "inf"]),
    "pose in no frame": (body("", '<pose relative_to="c"/>'), ["link 'b'", "no 'c'"]),
    "long pose": (body("", "<pose>" + "0 " * 100_000 + "</pose>"), ["link 'b'", "<pose>", "at most 2000 characters"]),
    "format of a pose": (body("", "<pose rotation_format='x'>1 2 3 4 5 6</pose>"), ["link 'b'", "'rotation_format'"]),
    "quaternion of length 2": (
        body("", "<pose rotation_format='quat_xyzw'>0 0 0 0 0 0 2</pose>"),
        ["link 'b'", "quaternion of length 1, not 2"],
    ),
    "degrees": (body("", "<pose degrees='maybe'>1 2 3 4 5 6</pose>"), ["link 'b'", "'degrees'", "maybe"]),
    "frames in a ring": (
        robot(link("a", pose='<pose relative_to="f"/>'), '<frame name="f"><pose relative_to="a"/></frame>'),
        ["frames 'a', 'f'", "relative to the next"],
    ),
    "frame on itself": (robot(link("a"), '<frame name="f" attached_to="f"/>'), ["frames 'f'", "leads back to itself"]),
    "frames that carry each other": (
        robot(link("a"), '<frame name="f" attached_to="g"><pose relative_to="a"/></frame>',
              '<frame name="g" attached_to="f"><pose relative_to="a"/></frame>'),
        ["frames 'f', 'g'", "attached to the next"],
    ),
    "canonical link": (robot(link("a"), attributes=' canonical_link="b"'), ["model 'm'", "canonical_link", "no 'b'"]),
    "placement frame": (robot(link("a"), attributes=' placement_frame="b"'), ["placement_frame", "no 'b'"]),
    "placement in a ring": (
        robot(link("a", pose='<pose relative_to="a"/>'), attributes=' placement_frame="a"'),
        ["model 'm'", "placement_frame 'a'"],
    ),
    "placement in the world": (
        robot(link("a", pose='<pose relative_to="world"/>'), attributes=' placement_frame="a"'),
        ["model 'm'", "placement_frame 'a'"],
    ),
}  # fmt: skip


def read(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return Model.from_sdf(source)


@all_of("case", CASES)
def test_refused_by_name(case, capfd):
    source, words = CASES[case]
    with pytest.raises(LieDynamicsError) as caught:
        read(source)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 2000
    assert capfd.readouterr() == ("", "")


def test_errors_carry_the_name_and_the_value():
    with pytest.raises(DescriptionError) as caught:
        read(CASES["mass a word"][0])
    assert (caught.value.name, caught.value.value) == ("b", "heavy")
    with pytest.raises(DescriptionError) as caught:
        read(CASES["unknown parent"][0])
    assert (caught.value.name, caught.value.value) == ("j", "c")


def test_a_floating_robot_is_not_held():
    with pytest.raises(DescriptionError, match="held to the world"):
        Model.from_sdf(robot(link("a"), joint("j", "world", "a")), floating_base=True)


LOOP = link("a") + link("b") + link("c") + joint("ab", "a", "b") + joint("bc", "b", "c")
SKEW = AXIS + "<axis2><xyz>0 1 1</xyz></axis2>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            robot(TWO, joint("k", "a", "b", kind="screw"), joint("l", "a", "b", kind="screw")),
            ["joint 'l'", "no loop can be closed by a screw", "must_be_loop_joint"],
        ),
        (
            robot(TWO, joint("k", "a", "b", SKEW, "universal"), joint("l", "a", "b", SKEW, "universal")),
            ["joint 'l'", "axes are not perpendicular"],
        ),
    ],
)  # fmt: skip
def test_loops_that_cannot_be_cut(text, words):
    with pytest.raises(DescriptionError) as caught:
        ConstraintSet.from_sdf(read(text), text)
    for word in words:
        assert word in str(caught.value)


def test_a_joint_that_closes_a_loop_follows_nothing():
    ring = joint("ac", "a", "c", mimic("bc")) + joint("cb", "c", "b", mimic("bc")) + joint("ca", "a", "c", mimic("bc"))
    with pytest.raises(DescriptionError, match=r"joint '..': it closes a loop and has no coordinate"):
        read(robot(LOOP + ring))


def test_what_is_left_out_is_named():
    decay = "<velocity_decay><linear>0.1</linear></velocity_decay>"
    spring = AXIS.replace(
        "</axis>",
        "<limit><lower>-1</lower></limit><dynamics><damping>1</damping><spring_stiffness>3</spring_stiffness></dynamics>"
        "</axis>",
    )
    text = robot(
        LOOP.replace("<inertial>", f"<gravity>0</gravity>{decay}<inertial>", 1),
        joint("ac", "a", "c", spring + "<sensor/><wobble/>"),
        link("d", ""),
        joint("cd", "c", "d"),
        "<plugin/><drake:ball_constraint/>",
    )
    with pytest.warns(DescriptionWarning) as caught:
        Model.from_sdf(text)
    left_out, unknown = (str(warning.message) for warning in caught)
    for what in (
        "not part of the model",
        "switched off <gravity> (link 'a')",
        "<velocity_decay> (link 'a')",
        "not given, and for which 1 kg and 1 kg m^2 stand, (link 'd')",
        "damping of joints that close loops (joint 'ac')",
        "limits of joints that close loops (joint 'ac')",
        "stiffness of joints that close loops (joint 'ac')",
    ):
        assert what in left_out
    assert "<drake:ball_constraint> in <model> (model 'm')" in unknown and "<wobble> in <joint> (joint 'ac')" in unknown
    assert "sensor" not in unknown and "plugin" not in unknown


def test_what_else_is_in_a_world_is_named():
    text = world(
        "<include><uri>model://sun</uri></include>" * 2, model(link("a")), model(name="n", attributes=""), "<state/>"
    )
    with pytest.warns(
        DescriptionWarning, match=r"<include> \(the world and 1 more\), <state> .*, other models \(model 'n'\)"
    ):
        Model.from_sdf(text.replace('name="n">', 'name="n"><static>1</static>'))


@pytest.mark.parametrize("count", [1500])
def test_long_chains_need_no_recursion(count):
    links = "".join(link(f"l{i}", "", f'<pose relative_to="j{i}"/>' if i else "") for i in range(count + 1))
    pose = '<pose relative_to="l{}">0 0 0.1 0 0 0</pose>'
    joints = "".join(joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", pose.format(i), "fixed") for i in range(count))
    assert read(robot(links, joints)).frame(f"l{count}").placement[2, 3] == pytest.approx(0.1 * count)


FIGURES = st.sampled_from(["", " ", "0", "1_0", "1e300", "-1", "1e400", "nan", "-inf", "1 2", "x", "j1", "a", "world"])
WHOLE = robot(
    link("a", pose="<pose>0 0 0 0 0 0</pose>"),
    link("b", pose='<pose relative_to="a">1 2 3 0 0 1</pose>'),
    '<frame name="f" attached_to="b"><pose relative_to="j1">0 0 0 1 0 0</pose></frame>',
    joint("j1", "a", "b", '<axis><xyz expressed_in="a">0 0 1</xyz><limit><lower>-1</lower></limit></axis>'),
    model(link("c"), name="n"),
    joint("j2", "f", "n::c", mimic("j1", "<multiplier>2</multiplier>")),
    joint("j3", "a", "n::c", kind="ball"),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_damaged_files_raise_nothing_else(data):
    """One value replaced or one stretch cut out: read, or refused with an error of this library."""
    values = [match.span(1) for match in re.finditer(r"[\">]([^\"<>]*)[\"<]", WHOLE)]
    if data.draw(st.booleans()):
        start, end = data.draw(st.sampled_from(values))
        damaged = WHOLE[:start] + data.draw(FIGURES) + WHOLE[end:]
    else:
        start = data.draw(st.integers(0, len(WHOLE) - 1))
        damaged = WHOLE[:start] + WHOLE[start + data.draw(st.integers(1, 80)) :]
    try:
        ConstraintSet.from_sdf(read(damaged), damaged)
    except LieDynamicsError as error:
        assert len(str(error)) < 2000
