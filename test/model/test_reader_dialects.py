"""Files as people have them: XML that is not quite XML, worlds, includes, names, what never moves."""

import warnings

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics import (
    ConstraintSet,
    Model,
    constraint_jacobian,
    frame_pose,
    inverse_dynamics,
)
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, InertiaError

MASS = "<mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
LINKS = f"<link name='a'/><link name='b'><inertial>{MASS}</inertial></link>"
JOINT = "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>"
SOLID = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
LIFT = (
    f"<link name='post'/><link name='l'>{SOLID}</link>"
    "<joint name='up' type='prismatic'><parent>post</parent><child>l</child><axis><xyz>0 0 1</xyz></axis></joint>"
)


def urdf(inside=""):
    return f"<robot name='r'>{LINKS}{inside}{JOINT}</robot>"


def sdf(inside=""):
    return f"<sdf version='1.9'><model name='m'>{inside}{LIFT}</model></sdf>"


HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
DIALECTS = {
    "two hyphens in a comment": lambda text: HEAD + "<!-- run x --debug -- now -->" + text,
    "hyphens at its end": lambda text: HEAD + "<!-- - --->" + text,
    "lines before the declaration": lambda text: "\n \n" + HEAD + text,
    "byte order mark": lambda text: "\ufeff" + HEAD + text,
    "a bare ampersand": lambda text: text.replace("<PLUGIN/>", "<plugin><topic>a&b &amp; c&d;</topic></plugin>"),
    "an unbound prefix": lambda text: text.replace("<PLUGIN/>", "<gazebo><sensor:ray sensor:kind='x'/></gazebo>"),
    "xacro in what is passed over": lambda text: text.replace("<PLUGIN/>", "<gazebo><xacro:sensor/></gazebo>"),
    "all at once": lambda text: "\n" + HEAD + "<!-- a -- b & <c -->" + text.replace("<PLUGIN/>", "<p:q>x & y</p:q>"),
    "an encoding that is none": lambda text: HEAD.replace("UTF-8", "none") + text,
    "an encoding of several bytes": lambda text: HEAD.replace("UTF-8", "gb2312").encode() + text.encode("gb2312"),
    "Latin-1 in a comment": lambda text: HEAD.encode() + b"<!-- L\xe4nge -->" + text.encode(),
}


@pytest.mark.filterwarnings("ignore::lie_dynamics_ros.lie_dynamics.errors.DescriptionWarning")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("read", "text", "name"), [(Model.from_urdf, urdf, "j"), (Model.from_sdf, sdf, "up")])
def test_text_bytes_and_files_are_read_alike(tmp_path, read, text, name, dialect):
    made = DIALECTS[dialect](text("<PLUGIN/>"))
    data = made if isinstance(made, bytes) else made.encode()
    (tmp_path / "file").write_bytes(data)
    sources = [data, tmp_path / "file"] + ([made] if isinstance(made, str) else [])
    assert [read(source).joint_names for source in sources] == [(name,)] * len(sources)


def test_what_is_no_xml_is_refused_alike_with_the_line(tmp_path):
    text = "\n<!-- -- -->\n" + urdf("<link name='c'>")
    (tmp_path / "file").write_text(text)
    found = set()
    for source in (text, text.encode(), tmp_path / "file"):
        with pytest.raises(DescriptionError, match=r"malformed XML.*line 3") as error:
            Model.from_urdf(source)
        found.add(str(error.value).partition(":")[2])
    assert len(found) == 1


def test_values_without_quotes_are_named_with_what_to_write():
    with pytest.raises(DescriptionError, match="line 2, column 20; values stand in quotes: name=\"c\""):
        Model.from_urdf(urdf("\n<link id='1' name = c/>"))
    with pytest.raises(DescriptionError, match=r"invalid token\): line 2, column 1$"):
        Model.from_urdf(urdf("\n<4 a=b/>"))


def test_a_name_with_an_ampersand_stands_for_itself():
    text = urdf().replace("name='j'", "name='j&amp;k'")
    assert Model.from_urdf("<!-- -- -->" + text).joint_names == Model.from_urdf(text).joint_names == ("j&k",)


def test_raw_xacro_is_named_as_such():
    for text in (urdf("<xacro:wheel/>"), "<robot name='r' xmlns:xacro='http://ros.org/wiki/xacro'><xacro:x/></robot>"):
        with pytest.raises(DescriptionError, match=r"xacro.*remove the elements"):
            Model.from_urdf(text)


FIXED = "<link name='c'/><joint name='k' type='fixed'><parent link='b'/><child link='c'/>{}</joint>"


@pytest.mark.parametrize(
    "inside",
    ["<axis xzy='1 0 0'/>", "<axis xyz='0 0 0'/>", "<limit velocity='-3' effort='x'/>", "<dynamics damping='-1'/>"],
)
def test_what_a_fixed_joint_says_of_motion_means_nothing(inside):
    assert Model.from_urdf(urdf(FIXED.format(inside))).nv == 1
    with pytest.raises(DescriptionError, match="joint 'k'"):
        Model.from_urdf(urdf(FIXED.format(inside)).replace("'fixed'", "'prismatic'"))


@pytest.mark.parametrize("tag", ["constraint", "loop_joint"])
def test_what_would_close_loops_is_told_to_be_left_out(tag):
    with pytest.warns(DescriptionWarning, match=f"element <{tag}> in <robot>.*ConstraintSet"):
        model = Model.from_urdf(urdf(f"<{tag} name='c'><parent link='a'/><child link='b'/></{tag}>"))
    assert model.joint_names == ("j",)


THIN = "<mass value='2'/><inertia ixx='.3' iyy='.01' izz='.01' ixy='0' ixz='0' iyz='0'/>"


def test_what_stands_on_the_world_may_have_any_inertia():
    held = urdf().replace("<link name='a'/>", f"<link name='a'><inertial>{THIN}</inertial></link>")
    assert Model.from_urdf(held).nv == 1
    assert Model.from_urdf(held.replace("<mass value='", "<mass value='-", 1)).nv == 1
    for text, floating in ((held, True), (urdf().replace(MASS, THIN), False)):
        with pytest.raises(InertiaError, match=r"link '[ab]'"):
            Model.from_urdf(text, floating_base=floating)


def test_a_robot_without_any_inertia_is_told():
    with pytest.warns(DescriptionWarning, match="no link has an <inertial>"):
        Model.from_urdf(urdf().replace(f"<inertial>{MASS}</inertial>", ""))


WORLD = f"<sdf version='1.9'><world name='w'><model name='lift'>{LIFT}</model>{{}}</world></sdf>"
BOX = f"<model name='box'><link name='l'>{SOLID}</link></model>"


@pytest.mark.filterwarnings("ignore::lie_dynamics_ros.lie_dynamics.errors.DescriptionWarning")
def test_one_of_several_models_is_chosen_by_name():
    text = WORLD.format(BOX)
    with pytest.raises(DescriptionError, match="choose one by the argument model: 'lift', 'box'"):
        Model.from_sdf(text)
    model = Model.from_sdf(text, model="lift")
    assert model.joint_names == ("up",)
    assert ConstraintSet.from_sdf(model, text, robot="lift").size == 0
    assert Model.from_sdf(text, floating_base=True, model="box").nv == 6
    with pytest.raises(DescriptionError, match="no model 'lfit'; did you mean 'lift'"):
        Model.from_sdf(text, model="lfit")
    inside = text.replace("<model name='box'>", f"<model name='car'><model name='arm'>{LIFT}</model>", 1)
    assert Model.from_sdf(inside, model="car::arm").joint_names[0].endswith("up")


@pytest.mark.filterwarnings("ignore::lie_dynamics_ros.lie_dynamics.errors.DescriptionWarning")
def test_included_models_are_read_from_given_folders(tmp_path):
    (tmp_path / "lift").mkdir()
    (tmp_path / "lift/model.sdf").write_text(sdf())
    include = "<include><uri>model://lift</uri><name>mine</name><pose>0 0 3 0 0 0</pose></include>"
    text = f"<sdf version='1.9'><world name='w'>{include}</world></sdf>"
    with pytest.raises(DescriptionError, match="package_dirs"):
        Model.from_sdf(text)
    model = Model.from_sdf(text, package_dirs=[tmp_path])
    written_out = Model.from_sdf(sdf("<pose>0 0 3 0 0 0</pose>"))
    assert model.name == "mine" and model.joint_names == ("up",)
    np.testing.assert_array_equal(model.frames["l"].placement, written_out.frames["l"].placement)
    inner = f"<sdf version='1.9'><model name='outer'>{include}</model></sdf>"
    assert Model.from_sdf(inner, package_dirs=[tmp_path]).nv == 1
    (tmp_path / "lift/model.sdf").write_text(text)
    with pytest.raises(DescriptionError, match=r"0 models|too many files"):
        Model.from_sdf(text, package_dirs=[tmp_path])
    (tmp_path / "lift/model.sdf").write_text(sdf().replace("1.9", "1.5"))
    with pytest.raises(DescriptionError, match=r"version 1\.5 in a file of version 1\.9"):
        Model.from_sdf(text, package_dirs=[tmp_path])


@pytest.mark.filterwarnings("ignore::lie_dynamics_ros.lie_dynamics.errors.DescriptionWarning")
def test_included_models_are_merged_as_if_written_out(tmp_path):
    """By hand: the model's frame becomes a frame at the pose of the <include>, which all that is in it refers to."""
    turned, lower = "<pose>1 2 3 .1 .2 .3</pose>", "<pose>0 0 -1 0 .4 0</pose>"
    frames = "<frame name='tip' attached_to='l'><pose>0 1 0 0 0 0</pose></frame><frame name='mark'/>"
    tree = LIFT.replace("<link name='post'/>", f"<link name='post'>{lower}</link>").replace("<xyz>", "<xyz {}>")
    (tmp_path / "lift").mkdir()
    (tmp_path / "lift/model.sdf").write_text(
        "<sdf version='1.9'><model name='m'>" + frames + tree.format("expressed_in='__model__'") + "</model></sdf>"
    )
    root, tie = f"<link name='root'>{SOLID}</link>", TIE.format("root", "post")
    text = f"<include merge='true'><uri>model://lift</uri>{turned}</include>"
    whole = f"<sdf version='1.9'><model name='m'>{root}{text}{tie}</model></sdf>"
    read = Model.from_sdf(whole, package_dirs=[tmp_path])
    own = f"<frame name='own'>{turned}</frame>"
    by_hand = tree.format("expressed_in='own'").replace("<pose>", "<pose relative_to='own'>")
    by_hand = by_hand.replace("<link name='l'>", "<link name='l'><pose relative_to='own'/>")
    by_hand += frames.replace("<frame name='mark'/>", "<frame name='mark' attached_to='own'/>")
    other = Model.from_sdf(f"<sdf version='1.9'><model name='m'>{root}{own}{by_hand}{tie}</model></sdf>")
    assert read.nv == other.nv == 1
    for name in ("root", "post", "l", "tip", "mark"):
        np.testing.assert_allclose(frame_pose(read, [0.3], name), frame_pose(other, [0.3], name), atol=1e-15)
    np.testing.assert_allclose(inverse_dynamics(read, [0.3], [1], [2]), inverse_dynamics(other, [0.3], [1], [2]))
    with pytest.raises(DescriptionError, match="placement_frame 'tip'; none expected"):
        placed = whole.replace("</include>", "<placement_frame>tip</placement_frame></include>")
        Model.from_sdf(placed, package_dirs=[tmp_path])
    with pytest.raises(DescriptionError, match="'model://lost', which is not found in package_dirs"):
        Model.from_sdf(whole.replace("://lift", "://lost"), package_dirs=[tmp_path])


def test_an_old_sdf_is_refused_with_a_converter():
    with pytest.raises(DescriptionError, match="gz sdf -p"):
        Model.from_sdf(sdf().replace("1.9", "1.2"))


@pytest.mark.filterwarnings("ignore::lie_dynamics_ros.lie_dynamics.errors.DescriptionWarning")
def test_names_that_readers_invent_differ_from_those_of_the_file():
    mujoco = pytest.importorskip("mujoco")
    geom = "<geom size='.2'/>"
    for inner in (
        f"<body><joint name='a'/>{geom}</body><body name='body1' pos='1 0 0'><joint name='b'/>{geom}</body>",
        f"<body name='p'><joint/>{geom}<site/></body><body name='q'><joint name='joint0'/>{geom}"
        "<site name='site0'/></body>",
        f"<body name='h'><joint name='u' type='slide'/><joint name='w'/>{geom}<body name='h/u'><joint name='z'/>{geom}"
        "</body></body>",
        f"<body name='b'><joint name='u'/>{geom}<site name='b'/><site name='site/b'/></body>",
    ):
        text = f"<mujoco><worldbody>{inner}</worldbody></mujoco>"
        model, compiled = Model.from_mjcf(text), mujoco.MjModel.from_xml_string(text)
        assert model.nv == compiled.nv and len(set(model.joint_names)) == compiled.njnt
        assert len(set(model.body_names)) == len(model.body_names)
        q, qd, qdd = (np.linspace(0.1, 0.7, model.nv) * k for k in (1, 2, 3))
        data = mujoco.MjData(compiled)
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(compiled, data)
        np.testing.assert_allclose(inverse_dynamics(model, q, qd, qdd), data.qfrc_inverse, rtol=1e-10, atol=1e-10)
    offset = LIFT.replace("'prismatic'", "'revolute'").replace("<axis>", "<pose>0 1 0 0 0 0</pose><axis>")
    tied = offset + TIE.format("l", "l/up")
    assert Model.from_sdf(sdf(f"<link name='l/up'>{SOLID}</link>").replace(LIFT, tied)).nv == 1


TIE = "<joint name='tie' type='fixed'><parent>{}</parent><child>{}</child></joint>"


@pytest.mark.parametrize("by_sites", [False, True])
@pytest.mark.parametrize("scale", [0, 1])
def test_a_weld_without_torque_holds_a_point(by_sites, scale):
    """Rank and space of rows as in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    ends = "site1='s' site2='t'" if by_sites else "body1='a' anchor='.2 0 0'"
    text = (
        "<mujoco><worldbody><site name='s' pos='.2 0 0'/><body name='a'><freejoint name='f'/>"
        "<site name='t' pos='.2 0 0'/><geom size='.1' contype='0' conaffinity='0'/></body></worldbody>"
        f"<equality><weld {ends} torquescale='{scale}'/></equality></mujoco>"
    )
    compiled = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    theirs = data.efc_J.reshape(-1, compiled.nv)[:, [3, 4, 5, 0, 1, 2]]  # angular first
    model = Model.from_mjcf(text)
    ours = constraint_jacobian(model, ConstraintSet.from_mjcf(model, text), model.neutral())
    rank = 6 if scale else 3
    assert [np.linalg.matrix_rank(x) for x in (theirs, ours, np.vstack((theirs, ours)))] == [rank] * 3


def test_an_actuator_may_have_several_controls():
    mujoco = pytest.importorskip("mujoco")
    motor = "<dcmotor name='m' joint='s' motorconst='.5' resistance='3' input='pos vel' controller='0 0 2'/>"
    text = (
        "<mujoco><worldbody><body><joint name='s' axis='0 1 0'/><geom size='.1'/></body></worldbody>"
        f"<actuator>{motor}</actuator></mujoco>"
    )
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this MuJoCo has no motors of several controls")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert Model.from_mjcf(text.encode()).nv == 1
    assert any("actuators 'm'" in str(one.message) for one in caught)
