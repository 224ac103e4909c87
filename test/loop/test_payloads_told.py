"""Payloads that are told in motion, and are not there, or not yet: a wrist that weighs a tenth of them bears it."""

import numpy as np
import pytest

from lie_dynamics_ros.nodes.computed_torque.drive_estimate import DriveEstimate


@pytest.mark.parametrize("seed", [520, 544, 600, 614, 686])
def test_a_payload_that_is_told_and_not_there_throws_no_light_wrist(seed):
    """TIAGo's wrist with up to 13 times its inertia told, all modes that follow paths; each was thrown before."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import switches

    found = switches("tiago", seed)
    assert found["good"], found
    assert found["kind"] == "payload"


@pytest.mark.parametrize("mode", ["computed_torque", "passivity_based"])
def test_a_payload_that_is_taken_up_a_second_after_it_was_told_is_carried(mode):
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from support.control.imperfect_arm import ROBOTS, Imperfection

    from benchmarks.nodes.control_robustness import begin, draw_pose, model_of

    what = Imperfection(rate=1000.0, delay=0.5, payload=0.4, payload_at=1.3, seed=7)
    mass, height = 0.4 * ROBOTS["tiago"][2], np.random.default_rng(7).uniform(0.03, 0.1)
    loop = begin("tiago", what, draw_pose("tiago", np.random.default_rng((7, 3)), 0.3), mode=mode)
    loop.run(0.3)
    tip = model_of("tiago").body_names[-1]
    loop.controller.set(payload_frame=tip, payload_mass=mass, payload_center_of_mass=[0.0, 0.0, height])
    found = loop.run(3.0)
    assert not found.stopped
    assert np.abs(found.last(0.3).error).max() < 5e-3


def test_what_was_borne_is_borne_on_beside_a_model_that_takes_more():
    drives = DriveEstimate(np.array([10.0, 10.0, 10.0]))
    more = np.array([1.0, 0.0, -0.5])
    beside = drives.beside(more)
    assert beside.state.found.tolist() == [True, False, True]
    np.testing.assert_allclose(beside.compensation(np.zeros(3)), [-0.98, 0.0, 0.48], atol=1e-12)
    assert not drives.state.found.any()
    assert not drives.beside(more, bears=False).state.found.any()
