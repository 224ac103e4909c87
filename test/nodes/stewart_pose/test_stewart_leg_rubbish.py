"""Whatever was told of legs, one after the other or together: afterwards each round of good messages makes a state."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from node_cases import SPECIAL
from node_platforms import LEGS
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.errors import MessageError, WaitingError
from lie_dynamics_ros.lie_dynamics.stewart import LegReadings
from lie_dynamics_ros.nodes.stewart_pose.inputs import LegInputs, LegTemperatures
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS

VALUES = {setting.name: setting.default for setting in SETTINGS}
MS = 1_000_000
SHIFTS = (0, 0, 0, 20 * MS, -20 * MS, 2 * 10**9, -2 * 10**9, 10**12, 1 - 10**12)
FORMS = {
    "plain": {},
    "scaled": {"length_scales": [1e-3], "length_offsets": [0.1]},
    "large": {"length_scales": [1e6]},
    "table": {"length_corrections": [0.3, *[0.0] * 6, 0.6, *[2e-4] * 6]},
    "one row": {"length_corrections": [0.3, *[1e-3] * 6]},
    "hot": {"leg_expansions": [1e-2]},
}
GOOD = np.linspace(0.4, 0.6, 6)


def rubbish(rng):
    """A joint state of some legs, sensors and others, twice some of them, with numbers that are none."""
    names, count = [*LEGS, "wire", "x"], int(rng.integers(0, 8))
    some = rng.choice(names, count) if rng.random() < 0.5 else rng.permutation(names)[:count]
    sizes = (count if rng.random() < 0.8 else int(rng.integers(0, 9)) for _ in range(2))
    fields = (
        [float(x) for x in np.where(rng.random(n) < 0.4, rng.choice(SPECIAL, n), rng.normal(size=n))] for n in sizes
    )
    position, velocity = fields
    return JointState(name=[str(name) for name in some], position=position, velocity=velocity)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("form", "fusion"),
    [
        pytest.param(form, fusion, marks=pytest.mark.slow if (k + fusion) % 2 else ())
        for k, form in enumerate(FORMS)
        for fusion in (False, True)
    ],
)
def test_good_readings_of_each_leg_make_states_after_any_rubbish(form, fusion):
    readings = LegReadings.from_values(VALUES | FORMS[form])
    rng, time = np.random.default_rng(20), 10**12
    inputs = LegInputs(LEGS, readings, fusion, [("wire", 1e6, 1.0)] if fusion else [])
    inputs.age_limit = 100 * MS
    inputs.temperatures.take("", 2000.0, 0.0)
    for _ in range(60):
        time += MS
        with contextlib.suppress(MessageError, WaitingError):
            inputs.read(rubbish(rng), time + int(rng.choice(SHIFTS)), time, 0.0)
    expected, made = GOOD.copy(), []
    readings.apply(expected, None, np.full(6, 2000.0))
    for _ in range(150):  # the first 20 may be older than what came before
        time += MS
        states = []
        for leg in range(6):
            with contextlib.suppress(MessageError, WaitingError):
                message = JointState(name=[LEGS[leg]], position=[GOOD[leg]])
                states.append(inputs.read(message, time + leg * MS // 10, time, 0.0))
        made.append(len(states))
    assert made[25:] == [1] * 125
    there = slice(6) if states[0].present is None else np.flatnonzero(states[0].present)
    # Without fusion rates that move lengths on to one time forget within some time constants of 5 ms.
    np.testing.assert_allclose(states[0].lengths[there], expected[there], rtol=1e-12 if fusion else 1e-6)


@pytest.mark.parametrize("size", range(1, 4))
def test_a_leg_is_heard_alone_that_was_heard_among_others(size):
    """Its place among the robot's joints is the same, that in the message is not."""
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES))
    with pytest.raises(MessageError, match="missing"):
        inputs.read(JointState(name=[LEGS[5], *"abc"[:size]], position=[0.5] * (1 + size)), MS, 0, 0.0)
    with pytest.raises((MessageError, WaitingError), match=r"missing|kept"):
        inputs.read(JointState(name=[LEGS[5]], position=[0.5]), 2 * MS, 0, 0.0)


def test_temperatures_that_nobody_tells_any_more_are_named():
    temperatures = LegTemperatures(tuple(LEGS))
    temperatures.take("", 30.0, 1000.0)
    temperatures.take(LEGS[3], 31.0, 1050.0)
    assert not temperatures.old(1050.0)
    assert temperatures.old(1070.0) == [leg for leg in LEGS if leg != LEGS[3]]
