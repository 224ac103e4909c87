"""ROS domains of one's own."""

import socket
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lie_dynamics_ros.ros.node import domain
from lie_dynamics_ros.ros.node.domain import FIRST, LAST, PROFILE, QUICK_DISCOVERY, DomainReservation


def test_reservations_never_share_a_domain_and_can_be_released():
    reservations = [DomainReservation() for _ in range(20)]
    domains = {reservation.domain for reservation in reservations}
    assert len(domains) == 20
    assert all(FIRST <= d <= LAST for d in domains)
    for reservation in reservations:
        reservation.release()
    again = DomainReservation()
    assert FIRST <= again.domain <= LAST
    again.release()


@pytest.mark.parametrize("offset", [10, 17, 248])
def test_passes_over_a_domain_in_which_somebody_listens(offset):
    first = DomainReservation()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("", 7400 + 250 * first.domain + offset))  # while nobody else can have the domain
        first.release()
        other = DomainReservation()
        assert other.domain != first.domain
        other.release()


def test_says_when_all_are_taken(monkeypatch):
    monkeypatch.setattr(domain, "bind", lambda address, port: None)
    with pytest.raises(OSError, match="all ROS domains"):
        DomainReservation()


@pytest.mark.parametrize(("distro", "library"), [("kilted", "FASTDDS"), ("jazzy", "FASTRTPS")])
def test_confines_ros_to_this_machine(distro, library):
    reservation = DomainReservation()
    environment = {"ROS_DISTRO": distro, "ROS_LOCALHOST_ONLY": "1", "ROS_STATIC_PEERS": "1.2.3.4", "HOME": "/home/x"}
    reservation.apply(environment)
    assert environment["ROS_DOMAIN_ID"] == str(reservation.domain)
    assert environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert environment["HOME"] == "/home/x"
    assert not {"ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS"} & environment.keys()
    assert Path(environment[f"{library}_DEFAULT_PROFILES_FILE"]).is_file()
    reservation.release()


def test_profiles_differ_in_how_often_participants_announce_themselves_alone():
    usual, quick = (ElementTree.parse(file).getroot().find(".//{*}rtps") for file in (PROFILE, QUICK_DISCOVERY))
    quick.remove(quick.find("{*}builtin"))
    found = [[(element.tag, (element.text or "").strip()) for element in rtps.iter()] for rtps in (usual, quick)]
    assert found[0] == found[1]
    assert int(usual.find("{*}listenSocketBufferSize").text) >= 1_000_000
