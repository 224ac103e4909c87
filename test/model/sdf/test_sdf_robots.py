"""What the SDF reader makes of a robot: where its tree stands, which joints are cut, what coordinates are."""

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros.lie_dynamics import ConstraintSet, Model, constraint_error, frame_pose, mass_matrix
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

SOLID = (
    "<inertial><pose>0.1 0.02 0.03 0.1 0.2 0.3</pose><mass>2</mass>"
    "<inertia><ixx>0.1</ixx><ixy>0.01</ixy><iyy>0.2</iyy><izz>0.15</izz></inertia></inertial>"
)
KINDS = {
    "revolute": "<axis><xyz>1 2 3</xyz></axis>",
    "continuous": "<axis><xyz>1 2 3</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>",
    "prismatic": "<axis><xyz>1 2 3</xyz></axis>",
    "screw": "<screw_thread_pitch>0.3</screw_thread_pitch><axis><xyz>1 2 3</xyz></axis>",
    "universal": "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower></limit></axis><axis2><xyz>0 1 0</xyz></axis2>",
    "revolute2": "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>1 1 0</xyz></axis2>",
    "ball": "",
    "fixed": "",
}


def link(name, pose="0 0 0 0 0 0"):
    return f'<link name="{name}"><pose>{pose}</pose>{SOLID}</link>'


def joint(name, parent, child, kind="revolute", inside=None, pose="0 0 0 0 0 0"):
    inside = KINDS[kind] if inside is None else inside
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}"><pose>{pose}</pose>{ends}{inside}</joint>'


def robot(*inside, version="1.11", attributes=""):
    return f'<sdf version="{version}"><model name="m"{attributes}>{"".join(inside)}</model></sdf>'


LINKS = link("a") + link("b", "0.1 0.2 0.3 0.4 0.5 0.6") + link("c", "-0.3 0.2 0.5 0.1 0 1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pose", ["0 0 0 0 0 0", "0.05 0.06 -0.07 0.3 0.2 0.1"])
def test_a_joint_walked_backwards_moves_alike(kind, pose, rng):
    """Held at the child, the robot is the same but for its base: poses of links to each other, kinetic energy."""
    parts = LINKS + joint("ab", "a", "b", kind, pose=pose) + joint("bc", "b", "c", pose=pose)
    forward = Model.from_sdf(robot(joint("hold", "world", "a", "fixed"), parts))
    backward = Model.from_sdf(robot(joint("hold", "world", "b", "fixed"), parts))
    q, other = forward.random(rng), backward.neutral()
    for one in forward.joints:
        part = q[one.q_slice]
        if one.kind == "spherical":
            zero = [frame_pose(forward, forward.neutral(), name)[:3, :3] for name in "ab"]
            turn = zero[0].T @ zero[1]  # from the directions of b to those of a
            part = so3.to_quaternion(turn @ so3.from_quaternion(part).T @ turn.T)
        other[backward.joint(one.name).q_slice] = part[::-1] if one.kind == "universal" else part
    zeros = [frame_pose(model, model.neutral(), "c") for model in (forward, backward)]
    assert relative(*zeros) < 1e-14
    poses = [[frame_pose(model, x, name) for name in "abc"] for model, x in ((forward, q), (backward, other))]
    for first, second in zip(*poses, strict=True):
        assert relative(se3.inverse(poses[0][1]) @ first, se3.inverse(poses[1][1]) @ second) < 1e-13
    lower = [model.limits.lower[model.joint("ab").q_slice] for model in (forward, backward) if kind != "fixed"]
    assert kind != "universal" or (lower[0].tolist(), lower[1].tolist()) == ([-1.0, -np.inf], [-np.inf, -1.0])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("screw", "revolute2", "fixed")])
def test_a_cut_joint_moves_as_one_in_the_tree(kind, rng):
    """Where a joint beside another of the same kind and place is cut, the loop stays closed whatever the other does."""
    pair = "".join(joint(name, "a", "b", kind, pose="0.05 0.06 -0.07 0.3 0.2 0.1") for name in ("kept", "cut"))
    text = robot(LINKS, pair.replace("<limit><lower>-1</lower></limit>", ""), joint("bc", "b", "c"))
    model = Model.from_sdf(text)
    constraints = ConstraintSet.from_sdf(model, text)
    assert constraints.names == ("cut",)
    assert np.abs(constraint_error(model, constraints, model.random(rng))).max() < 1e-14
    assert constraints.size == 6 - {"universal": 2, "ball": 3}.get(kind, 1)


def test_joints_beside_a_weld_close_nothing():
    text = robot(LINKS, *(joint(name, "a", "b", name) for name in ("fixed", "ball")), joint("bc", "b", "c"))
    assert ConstraintSet.from_sdf(Model.from_sdf(text), text).size == 0
    with pytest.raises(DescriptionError, match="joint 'ball': the model has no link 'a'"):
        ConstraintSet.from_sdf(Model.from_sdf(robot(link("other"))), text)


RING = link("a") + link("b") + link("c") + link("d")


@pytest.mark.parametrize(
    ("joints", "cut"),
    [
        ("ab bd ac cd", ("cd",)),
        ("cd ab bd ac", ("bd",)),
        ("ab! bd ac cd", ("ab",)),
        ("ab bd! ac cd", ("bd",)),
        ("ab! bd! ac! cd!", ("cd",)),
        ("ab bd ac cd~", ("bd",)),
        ("ab bd ac cd ad", ("cd", "ad")),
        ("ab ba ac ad", ("ba",)),
        ("ab db dc ac", ("ac",)),
    ],
)
def test_which_joint_is_cut(joints, cut):
    """! asks for the cut, ~ is a screw; the first that comes to a link holds it."""
    last = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics>"
    made = ""
    for name in joints.split():
        kind = "screw" if "~" in name else "revolute"
        made += joint(name[:2], name[0], name[1], kind, KINDS[kind] + (last if "!" in name else ""))
    text = robot(RING, made)
    model = Model.from_sdf(text)
    assert model.frame("a").body == -1
    assert ConstraintSet.from_sdf(model, text).names == cut
    assert {*model.joint_names, *cut} == {name[:2] for name in joints.split()}


def test_the_base_is_the_canonical_link_where_nothing_else_tells():
    parts = link("b", "1 0 0 0 0 0") + link("a") + joint("ab", "a", "b")
    for attributes, base in (("", "a"), (' canonical_link="a"', "a"), (' canonical_link="b"', "a")):
        assert Model.from_sdf(robot(parts, attributes=attributes)).frame(base).body == -1
    ring = parts + joint("ba", "b", "a", inside=KINDS["revolute"])
    for attributes, base in (("", "b"), (' canonical_link="a"', "a")):
        assert Model.from_sdf(robot(ring, attributes=attributes)).frame(base).body == -1


def test_a_floating_base_has_the_pose_that_its_joint_tells(rng):
    text = robot("<pose>1 2 3 0.1 0.2 0.3</pose>", LINKS, joint("ab", "a", "b"), joint("bc", "b", "c"))
    fixed, floating = Model.from_sdf(text), Model.from_sdf(text, floating_base=True)
    assert floating.joint_names == ("root_joint", "ab", "bc")
    q = floating.random(rng)
    base = se3.from_parts(so3.from_quaternion(q[:4]), q[4:7])
    assert relative(frame_pose(floating, q, "a"), base) < 1e-14
    turned = base @ se3.inverse(frame_pose(fixed, fixed.neutral(), "a")) @ frame_pose(fixed, q[7:], "c")
    assert relative(frame_pose(floating, q, "c"), turned) < 1e-13
    assert relative(mass_matrix(floating, q)[6:, 6:], mass_matrix(fixed, q[7:])) < 1e-13
    assert frame_pose(fixed, fixed.neutral(), "a")[:3, 3].tolist() == [1.0, 2.0, 3.0]


def test_what_is_static_stands_still():
    parts = LINKS + joint("ab", "a", "b") + joint("bc", "b", "c") + '<frame name="f" attached_to="c"/>'
    still = Model.from_sdf(robot("<static>true</static><pose>0 0 2 0 0 0</pose>", parts))
    assert still.nv == 0
    np.testing.assert_allclose(still.frame("f").placement[:3, 3], [-0.3, 0.2, 2.5])
    inside = f'<static>true</static>{link("a")}<model name="n">{link("b")}{joint("j", "__model__", "b")}</model>'
    assert Model.from_sdf(robot(inside.replace("__model__", "world"))).nv == 0
    stand = '<model name="stand"><static>1</static><pose>1 0 0 0 0 0</pose><link name="top"/></model>'
    chain = joint("ab", "a", "b") + joint("bc", "b", "c")
    held = Model.from_sdf(robot(LINKS, chain, stand, joint("s", "stand::top", "a")))
    assert held.joint_names == ("s", "ab", "bc")
    assert held.frame("stand::top").placement[:3, 3].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("version", "inside", "gravity"),
    [
        ("1.9", "<gravity>1 2 3</gravity>", [1.0, 2.0, 3.0]),
        ("1.9", "", [0.0, 0.0, -9.8]),
        ("1.5", '<physics type="ode"><gravity>1 2 3</gravity></physics>', [1.0, 2.0, 3.0]),
        ("1.5", "<gravity>3 2 1</gravity><physics><gravity>1 2 3</gravity></physics>", [3.0, 2.0, 1.0]),
    ],
)
def test_gravity_is_that_of_the_world(version, inside, gravity):
    text = f'<sdf version="{version}"><world name="w">{inside}<model name="m">{link("a")}</model></world></sdf>'
    assert Model.from_sdf(text).gravity.tolist() == gravity
    assert Model.from_sdf(text, gravity=[0, 0, 1]).gravity.tolist() == [0.0, 0.0, 1.0]
    assert Model.from_sdf(robot(link("a"))).gravity.tolist() == [0.0, 0.0, -9.81]


def test_a_joint_of_the_world_holds_the_robot():
    parts = f'<frame name="post"><pose>0 0 2 0 0 0</pose></frame><model name="m">{link("a")}</model>'
    held = joint("hold", "post", "m::a", pose="0 0 0 0 0 0")
    model = Model.from_sdf(f'<sdf version="1.10"><world name="w">{parts}{held}</world></sdf>')
    assert model.joint_names == ("hold",) and frame_pose(model, [0.0], "a")[2, 3] == 0.0


def test_limits_of_old_files_and_of_new_ones():
    inside = (
        "<axis><xyz>0 0 1</xyz><limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort><velocity>3</velocity>"
        "</limit><dynamics><damping>0.5</damping><friction>0.25</friction></dynamics></axis>"
    )
    limits = Model.from_sdf(robot(link("a"), link("b"), joint("j", "a", "b", inside=inside))).limits
    assert (limits.lower[0], limits.upper[0], limits.effort[0], limits.velocity[0]) == (-np.inf, 2.0, np.inf, 3.0)
    assert (limits.damping[0], limits.friction[0]) == (0.5, 0.25)
    free = Model.from_sdf(robot(link("a"), link("b"), joint("j", "a", "b", "continuous"))).limits
    assert free.lower[0] == -np.inf and free.upper[0] == np.inf


def test_mimic_joints_are_couplings():
    follow = (
        '<axis><xyz>0 0 1</xyz><mimic joint="ab"><multiplier>2</multiplier><offset>0.3</offset>'
        "<reference>0.1</reference></mimic></axis>"
    )
    text = robot(LINKS, joint("ab", "a", "b"), joint("bc", "b", "c", inside=follow))
    model = Model.from_sdf(text)
    constraints = ConstraintSet.from_sdf(model, text)
    assert constraint_error(model, constraints, [0.6, 2.0 * (0.6 - 0.1) + 0.3]) == pytest.approx(0.0, abs=1e-15)
    assert constraint_error(model, constraints, [0.6, 1.0]) != pytest.approx(0.0, abs=0.1)
    assert model.with_coupled_mimics().nv == 1


@pytest.mark.parametrize(
    ("version", "thread", "pitch"),
    [
        ("1.5", "<thread_pitch>-50</thread_pitch>", 0.02),
        ("1.11", "<thread_pitch>-50</thread_pitch><screw_thread_pitch>0.3</screw_thread_pitch>", 0.3 / (2 * np.pi)),
        ("1.11", "", 1.0 / (2 * np.pi)),
    ],
)
def test_a_screw_advances_by_its_pitch(version, thread, pitch):
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    model = Model.from_sdf(robot(link("a"), link("b"), joint("j", "a", "b", "screw", thread + axis), version=version))
    assert frame_pose(model, [0.7], "b")[2, 3] == pytest.approx(0.7 * pitch, rel=1e-14)


def test_frames_and_links_of_old_files_may_share_names():
    frame = '<frame name="b"><pose>0 0 1 0 0 0</pose></frame>'
    model = Model.from_sdf(robot(frame, LINKS, joint("b", "a", "b"), joint("bc", "b", "c"), version="1.6"))
    assert model.joint("b").body == "b" and model.frame("frame/b").placement[2, 3] == 1.0
