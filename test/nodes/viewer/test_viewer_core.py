"""What the viewer makes of what it hears: poses, efforts, contacts, staleness; and what it refuses."""

import math
from importlib.resources import files

import numpy as np
import pytest
from node_platforms import BASE, TEXT, TOP, TRUE
from node_robots import ARM, ARM_JOINTS, NO_JOINTS, pendulum

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import RotaryPlatform, StewartPlatform
from lie_dynamics_ros.nodes.viewer.core import MOST_REPORTS, ViewerCore, ViewOptions
from lie_dynamics_ros.nodes.viewer.node import MeshReader
from lie_dynamics_ros.nodes.viewer.picture import JOINT, Robot, shapes_of

POSITION = np.linspace(-0.5, 0.5, 7)
SMALL = np.diag([4e-10, 1e-10, 9e-10])


def no_mesh(uri):
    raise ValueError(f"there is no {uri}")


def robot_of(text):
    model = Model.from_urdf(text, inertia_check="ignore")
    return Robot(model, *shapes_of(text, model, no_mesh))


OPTIONS = ViewOptions(stale_after=1.0, trace_time=10.0, covariance_scale=1000.0, force_scale=0.01)


def core_of(text=None):
    core = ViewerCore(OPTIONS, StewartPlatform.from_yaml(TEXT))
    if text is not None:
        core.use(robot_of(text))
    return core


def test_bodies_are_where_another_library_has_them():
    pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")
    core = core_of(ARM)
    assert core.picture(0.0).poses is None  # nothing is known of the robot: it is not drawn at zero
    order = list(reversed(range(7)))
    core.take_states(["finger", *(ARM_JOINTS[k] for k in order)], [9.0, *POSITION[order]], (), 5.0)
    picture = core.picture(5.5)
    model = pin.buildModelFromXML(ARM)
    data = model.createData()
    pin.forwardKinematics(model, data, POSITION)
    found = {body: pose for body, pose in zip(picture.robot.model.body_names, picture.poses, strict=True)}
    for k, name in enumerate(ARM_JOINTS):
        np.testing.assert_allclose(
            found[f"panda_link{k + 1}"], data.oMi[model.getJointId(name)].homogeneous, atol=1e-12
        )
    assert not picture.stale and not picture.unknown and picture.age == 0.5


def test_what_is_old_is_stale_joint_by_joint():
    core = core_of(ARM)
    assert core.picture(0.0).stale and core.picture(0.0).age is None
    core.take_states(ARM_JOINTS, POSITION, np.ones(7), 5.0)
    core.take_states(ARM_JOINTS[:3], POSITION[:3], (), 5.9)
    picture = core.picture(6.5)
    assert picture.unknown == ARM_JOINTS[3:] and not picture.stale and picture.source == ""
    assert core.picture(7.0).stale and core.picture(7.0).age == pytest.approx(1.1)
    core.take_states(ARM_JOINTS, POSITION, (), 7.1)
    assert not core.picture(7.2).stale


def test_efforts_come_from_the_first_source_that_is_fresh():
    core = core_of(ARM)
    core.take_states(ARM_JOINTS, POSITION, np.full(7, 1.0), 0.0)
    core.take_efforts("inverse_dynamics", ARM_JOINTS, np.full(7, 2.0), 0.5)
    core.take_efforts("computed_torque", ARM_JOINTS[:6], np.full(6, 3.0), 0.2)
    picture = core.picture(0.6)
    assert picture.source == "computed_torque"
    assert [e.value for e in picture.efforts] == [3.0] * 6 + [None]  # a number of another source is not mixed in
    assert [e.limit for e in picture.efforts] == [87.0] * 4 + [12.0] * 3
    assert {e.unit for e in picture.efforts} == {"N m"}
    assert not len(picture.times)  # not all are known
    picture = core.picture(1.3)
    assert picture.source == "inverse_dynamics" and [e.value for e in picture.efforts] == [2.0] * 7
    assert core.picture(1.6).source == "" and core.picture(1.6).efforts == ()


def test_traces_reach_back_as_far_as_they_should():
    core = core_of(ARM)
    for k in range(150):
        core.take_efforts("inverse_dynamics", ARM_JOINTS, np.full(7, float(k)), 0.1 * k)
        picture = core.picture(0.1 * k)
    assert picture.traces.shape == (len(picture.times), 7)
    assert -10.0 - 1e-9 <= picture.times[0] < -9.8 and picture.times[-1] == 0.0
    np.testing.assert_array_equal(picture.traces[:, 3], np.arange(150 - len(picture.times), 150))


BAD = (math.inf, -math.inf, 1e308, -1e300, 1e7)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("take", ["position", "effort", "efforts", "force", "pose", "covariance"])
def test_numbers_that_are_none_are_refused_and_change_nothing(take, bad):
    core = core_of(ARM)
    core.take_states(ARM_JOINTS, POSITION, np.ones(7), 0.0)
    core.take_force("panda_link7", np.ones(3), 0.0)
    core.take_pose(TRUE, SMALL, 0.0)
    spoiled, pose, covariance = [*POSITION[:6], bad], TRUE.copy(), SMALL.copy()
    pose[2, 3] = covariance[1, 0] = bad
    before = core.picture(0.1)
    with pytest.raises(MessageError):
        {
            "position": lambda: core.take_states(ARM_JOINTS, spoiled, (), 0.1),
            "effort": lambda: core.take_states(ARM_JOINTS, POSITION, spoiled, 0.1),
            "efforts": lambda: core.take_efforts("inverse_dynamics", ARM_JOINTS, spoiled, 0.1),
            "force": lambda: core.take_force("panda_link7", np.array([0.0, bad, math.nan]), 0.1),
            "pose": lambda: core.take_pose(pose, SMALL, 0.1),
            "covariance": lambda: core.take_pose(TRUE, covariance, 0.1),
        }[take]()
    after = core.picture(0.1)
    np.testing.assert_array_equal(after.poses, before.poses)
    assert after.efforts == before.efforts
    np.testing.assert_array_equal(after.contact.arrow, before.contact.arrow)
    np.testing.assert_array_equal(after.platform.radii, before.platform.radii)


def test_nan_means_that_a_joint_is_not_known():
    core = core_of(ARM)
    core.take_states(ARM_JOINTS, POSITION, (), 0.0)
    core.take_states(ARM_JOINTS, [math.nan, *POSITION[1:]], [math.nan] * 7, 0.9)
    picture = core.picture(1.5)
    assert picture.unknown == ARM_JOINTS[:1] and picture.source == "" and np.isfinite(picture.poses).all()


@pytest.mark.parametrize("names", [ARM_JOINTS[:5], (*ARM_JOINTS, "a"), ()])
def test_lists_of_unequal_length_are_refused(names):
    core = core_of(ARM)
    with pytest.raises(MessageError):
        core.take_states(names, POSITION, (), 0.0)
    with pytest.raises(MessageError):
        core.take_states(ARM_JOINTS, POSITION, POSITION[: max(1, len(names) - 2)] if len(names) < 7 else [1.0], 0.0)
    with pytest.raises(MessageError):
        core.take_efforts("inverse_dynamics", names, POSITION, 0.0)
    assert core.picture(0.0).age is None


def test_a_contact_is_an_arrow_at_its_link_in_the_axes_of_the_link():
    core = core_of(ARM)
    core.take_states(ARM_JOINTS, POSITION, (), 0.0)
    core.take_force("panda_link7", np.array([0.0, 0.0, 20.0]), 0.0)
    core.take_touching(True, 0.0)
    picture = core.picture(0.1)
    at = picture.poses[6]
    np.testing.assert_allclose(picture.contact.arrow, [at[:3, 3], at[:3, 3] + 0.2 * at[:3, 2]], atol=1e-12)
    assert picture.contact.touching and picture.contact.force == 20.0
    core.take_force("nowhere", np.ones(3), 0.2)
    assert core.picture(0.3).contact.arrow is None
    assert core.picture(2.0).contact is None  # neither is kept when it is old


def test_rotary_legs_are_rods_and_horns():
    platform = RotaryPlatform.from_yaml(files("lie_dynamics_ros") / "platforms/servo_hexapod.yaml")
    core = ViewerCore(OPTIONS, platform)
    for at in (platform.home_pose, se3.exp(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.0]))):  # the second is out of reach
        core.take_pose(at, SMALL, 0.0)
        points = core.picture(0.1).platform.points
        assert points.shape == (12, 2, 3) and np.isfinite(points).all()
        rods, horns = points[:6], points[6:]
        np.testing.assert_allclose(rods[:, 1], platform.platform_points @ at[:3, :3].T + at[:3, 3])
        np.testing.assert_allclose(rods[:, 0], horns[:, 1])
        np.testing.assert_allclose(np.linalg.norm(horns[:, 1] - horns[:, 0], axis=1), platform.horns)
        if at is platform.home_pose:
            np.testing.assert_allclose(np.linalg.norm(rods[:, 1] - rods[:, 0], axis=1), platform.rods)


def test_the_platform_has_its_legs_and_its_ellipsoid():
    core = core_of()
    assert core.picture(0.0).platform is None
    turn = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
    core.take_pose(TRUE, turn @ SMALL @ turn.T, 0.0)
    core.take_status(1, "continued", 0.0)
    view = core.picture(0.5).platform
    np.testing.assert_allclose(view.points[:, 0], BASE)
    np.testing.assert_allclose(view.points[:, 1], TOP @ TRUE[:3, :3].T + TRUE[:3, 3])
    np.testing.assert_allclose(
        view.axes @ np.diag(view.radii**2) @ view.axes.T, 1e6 * turn @ SMALL @ turn.T, atol=1e-18
    )
    assert np.linalg.det(view.axes) == pytest.approx(1.0)
    assert (view.level, view.word, view.stale) == (1, "continued", False)
    assert core.picture(2.0).platform.stale and core.picture(2.0).platform.word == ""
    core.take_pose(TRUE, -np.eye(3), 3.0)  # a covariance that none is, from elsewhere
    assert np.isfinite(core.picture(3.0).platform.radii).all() and (core.picture(3.0).platform.deviations == 0.0).all()


def test_reports_are_kept_for_so_many_nodes_and_become_stale():
    core = core_of()
    for k in range(3 * MOST_REPORTS):
        core.take_report(f"n{k:03}", k, "x", 0.01 * k)
    views = core.picture(1.2).reports
    assert len(views) == MOST_REPORTS and {v.level for v in views} == {2} and not any(v.stale for v in views)
    assert all(v.stale for v in core.picture(100.0).reports)


@pytest.mark.parametrize("text", [NO_JOINTS, pendulum(), ARM])
def test_another_robot_takes_the_place_of_one(text):
    core = core_of(ARM)
    core.take_states(ARM_JOINTS, POSITION, np.ones(7), 0.0)
    core.picture(0.0)
    core.use(robot_of(text))
    picture = core.picture(0.1)
    assert picture.age is None and picture.efforts == () and not len(picture.times)
    assert (picture.poses is None) == (text != NO_JOINTS)
    core.take_states(["swing", *ARM_JOINTS], [1.0] * 8, [2.0] * 8, 0.2)
    assert core.picture(0.2).poses.shape == (picture.robot.model.n_bodies, 4, 4)


def test_an_effort_without_a_limit_and_joints_that_follow():
    text = pendulum().replace(
        "</robot>",
        """
  <link name="tip"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="follow" type="prismatic"><parent link="rod"/><child link="tip"/><axis xyz="0 0 1"/>
  <limit lower="0" upper="1" velocity="1"/><mimic joint="swing" multiplier="0.5" offset="0.1"/></joint></robot>""",
    )
    core = core_of(text)
    core.take_states(["swing"], [0.4], [3.0], 0.0)
    picture = core.picture(0.0)
    rod, tip = picture.poses
    np.testing.assert_allclose(
        np.linalg.inv(rod) @ tip, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.3], [0, 0, 0, 1]], atol=1e-12
    )
    swing, follow = picture.efforts
    assert (swing.value, swing.limit, swing.unit) == (3.0, 100.0, "N m")
    assert (follow.value, follow.limit, follow.unit) == (None, math.inf, "N")


# Shapes.

DRESSED = """<robot name="dressed" xmlns:x="y">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base">
  <visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><box size="2 4 6"/></geometry>
    <material name="red"/></visual>
  <collision><geometry><sphere radius="9"/></geometry></collision>
</link>
<link name="arm">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><cylinder radius="0.5" length="2"/></geometry></collision>
</link>
<link name="tip"><visual><geometry>{geometry}</geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><limit effort="1" velocity="1"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0 0 5"/></joint>
</robot>"""


def volume(surface):
    """By the divergence theorem: positive only where the triangles are seen from outside."""
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def dressed(geometry, mesh=no_mesh):
    text = DRESSED.format(geometry=geometry)
    return shapes_of(text, Model.from_urdf(text), mesh)


def test_visuals_are_drawn_and_collisions_where_there_are_none():
    (box, cylinder, capsule), problems = dressed('<capsule radius="1" length="3"/>')
    assert not problems and [s.body for s in (box, cylinder, capsule)] == [-1, 0, 0]
    assert box.color == (255, 0, 0)
    np.testing.assert_allclose(
        [box.surface.vertices.min(axis=0), box.surface.vertices.max(axis=0)], [[-1, 1, 0], [3, 3, 6]], atol=1e-12
    )
    assert volume(box.surface) == pytest.approx(48.0)
    # Circles are drawn with 24 corners.
    share = 24 * math.sin(2 * math.pi / 24) / (2 * math.pi)
    assert volume(cylinder.surface) == pytest.approx(share * math.pi * 0.25 * 2.0)
    whole = math.pi * 3.0 + 4.0 / 3.0 * math.pi
    assert 0.96 * whole < volume(capsule.surface) < whole
    assert capsule.surface.vertices[:, 2].max() == pytest.approx(5.0 + 2.5)  # the fixed link moves with its body


@pytest.mark.parametrize(
    "geometry",
    [
        "", "<torus/>", '<box size="1 2"/>', '<box size="nan 1 1"/>', '<box size="-1 1 1"/>', '<box size="1e9 1 1"/>',
        '<sphere radius="inf"/>', "<sphere/>", '<cylinder radius="1"/>', '<mesh filename="file:///etc/passwd"/>',
        '<mesh filename="package://none/x.stl"/>', "<mesh/>", '<mesh filename="a.stl" scale="0 1 nan"/>',
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_by_its_link_and_the_rest_is_drawn(geometry):
    def locate(uri):
        from lie_dynamics_ros.ros.inputs.model_loading import locate

        return locate(uri)

    shapes, problems = dressed(geometry, MeshReader(locate))
    assert len(shapes) == 2 and len(problems) == 1 and "link 'tip'" in problems[0]
    assert "root:" not in problems[0]


def test_a_mesh_is_read_scaled_and_mirrored_the_right_way_round(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="trimesh, which comes with viser, is not installed")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "a.stl")
    reader = MeshReader(lambda uri: tmp_path / uri)
    (*_, mesh), problems = dressed('<mesh filename="a.stl" scale="1 -1 0.5"/>', reader)
    assert not problems and volume(mesh.surface) == pytest.approx(3.0)
    (tmp_path / "b.stl").write_bytes(b"solid \0 nonsense" * 100)
    (tmp_path / "c.gltf").write_text('{"buffers": [{"uri": "/etc/passwd"}]}')
    for name in ("b.stl", "c.gltf"):
        with pytest.raises(ValueError):
            reader(name)


def test_a_collada_mesh_has_the_colours_of_its_materials_unless_the_description_gives_one(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="trimesh, which comes with viser, is not installed")
    pytest.importorskip("collada", reason="pycollada, which reads .dae, is not installed")
    parts = trimesh.Scene()
    for k, color in enumerate(((200, 30, 40), (0, 90, 250))):
        part = trimesh.creation.box((1.0, 2.0, 3.0))
        material = trimesh.visual.material.PBRMaterial(name=f"m{k}", baseColorFactor=[*color, 255])
        part.visual = trimesh.visual.TextureVisuals(material=material)
        parts.add_geometry(part, transform=trimesh.transformations.translation_matrix([2.0 * k, 0.0, 0.0]))
    (tmp_path / "a.dae").write_bytes(trimesh.exchange.dae.export_collada(list(parts.dump())))
    reader = MeshReader(lambda uri: tmp_path / uri)
    shapes, problems = dressed('<mesh filename="a.dae"/>', reader)
    found = {shape.color: shape.surface for shape in shapes}
    assert not problems and {(200, 30, 40), (0, 90, 250)} <= set(found)
    for color, x in (((200, 30, 40), 0.0), ((0, 90, 250), 2.0)):
        assert volume(found[color]) == pytest.approx(6.0)
        assert found[color].vertices[:, 0].mean() == pytest.approx(x)


def test_without_shapes_there_are_links_from_joint_to_joint_and_drums_about_the_axes():
    robot = robot_of(ARM)
    assert not robot.problems and {shape.body for shape in robot.shapes} == set(range(-1, 7))
    ends = [shape.surface.vertices for shape in robot.shapes if shape.body == 2]  # link 3 carries joint 4 at x = 0.0825
    assert max(v[:, 0].max() for v in ends) > 0.0825
    drums = [shape.surface.vertices for shape in robot.shapes if shape.color == JOINT]
    assert len(drums) == 7
    assert all(np.abs(v[:, 2]).max() > np.linalg.norm(v[:, :2], axis=1).max() for v in drums)  # long along z, the axis
    assert robot_of(NO_JOINTS).shapes is not None
