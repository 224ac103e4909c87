"""Drivers without velocities, or with some: every node that answers a robot's states finds them in the positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS
from support.grids import every_run

messages = pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")

NODES = {
    "inverse_dynamics": ("dynamics_state", messages.DynamicsState),
    "hybrid_dynamics": ("dynamics_state", messages.DynamicsState),
    "computed_torque": ("control_state", messages.ControllerState),
}
START, SPEED = np.linspace(-0.5, 0.5, 7), 0.02 * np.array([1.0, -1.0, 0.5, -0.5, 1.0, -1.0, 0.7])
MEASURED = 3
"""The joint whose velocity is sent, another one than it has."""
WRONG = 0.5
UNWATCHED = {"error_limit": 0.0, "velocity_tolerance": 100.0, "position_tolerance": 100.0}


@pytest.mark.parametrize("module", every_run(("computed_torque",), NODES))
def test_velocities_come_from_where_the_parameter_says(bench, module):
    topic, type_ = NODES[module]
    extra = UNWATCHED if module == "computed_torque" else {}
    node = bench.start(module, robot_description=ARM, state_timeout=3600.0, **extra)
    answers = bench.listen(type_, f"{node}/{topic}")
    begin = bench.now()

    def state():
        """Return where the arm is by now, each joint at a constant speed."""
        stamp = bench.stamp = max(bench.now(), bench.stamp + 1)
        velocity = np.full(7, math.nan)
        velocity[MEASURED] = WRONG
        return bench.make_state(ARM_JOINTS, START + SPEED * (stamp - begin) * 1e-9, velocity, stamp)

    def comes_to(expected):
        return bench.wait(
            lambda: np.allclose(bench.ask(state, answers).velocity, expected, rtol=0, atol=1e-6), f"{expected}"
        )

    def tells(condition, what):
        since = bench.now()
        bench.send_until(lambda: bench.states.publish(state()), lambda: bench.reported(node, condition, since), what)

    with_measured = SPEED.copy()
    with_measured[MEASURED] = WRONG
    comes_to(with_measured)
    others = ", ".join(name for k, name in enumerate(ARM_JOINTS) if k != MEASURED)
    key = "velocities found in positions"
    tells(lambda s, values: values[key].startswith(f"{others}; ") and "as zero" not in s.message, "the joints")
    assert bench.set(node, velocity_source="filtered").successful
    comes_to(SPEED)
    assert bench.set(node, velocity_source="measured").successful
    comes_to(np.where(np.arange(7) == MEASURED, WRONG, 0.0))
    warning = "velocities are absent or NaN and taken as zero"
    tells(lambda s, values: warning in s.message and values[key] == "none", "a warning")
