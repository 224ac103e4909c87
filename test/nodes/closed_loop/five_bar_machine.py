"""The five-bar of the package in closed form, and its motors' efforts by virtual work: no loop is ever solved for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lie_dynamics_ros

FOLDER = Path(lie_dynamics_ros.__file__).parent / "urdf"
URDF, LOOPS = (FOLDER / "five_bar.urdf").read_text(), (FOLDER / "five_bar_loops.yaml").read_text()
JOINTS = ("left_motor", "left_elbow", "right_motor", "right_elbow")
MOTORS = JOINTS[0], JOINTS[2]
START = np.array([2.2, 0.94])


def tip(y):
    """Where the rods meet (2,), above, for angles of the motors (2,)."""
    left, right = np.array([-0.1 + 0.25 * np.exp(1j * y[0]), 0.1 + 0.25 * np.exp(1j * y[1])])
    gap = right - left
    found = left + 0.5 * gap + 1j * gap / abs(gap) * np.sqrt(0.35**2 - 0.25 * abs(gap) ** 2)
    return np.array([found.real, found.imag])


def closed(y):
    """All joints (4,), in the order of `JOINTS`."""
    x, z = tip(y)
    rods = [
        np.arctan2(z - 0.25 * np.sin(a), x - side - 0.25 * np.cos(a)) for a, side in zip(y, (-0.1, 0.1), strict=True)
    ]
    turn = [(rod - a + np.pi) % (2.0 * np.pi) - np.pi for rod, a in zip(rods, y, strict=True)]
    return np.array([y[0], turn[0], y[1], turn[1]])


def derivative(function, y, h=1e-6):
    """Central differences (.., 2)."""
    return np.stack([(function(y + h * e) - function(y - h * e)) / (2.0 * h) for e in np.eye(2)], axis=-1)


def efforts(y, yd, ydd, push=(0.0, 0.0)):
    """Efforts of the motors (2,) for a motion, and for a force (x, z) at the tip; the tree is Pinocchio's."""
    pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")
    h = 1e-4
    before, q, after = (closed(y + t * yd + 0.5 * t * t * ydd) for t in (-h, 0.0, h))
    model = pin.buildModelFromXML(URDF)
    assert tuple(model.names)[1:] == JOINTS
    rates, accelerations = (after - before) / (2 * h), (after - 2 * q + before) / h**2
    tau = pin.rnea(model, model.createData(), _configuration(model, q), rates, accelerations)
    return derivative(closed, y).T @ tau - derivative(tip, y).T @ np.asarray(push)


def _configuration(model, q):
    """Angles as Pinocchio wants them: of joints without an end by cosine and sine."""
    found = []
    for joint, angle in zip(list(model.joints)[1:], q, strict=True):
        found += [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
    return np.array(found)
