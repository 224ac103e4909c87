"""Payloads that are told in motion, and are not there.

In every run test_scenarios has those of arms that feel them less.
"""

import pytest


@pytest.mark.slow
def test_a_light_wrist_is_stopped_where_a_load_of_fourteen_times_its_inertia_is_not_there():
    """TIAGo: feedback by the load throws the wrist, and the stop shook it at 69 of its limits; now it rests soon."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import switches

    found = switches("tiago", 3020078)
    assert found["kind"] == "payload" and found["speed"] < 5.0, found
