"""Announces this process to participants of DDS that have just appeared, so that they need not wait for it.

Fast DDS (2.x and 3.x) announces a new participant before it listens. Those that are there answer at once, and once
only; the newcomer misses most of these answers, and hears of them when they next announce themselves: every 3 s.
Announcing more often is no remedy: the thread that does so can lock up where a participant leaves at that moment.
So this listens beside Fast DDS to the announcements of all, and repeats this process's own, as it was, a little after
each newcomer's first.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from rclpy.node import Node

from .domain import bind, port

GROUP = "239.255.0.1"
"""Where DDS announces participants by default."""
LOCAL = "127.0.0.1"
PARTICIPANTS = 32
"""How many ports of this machine announcements go to where discovery is confined to it (rmw_fastrtps)."""
DELAYS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""After the first announcement of a newcomer [s]: it listens within a millisecond, on a busy machine later."""
NEAR = 0.01
"""Announcements nearer to each other than this are one [s]."""
REMEMBERED = 1000
"""Participants that are no newcomers, at most; beyond that, those that were silent for longest are forgotten."""

_HEADER = 20
_DATA, _LITTLE, _WITH_DATA = 0x15, 0x01, 0x04
_ANNOUNCER = bytes.fromhex("000100c2")


def announced(message: bytes) -> bytes | None:
    """Return the GUID prefix (12 bytes) of the participant that an RTPS message announces; None for any other."""
    if len(message) < _HEADER or message[:4] != b"RTPS":
        return None
    at = _HEADER
    while at + 4 <= len(message):
        kind, flags = message[at], message[at + 1]
        (size,) = struct.unpack_from("<H" if flags & _LITTLE else ">H", message, at + 2)
        if kind == _DATA and message[at + 12 : at + 16] == _ANNOUNCER and flags & _WITH_DATA:
            return message[8:_HEADER]
        if not size:
            return None  # the last one, of any length
        at += 4 + size
    return None


class Newcomers:
    """A thread that announces a participant again to those who have just appeared, from here until `close`.

    Does nothing where that participant's announcements are not heard: with other middleware, other transports or a
    discovery server.

    Parameters
    ----------
    own : bytes
        GUID prefix of the participant.
    domain : int
        Its ROS domain.
    """

    def __init__(self, own: bytes, domain: int) -> None:
        self._own = own
        self._heard: bool | None = None
        self._ways = [*_subnet(port(domain, 0)), *_machine(domain)]
        self._ended, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="newcomers", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, node: Node) -> Newcomers:
        """Speak for the participant of a node."""
        publishers = node.get_publishers_info_by_topic("/parameter_events")
        gids = (bytes(p.endpoint_gid) for p in publishers if p.node_name == node.get_name())
        return cls(next(gids, b"")[:12], node.context.get_domain_id())

    def close(self) -> None:
        """End the thread: what it repeats after the participant has left would be untrue."""
        self._end.close()
        self._thread.join()
        for each in (self._ended, *(way.socket for way in self._ways)):
            each.close()

    def take_heard(self) -> bool | None:
        """Tell whether DDS itself has announced this participant since the last call; None where it never was heard."""
        heard = self._heard
        if heard:
            self._heard = False
        return heard

    def _run(self) -> None:
        known: OrderedDict[bytes, None] = OrderedDict()
        due: list[float] = []
        ways = {way.socket: way for way in self._ways}
        while True:
            wait = max(0.0, due[0] - time.monotonic()) if due else None
            ready, _, _ = select.select([self._ended, *ways], [], [], wait)
            if self._ended in ready:
                return
            for heard in ready:
                message, sender = heard.recvfrom(65535)
                who = announced(message)
                if who == self._own:
                    ways[heard].message = message
                    self._heard = self._heard or sender[1] != heard.getsockname()[1]  # else repeated by this
                elif who is not None:
                    if who not in known:
                        _add(due, time.monotonic())
                    known[who] = None
                    known.move_to_end(who)
                    if len(known) > REMEMBERED:
                        known.popitem(last=False)
            if due and due[0] <= time.monotonic():
                del due[0]
                for way in self._ways:
                    way.announce()


@dataclass
class _Way:
    """A way that announcements go: what hears them, where they go, by which networks (0: any), and the last own one."""

    socket: socket.socket
    addresses: list[tuple[str, int]]
    networks: list[int]
    message: bytes = b""

    def announce(self) -> None:
        for network in self.networks if self.message else ():
            for address in self.addresses:
                with contextlib.suppress(OSError):  # no network just now
                    if network:
                        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _by(network))
                    self.socket.sendto(self.message, address)


def _add(due: list[float], now: float) -> None:
    """Let announcements follow from now on, but none near another: whoever comes, there are 100 a second at most."""
    for delay in DELAYS:
        if all(abs(now + delay - other) >= NEAR for other in due):
            bisect.insort(due, now + delay)


def _subnet(number: int) -> Iterator[_Way]:
    """By multicast, on all networks of this machine."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    networks = []
    with contextlib.suppress(OSError):
        listener.bind((GROUP, number))
        for network, _ in socket.if_nameindex():
            with contextlib.suppress(OSError):  # a network without multicast
                listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, _by(network))
                networks.append(network)
    if networks:
        yield _Way(listener, [(GROUP, number)], networks)
    else:
        listener.close()


def _by(network: int) -> bytes:
    return struct.pack("=4s4si", socket.inet_aton(GROUP), bytes(4), network)


def _machine(domain: int) -> Iterator[_Way]:
    """To every participant of this machine and of `static_peers`, heard at the last port that nobody has."""
    numbers, peers = [port(domain, 10 + 2 * k) for k in range(PARTICIPANTS)], static_peers()
    for number in reversed(numbers):
        listener = bind("" if peers else LOCAL, number)
        if listener is not None:
            addresses = [(host, n) for host in (LOCAL, *peers) for n in numbers]
            yield _Way(listener, [a for a in addresses if a != (LOCAL, number)], [0])
            return


def static_peers() -> list[str]:
    """Return the addresses of other machines that ROS was told; names are left out, to look them up may take long."""
    found = []
    for peer in os.environ.get("ROS_STATIC_PEERS", "").split(";"):
        with contextlib.suppress(OSError):
            found.append(socket.inet_ntoa(socket.inet_pton(socket.AF_INET, peer)))
    return found
