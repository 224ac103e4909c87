"""The processes of a run, and what is done to them."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from lie_dynamics_ros.demo.processes import Children
from lie_dynamics_ros.ros.node.domain import PROFILE, DomainReservation

from .driver import FIRST
from .link import DRIVER, SIDES, Link
from .link import NODES as NODES_SIDE
from .robots import ARM
from .schedule import NODES, Disturbance

PATIENCE = 600.0
"""Longest wait for a process to start or to end [s]."""
FAULT = "deactivated after a fault"
"""What a node says that went wrong in a way nobody foresaw."""
PARTICIPANTS = {"driver": 40, "intruder": 41}
"""Numbers of the participants on the driver's side; the nodes begin at 0."""


class Processes:
    """Driver, nodes and listener of a run.

    Attributes
    ----------
    ended : list of str
        Nodes that ended though nobody told them to, or not with code 0 when told, or were deactivated by a fault.
    """

    def __init__(
        self, directory: Path, children: Children, link: Link, static_peers: bool = False, rate: float = 1000.0
    ) -> None:
        self._directory, self._children, self._link = directory, children, link
        self._labels: dict[str, str] = {}
        self._count, self.rate = 0, rate
        self.ended: list[str] = []
        self._command = directory / "command"
        os.environ["SOAK_COMMAND"], os.environ["SOAK_RECORD"] = str(self._command), str(directory / "record.jsonl")
        self._reservation = DomainReservation()
        self._reservation.apply(os.environ)
        self._profile = next(key for key in os.environ if key.endswith("_DEFAULT_PROFILES_FILE"))
        del os.environ[self._profile]  # as users have it: discovery as quick as in tests can lock up
        if not link.reason:
            os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET"
            # Shared memory knows no namespaces; room as in the profile of the nodes, which this puts out of force.
            os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4?sockets_size=1048576"
            if static_peers:
                os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
                os.environ["ROS_STATIC_PEERS"] = ";".join(side.partition("/")[0] for side in SIDES.values())
        for name in ("listener", *NODES, "driver"):
            self.start(name)

    def _prefix(self, name: str) -> list[str]:
        """Return what to put before the command of one of them."""
        if self._link.reason or name not in PARTICIPANTS:
            return self._link.prefix(NODES_SIDE)
        # Fast DDS counts participants in each namespace, and mistakes one of the same number as its own for itself.
        file = self._directory / f"{name}.xml"
        text = PROFILE.read_text()
        file.write_text(text.replace("<rtps>", f"<rtps><participantID>{PARTICIPANTS[name]}</participantID>"))
        return [*self._link.prefix(DRIVER), "env", f"{self._profile}={file}"]

    def start(self, name: str) -> None:
        """Start one of them."""
        self._count += 1
        label = f"{name}_{self._count}"
        remappings = {"__ns": "/legs" if name == "stewart_pose" else "/arm"}
        module, parameters = f"soak.{name}", {}
        if name == "driver":
            remappings["__node"] = "driver"
            parameters = {"robot_description": ARM, "mode": "dynamics", "rate": self.rate, "substeps": 1}
            parameters["thread_priority"] = 50  # as drivers of real robots have it
        elif name in NODES:
            module = f"lie_dynamics_ros.nodes.{name}.node"
        self._children.start(name, parameters, remappings, module, label, self._prefix(name))
        self._labels[name] = label

    def intrude(self, disturbance: Disturbance) -> None:
        """Let a second publisher speak for a while; one whose time is nearly right says nothing but NaN."""
        label = f"intruder_{self._count}"
        self._count += 1
        parameters = {"shift": disturbance.shift, "nan": abs(disturbance.shift) < 1.0}
        self._children.start("intruder", parameters, {}, "soak.intruder", label, self._prefix("intruder"))
        time.sleep(2.0 + disturbance.lasts)  # it takes a second to start
        os.kill(self._children.process_id(label), signal.SIGINT)
        self._children.exit_code(label, PATIENCE)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one of them."""
        os.kill(self.process_id(name), number)

    def process_id(self, name: str) -> int:
        """Process id of one of them."""
        return self._children.process_id(self._labels[name])

    def finish(self, name: str, number: signal.Signals) -> None:
        """End one of them, and wait for that; a node that ends in another way than told is written down."""
        self.signal(name, number)
        code = self._children.exit_code(self._labels[name], PATIENCE)
        if number == signal.SIGINT and code != 0:
            self.ended.append(f"{self._labels[name]}: exit code {code} on SIGINT")

    def tell_driver(self, *words: object) -> None:
        """Give the driver a command."""
        new = self._command.with_suffix(".new")
        new.write_text(" ".join(map(str, words)))
        new.replace(self._command)  # at once: the driver may be reading, told by the signal before
        self.signal("driver", signal.SIGUSR1)

    def first_state(self) -> int:
        """Wait for the driver's first state; returns its stamp [ns]."""
        log = self._directory / f"{self._labels['driver']}.log"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = log.read_text(errors="replace")
            match = re.search(rf"{FIRST}(\d+)\n", text)
            if match:
                return int(match.group(1))
            if FAULT in text or self._children.exit_code(self._labels["driver"]) is not None:
                break
            time.sleep(0.02)
        raise TimeoutError(
            f"the driver has no state within {PATIENCE:g} s:\n{self._children.output(self._labels['driver'])}"
        )

    def active(self, name: str) -> None:
        """Wait until a node has asked for real time, as it does once active.

        A participant that is made while the link is down never uses it: Fast DDS looks for interfaces once.
        """
        log = self._directory / f"{self._labels[name]}.log"
        end = time.monotonic() + PATIENCE
        while "real time" not in (said := log.read_text(errors="replace")):
            if time.monotonic() > end:
                raise TimeoutError(f"{self._labels[name]} is not active after {PATIENCE:g} s:\n{said}")
            time.sleep(0.02)

    def dropped(self, name: str) -> int:
        """Datagrams that found no room in a socket, on the side of one of them since the run began."""
        lines = Path(f"/proc/{self.process_id(name)}/net/snmp").read_text().splitlines()
        names, numbers = (line.split() for line in lines if line.startswith("Udp:"))
        return int(numbers[names.index("RcvbufErrors")])

    def check(self) -> None:
        """Write down what has ended by itself, and start it again."""
        gone = set(self._children.ended())
        for name, label in list(self._labels.items()):
            if label in gone:
                self.ended.append(f"{label}: exit code {self._children.exit_code(label)}")
                self.start(name)

    def look_for_faults(self) -> None:
        """Write down what went on, but was deactivated by a fault."""
        for log in sorted(self._directory.glob("*.log")):
            lines = [line for line in log.read_text(errors="replace").splitlines() if FAULT in line]
            self.ended += [f"{log.stem}: {line}" for line in lines]
