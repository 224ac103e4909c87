"""Who has just appeared in DDS is told again who is there."""

import itertools
import os
import select
import socket
import struct
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.node import newcomers
from lie_dynamics_ros.ros.node.domain import DomainReservation, bind, port
from lie_dynamics_ros.ros.node.newcomers import DELAYS, GROUP, PARTICIPANTS, Newcomers, announced

OWN, OTHER, THIRD = (bytes(range(k, k + 12)) for k in (0, 40, 80))
ANNOUNCER, ENDPOINTS = bytes.fromhex("000100c2"), bytes.fromhex("000003c2")
PATIENCE = 60.0


def rtps(prefix, writer=ANNOUNCER, flags=0x05, order="<", size=None):
    """A message as the standard has it (DDSI-RTPS 2.3, 8.3 and 9.4): INFO_TS, DATA of a writer."""
    body = struct.pack(order + "HH", 0, 16) + ENDPOINTS + writer + struct.pack(order + "q", 1) + b"payload "
    time = struct.pack(order + "BBHq", 0x09, flags & 1, 8, 0)
    data = struct.pack(order + "BBH", 0x15, flags, len(body) if size is None else size) + body
    return b"RTPS\x02\x03\x01\x0f" + prefix + time + data


def test_announcements_are_told_from_all_else():
    assert announced(rtps(OWN)) == OWN
    assert announced(rtps(OWN, flags=0x04, order=">")) == OWN
    assert announced(rtps(OWN, size=0)) == OWN  # the last submessage may leave its length out
    assert announced(rtps(OWN, writer=ENDPOINTS)) is None
    assert announced(rtps(OWN, flags=0x09)) is None  # a key alone: the participant leaves
    assert announced(b"RTPX" + rtps(OWN)[4:]) is None
    for end in range(48):
        assert announced(rtps(OWN)[:end]) is None


@pytest.fixture
def domain():
    reservation = DomainReservation()
    yield reservation.domain
    reservation.release()


def local(domain, participant):
    return "127.0.0.1", port(domain, 10 + 2 * participant)


def heard(listener, count):
    """The next messages, so many."""
    found = []
    for _ in range(count):
        assert select.select([listener], [], [], PATIENCE)[0], f"{len(found)} of {count} announcements came"
        found.append(listener.recvfrom(65535))
    return found


def test_a_newcomer_hears_each_announcement_and_those_who_are_known_none(domain):
    listener, sender = bind(*local(domain, 3)), bind("127.0.0.1", 0)
    speaker = Newcomers(OWN, domain)
    assert speaker.take_heard() is None
    try:
        last = local(domain, PARTICIPANTS - 1)
        sender.sendto(rtps(OTHER), last)  # before there is anything to repeat
        for message in (rtps(OWN), rtps(OTHER), b"nonsense", rtps(THIRD, writer=ENDPOINTS), rtps(THIRD)):
            sender.sendto(message, last)
        found = heard(listener, len(DELAYS))
        assert {message for message, _ in found} == {rtps(OWN)}
        assert {address for _, address in found} == {last}
        for k in range(500):  # a crowd at once is told as one: no more than a hundred times a second
            sender.sendto(rtps(struct.pack(">4xQ", k + 1)), last)
        heard(listener, 1)
    finally:
        speaker.close()
    assert not speaker._thread.is_alive()
    while select.select([listener], [], [], 0.0)[0]:
        assert listener.recv(65535) == rtps(OWN)
    sender.sendto(rtps(OTHER), last)
    again = bind(*last)
    assert again is not None, "the port is not free again"
    for each in (listener, sender, again):
        each.close()


def test_newcomers_on_machines_that_ros_was_told_are_heard_and_hear(domain, monkeypatch):
    monkeypatch.setenv("ROS_STATIC_PEERS", "127.0.0.2;no.such.name.invalid;")
    there = "127.0.0.2", port(domain, 10 + 2 * 7)
    last = port(domain, 10 + 2 * (PARTICIPANTS - 1))
    with bind(*there) as listener, bind("127.0.0.2", 0) as sender:
        speaker = Newcomers(OWN, domain)
        try:
            sender.sendto(rtps(OWN), ("127.0.0.1", last))
            sender.sendto(rtps(OTHER), ("127.0.0.2", last))
            assert {message for message, _ in heard(listener, len(DELAYS))} == {rtps(OWN)}
        finally:
            speaker.close()


def test_times_near_each_other_are_one():
    due = []
    for now in (5.0, 5.001, 5.002):
        newcomers._add(due, now)
    assert due == pytest.approx([5.0 + d for d in DELAYS])
    for k in range(1000):
        newcomers._add(due, 5.0 + 1e-3 * k)
    assert due == sorted(due)
    assert min(b - a for a, b in itertools.pairwise(due)) >= newcomers.NEAR - 1e-12


def test_announcements_go_by_multicast_where_they_were_heard_by_multicast(domain):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener, bind("", 0) as sender:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((GROUP, port(domain, 0)))
        try:
            listener.setsockopt(
                socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("4s4s", socket.inet_aton(GROUP), bytes(4))
            )
            sender.sendto(rtps(THIRD), (GROUP, port(domain, 0)))
        except OSError as error:
            pytest.skip(f"no multicast here: {error}")
        assert heard(listener, 1)[0][0] == rtps(THIRD)
        speaker = Newcomers(OWN, domain)
        try:
            for message in (rtps(OWN), rtps(OTHER)):
                sender.sendto(message, (GROUP, port(domain, 0)))
            found = [message for message, _ in heard(listener, 2 + len(DELAYS))]
            assert speaker.take_heard() is True
            sender.sendto(rtps(THIRD), (GROUP, port(domain, 0)))
            heard(listener, 2)  # by now it has heard what it repeated itself for the other
            assert speaker.take_heard() is False
        finally:
            speaker.close()
        assert found == [rtps(OWN), rtps(OTHER)] + [rtps(OWN)] * len(DELAYS)


NODE = """
import sys
from rclpy.node import Node
from lie_dynamics_ros.ros.node.spinning import run
sys.exit(run(lambda: Node("there")))
"""


def test_a_node_announces_itself_again():
    reservation = DomainReservation()
    environment = dict(os.environ)
    reservation.apply(environment)
    listener = bind(*local(reservation.domain, 5))
    process = subprocess.Popen([sys.executable, "-c", NODE], env=environment)
    ports = {local(reservation.domain, k) for k in range(PARTICIPANTS)}  # Fast DDS itself sends from others
    try:
        crowd = 0
        while True:
            (message, address), *_ = heard(listener, 1)
            if announced(message) and address in ports:
                break
            # The node's own announcement: somebody new answers each.
            crowd += 1
            for way in ports:
                listener.sendto(rtps(struct.pack(">4xQ", crowd)), way)
            assert crowd < 1000
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        listener.close()
        reservation.release()
