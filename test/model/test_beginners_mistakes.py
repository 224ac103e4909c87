"""Mistakes of the first afternoon: each is named with what was meant, or does what was meant."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics import InputError, Model, ModelBuilder, SpatialInertia, gravity_force, joint_types
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning

ROD = SpatialInertia(1.0, [0.5, 0.0, 0.0], 0.1 * np.eye(3))
MODEL = ModelBuilder().add("link", joint=joint_types.revolute([0, 1, 0]), inertia=ROD).build("arm")
LINK = '<link name="{}"><inertial><origin xyz="{} 0 0"/><mass value="1"/>{}</inertial></link>'
INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def test_a_seed_stands_for_a_generator():
    np.testing.assert_array_equal(MODEL.random(3), MODEL.random(np.random.default_rng(3)))
    for wrong in (-1, True, 0.5, "0"):
        with pytest.raises(InputError, match=r"rng: numpy.random.default_rng\(seed\), or a seed from 0 on"):
            MODEL.random(wrong)


@pytest.mark.parametrize("as_text", [True, False])
def test_yaml_is_no_urdf_and_who_reads_it_is_said(tmp_path, as_text):
    text = "unit: mm\nbase_points: []\n"
    path = tmp_path / "platform.yaml"
    path.write_text(text)
    with pytest.raises(DescriptionError, match=r"StewartPlatform\.from_yaml reads platforms, ConstraintSet\.from_yaml"):
        Model.from_urdf(text if as_text else path)


@pytest.mark.parametrize(("joint", "centre"), [(333.0, 0.1), (0.3, 150.0)])
def test_millimetres_are_warned_of(joint, centre):
    links = "".join(LINK.format(name, centre, INERTIA) for name in ("base", "tip"))
    place = f'<origin xyz="0 0 {joint}"/><parent link="base"/><child link="tip"/>'
    text = f'<robot name="r">{links}<joint name="j" type="continuous">{place}</joint></robot>'
    with pytest.warns(DescriptionWarning, match=f"{max(joint, centre):g} m away; lengths are expected in metres"):
        Model.from_urdf(text)


@pytest.mark.parametrize("module", ["torch", "jax._src.core", "mine"])
def test_tensors_and_tracers_are_pointed_to_autodiff(module):
    def refuse(*_, **__):
        raise RuntimeError("this has a gradient")

    tensor = type("Tensor", (), {"__module__": module, "__array__": refuse})()
    with pytest.raises(InputError, match="q: an array of numbers is expected") as error:
        gravity_force(MODEL, tensor)
    assert ("autodiff.torch_functions and autodiff.jax_functions" in str(error.value)) is (module != "mine")
