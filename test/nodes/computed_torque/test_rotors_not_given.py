"""Light joints whose rotors nobody gives are named; the oracle is the text-book inertia of a rod about its end."""

import numpy as np
import pytest

from lie_dynamics_ros import Controller
from lie_dynamics_ros.nodes.computed_torque.diagnosis import rotors_not_given

MASS, LENGTH = 2.0, 0.3
INERTIA = MASS * LENGTH**2 / 3.0  # about the joint [kg m^2]
ROD = """<robot name="rod"><link name="base"/>
<link name="rod"><inertial><origin xyz="{half} 0 0"/><mass value="{mass}"/>
<inertia ixx="1e-4" iyy="{own}" izz="{own}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="2" effort="{effort}"/></joint></robot>"""


def told(effort, **parameters):
    rod = ROD.format(half=LENGTH / 2, mass=MASS, own=MASS * LENGTH**2 / 12.0, effort=effort)
    return rotors_not_given(Controller(rod, **parameters)._core)


@pytest.mark.parametrize(("share", "named"), [(0.9, False), (1.1, True)])
def test_a_joint_is_named_where_its_links_are_lighter_than_geared_rotors(share, named):
    text = told(share * INERTIA / 0.01)
    assert ("elbow" in text) == named
    assert not named or "parameter rotors" in text


def test_a_rotor_that_is_given_ends_it():
    effort = 10.0 * INERTIA / 0.01
    assert "elbow" in told(effort)
    assert told(effort, rotors=[0.02]) == ""
    assert np.isclose(INERTIA, 0.06)
