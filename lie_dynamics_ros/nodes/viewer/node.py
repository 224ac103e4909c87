"""Node that shows robot, torques, Stewart platform, contacts and diagnostics on a page in the browser.

It commands nothing, and publishes nothing but its diagnostics. See doc/nodes/viewer.md for topics and parameters.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from ...core.errors import MessageError, ParameterError, reason_of
from ...core.frames import check_prefix, link_of
from ...core.parameters import parameter, with_default
from ...lie_dynamics.files import read_file
from ...ros.inputs.model_loading import FramePrefix, JointPrefix, load_model, locate
from ...ros.inputs.platform_loading import PlatformParameters, load_legs
from ...ros.inputs.publishers import MOST_COUNTED, subscribe
from ...ros.node.description_source import DescriptionParameters, DescriptionSource
from ...ros.node.managed_node import BackgroundNodeParameters, ManagedNode, Ticker
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import DROPPED, Report
from ...ros.wire import qos
from ...ros.wire.messages import pose_to_matrix, wrench_to_array
from ...ros.wire.serialized import StateDecoder
from .core import EFFORT_SOURCES, ViewerCore, ViewOptions
from .page import Page
from .picture import Robot, Surface, shapes_of

# Meshes that a robot description names, read by trimesh, which comes with the page's server.

FORMATS = ("stl", "obj", "ply", "dae")
"""Endings that are read; .dae, with its colours, where pycollada is installed. None leads to other files here."""
MAX_SIZE = 64 * 2**20
"""Largest file [bytes]."""
MOST_FACES = 100_000
"""Faces of a mesh, or of a part of one colour, beyond which its convex hull is drawn."""


class MeshReader:
    """Reads meshes, each file once; ``locate`` returns the path that a URI stands for, or raises ValueError."""

    def __init__(self, locate: Callable[[str], Path]) -> None:
        self._locate = locate
        self._read: dict[str, tuple[Surface, ...] | Exception] = {}

    def __call__(self, uri: str) -> tuple[Surface, ...]:
        """Return the surfaces in a file, one for each colour; raises ValueError, with the reason there is none."""
        found = self._read.get(uri)
        if found is None:
            try:
                found = self._load(uri)
            except Exception as error:  # whatever a reader makes of a file that is none
                found = error
            self._read[uri] = found
        if isinstance(found, Exception):
            raise ValueError(str(found) or type(found).__name__) from found
        return found

    def _load(self, uri: str) -> tuple[Surface, ...]:
        import trimesh

        path = self._locate(uri)
        ending = path.suffix.lower().removeprefix(".")
        if ending not in FORMATS:
            raise ValueError(f"expected one of the endings {', '.join(FORMATS)}")
        # From the bytes alone: textures and further files are not looked for.
        scene = trimesh.load(io.BytesIO(read_file(path, MAX_SIZE)), file_type=ending, force="scene")
        parts = [(_material(part) if ending == "dae" else None, part) for part in scene.dump()]
        surfaces = []
        for color in dict.fromkeys(color for color, _ in parts):
            mesh = trimesh.util.concatenate([trimesh.Trimesh(p.vertices, p.faces) for c, p in parts if c == color])
            if len(mesh.faces) > MOST_FACES:
                mesh = mesh.convex_hull
            vertices = np.array(mesh.vertices, dtype=float)
            if not np.isfinite(vertices).all():
                raise ValueError("it has numbers that are not finite")
            if len(mesh.faces):
                surfaces.append(Surface(vertices, np.array(mesh.faces, dtype=np.int64), color))
        if not surfaces:
            raise ValueError("it has no triangles")
        return tuple(surfaces)


def _material(part: Any) -> tuple[int, int, int] | None:
    """Return the colour of the material of a mesh of trimesh; None where it has none."""
    color = getattr(getattr(part.visual, "material", None), "main_color", None)
    return None if color is None else (int(color[0]), int(color[1]), int(color[2]))


@dataclass(frozen=True)
class ViewerParameters(ViewOptions, FramePrefix, JointPrefix, DescriptionParameters, BackgroundNodeParameters):
    """Parameters of the node."""

    allow_robot_change: bool = with_default(DescriptionParameters, "allow_robot_change", True)
    platform: str = with_default(PlatformParameters, "platform", PlatformParameters.platform)
    address: str = parameter(
        "127.0.0.1",
        "Address of this machine at which the page can be opened; 0.0.0.0: from every machine that reaches this one.",
        "while unconfigured",
    )
    port: int = parameter(
        8080,
        "Port of the page; where it is taken, the next free one, named in the log. 0: any.",
        "while unconfigured",
        low=0,
        high=65535,
    )
    rate: float = parameter(20.0, "Pictures per second [Hz].", "while unconfigured", low=0.1, high=100.0)
    platform_position: tuple[float, ...] = parameter(
        [0.0, 0.8, 0.0],
        "Where the base of the Stewart platform is drawn, x, y, z [m].",
        "while unconfigured",
        low=-1000.0,
        high=1000.0,
    )


SETTINGS = ViewerParameters.settings()
LOOPS = "closed_loop/joint_states"
"""Joints of loops that no driver measures."""
CONTACTS = ("contact", "tool_wrench")
"""Nodes whose contact wrenches are shown."""
AS_DESCRIBED = {"inertia_check": "ignore", "base_link": "", "locked_joints": [""], "locked_positions": [0.0]}
TRACE_PERIOD = 0.2
"""Time between drawings of the traces [s]."""
UNWATCHED_PERIOD = 1.0
"""Time between pictures while nobody looks [s]: who comes sees one at once."""


class Inbox:
    """Messages as they come, while it is open: states wait for the next picture; what is wrong with one is counted."""

    def __init__(self) -> None:
        self.open = False
        self._decode = StateDecoder().decode
        self._waiting: dict[tuple[str, bytes], tuple[float, bytes]] = {}  # the last state of each publisher
        self._drops: Counter[str] = Counter()
        self._told, self._problem = 0, ""

    def keep(self, source: str, data: bytes, publisher: bytes) -> None:
        """Keep a state, which may come a thousand times a second, until a picture is drawn."""
        if not self.open:
            return
        if len(self._waiting) >= MOST_COUNTED:
            self._waiting.clear()
        self._waiting[source, publisher] = perf_counter(), data

    def close(self) -> None:
        """Take no more messages, and forget those that wait."""
        self.open = False
        self._waiting.clear()

    def accept(self, take: Callable[[], None]) -> None:
        """Take a message; whatever is wrong with it is counted."""
        try:
            take()
        except Exception as error:
            self._drops[error.kind if isinstance(error, MessageError) else "unexpected error"] += 1
            self._problem = reason_of(error)

    def give_states(self, core: ViewerCore) -> None:
        """Let a core have the states that wait."""
        waiting, self._waiting = self._waiting, {}
        for (source, _), (heard, data) in waiting.items():
            self.accept(partial(_take_state, core, source, self._decode, data, heard))

    def describe(self, report: Report) -> None:
        """Fill in what was dropped, and why."""
        for kind, count in sorted(self._drops.items()):
            report.values[DROPPED + kind] = count
        if self._problem:
            report.values["last problem"] = self._problem
        dropped, self._told = self._drops.total() - self._told, self._drops.total()
        if dropped:
            report.add(diagnostics.WARN, f"{dropped} messages dropped: {self._problem}")


class ViewerNode(ManagedNode):
    """Everything in, nothing out but a page. Shows what there is, and waits for the rest."""

    def __init__(self, **kwargs: Any) -> None:
        self._core: ViewerCore | None = None
        self._page: Page | None = None
        self._inbox, self._pictures = Inbox(), 0
        self._drawn = self._traced = -np.inf
        super().__init__("viewer", ViewerParameters, **kwargs)
        self.source = DescriptionSource(self, partial(_robot_of, self.get_logger()), self._use)
        self._ticker = Ticker(self)
        for source in EFFORT_SOURCES:
            topic = source if source == "joint_states" else f"{source}/joint_efforts"
            subscribe(self, JointState, topic, partial(self._inbox.keep, source), qos.STREAM_INPUT)
        subscribe(self, JointState, LOOPS, partial(self._inbox.keep, LOOPS), qos.STREAM_INPUT)
        for node in CONTACTS:
            self._hear(WrenchStamped, f"{node}/contact_wrench", partial(_take_wrench, self))
        self._hear(Bool, "contact/touching", lambda core, m, now: core.take_touching(m.data, now))
        self._hear(PoseWithCovarianceStamped, "stewart_pose/pose", _take_pose)
        self._hear(DiagnosticArray, "stewart_pose/status", _take_status)
        self._hear(DiagnosticArray, "/diagnostics", _take_reports)

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other; raises ParameterError."""
        check_prefix(values["frame_prefix"])
        if len(values["platform_position"]) != 3:
            raise ParameterError(f"platform_position has {len(values['platform_position'])} entries; expected x, y, z")

    def settings_changed(self, names: set[str]) -> None:
        """Apply what may change while pictures are drawn."""
        self.source.settings_changed(names)
        if self._core is not None:
            self._core.options = ViewOptions.from_values(self.settings)

    def can_configure(self) -> bool:
        """Return whether a robot that is known by now has been made; there need not be one."""
        return self.source.missing or self.source.ready()

    def configure(self) -> None:
        """Read the platform, and the robot where it is known by now."""
        self._core = ViewerCore(
            ViewOptions.from_values(self.settings), load_legs(self.settings["platform"], self.get_logger())
        )
        if not self.source.missing:
            self.source.configure()

    def _use(self, robot: Robot) -> None:
        """Show this robot from now on."""
        if self._core is not None:
            self._core.use(robot)
        for problem in robot.problems:
            self.get_logger().warning(problem)

    def activate(self) -> None:
        """Open the page."""
        settings = self.settings
        self._page = Page(settings["address"], settings["port"], np.array(settings["platform_position"]))
        self._drawn = self._traced = -np.inf
        self._inbox.open = True
        self._ticker.start(1.0 / settings["rate"], self._draw)
        self.get_logger().info(f"the page is at {self._page.url}")

    def deactivate(self) -> None:
        """Close the page."""
        self._ticker.stop()
        if self._page is not None:
            page, self._page = self._page, None
            page.close()
        self._inbox.close()

    def cleanup(self) -> None:
        """Let go of robot and platform."""
        self._core = None

    def _hear(self, type_: type, topic: str, take: Callable[[ViewerCore, Any, float], None]) -> None:
        def receive(message: Any) -> None:
            if self._page is not None and self._core is not None:
                self._inbox.accept(partial(take, self._core, message, perf_counter()))

        self.listen(type_, topic, receive, qos.EVENT_INPUT)

    # Pictures.

    def _draw(self) -> None:
        core, page, now = self._core, self._page, perf_counter()
        if core is None or page is None:
            return
        self._inbox.give_states(core)
        picture = core.picture(now)
        page.remember(picture, now)
        if not page.watchers and now - self._drawn < UNWATCHED_PERIOD:
            return
        self._drawn = now
        self._pictures += 1
        waiting_for = f"waiting for a robot description on {self.source.topic.name}"
        page.draw(picture, waiting_for, core.options.covariance_scale)
        if now - self._traced >= TRACE_PERIOD:
            self._traced = now
            page.trace(picture)

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        self.source.describe(report)
        values, page = report.values, self._page
        values["page"] = "closed" if page is None else page.url
        values["watchers"] = 0 if page is None else page.watchers
        values["pictures per second"] = f"{self._pictures / period:.1f}"
        self._pictures = 0
        self._inbox.describe(report)


def _robot_of(logger: Any, description: str, values: Mapping[str, Any]) -> Robot:
    """Make a robot of URDF text, with its shapes; raises with the reason."""
    model = load_model(description, {**values, **AS_DESCRIBED}, logger)
    shapes, problems = shapes_of(description, model, MeshReader(locate))
    return Robot(model.with_joint_prefix(values["joint_prefix"]), shapes, problems)


def _take_wrench(node: ViewerNode, core: ViewerCore, message: WrenchStamped, now: float) -> None:
    link = link_of(message.header.frame_id, node.settings["frame_prefix"])
    core.take_force(link, wrench_to_array(message.wrench)[3:], now)


def _take_state(core: ViewerCore, source: str, decode: Callable[[bytes], Any], data: bytes, now: float) -> None:
    message, _, _ = decode(data)
    if source in ("joint_states", LOOPS):
        core.take_states(message.name, message.position, message.effort, now)
    else:
        core.take_efforts(source, message.name, message.effort, now)


def _take_pose(core: ViewerCore, message: PoseWithCovarianceStamped, now: float) -> None:
    covariance = np.array(message.pose.covariance).reshape(6, 6)[:3, :3]
    core.take_pose(pose_to_matrix(message.pose.pose), covariance, now)


def _take_status(core: ViewerCore, message: DiagnosticArray, now: float) -> None:
    for status in message.status[:1]:
        core.take_status(status.level[0], status.message, now)


def _take_reports(core: ViewerCore, message: DiagnosticArray, now: float) -> None:
    for status in message.status:
        core.take_report(status.name, status.level[0], status.message, now)


main = partial(run, ViewerNode)

if __name__ == "__main__":
    sys.exit(main())
