"""The controller's core as the node makes it: parameters by name, defaults for all that are not given."""

from __future__ import annotations

import numpy as np

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore
from lie_dynamics_ros.nodes.computed_torque.options import ComputedTorqueOptions

MODES = ("computed_torque", "gravity_compensation", "passivity_based", "adaptive")
DEFAULTS = ComputedTorqueOptions.defaults()


def options(**values) -> ComputedTorqueOptions:
    """Return options of parameter values."""
    unknown = set(values) - set(DEFAULTS) - {"state_timeout"}
    assert not unknown, f"no parameter {unknown}"
    found = ComputedTorqueOptions.from_values({**DEFAULTS, "state_timeout": 0.1, **values})
    assert isinstance(found, ComputedTorqueOptions)
    return found


def make_core(model, friction=None, **values) -> ComputedTorqueCore:
    """Return a core for a model."""
    return ComputedTorqueCore(model, options(**values), friction)


def sine(center, amplitude, frequency, seconds: float, lead: float = 0.0, step: float = 0.05) -> JointPoints:
    """Return way points of a sum of sines of all joints that starts and ends at rest, with quintic pieces between.

    Parameters
    ----------
    center : ndarray, shape (n,)
        Where it starts and ends.
    amplitude : ndarray, shape (n,)
    frequency : ndarray, shape (n,)
        [Hz].
    seconds : float
        How long it takes; it swells and fades in a second each.
    lead : float
        Time to get to the start, from wherever the arm is [s].
    step : float
        Between points [s].
    """
    t = np.arange(0.0, seconds + 1e-9, step)
    h = 1e-4

    def motion(t):
        x = np.clip(np.minimum(t, seconds - t), 0.0, 1.0)
        window = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        return center + amplitude * window[:, None] * np.sin(2 * np.pi * t[:, None] * frequency)

    q, ahead, behind = motion(t), motion(t + h), motion(t - h)
    return JointPoints(np.arange(len(center)), lead + t, q, (ahead - behind) / (2 * h), (ahead - 2 * q + behind) / h**2)
