"""A URDF with other inertias: bodies have them, and all else is as it was written."""

import re

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics import InertiaError, InputError, Model, SpatialInertia
from lie_dynamics_ros.lie_dynamics.model.urdf_inertias import with_inertias

INERTIA = '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0.001"/>'
TEXT = f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- drawn by Jörg -->
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>  <!-- a guess -->
      <origin xyz="0.1 0 0" rpy="0.3 0 0"/><mass value="2"/>{INERTIA}
    </inertial>
    <visual name="a &gt; b"><geometry><mesh filename="package://x/y.stl"/></geometry></visual>
  </link>
  <link name='plate'><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>{INERTIA}</inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
    <dynamics damping="0.1"/>
  </joint>
  <joint name="weld" type="fixed"><parent link="upper"/><child link="plate"/><origin xyz="0.3 0 0" rpy="0 1 0"/></joint>
  <joint name="wrist" type="continuous"><parent link="plate"/><child link="tip"/><axis xyz="0 1 0"/></joint>
</robot>
"""
HEAVY = SpatialInertia(3.0, [0.2, 0.01, 0.03], [[0.1, 0.01, 0.0], [0.01, 0.12, 0.02], [0.0, 0.02, 0.15]])


def stripped(text):
    """The text without what may change."""
    rest = re.sub(r"\s*<inertial>.*?</inertial>|\s*<dynamics[^>]*/>", "", text, flags=re.S)
    return re.sub(r"\s*</(link|joint)>", r"</\1>", rest).replace('<link name="tip"></link>', '<link name="tip"/>')


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "utf-8", "utf-16"])
def test_bodies_have_their_inertias_and_the_rest_stays(encoding):
    source = TEXT.replace("ISO-8859-1", encoding).encode(encoding)
    ball = SpatialInertia(0.4, [0.0, 0.0, 0.05], 1e-3 * np.eye(3))
    found = with_inertias(
        source, {"upper": HEAVY, "tip": ball}, {"shoulder": {"armature": 0.25}, "wrist": {"friction": 0.5}}
    )
    model = Model.from_urdf(found)
    for body, inertia in (("upper", HEAVY), ("tip", ball)):
        np.testing.assert_allclose(model.inertia(body).parameters(), inertia.parameters(), atol=1e-10)
    limits = model.limits
    assert (limits.damping.tolist(), limits.armature.tolist(), limits.friction.tolist()) == (
        [0.1, 0],
        [0.25, 0],
        [0, 0.5],
    )
    text = found.decode("utf-8" if encoding == "utf-16" else encoding)
    original = TEXT.replace("ISO-8859-1", "UTF-8" if encoding == "utf-16" else encoding)
    assert stripped(text) == stripped(original)
    assert "drawn by Jörg" in text and "a &gt; b" in text


def test_every_link_of_a_body_can_exist():
    found = with_inertias(TEXT, {"upper": HEAVY}).decode()
    alone = Model.from_urdf(found.replace('type="fixed"', 'type="continuous"'))
    masses = [alone.inertia(name).mass for name in ("upper", "plate")]
    assert min(masses) > 0.0 and sum(masses) == pytest.approx(3.0)
    for name in ("upper", "plate"):
        alone.inertia(name).check()
    assert with_inertias(TEXT.encode("latin-1"), {}) == TEXT.encode("latin-1")


def test_a_body_too_thin_to_share_gives_all_to_its_first_link():
    thin = TEXT.replace(INERTIA, '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>')
    found = with_inertias(thin, {"upper": HEAVY})
    np.testing.assert_allclose(Model.from_urdf(found).inertia("upper").parameters(), HEAVY.parameters(), atol=1e-10)
    assert b"<link name='plate'></link>" in found


def test_refused():
    for inertias, losses, error, said in (
        ({"elbow": HEAVY}, None, InputError, "elbow"),
        ({"plate": HEAVY}, None, InputError, "plate"),
        ({"upper": SpatialInertia(-1.0, np.zeros(3), np.eye(3))}, None, InertiaError, "upper"),
        ({}, {"weld": {}}, InputError, "weld"),
        ({}, {"wrist": {"rust": 1.0}}, InputError, "rust"),
        ({}, {"wrist": {"damping": -1.0}}, InputError, "damping"),
    ):
        with pytest.raises(error, match=said):
            with_inertias(TEXT, inertias, losses)
