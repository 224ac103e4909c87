"""A hidden node on a thread of its own: names as at its owner, remapped too, and its end."""

import os
import threading
from unittest.mock import patch

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from lie_dynamics_ros.ros.node.domain import DomainReservation
from lie_dynamics_ros.ros.node.worker import SideNode


@pytest.fixture
def owner():
    reservation, context = DomainReservation(), rclpy.Context()
    with patch.dict(os.environ):
        reservation.apply(os.environ)
        rclpy.init(context=context)
        rules = ["--ros-args", "-r", "~/second:=/elsewhere"]
        node = Node("owner", namespace="/place", context=context, cli_args=rules)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)
    reservation.release()


def test_services_are_served_on_its_thread_under_the_owners_names(owner):
    side, served = SideNode(owner, services=("~/first", "~/second")), []

    def serve(_, response):
        served.append(threading.current_thread().name)
        return response

    for name in ("~/first", "~/second"):
        side.create_service(Trigger, side.name_of(name), serve)
    side.begin()
    assert side.get_clock() is owner.get_clock()
    posted = threading.Event()
    side.post(lambda: (served.append(threading.current_thread().name), posted.set()))
    assert posted.wait(60.0)
    executor = SingleThreadedExecutor(context=owner.context)
    executor.add_node(owner)
    for name in ("/place/owner/first", "/elsewhere"):
        client = owner.create_client(Trigger, name)
        assert client.wait_for_service(60.0)
        future = client.call_async(Trigger.Request())
        executor.spin_until_future_complete(future, 60.0)
        assert future.done()
    assert served == ["requests"] * 3
    side.close()
    side.close()  # whoever ends twice
    assert not side._thread.is_alive()
    executor.shutdown()


def test_one_that_never_began_ends_too(owner):
    SideNode(owner).close()
