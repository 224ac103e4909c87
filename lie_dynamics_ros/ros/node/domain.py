"""Settings of DDS by the environment: a profile, and a ROS domain of one's own for demos, tests and benchmarks."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from pathlib import Path

from ..wire.compatibility import profiles_variable

FIRST, LAST = 1, 101
"""Domains whose ports stay below those that Linux gives to outgoing connections."""

PARTICIPANT_OFFSETS = range(10, 249)
"""Offsets of the ports of all participants from the first port of their domain, two each."""

PROFILE, QUICK_DISCOVERY = (Path(__file__).with_name(f"{name}.xml") for name in ("profile", "quick_discovery"))


class DomainReservation:
    """Holds one ROS domain on this machine for as long as the object, or the process, lives.

    The reservation is a bound UDP port: the last one of the domain's port range, which DDS would give only to a
    120th participant. The system frees it when the process ends, however it ends. A domain in which somebody
    already listens is passed over; raises OSError where none is free.
    """

    def __init__(self) -> None:
        count = LAST - FIRST + 1
        start = os.getpid() * 31 % count
        for step in range(count):
            domain = FIRST + (start + step) % count
            lock = bind("127.0.0.1", port(domain, 249))
            if lock is None:
                continue
            if any(_is_taken(port(domain, offset)) for offset in PARTICIPANT_OFFSETS):
                lock.close()
                continue
            self.domain = domain
            self._lock = lock
            return
        raise OSError(f"all ROS domains from {FIRST} to {LAST} are in use on this machine")

    def apply(self, environment: MutableMapping[str, str]) -> None:
        """Set the variables that confine ROS to this domain and this machine, where nodes find each other quickly."""
        environment["ROS_DOMAIN_ID"] = str(self.domain)
        environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        environment[profiles_variable(environment)] = str(QUICK_DISCOVERY)
        for name in ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER"):
            environment.pop(name, None)

    def release(self) -> None:
        """Free the domain."""
        self._lock.close()


def set_profile(environment: MutableMapping[str, str]) -> None:
    """Give Fast DDS the profile of this package, unless the user has one."""
    environment.setdefault(profiles_variable(environment), str(PROFILE))


def port(domain: int, offset: int) -> int:
    """UDP port of the DDS standard: 250 per domain."""
    return 7400 + 250 * domain + offset


def _is_taken(number: int) -> bool:
    candidate = bind("", number)
    if candidate is not None:
        candidate.close()
    return candidate is None


def bind(address: str, number: int) -> socket.socket | None:
    """Return a UDP socket at this port; None where somebody has it."""
    candidate = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        candidate.bind((address, number))
    except OSError:
        candidate.close()
        return None
    return candidate
