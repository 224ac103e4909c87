"""Robots for tests of nodes, and their inverse dynamics by another library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lie_dynamics_ros

ARM = (Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf").read_text()
ARM_JOINTS = tuple(f"panda_joint{i}" for i in range(1, 8))

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="swing" type="revolute">
    <parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="5" effort="{effort}"/>
  </joint>
</robot>
"""
"""Torque [N m] at rest at angle q [rad]: m g l sin(q) = 2 * 9.81 * 0.5 * sin(q); inertia about the joint 0.6 kg m^2."""

NO_JOINTS = """
<robot name="stone">
  <link name="base"/>
  <link name="tip"/>
  <joint name="weld" type="fixed"><parent link="base"/><child link="tip"/></joint>
</robot>
"""

UNPHYSICAL = PENDULUM.replace('ixx="0.1"', 'ixx="-0.1"').format(effort=100)


def pendulum(effort: float = 100.0) -> str:
    return PENDULUM.format(effort=effort)


def oracle(urdf: str, q, qd=None, qdd=None, gravity=(0.0, 0.0, -9.81)) -> np.ndarray:
    """Inverse dynamics by Pinocchio, joints in its order (that of the arm's names)."""
    pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")
    model = pin.buildModelFromXML(urdf)
    model.gravity.linear = np.array(gravity)
    zero = np.zeros(model.nv)
    q, qd, qdd = (zero if x is None else np.asarray(x, dtype=float) for x in (q, qd, qdd))
    return np.array(pin.rnea(model, model.createData(), q, qd, qdd))


def assert_close(found, expected, tolerance=1e-12):
    """Assert agreement relative to the largest number."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        np.reshape(found, expected.shape), expected, rtol=0, atol=tolerance * np.abs(expected).max()
    )
