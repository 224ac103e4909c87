"""Requests that services of the dynamics nodes refuse, and random ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from node_robots import ARM_JOINTS
from service_calls import ask, srv, wrench_on_flange

Q = np.random.default_rng(31).uniform(-1, 1, (3, 7))
NAN = Q.copy()
NAN[1, 2] = math.nan


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("mass_matrix", {}, "no states"),
        ("mass_matrix", {"position": Q.ravel()[:-1]}, "position has 20 entries; expected 21: 3 x 7"),
        ("mass_matrix", {"position": Q, "count": 2}, "position has 21 entries; expected 14"),
        ("mass_matrix", {"position": NAN}, "position of panda_joint3 in state 1 is nan"),
        ("mass_matrix", {"position": Q, "joint_names": [*ARM_JOINTS[:6], "elbow"]}, "joints missing: panda_joint7"),
        ("mass_matrix", {"position": Q, "joint_names": ["panda_joint1"] * 7}, "named more than once: panda_joint1"),
        ("mass_matrix", {"position": np.zeros((1001, 7))}, "1001 states in one request; max_batch allows 1000"),
        ("mass_matrix", {"position": Q, "count": 4_000_000_000}, "max_batch"),
        ("inverse_dynamics", {"position": Q, "velocity": Q[:1]}, "velocity has 7 entries; expected 21"),
        ("inverse_dynamics", {"position": Q, "acceleration": [math.inf] * 21}, "acceleration of panda_joint1"),
        ("inverse_dynamics", {"position": Q, "velocity": [1e200] * 21}, ""),
        ("inverse_dynamics", {"position": Q, "external_wrenches": [WrenchStamped()]}, ""),
        ("dynamics_derivatives", {"position": Q, "dynamics": 7}, "expected INVERSE (0), FORWARD (1) or HYBRID (2)"),
        ("dynamics_derivatives", {"position": Q, "prescribed": [True] * 7}, "for HYBRID only"),
        ("dynamics_derivatives", {"position": Q, "dynamics": 2, "prescribed": [True]}, "one for each of 7"),
        ("dynamics_derivatives", {"position": Q, "dynamics": 2, "effort": NAN}, "effort holds numbers"),
    ],
)
def test_refuses_malformed_requests_and_says_why(nodes, kind, fields, reason):
    response = ask(nodes, kind, **fields)
    assert not response.success
    assert reason in response.message and response.message
    assert response.count == 0
    empty = [getattr(response, f) for f, t in response.get_fields_and_field_types().items() if "double" in t]
    assert empty and not any(len(field) for field in empty)


def test_a_large_request_of_nothing_but_a_count_is_refused(nodes):
    response = ask(nodes, "inverse_dynamics", count=10**9)
    assert not response.success and "max_batch" in response.message


KINDS = ("inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "mass_matrix", "bias_force", "dynamics_derivatives")
OFFERED_BY = {"forward_dynamics": "hybrid_dynamics", "hybrid_dynamics": "hybrid_dynamics"}


def random_fields(rng, kind):
    """A request as broken clients send it, or a good one."""
    count = int(rng.integers(0, 4))

    def numbers():
        size = count * 7 if rng.random() < 0.8 else int(rng.integers(0, 30))
        values = rng.normal(size=size)
        if size and rng.random() < 0.2:
            values[rng.integers(size)] = rng.choice([math.nan, math.inf, -math.inf, 1e308, 1e160])
        return values.tolist()

    fields = {"position": numbers(), "count": count if rng.random() < 0.8 else int(rng.integers(0, 2**32))}
    if rng.random() < 0.5:
        names = [*ARM_JOINTS, "ünïcode", ""]
        fields["joint_names"] = [str(name) for name in rng.permutation(names)[: rng.integers(6, 10)]]
    type_ = getattr(srv, "Compute" + "".join(word.capitalize() for word in kind.split("_"))).Request
    for name in type_.get_fields_and_field_types():
        if name in ("velocity", "acceleration", "effort"):
            fields[name] = numbers() if rng.random() < 0.7 else []
        elif name == "prescribed" and rng.random() < 0.7:
            fields[name] = (rng.random(7 if rng.random() < 0.8 else 3) < 0.5).tolist()
        elif name == "dynamics":
            fields[name] = int(rng.integers(0, 4))
        elif name == "external_wrenches" and rng.random() < 0.3:
            fields[name] = [wrench_on_flange(), WrenchStamped()][: rng.integers(1, 3)]
    return fields


@pytest.mark.parametrize("count", [250, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_requests_are_answered_with_finite_numbers_or_a_reason(nodes, count):
    rng = np.random.default_rng(41)
    answered = 0
    for _ in range(count):
        kind = KINDS[rng.integers(len(KINDS))]
        response = ask(nodes, kind, OFFERED_BY.get(kind, "inverse_dynamics"), **random_fields(rng, kind))
        assert response.success == (response.message == "")
        assert "Error:" not in response.message, response.message  # the name of an exception nobody expected
        for name, kind_of_field in response.get_fields_and_field_types().items():
            if "double" in kind_of_field:
                values = np.asarray(getattr(response, name))
                assert np.isfinite(values).all()
                assert bool(len(values)) == response.success
        answered += response.success
    assert answered > count / 10
