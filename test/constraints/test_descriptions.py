"""Loops, couplings and sets of constraints: what is read from YAML and URDF, and what is refused with a name."""

import pickle

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.kinds import SIZES
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar

URDF = """
<robot name="gripper">
  <link name="base"/>
  <link name="left"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <link name="right"><inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <link name="tip"/>
  <joint name="drive" type="prismatic"><parent link="base"/><child link="left"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="10" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="base"/><child link="right"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/><mimic joint="drive" multiplier="-0.5" offset="0.01"/></joint>
  <joint name="end" type="fixed"><parent link="right"/><child link="tip"/><origin xyz="0 0 0.1"/></joint>
</robot>
"""

YAML = """
loops:
  - name: rope
    kind: distance
    first: {frame: left, position: [0, 0.1, 0], rpy: [0, 0, 1.0]}
    second: tip
    length: 0.3
  - kind: revolute
    first: base
    second: {frame: left, quaternion: [0, 0, 1, 1]}
    axis: [0, 0, 2]
    second_axis: [0, 1, 0]
couplings:
  - {follower: follow, leader: drive, ratio: 2, offset: 0.1}
  - {name: sum, coefficients: {drive: 1, follow: 1}}
mimics: true
"""


def test_yaml(tmp_path):
    model = ld.Model.from_urdf(URDF)
    path = tmp_path / "loops.yaml"
    path.write_text(YAML)
    for source in (YAML, path, str(path)):
        with pytest.raises(ld.DescriptionError, match="'follow' is there twice"):
            ld.ConstraintSet.from_yaml(model, source)
        text = YAML.replace("mimics: true", "mimics: false")
        constraints = ld.ConstraintSet.from_yaml(model, text)
    rope, hinge = constraints.loops
    assert constraints.names == ("rope", "base-left", "follow", "sum")
    assert (rope.kind, rope.first, rope.second, rope.length) == ("distance", "left", "tip", 0.3)
    assert np.allclose(rope.first_placement[:3, 3], [0, 0.1, 0], atol=0)
    assert rope.first_placement[1, 0] == pytest.approx(np.sin(1.0))
    assert np.allclose(hinge.second_placement[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert hinge.axis.tolist() == [0, 0, 1]
    assert hinge.second_axis.tolist() == [0, 1, 0]
    assert dict(constraints.couplings[0].coefficients) == {"follow": 1.0, "drive": -2.0}
    # Frames on a welded link are found where they are: left at (0, 0.1, 0), tip at (0, 0, 0.1) at q = 0.
    error = ld.constraint_quantities(model, constraints, np.zeros(2), np.zeros(2)).error
    assert error[0] == pytest.approx(0.5 * (0.02 / 0.3 - 0.3), rel=1e-14)


@all_of(
    ("text", "message"),
    [
        ("loops: [", "YAML text is not valid YAML at line 2, column 1"),
        ("- 1\n", "holds a list at the top, expected the keys loops, couplings, mimics"),
        ("loop: []\n", "unknown keys 'loop'; known are loops, couplings, mimics"),
        ("loops: 3\n", "loops is 3, expected a list"),
        ("loops: [3]\n", "loop 1 in the YAML text is a number, 3; expected keys with values"),
        ("loops:\n  - {kind: welded, first: base}\n", "loop 1 in the YAML text: has no second"),
        ("loops:\n  - {kind: glued, first: base, second: tip}\n", "kind 'glued' is unknown"),
        ("loops:\n  - {name: a, kind: welded, first: base, second: tip, axes: 1}\n", r"\('a'\): unknown keys"),
        ("loops:\n  - {kind: welded, first: base, second: {position: [1, 2, 3]}}\n",
         "second in loop 1 in the YAML text: has no frame .the name of a link"),
        ("loops:\n  - {kind: welded, first: base, second: {frame: tip, position: [1, 2]}}\n", "3 finite numbers"),
        ("loops:\n  - {kind: welded, first: base, second: {frame: tip, quaternion: [0, 0, 0, 0]}}\n", "than zero"),
        ("loops:\n  - {kind: welded, first: base, second: {frame: tip, rpy: [0, 0, 0], quaternion: [0, 0, 0, 1]}}\n",
         "not both"),
        ("loops:\n  - {kind: welded, first: base, second: hand}\n", "loop 'base-hand'.*'hand'"),
        ("loops:\n  - {kind: welded, first: right, second: tip}\n", "belong to one body"),
        ("loops:\n  - {kind: distance, first: base, second: tip}\n", "a distance above zero"),
        ("loops:\n  - {kind: distance, first: base, second: tip, length: long}\n", "a finite number"),
        ("loops:\n  - {kind: welded, first: base, second: tip, axis: [0, 0, 1]}\n", "has no axis"),
        ("loops:\n  - {kind: revolute, first: base, second: tip, axis: [0, 0, 0]}\n", "not all zero"),
        ("couplings:\n  - {follower: follow}\n", "coupling 1 in the YAML text: has no leader"),
        ("couplings:\n  - {follower: follow, leader: follow}\n", "cannot follow itself"),
        ("couplings:\n  - {follower: follow, leader: lead}\n", "coupling 'follow'.*'lead'"),
        ("couplings:\n  - {coefficients: [1, 2]}\n", "coefficients in coupling 1 in the YAML text is a list"),
        ("couplings:\n  - {coefficients: {drive: 0}}\n", "not all zero"),
        ("mimics: 1\n", "true or false"),
        ("no_such_file.yaml", "file no_such_file.yaml cannot be read: No such file"),
    ],
)  # fmt: skip
def test_yaml_errors_name_the_place(text, message):
    with pytest.raises(ld.DescriptionError, match=message):
        ld.ConstraintSet.from_yaml(ld.Model.from_urdf(URDF), text)


def test_mimic_joints_are_couplings():
    """The constrained tree moves as the model that has lost the mimic's coordinate."""
    model = ld.Model.from_urdf(URDF, gravity=(3.0, 0.0, -9.81))
    constraints = ld.ConstraintSet(model, ld.mimic_couplings(model))
    assert constraints.names == ("follow",)
    coupled = model.with_coupled_mimics()
    q = np.array([0.3, -0.5 * 0.3 + 0.01])
    assert abs(ld.constraint_quantities(model, constraints, q, np.zeros(2)).error[0]) < 1e-16
    found = ld.constrained_forward_dynamics(model, constraints, q, np.zeros(2), np.array([1.5, 0.2]))
    expected = ld.forward_dynamics(coupled, [0.3], [0.0], [1.5 - 0.5 * 0.2])
    assert found.qdd == pytest.approx(expected[0] * np.array([1.0, -0.5]), rel=1e-13)
    with pytest.raises(ld.InputError, match="mimic_couplings"):
        ld.ConstraintSet(coupled, [])


def test_constructors():
    for kind, size in SIZES.items():
        loop = ld.Loop(kind, "a", "b", length=1.0 if kind == "distance" else None)
        assert (loop.name, loop.size) == ("a-b", size)
    for make in (
        ld.Loop.welded,
        ld.Loop.revolute,
        ld.Loop.universal,
        ld.Loop.spherical,
        ld.Loop.prismatic,
        ld.Loop.point_in_plane,
    ):
        assert make("a", "b", name="n").kind == make.__name__
    assert ld.Loop.distance("a", "b", 2.0).length == 2.0
    universal = ld.Loop.universal("a", "b")
    assert (universal.axis @ universal.second_axis, ld.Loop.revolute("a", "b").axis.tolist()) == (0.0, [0, 0, 1])
    with pytest.raises(ld.GroupError, match="first_placement of loop n"):
        ld.Loop.welded("a", "b", name="n", first_placement=2.0 * np.eye(4))
    with pytest.raises(ld.DescriptionError, match="has no length"):
        ld.Loop.welded("a", "b", length=1.0)
    with pytest.raises(ld.DescriptionError, match="axis"):
        ld.Loop.revolute("a", "b", axis="z")


def test_sets():
    made = five_bar()
    with pytest.raises(ld.InputError, match="Loop, Coupling or UserConstraint"):
        ld.ConstraintSet(made.model, ["cut"])
    with pytest.raises(ld.InputError, match="rank_tolerance"):
        ld.ConstraintSet(made.model, [], rank_tolerance=0.0)
    ball = ld.ModelBuilder().add(
        "ball", None, ld.joint_types.spherical(), inertia=ld.SpatialInertia(1, [0, 0, 0], np.eye(3))
    )
    with pytest.raises(ld.DescriptionError, match="'ball' has 4 coordinates"):
        ld.ConstraintSet(ball.build(), [ld.Coupling({"ball": 1.0})])
    assert "cut" in repr(made.constraints)
    # A model that went through pickle has joints of its own, but the same.
    other = pickle.loads(pickle.dumps(made.model))
    a, b = (
        ld.constrained_forward_dynamics(m, made.constraints, made.q, np.zeros(5), np.ones(5))
        for m in (made.model, other)
    )
    assert np.allclose(a.qdd, b.qdd, rtol=1e-13)
    with pytest.raises(ld.InputError, match="other joints or frames"):  # one whose lengths differ
        other = five_bar((0.5, 0.3, 0.5, 0.5, 0.3)).model
        ld.constrained_forward_dynamics(other, made.constraints, made.q, np.zeros(5), np.ones(5))
    both = ld.ConstraintSet(made.model, [*made.constraints.loops, ld.Coupling.gear("joint_1", "joint_5", -1.0)])
    copy = pickle.loads(pickle.dumps(both))
    assert copy.names == both.names
    a, b = (ld.constrained_forward_dynamics(made.model, c, made.q, np.zeros(5), np.ones(5)) for c in (both, copy))
    assert np.allclose(a.qdd, b.qdd, rtol=1e-13)
    with pytest.raises(AttributeError, match="does not change"):
        both.size = 3
    assert "rank=" in repr(a)


def test_user_constraints_that_make_no_sense():
    model = four_bar().model
    with pytest.raises(ld.DescriptionError, match="size of at least 1"):
        ld.UserConstraint("u", 0, lambda q: q)
    for one, message in (
        (ld.UserConstraint("u", 2, lambda q: q), r"'u': its function must return finite numbers of shape \(2,\)"),
        (ld.UserConstraint("u", 1, lambda q: np.nan), "its function"),
        (ld.UserConstraint("u", 1, lambda q: q[0], lambda q: q), r"its jacobian must .* \(1, 3\)"),
        (ld.UserConstraint("u", 1, lambda q: q[0], lambda q: np.ones((1, 3)), lambda q, v: v), "its bias"),
    ):
        with pytest.raises(ld.DescriptionError, match=message):
            ld.constraint_quantities(model, ld.ConstraintSet(model, [one]), np.zeros(3), np.ones(3))
