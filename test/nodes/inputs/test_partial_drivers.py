"""Robots whose drivers know some joints each, or leave some out: every node that answers a robot's states."""

from __future__ import annotations

import numpy as np
import pytest
from node_harness import Bench
from node_robots import ARM, ARM_JOINTS, oracle
from support.grids import every_run

messages = pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")
pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

NODES = {
    "inverse_dynamics": ("dynamics_state", messages.DynamicsState),
    "hybrid_dynamics": ("dynamics_state", messages.DynamicsState),
    "computed_torque": ("control_state", messages.ControllerState),
}
Q, QD = np.linspace(-0.5, 0.5, 7), np.linspace(0.3, -0.4, 7)
UNWATCHED = {"error_limit": 0.0, "velocity_tolerance": 100.0, "position_tolerance": 100.0}
LOCKED = (1, 5)
FREE = tuple(k for k in range(7) if k not in LOCKED)


@pytest.fixture
def second(bench):
    """Publishes joint states on a topic of its own."""
    other = Bench("second", bench.namespace)
    other.drive(topic="more_states", qos=10)
    yield other
    other.close()


def start(bench, module, **parameters):
    topic, type_ = NODES[module]
    extra = UNWATCHED if module == "computed_torque" else {}
    node = bench.start(module, robot_description=ARM, state_timeout=3600.0, **extra, **parameters)
    return node, bench.listen(type_, f"{node}/{topic}")


def some(bench, joints, stamp):
    return bench.make_state([ARM_JOINTS[k] for k in joints], Q[list(joints)], QD[list(joints)], stamp)


@pytest.mark.parametrize("module", every_run(("inverse_dynamics",), NODES))
def test_joints_that_no_state_names_are_locked(bench, module):
    """Against Pinocchio's reduced model; outputs have no number for locked joints."""
    _, answers = start(
        bench, module, locked_joints=[ARM_JOINTS[k] for k in LOCKED], locked_positions=Q[list(LOCKED)].tolist()
    )
    answer = bench.ask(lambda: some(bench, FREE, None), answers)
    assert tuple(answer.joint_names) == tuple(ARM_JOINTS[k] for k in FREE)
    np.testing.assert_array_equal(answer.position, Q[list(FREE)])
    if module == "inverse_dynamics":
        qd = np.zeros(7)
        qd[list(FREE)] = QD[list(FREE)]
        expected = oracle(ARM, Q, qd)[list(FREE)]
        np.testing.assert_allclose(answer.effort, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("module", every_run(("computed_torque",), NODES))
def test_two_drivers_that_know_some_joints_each_are_one_robot(bench, second, module):
    node, answers = start(bench, module, joint_state_topics=["more_states"], joint_age_limit=3600.0)
    bench.wait(lambda: second.states.get_subscription_count() == 1, "the second topic to be heard")

    def both():
        stamp = bench.stamp = max(bench.now(), bench.stamp + 1)
        second.states.publish(some(bench, range(4, 7), stamp))
        return some(bench, (3, 1, 2, 0), stamp)

    answer = bench.ask(both, answers)
    assert tuple(answer.joint_names) == ARM_JOINTS
    np.testing.assert_array_equal(answer.velocity, QD)
    assert np.abs(np.asarray(answer.position) - Q).max() < np.abs(QD).max() * 60.0  # moved on by its age
    since = bench.now()
    bench.send_until(
        lambda: bench.states.publish(both()),
        lambda: bench.reported(
            node, lambda s, v: any(key.startswith("state period of") for key in v) and "turns" not in s.message, since
        ),
        "periods of both, and nobody who takes turns",
    )


@pytest.mark.parametrize("module", ["inverse_dynamics"])
@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"locked_joints": ["nobody"]}, "no such joint"),
        ({"locked_joints": list(ARM_JOINTS[:3]), "locked_positions": [0.0, 0.1]}, "locked_positions has 2 entries"),
        ({"base_link": "nowhere"}, "no link 'nowhere'"),
    ],
)
def test_what_cannot_be_locked_is_told(bench, module, wrong, reason):
    node = bench.start(module, robot_description=ARM, **wrong)
    bench.wait_status(node, lambda s, v: reason in s.message, reason)
