"""Fixtures for tests of nodes over real DDS."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import rclpy
from node_harness import Bench, init_ros
from node_robots import ARM

from lie_dynamics_ros.ros.node.domain import DomainReservation


@pytest.fixture(scope="session")
def ros():
    """ROS in a domain of this test run's own, on this machine only; node processes inherit it."""
    reservation = DomainReservation()
    with pytest.MonkeyPatch.context() as patch:
        environment = dict(os.environ)
        reservation.apply(environment)
        for name in set(os.environ) - set(environment):
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        init_ros()
        yield reservation.domain
        rclpy.shutdown()
    reservation.release()


@pytest.fixture
def bench(ros):
    """A node that talks to nodes under test, in a namespace of its own; stops them at the end."""
    bench = Bench()
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def module_bench(ros):
    """The same, for nodes that all tests of a module share."""
    bench = Bench()
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def nodes(module_bench):
    """The bench and, by module, the names of both dynamics nodes, active with the arm."""
    names = {m: module_bench.start(m, robot_description=ARM) for m in ("inverse_dynamics", "hybrid_dynamics")}
    for name in names.values():
        module_bench.wait_state(name, "active")
    return module_bench, names
