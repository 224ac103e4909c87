"""Kinematic calibration: arms whose every placement is wrong, forward kinematics by hand, statistics of the noise."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import DescriptionError, InputError, Model, ModelBuilder, SpatialInertia, joint_types
from lie_dynamics_ros.lie_dynamics.identification import calibrate_kinematics

PANDA = (Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf").read_text()
#: A prismatic joint, an axis that is none of the frame's, and a tool that is the last link.
MIXED = """<robot name="mixed"><link name="base"/><link name="a">
  <inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="b"/><link name="c"/>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
    <origin xyz="0.1 0 0.2" rpy="0.3 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="odd" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0.6 0 0.8"/>
    <origin xyz="0.3 0.1 0"/></joint>
  <joint name="turn" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
    <origin xyz="0.2 0.1 0.4" rpy="0 0.5 1"/></joint></robot>"""


def placed(xyz, rpy):
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    T[:3, 3] = xyz
    return T


class Arm:
    """Forward kinematics of a serial URDF by hand, every placement and zero wrong by a little."""

    def __init__(self, text, rng, size):
        self.parts, root = [], ElementTree.fromstring(text)
        for joint in root.findall("joint"):
            origin, axis = joint.find("origin"), joint.find("axis")
            get = {} if origin is None else origin.attrib
            T = placed(*(np.array(get.get(k, "0 0 0").split(), dtype=float) for k in ("xyz", "rpy")))
            error = placed(size * rng.normal(size=3), size * rng.normal(size=3))
            along = None if axis is None else np.array(axis.get("xyz").split(), dtype=float)
            self.parts.append((T @ error, joint.get("type"), along, size * rng.normal()))

    def __call__(self, q):
        found = []
        for row in q:
            T, values = np.eye(4), iter(row)
            for place, kind, axis, zero in self.parts:
                T = T @ place
                if kind == "fixed":
                    continue
                x, step = next(values) + zero, np.eye(4)
                if kind == "prismatic":
                    step[:3, 3] = x * axis
                else:
                    step[:3, :3] = Rotation.from_rotvec(x * axis).as_matrix()
                T = T @ step
            found.append(T)
        return np.array(found)


def noisy(rng, T, shift, turn):
    T = T.copy()
    T[:, :3, 3] += shift * rng.normal(size=(len(T), 3))
    T[:, :3, :3] = T[:, :3, :3] @ Rotation.from_rotvec(turn * rng.normal(size=(len(T), 3))).as_matrix()
    return T


def drawn(rng, model, count):
    reach = np.where(np.isfinite(model.limits.upper), model.limits.upper, 2.5)
    low = np.where(np.isfinite(model.limits.lower), model.limits.lower, -2.5)
    return rng.uniform(low, reach, (count, model.nq))


CASES = {"panda": (PANDA, "panda_link8", 34), "mixed": (MIXED, "c", 16)}


@pytest.mark.parametrize("name", CASES)
def test_any_error_of_placements_and_zeros_is_found(name, rng):
    """Without noise: 4 r + 2 p + 6 parameters explain them all, and the corrected URDF is the arm."""
    text, frame, count = CASES[name]
    model, arm = Model.from_urdf(text), Arm(text, rng, 3e-3)
    q = drawn(rng, model, 60)
    found = calibrate_kinematics(model, frame, q, poses=arm(q))
    assert found.converged
    assert found.rank == len(found.names) == count
    assert found.unidentifiable == ()
    unseen = drawn(rng, model, 40)
    assert np.abs(found.tool_pose(unseen) - arm(unseen)).max() < 1e-9
    text = found.corrected_urdf(text)
    corrected, parts = Arm(text, rng, 0.0), Model.from_urdf(text)
    assert parts.nq == model.nq
    assert np.abs(corrected(unseen) - arm(unseen)).max() < 1e-9


@pytest.mark.slow  # in every run those of mechanisms and platforms are
def test_errors_are_as_large_as_their_covariance_says(rng):
    """50 poses with 0.1 mm and 0.3 mrad: Mahalanobis distances follow chi square, and unseen poses are better."""
    from scipy.stats import chi2  # loaded by who runs this, not by all who collect tests

    model, arm = Model.from_urdf(PANDA), Arm(PANDA, rng, 1e-3)
    true = calibrate_kinematics(model, "panda_link8", q := drawn(rng, model, 60), poses=arm(q)).values
    inside, distances = [], []
    for _ in range(15):
        q = drawn(rng, model, 50)
        found = calibrate_kinematics(model, "panda_link8", q, poses=noisy(rng, arm(q), 1e-4, 3e-4))
        error = found.values - true
        inside.append(np.abs(error) < 1.959964 * found.standard_deviations)
        distances.append(error @ np.linalg.solve(found.covariance, error))
        low, high = chi2.ppf([1e-5, 1 - 1e-5], found.degrees_of_freedom)
        assert low < found.chi_square < high
    assert 0.93 <= np.mean(inside) <= 0.97
    assert chi2.ppf(1e-4, 34 * 15) < np.sum(distances) < chi2.ppf(1 - 1e-4, 34 * 15)
    unseen = drawn(rng, model, 200)
    error = found.tool_pose(unseen) - arm(unseen)
    assert np.sqrt((error[:, :3, 3] ** 2).mean()) < 1e-4


def test_positions_and_distances_tell_what_they_can(rng):
    """Positions do not see how the tool is turned; distances neither that nor where the base is; heights see least."""
    model, arm = Model.from_urdf(PANDA), Arm(PANDA, rng, 1e-3)
    q = drawn(rng, model, 60)
    p, unseen = arm(q)[:, :3, 3], drawn(rng, model, 20)
    found = calibrate_kinematics(model, "panda_link8", q, positions=p)
    assert found.rank == 34 - 3
    assert set(found.unidentifiable) == {"tool turn x", "tool turn y", "tool turn z"}
    assert np.isinf(found.standard_deviations[-6:-3]).all()
    assert np.abs(found.tool_pose(unseen)[:, :3, 3] - arm(unseen)[:, :3, 3]).max() < 1e-9
    pairs = rng.permutation(np.array([(i, j) for i in range(60) for j in range(i)]))[:400]
    lengths = np.linalg.norm(p[pairs[:, 0]] - p[pairs[:, 1]], axis=1)
    found = calibrate_kinematics(model, "panda_link8", q, distances=(pairs, lengths))
    assert found.rank == 34 - 3 - 6
    a, b = found.tool_pose(unseen)[:, :3, 3], arm(unseen)[:, :3, 3]
    assert np.abs(np.linalg.norm(a - a[0], axis=1) - np.linalg.norm(b - b[0], axis=1)).max() < 1e-9
    found = calibrate_kinematics(model, "panda_link8", q, heights=p[:, 2])
    assert found.rank == 34 - 3 - 3
    assert np.abs(found.tool_pose(unseen)[:, 2, 3] - arm(unseen)[:, 2, 3]).max() < 1e-9


def test_a_base_that_is_not_known(rng):
    model, arm = Model.from_urdf(PANDA), Arm(PANDA, rng, 1e-3)
    q, base = drawn(rng, model, 60), placed([2.0, -1.0, 0.4], [0.3, -2.0, 1.1])
    found = calibrate_kinematics(model, "panda_link8", q, poses=base @ arm(q), fit_base=True)
    unseen = drawn(rng, model, 20)
    assert np.abs(found.tool_pose(unseen) - base @ arm(unseen)).max() < 1e-9
    corrected = Arm(found.corrected_urdf(PANDA), rng, 0.0)
    assert np.abs(found.base @ corrected(unseen) - base @ arm(unseen)).max() < 1e-9
    assert np.abs(found.base - base).max() < 0.02


def test_few_configurations_are_told(rng):
    model, arm = Model.from_urdf(PANDA), Arm(PANDA, rng, 1e-3)
    q = drawn(rng, model, 4)
    found = calibrate_kinematics(model, "panda_link8", q, poses=arm(q))
    assert found.rank == 24
    assert found.unidentifiable
    assert np.abs(found.tool_pose(q) - arm(q)).max() < 1e-7


def test_refusals():
    model = Model.from_urdf(PANDA)
    q, T = np.zeros((3, 7)), np.broadcast_to(np.eye(4), (3, 4, 4))
    good = {"poses": T}
    for arguments, match in (
        ({}, "one of them"),
        ({"poses": T, "positions": np.zeros((3, 3))}, "one of them"),
        ({"poses": T[:2]}, "poses"),
        ({"positions": np.zeros((2, 3))}, "positions"),
        ({"distances": ([[0, 0]], [1.0])}, "different"),
        ({"distances": ([[0, 1]], [-1.0])}, "positive"),
        ({"distances": ([[0, 1]], [1.0]), "fit_base": True}, "fit_base"),
        ({"heights": np.zeros(3), "fit_base": True}, "fit_base"),
        (good | {"position_noise": 0.0}, "position_noise"),
        (good | {"max_iterations": 0}, "max_iterations"),
    ):
        with pytest.raises(InputError, match=match):
            calibrate_kinematics(model, "panda_link8", q, **arguments)
    with pytest.raises(InputError, match="nothing"):
        calibrate_kinematics(model, "nothing", q, poses=T)
    inertia = SpatialInertia(1.0, np.zeros(3), np.eye(3))
    ball = ModelBuilder().add("ball", joint=joint_types.spherical(), inertia=inertia)
    with pytest.raises(DescriptionError, match="one coordinate"):
        calibrate_kinematics(ball.build(), "ball", np.array([[1.0, 0, 0, 0]]), poses=T[:1])
    found = calibrate_kinematics(model, "panda_link8", q, **good)
    with pytest.raises(DescriptionError, match="panda_joint1"):
        found.corrected_urdf("<robot name='x'/>")
