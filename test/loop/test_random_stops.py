"""Stops of arms that are not their models, drawn as the study of robustness does: some that once did not rest."""

import pytest

CASES = [
    ("tiago", 70006),
    ("baxter", 70007),
    ("panda", 70008),
    ("kinova", 70020),
    ("ur5", 2100010),
    ("tiago", 2100030),
    ("z1", 2100005),
]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_random_stop_comes_to_rest(name, seed):
    """Rotors, gears, encoders, noise, lag, delay, inertias and payload are drawn from the seed."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import stops

    found = stops(name, seed)
    assert found["good"], found
