"""ModelBuilder and joint types: what is refused, and with which words."""

import numpy as np
import pytest
from support.compare import relative
from support.grids import all_of
from support.sample_trees import X, Y, Z, smallest_rotation, unit

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.model.joint_types import rotation_from_z

BOX = ld.SpatialInertia(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.12, 0.15]))


def test_names_must_be_unique_and_known():
    builder = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute()).add("tool", "a")
    for name in ("a", "tool", "world"):
        with pytest.raises(ld.DescriptionError, match=rf"body '{name}' is there already"):
            builder.add(name, "a", ld.joint_types.revolute())
    with pytest.raises(ld.DescriptionError, match=r"joint 'a' is there already"):
        builder.add("b", "a", ld.joint_types.revolute(), joint_name="a")
    with pytest.raises(ld.DescriptionError, match=r"body 'b': parent 'arm' is unknown, .*\['a', 'tool', 'world'\]"):
        builder.add("b", "arm", ld.joint_types.revolute())


def test_limits_of_a_body_without_a_joint_are_refused():
    for given in ({"damping": 0.1}, {"mimic": ("a", 1.0, 0.0)}):
        with pytest.raises(
            ld.DescriptionError, match=rf"body 'tool': it has no joint that moves, so {next(iter(given))}"
        ):
            ld.ModelBuilder().add("a", joint=ld.joint_types.revolute()).add("tool", "a", **given)


def test_a_users_joint_must_move_rigidly():
    stretched, mirrored = np.diag([1.0, 1.0, 1.001, 1.0]), np.diag([1.0, 1.0, -1.0, 1.0])
    for T in (stretched, mirrored, np.diag([1.0, 1.0, 1.0, 2.0])):
        joint = ld.joint_types.custom(1, lambda q, T=T: T, lambda q: np.eye(6)[:, 2:3], lambda q, qd: np.zeros((6, 1)))
        model = ld.ModelBuilder().add("a", joint=joint, inertia=BOX).build()
        with pytest.raises(
            ld.DescriptionError, match=r"joint 'a': its transform function must return a rigid transform"
        ):
            ld.inverse_dynamics(model, [0.0], [0.0], [0.0])


def test_a_refused_body_leaves_the_builder_as_it_was():
    builder = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), inertia=BOX)
    for bad in ({"lower": 2.0, "upper": 1.0}, {"parent": "?"}, {"damping": -1.0}, {"speed": 1.0}):
        with pytest.raises(ld.DescriptionError):
            builder.add("b", **({"parent": "a"} | bad), joint=ld.joint_types.revolute())
    model = builder.add("b", "a", ld.joint_types.revolute(), inertia=BOX).build()
    assert model.joint_names == ("a", "b")


def test_placements_and_inertias():
    with pytest.raises(ld.GroupError, match="placement of a"):
        ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), placement=2.0 * np.eye(4))
    with pytest.raises(ld.LieDynamicsError):
        ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), placement=np.eye(3))
    with pytest.raises(ld.InertiaError, match=r"a: principal moments .* triangle"):
        bad = ld.SpatialInertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]))
        ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), inertia=bad)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"lower": 1.0, "upper": 0.0}, r"joint 'a': lower limit \[1.0\] is above upper limit \[0.0\]"),
        ({"lower": [1.0, 2.0]}, r"joint 'a': lower must be one number or 1"),
        ({"lower": np.nan}, r"joint 'a': lower must be one number"),
        ({"damping": -0.1}, r"joint 'a': damping must not be negative"),
        ({"armature": -0.1}, r"joint 'a': armature must not be negative"),
        ({"elasticity": 1.0}, r"joint 'a': unknown limits \['elasticity'\], known are"),
        ({"lower": "low"}, r"joint 'a': lower must be"),
    ],
)
def test_limits(limits, message):
    with pytest.raises(ld.DescriptionError, match=message):
        ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), **limits)


def test_a_name_is_no_joint_type():
    with pytest.raises(ld.LieDynamicsError, match="joint"):
        ld.ModelBuilder().add("a", joint="revolute")


@all_of("make", [ld.joint_types.revolute, ld.joint_types.prismatic, ld.joint_types.helical, ld.joint_types.planar])
@all_of("axis", [[0, 0, 0], [0, 0], [0, 0, np.nan], [np.inf, 0, 0], 3.0, "z", None])
def test_axes(make, axis):
    with pytest.raises(ld.DescriptionError, match=r"an axis of three finite numbers"):
        make(axis)


def test_other_joint_types():
    with pytest.raises(ld.DescriptionError, match="finite pitch"):
        ld.joint_types.helical(Z, np.nan)
    for second in (X, -X, 2 * X):
        with pytest.raises(ld.DescriptionError, match="not parallel"):
            ld.joint_types.universal(X, second)
    for parts in ((), (ld.joint_types.spherical(),), (ld.joint_types.revolute(), ld.joint_types.free())):
        with pytest.raises(ld.DescriptionError, match="composite joint"):
            ld.joint_types.composite(*parts)
    for n in (0, 7, -1):
        with pytest.raises(ld.DescriptionError, match="1 to 6 coordinates"):
            ld.joint_types.custom(n, lambda q: q, lambda q: q, lambda q, v: q)


@pytest.mark.parametrize(
    ("what", "functions"),
    [
        ("transform", (lambda q: np.eye(3), lambda q: np.ones((6, 1)), lambda q, v: np.zeros((6, 1)))),
        ("transform", (lambda q: np.nan * np.eye(4), lambda q: np.ones((6, 1)), lambda q, v: np.zeros((6, 1)))),
        ("subspace", (lambda q: np.eye(4), lambda q: np.ones(6), lambda q, v: np.zeros((6, 1)))),
        ("subspace_rate", (lambda q: np.eye(4), lambda q: np.ones((6, 1)), lambda q, v: np.full((6, 1), np.inf))),
    ],
)
def test_functions_of_a_users_joint_are_checked(what, functions):
    model = ld.ModelBuilder().add("a", joint=ld.joint_types.custom(1, *functions), inertia=BOX).build()
    with pytest.raises(
        ld.DescriptionError, match=rf"joint 'a': its {what} function must return finite numbers of shape"
    ):
        ld.inverse_dynamics(model, [0.0], [0.0], [0.0])


def test_axes_are_normalised():
    for make in (ld.joint_types.revolute, ld.joint_types.prismatic):
        one, other = (ld.ModelBuilder().add("a", joint=make(s * X), inertia=BOX).build() for s in (1.0, 7e5))
        assert (ld.inverse_dynamics(one, [0.3], [1], [1]) == ld.inverse_dynamics(other, [0.3], [1], [1])).all()


@all_of(
    "axis",
    [X, Y, Z, -X, -Y, -Z, [1e-9, 0, -1], [1e-200, 0, -1], [0, -1e-12, -1], [1, 0, 1e-17], [1, 1, -1e-17]],
)
def test_the_smallest_rotation_from_z(axis):
    axis = np.array(axis, dtype=float)
    axis /= np.linalg.norm(axis)
    R = rotation_from_z(tuple(axis))
    assert np.abs(R @ R.T - np.eye(3)).max() < 4e-16
    assert np.linalg.det(R) > 0
    assert (R[:, 2] == axis).all() or np.abs(R[:, 2] - axis).max() < 1e-16
    if np.hypot(*axis[:2]) > 1e-100 or axis[2] > 0:
        assert np.abs(R - smallest_rotation(axis)).max() < 1e-9  # the oracle divides by the sine


def test_planar_joints_slide_in_their_plane(rng):
    for normal in (Z, -Z, X, unit(rng)):
        model = ld.ModelBuilder().add("a", joint=ld.joint_types.planar(normal), inertia=BOX).build()
        T = ld.forward_kinematics(model, [0.3, -0.7, 1.2])[0]
        assert abs(T[:3, 3] @ normal) < 1e-15
        assert abs(np.linalg.norm(T[:3, 3]) - np.hypot(0.3, 0.7)) < 1e-15
        assert relative(T[:3, :3] @ normal, normal) < 1e-15


def test_fixed_bodies_become_frames():
    builder = ld.ModelBuilder(world="map")
    T = np.eye(4)
    T[:3, 3] = [1.0, 2.0, 3.0]
    builder.add("table", placement=T).add("arm", "table", ld.joint_types.revolute(), inertia=BOX)
    model = builder.add("tool", "arm", placement=T, inertia=BOX).build()
    assert model.body_names == ("arm",)
    assert model.joint("arm").parent_body == "map"
    assert (model.frame("table").body, model.frame("tool").body, model.frame("map").body) == (-1, 0, -1)
    assert relative(ld.forward_kinematics(model, [0.0])[0], T) == 0.0
    assert abs(model.inertia("arm").mass - 2.0) < 1e-15


def test_several_roots(rng):
    """Two arms on the world do not feel each other."""
    builder = ld.ModelBuilder()
    for name in ("left", "right"):
        builder.add(name, joint=ld.joint_types.revolute(X), inertia=BOX)
    model, alone = builder.build(), ld.ModelBuilder().add("left", joint=ld.joint_types.revolute(X), inertia=BOX).build()
    q, qd, qdd = rng.normal(size=(3, 2))
    for k in range(2):
        expected = ld.inverse_dynamics(alone, q[k : k + 1], qd[k : k + 1], qdd[k : k + 1])
        assert ld.inverse_dynamics(model, q, qd, qdd)[k] == expected[0]
