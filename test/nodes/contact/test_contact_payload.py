"""A payload that the node contact identifies, from motions of an arm in MuJoCo with friction, noise and delay."""

import numpy as np
import pytest
from support.arms import load
from support.recorded_arm import Drives, exciting_motion, record
from test_contact_core import core_of, state

from lie_dynamics_ros.core.errors import RequestError
from lie_dynamics_ros.nodes.contact.core import MotionRecording, find_payload

MS = 10**6
FRAME, MASS, COM = "panda_link7", 1.5, np.array([0.03, -0.02, 0.1])


def play(core, run, which, first=0):
    """Let the core see a recording, some states lost."""
    core.recorder.begin(which)
    for k, (q, effort) in enumerate(zip(run.q, run.effort, strict=True)):
        if k % 97:
            core.answer(state(first + k, q, np.zeros(7), effort))
    return core.recorder.end(which)


def test_a_payload_is_identified_within_its_deviations():
    arm, rng = load("panda_arm"), np.random.default_rng(4)
    drives, motion = Drives.of(arm, rng), exciting_motion(arm, rng, 4.0)
    core = core_of(noise_time=600.0, payload_frame=FRAME, payload_mass=0.3)
    for which, payload in (("unloaded", None), ("loaded", (FRAME, MASS, COM))):
        said = play(core, record(arm, drives, motion, rng, payload=payload), which)
        assert said.startswith("4.0 s of the " + which)
    found = find_payload(core.model, core.options, core.recorder.motions(), FRAME)
    assert found.inertia.mass == pytest.approx(MASS, rel=0.01)
    assert np.linalg.norm(found.inertia.com - COM) < 3e-3
    assert abs(found.inertia.mass - MASS) < 4.0 * found.mass_deviation


def test_recordings_that_are_none_are_refused():
    core = core_of(noise_time=600.0)
    with pytest.raises(RequestError, match="unloaded and loaded"):
        core.recorder.motions()
    with pytest.raises(RequestError, match="no recording of the loaded"):
        core.recorder.end("loaded")
    for which in ("unloaded", "loaded"):
        core.recorder.begin(which)
        for k in (*range(1000), *range(1000 + 200 * (which == "loaded"), 3000)):
            core.answer(state(k, np.zeros(7), np.zeros(7), np.zeros(7)))
        with pytest.raises(RequestError, match="still being recorded"):
            core.recorder.motions()
        core.recorder.end(which)
    with pytest.raises(RequestError, match=r"0.20 s without states"):
        core.recorder.motions()
    core.recorder.begin("loaded")
    core.recorder.end("loaded")
    with pytest.raises(RequestError, match=r"0.0 s; expected 2 s"):
        core.recorder.motions()


def test_states_that_come_in_pairs_are_as_many_when_even():
    recording = MotionRecording()
    for k in range(2400):
        stamp = 2 * MS * (k // 2) + MS // 20 * (k % 2)
        recording.add(stamp, np.array([1e-9 * stamp]), np.zeros(1))
    time, q, _ = recording.even()
    assert len(time) == 2400 and np.ptp(np.diff(time)) < 1e-9
    np.testing.assert_allclose(q[:, 0], time, rtol=0, atol=1e-12)
