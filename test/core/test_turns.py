"""Turns of joints without end: which they are, states unwound, aims at the nearest turn."""

import numpy as np
import pytest
from support import arms

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.turns import Turns, Unwinding
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.errors import DescriptionWarning

S = 10**9
MJCF = """<mujoco><worldbody><body name="a"><joint name="free" type="hinge" axis="0 0 1"/><geom size="0.1"/>
<body name="b" pos="1 0 0"><joint name="limited" type="hinge" axis="0 1 0" range="-400 400" limited="true"/>
<geom size="0.1"/><body name="c" pos="1 0 0"><joint name="slide" type="slide" axis="1 0 0"/><geom size="0.1"/>
</body></body></body></worldbody></mujoco>"""


def wrap(x):
    return (x + np.pi) % (2 * np.pi) - np.pi


def unwound(positions, period=0.002, velocities=None, endless=(True,)):
    unwinding = Unwinding(Turns(np.array(endless)))
    zero = np.zeros(len(endless))
    return np.array([
        unwinding.unwind(round(k * period * S), np.atleast_1d(x), zero if velocities is None else velocities[k])
        for k, x in enumerate(positions)
    ])  # fmt: skip


def test_joints_that_turn_without_end():
    kinova = arms.load("kinova").model
    assert Turns.of(kinova, kinova.joint_names).endless.tolist() == [
        kinova.joint(name).kind == "continuous" for name in kinova.joint_names
    ]
    assert Turns.of(kinova, kinova.joint_names).any
    panda = arms.load("panda").model
    assert not Turns.of(panda, panda.joint_names).any
    with pytest.warns(DescriptionWarning, match="contacts"):
        model = Model.from_mjcf(MJCF)
    assert Turns.of(model, ("slide", "limited", "free")).endless.tolist() == [False, False, True]


@pytest.mark.parametrize("low", [-np.pi, 0.0], ids=["from -pi", "from 0"])
def test_what_a_driver_wraps_is_unwound(low):
    """As numpy does with the whole record, which the node never has; over seams both ways, and noise at one."""
    rng = np.random.default_rng(0)
    t = np.arange(5000) * 0.002
    true = 9.0 * np.sin(0.9 * t) + 1e-3 * rng.normal(size=t.size)
    true[:500] = low + 2e-4 * rng.normal(size=500)
    true[500:] += low - true[500]
    told = (true - low) % (2 * np.pi) + low
    np.testing.assert_allclose(unwound(told)[:, 0], np.unwrap(told), rtol=0, atol=1e-9)
    assert np.abs(np.diff(told)).max() > 6.0


def test_what_does_not_wrap_stays_as_it_is():
    """Many turns, at up to 1.4 radians a state, some of them lost, and joints that have an end."""
    t = np.arange(4000) * 0.002
    true = np.stack((300.0 * np.sin(2.3 * t), 20.0 * np.sign(np.sin(40 * t))), axis=1)
    np.testing.assert_array_equal(unwound(true, endless=(True, False)), true)


def test_fast_wheels_are_followed_by_their_velocities():
    """40 rad/s told ten times a second, 4 radians a state, wrapped or not."""
    t = np.arange(100) * 0.1
    true = 40.0 * t
    velocities = np.full((100, 1), 40.0)
    for told in (true, wrap(true)):
        np.testing.assert_allclose(unwound(told, 0.1, velocities)[:, 0], true, rtol=0, atol=1e-9)


@pytest.mark.parametrize("wrong", [0.0, 3.0, -3.1, 100.0])
def test_one_wrong_position_or_velocity_makes_no_turn(wrong):
    true = np.pi + 0.3 * np.sin(np.arange(200) / 30)
    told = wrap(true)
    told[100] = wrong
    velocities = np.zeros((200, 1))
    velocities[50] = 1e7
    found = unwound(told, velocities=velocities)[:, 0]
    keep = np.arange(200) != 100
    np.testing.assert_allclose(found[keep] - found[0], (true - true[0])[keep], rtol=0, atol=1e-9)


def test_a_trajectory_begins_at_the_nearest_turn_and_winds_as_written():
    turns = Turns(np.array([True, False, True]))
    positions = np.array([[0.5, 7.0], [4.0, 7.5], [9.0, 8.0]])
    points = JointPoints(np.array([0, 1]), np.array([0.0, 1.0, 2.0]), positions)
    for aim, shift in ((0.5, 0), (0.5 + 2.0, 0), (0.5 + 4.0, 1), (-20.0, -3), (1e4, 1591), (0.5 + np.pi + 1e-4, 0)):
        found = turns.near(points, np.array([aim, 0.0, 0.0]))
        np.testing.assert_allclose(found.position, positions + np.array([2 * np.pi * shift, 0.0]), rtol=0, atol=1e-9)
    assert points.position is positions
