"""Regions of 95 % hold the truth in 95 % of recordings with noise that lasts.

In every run `test_drives_from_recording` holds deviations against errors with such noise.
"""

import numpy as np
import pytest
from known_robots import ARM, FREQUENCIES, SIZES, guess_of, waves

from lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.identification import identify_robot, parameter_names

STEP = 0.005


def coloured(rng, shape, lasting):
    """Return noise of deviation one, an autoregression that forgets in a time [s]."""
    from scipy.signal import lfilter  # loaded by who runs this, not by all who collect tests

    past = np.exp(-STEP / lasting)
    start = round(10.0 * lasting / STEP)
    noise = np.sqrt(1.0 - past**2) * rng.normal(size=(shape[0] + start, shape[1]))
    return lfilter([1.0], [1.0, -past], noise, axis=0)[start:]


def normalised_errors(seed, seconds, lasting):
    """Return errors over their deviations of sums of parameters that the motion shows."""
    rng, model = np.random.default_rng(seed), Model.from_urdf(ARM)
    time = np.arange(0.0, seconds, STEP)
    q, qd, qdd = waves(rng, time, model.nv, FREQUENCIES, SIZES)
    effort = inverse_dynamics(model, q, qd, qdd) + 0.3 * qd + 0.5 * qd / np.hypot(qd, 0.008 * np.abs(qd).max(axis=0))
    effort += 0.1 * rng.normal(size=q.shape) + 0.1 * coloured(rng, q.shape, lasting)
    found = identify_robot(guess_of(model, rng, 0.3), time, q, effort)
    own = np.ravel([model.inertia(b).parameters() for b in range(model.n_bodies)])
    true = dict(zip(parameter_names(model), own, strict=True))
    for joint in model.joint_names:
        true |= {f"damping({joint})": 0.3, f"friction({joint})": 0.5}
    truth = found.base.combinations @ [true.get(name, 0.0) for name in found.base.names]
    seen = np.array([text not in found.unseen for text in found.base.expressions()])
    return ((found.base_values - truth) / found.base_deviations)[seen]


@pytest.mark.parametrize("lasting", [0.3])
@pytest.mark.slow
def test_regions_hold_the_truth(lasting):
    """Six recordings, some hundred sums that partly depend on each other: within 5 %."""
    errors = np.concatenate([normalised_errors(seed, 10.0, lasting) for seed in range(6)])
    assert len(errors) > 100
    assert 0.90 < np.mean(np.abs(errors) < 1.96) < 0.995


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "lasting"), [(10.0, 0.3), (15.0, 1.0), (30.0, 0.3), (30.0, 1.5)])
def test_regions_hold_what_they_say(seconds, lasting):
    errors = np.concatenate([normalised_errors(seed, seconds, lasting) for seed in range(100, 160)])
    assert 0.93 < np.mean(np.abs(errors) < 1.96) < 0.97
