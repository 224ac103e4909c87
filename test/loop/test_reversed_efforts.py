"""Drivers that exert a joint's effort the other way round: the joint is named and let go, all others are stopped."""

from itertools import product

import numpy as np
import pytest
from support import arms
from support.control import control_scenarios as scenarios
from support.control.control_scenarios import Case
from support.control.imperfect_driver import ImperfectDriver
from support.grids import every_run


@pytest.mark.parametrize(
    ("case", "joint"),
    [
        (Case("panda_arm", "computed_torque", 250.0, 0.0), 1),
        (Case("panda_arm", "passivity_based", 500.0, 1.0), 5),
        (Case("ur5", "adaptive", 500.0, 0.0), 1),
    ],
    ids=str,
)
def test_a_joint_that_moves_against_its_efforts_is_let_go(case, joint):
    arm = arms.load(case.arm)
    loop = case.loop(arm.aligned(0))
    loop.arm = ImperfectDriver(loop.arm, np.where(np.arange(len(arm.limit)) == joint, -1.0, 1.0))
    record = loop.run(0.5)
    name = arm.model.joint_names[joint]
    assert str(record.phase[-1]) == "stopping" and f"joint {name} moves against its efforts" in loop.core.reason
    let_go = np.flatnonzero(record.effort[:, joint] == 0.0)
    assert let_go[0] < 0.25 * case.rate and len(let_go) == len(record.t) - let_go[0]
    assert (record.effort[-1, np.arange(len(arm.limit)) != joint] != 0.0).all()
    assert (np.abs(record.qd) < 8.0 * arm.speed).all()  # with its efforts: hundreds


@pytest.mark.parametrize(
    ("name", "pulse"),
    every_run(
        [("panda_arm", np.inf), ("ur5", 0.02), ("xarm7", 0.004)],
        product(("panda_arm", "ur5", "xarm7"), (np.inf, 0.02, 0.004)),
    ),
)
def test_no_push_makes_a_joint_be_let_go(name, pulse, rng):
    """From above the speed limits, with a payload that is not known, under pushes that swing at once or never."""
    arm, case = arms.load(name), Case(name, "computed_torque", 250.0, 1.0)
    speed = 1.15 * arm.speed * rng.choice([-1.0, 1.0], len(arm.limit))
    loop = case.loop(arm.random_pose(rng, 0.1), speed, scenarios.payload(name))
    loop.step()
    loop.core.stop("asked to")
    push = 0.3 * arm.limit * rng.choice([-1.0, 1.0], len(arm.limit))
    for _ in range(60):
        loop.push = push * (-1.0 if int(loop.time / pulse) % 2 else 1.0)
        loop.step()
    assert loop.core.reason.partition("; oscillation")[0] == "asked to" and (np.abs(loop.record().qd) > arm.speed).any()


@pytest.mark.parametrize(("name", "joint"), [("panda_arm", 0), ("panda_arm", 6), ("ur5", 3), ("xarm7", 2)])
def test_a_push_that_grows_as_dampers_would_drive_is_no_reversal(name, joint):
    """About as fast as stops damp it: a joint moves as if efforts were the opposite ones, until it gets none."""
    arm = arms.load(name)
    loop = Case(name, "computed_torque", 250.0, 1.0).loop(arm.aligned(0))
    loop.step()
    loop.core.stop("asked to")
    while loop.time < 0.25:
        loop.push = np.zeros(len(arm.limit))
        loop.push[joint] = arm.limit[joint] * min(2.0, 0.2 * np.exp(40.0 * (loop.time - 0.1)))
        loop.step()
    record = loop.record()
    assert loop.core.reason.partition("; oscillation")[0] == "asked to"
    assert np.abs(record.qd[-1, joint]) > arm.speed[joint]
    none = record.effort[:, joint] == 0.0
    assert 7 <= none.sum() <= 9 and not none[-1]  # the trial
