"""Light joints without rotors are told, by the text-book inertia of a rod about its end; so are slow states."""

import numpy as np
import pytest

from lie_dynamics_ros import Controller
from lie_dynamics_ros.nodes.computed_torque.outputs import describe_loop, rotors_not_given
from lie_dynamics_ros.ros.outputs.diagnostics import Report

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


@pytest.mark.parametrize(
    ("declared", "rate", "slow"),
    [(1000.0, 30.0, True), (1000.0, 600.0, False), (0.0, 30.0, True), (0.0, 250.0, False), (80.0, 45.0, False)],
)
def test_states_far_slower_than_declared_are_told_with_the_remedy(declared, rate, slow):
    rod = ROD.format(half=LENGTH / 2, mass=MASS, own=MASS * LENGTH**2 / 12.0, effort=5.0)
    control = Controller(rod, rate=declared)
    for k in range(200):
        control.update(k / rate, [0.0], [0.0])
    report = Report()
    describe_loop(control._core, report)
    said = [reason for reason in report.reasons if "joint states a second" in reason]
    assert bool(said) == slow
    assert not slow or all(word in said[0] for word in ("30 joint states", "joint_state_topics", "update_rate"))
