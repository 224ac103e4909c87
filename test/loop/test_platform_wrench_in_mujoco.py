"""Wrenches that push platforms in MuJoCo, told from what motors exert that bear them."""

from functools import cache

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator that judges, mujoco, is not installed")

from motor_machine import MotorMachine
from support.mechanisms.told_wrenches import ALL, TOLD

from lie_dynamics_ros.lie_dynamics import MotorDynamics, mechanism, platform_wrench

STEP = 2e-4
SLOW = pytest.mark.slow


def rest(one, wrench, axes, stiffness) -> tuple[np.ndarray, np.ndarray]:
    """Efforts beyond those that hold motors that are springs and dampers, and where all joints come to rest."""
    machine = MotorMachine(one, STEP)
    robot = MotorDynamics(one.model, one.constraints, one.q, one.actuated)
    start = robot.neutral()
    inertia, held, body = robot.mass_matrix(start), robot.gravity_force(start), machine.data.body(one.platform)
    for _ in range(round(0.8 / STEP)):
        turn = body.xmat.reshape(3, 3) if axes == "body" else np.eye(3)
        moment, force = turn @ wrench[:3], turn @ wrench[3:]
        at_center = moment + np.cross(body.xpos - body.xipos, force)
        machine.data.xfrc_applied[body.id] = np.concatenate([force, at_center])
        effort = held - inertia @ (stiffness * (machine.q - start) + 2.0 * np.sqrt(stiffness) * machine.qd)
        machine.advance(effort)
    assert np.abs(machine.qd).max() < 1e-10
    return effort - robot.gravity_force(machine.q), robot.configuration(machine.q)


@cache
def rest_without(name) -> tuple[np.ndarray, np.ndarray]:
    """The same without a wrench, whatever its axes."""
    return rest(mechanism(name), np.zeros(6), "aligned", stiffness_of(name))


def stiffness_of(name) -> float:
    return 1e4 if name == "6-RUS" else 1600.0


def told(one, components, axes, beyond, q) -> np.ndarray:
    """What such efforts tell of the wrench."""
    return platform_wrench(
        one.model, one.constraints, q, beyond, one.actuated, one.platform, components=components, axes=axes
    ).wrench


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        pytest.param(name, axes, marks=() if (name, axes) == ("delta", "body") else SLOW)
        for name in TOLD for axes in ("body", "aligned")
    ],
)  # fmt: skip
def test_motors_that_bear_a_wrench_tell_it(name, axes, rng):
    one = mechanism(name)
    wrench = np.zeros(6)
    wrench[[ALL.index(part) for part in TOLD[name]]] = 0.5 * rng.normal(size=len(TOLD[name]))
    # Crosses weigh a little in MuJoCo, which is told without a wrench.
    rests = rest(one, wrench, axes, stiffness_of(name)), rest_without(name)
    found, without = (told(one, TOLD[name], axes, *at_rest) for at_rest in rests)
    np.testing.assert_allclose(found - without, wrench, atol=1e-3 * np.abs(wrench).max())
