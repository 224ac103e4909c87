"""Stops of arms that are not their models, drawn as the study of robustness does: some that once did not rest."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.control.kernels.felt_inertia import FELT

SLOW = pytest.mark.slow
CASES = [
    pytest.param("tiago", 70006, marks=SLOW),  # rigid joints, drives that lag
    pytest.param("baxter", 70007, marks=SLOW),
    pytest.param("panda", 70008, marks=SLOW),
    pytest.param("kinova", 70020, marks=SLOW),  # rotors that are told on soft gears, and a payload that is not
    pytest.param("ur5", 2100010, marks=SLOW),  # the same untold, in motion
    pytest.param("tiago", 2100022, marks=SLOW),
    pytest.param("tiago", 2120030, marks=SLOW),
    ("ur3", 2120033),  # crept against dry friction of 2 %
    pytest.param("tiago", 930046, marks=SLOW),  # swung by some steps of its positions, which hid it
    pytest.param("panda", 6020280, marks=SLOW),  # and its gears by less than one, on and on
    pytest.param("xarm7", 2130003, marks=SLOW),  # bears a payload with all of a limit as it stops
    ("tiago", 6030030),  # took viscous friction for a rotor, which threw its wrist at 90 rad/s
    pytest.param("ur5", 6010466, marks=SLOW),  # crept on, by noise that steps of positions do not have
    pytest.param("z1", 6010229, marks=SLOW),
]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_random_stop_comes_to_rest(name, seed):
    """Rotors, gears, encoders, noise, lag, delay, inertias and payload are drawn from the seed."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import stops

    found = stops(name, seed)
    assert found["good"], found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("baxter", 6020111), ("xarm7", 6020147), ("tiago", 6020278)])
def test_what_shakes_as_a_stop_begins_is_not_thrown(name, seed):
    """Coriolis forces of what swings, and what feedback seemed to bear, drove two: to 115 rad/s, and on at 2.5."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import stops

    found = stops(name, seed)
    assert found["faster"] < 2.0 and found["speed"] < 0.6, found


@pytest.mark.parametrize(("name", "seed"), [("tiago", 980070)])
def test_an_arm_that_swung_for_ever_at_rest_is_held(name, seed):
    """Gears with light rotors made feedback be lowered; pushes that were to make up for it threw wrists to and fro."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import holds

    found = holds(name, seed)
    assert found["good"], found


@pytest.mark.parametrize("name", [pytest.param("tiago", marks=SLOW), "z1"])
def test_a_stop_feels_rotors_that_nobody_told_and_wrists_bear_being_shaken(name):
    """Rotors of 0.1 % of the limits, 700 times the lightest wrist, on gears; a hand shakes with 2 % of the limits."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from support.control.imperfect_arm import Imperfection

    from benchmarks.nodes.control_robustness import begin, draw_pose, limits_of, line

    what = Imperfection(rate=500.0, delay=1.0, rotors=1e-3, gears=300.0, lag=2e-3, seed=3)
    loop, limit = begin(name, what, draw_pose(name, np.random.default_rng(1))), limits_of(name)
    loop.run(0.3)
    loop.controller.follow(*line(name, loop.arm.q, np.random.default_rng(2)))
    loop.run(0.4)
    loop.controller.stop("asked to")
    loop.run(1.0)
    parts = loop.controller._core.control.parts
    felt = parts.stop.feeling.table[FELT, -1] + parts.laws.rotors[-1]  # besides what was learned before the stop
    assert felt == pytest.approx(what.rotors * limit[-1], rel=0.1)
    step, fastest = loop.arm.step, 0.0
    for k in range(60):
        push = np.zeros(len(limit))
        push[-3:] = 0.02 * limit[-3:] * np.sin(2.0 * np.pi * 0.04 * k)
        loop.arm.step = lambda effort, push=push: step(effort + push)
        fastest = max(fastest, np.abs(loop.run(0.02).qd).max())
    assert fastest < 0.5  # 2.6 and 3.3 rad/s without what is felt
    loop.arm.step = step
    loop.run(0.5)
    assert np.abs(loop.run(0.5).qd).max() < 5e-3
