"""Modes that learn, with rotors and friction that nobody told or that were told too large, in MuJoCo."""

import numpy as np
import pytest
from support import arms
from support.control.control_loop import ControlLoop
from support.cores import make_core, sine

PLAIN = 13.6e-3  # what PD with gravity leaves with the rotors, of 4 effort limits a radian [rad]


def follow(physics, friction=None, name="ur5", seconds=2.0, **values):
    """Return slow sines with such physics."""
    arm = arms.load(name)
    simulated = arm.simulated(integrator="implicitfast", **physics)
    q = arm.aligned(2)
    simulated.set(q, 0.0 * q)
    loop = ControlLoop(simulated, make_core(arm.model, friction, **values), 500.0, 1.0)
    loop.run(0.1)
    loop.core.follow(sine(q, 0.15 * np.minimum(arm.speed, 2.0), np.linspace(0.4, 0.6, len(q)), seconds))
    return loop, loop.run(seconds)


def rms(record):
    return np.sqrt((record.error**2).mean())


@pytest.mark.parametrize("mode", [pytest.param("passivity_based", marks=pytest.mark.slow), "adaptive"])
def test_rotors_that_nobody_told_are_found(mode):
    rotors = 0.008 * arms.load("ur5").limit
    loop, record = follow({"armature": rotors}, mode=mode)
    assert set(record.phase) <= {"following", "holding"}
    assert rms(record) < 0.5 * PLAIN
    assert 0.3 < loop.core.parts.drives.rotors.max() / rotors.max() < 1.5
    link, found = loop.core.estimate()
    assert mode != "adaptive" or abs(found.mass - loop.core.model.inertia(link).mass) < 0.01  # they are no payload


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        pytest.param("tiago", "friction told 1.5 times", marks=pytest.mark.slow),  # light wrists
        pytest.param("xarm7", "payload 30 %, taken up at rest", marks=pytest.mark.slow),  # axes that line up
        pytest.param("kinova", "rotors 0.1 % untold", marks=pytest.mark.slow),  # slow joints, on which PD is good
        pytest.param("panda", "inertias +-20 %", marks=pytest.mark.slow),
        # Coarse positions and rotors are in every run, each alone; rotors beside PD with gravity in test_oscillation.
        pytest.param("ur5", "12 bits, positions alone, rotors 1 % untold", marks=pytest.mark.slow),
    ],
)
def test_the_default_mode_is_better_than_pd_with_gravity(name, cell):
    from benchmarks.nodes.control_robustness import tracking

    found = tracking(name, 500.0, cell, 0, modes=("default",))
    assert found["good"] and found["ratio"] < 0.8, found


@pytest.mark.parametrize(("late", "seed"), [({}, 1), ({"delay": 1.5}, 11), ({"lag": 3e-3}, 11)])
def test_a_light_wrist_follows_with_an_unknown_payload_at_a_low_rate(late, seed, monkeypatch):
    from benchmarks.nodes.control_robustness import CELLS, tracking

    cell = "payload 30 % of the rating"
    monkeypatch.setitem(CELLS, cell, {**CELLS[cell], **late})
    found = tracking("tiago", 250.0, cell, seed, modes=("default",))
    assert found["good"] and found["ratio"] < 0.3, found
