"""Content of the page at one moment, as values: a robot and its shapes, what moves, and the texts beside the scene."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ...lie_dynamics import Model, forward_kinematics, total_mass
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.lie import so3
from ...lie_dynamics.texts import plain_number, quoted

# Surfaces of simple solids as triangles, about their centres, in metres.

SIDES = 24
"""Corners of what is drawn for a circle."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, seen from the side from which their corners go round to the left."""

    vertices: Array
    faces: NDArray[np.int64]
    color: tuple[int, int, int] | None = None

    def moved(self, pose: Array) -> Surface:
        """Return the surface where a homogeneous matrix (4, 4) takes it; a mirror turns the triangles back."""
        faces = self.faces if np.linalg.det(pose[:3, :3]) >= 0.0 else self.faces[:, ::-1]
        return Surface(self.vertices @ pose[:3, :3].T + pose[:3, 3], faces, self.color)


def box(size: Array) -> Surface:
    """Return a box of these lengths along x, y and z."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    squares = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return Surface(corners * size, np.array([[a, *pair] for a, b, c, d in squares for pair in ((b, c), (c, d))]))


def cylinder(radius: float, length: float) -> Surface:
    """Return a cylinder about z."""
    half = 0.5 * length
    return _turned([(0.0, -half), (radius, -half), (radius, half), (0.0, half)])


def sphere(radius: float) -> Surface:
    """Return a sphere."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Surface:
    """Return a cylinder of this length about z with half a sphere on either end."""
    angles = np.linspace(-0.5 * np.pi, 0.0, SIDES // 4 + 1)
    lower = [(radius * np.cos(a), radius * np.sin(a) - 0.5 * length) for a in angles]
    lower[0] = (0.0, lower[0][1])
    upper = [(r, -z) for r, z in reversed(lower)]
    return _turned(lower + (upper if length else upper[1:]))


def _turned(outline: list[tuple[float, float]]) -> Surface:
    """Return what an outline of (distance from z, z) sweeps about z; it rises, and begins and ends on the axis."""
    around = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    rings = [[(r * np.cos(a), r * np.sin(a), z) for a in around] for r, z in outline[1:-1]]
    vertices = np.array([(0.0, 0.0, outline[0][1]), *(p for ring in rings for p in ring), (0.0, 0.0, outline[-1][1])])
    last, faces = len(vertices) - 1, []
    for k in range(SIDES):
        n = (k + 1) % SIDES
        faces.append((0, 1 + n, 1 + k))
        for j in range(len(rings) - 1):
            a, b = 1 + j * SIDES, 1 + (j + 1) * SIDES
            faces += [(a + k, a + n, b + n), (a + k, b + n, b + k)]
        top = 1 + (len(rings) - 1) * SIDES
        faces.append((top + k, top + n, last))
    return Surface(vertices, np.array(faces))


Color = tuple[int, int, int]
PLAIN: Color = (200, 205, 210)
LINK: Color = (226, 229, 233)
JOINT: Color = (235, 125, 50)
LARGEST = 1e4
"""Beyond this [m] nothing is drawn."""
MOST_SHAPES = 2000
THICK = 0.22
"""Radius of a usual link as a share of the usual distance between joints."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A surface that moves with a body of the model, -1 for what does not move; in the body's frame."""

    body: int
    surface: Surface
    color: Color


def shapes_of(
    description: str, model: Model, mesh: Callable[[str], tuple[Surface, ...]]
) -> tuple[list[Shape], list[str]]:
    """Return what there is to draw of a robot, and what cannot be drawn, with the reason.

    The model was made of the URDF text, so that is well-formed and has no entities. ``mesh`` returns the surfaces that
    a URI stands for, or raises ValueError.
    """
    root = ElementTree.fromstring(description.lstrip("\ufeff \t\r\n"))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    colors = {e.get("name", ""): _color(e, {}) for e in root.findall("material")}
    shapes: list[Shape] = []
    problems: list[str] = []
    for link in root.findall("link"):
        frame = model.frames.get(link.get("name", ""))
        if frame is None:
            continue
        for element in link.findall("visual") or link.findall("collision"):
            if len(shapes) >= MOST_SHAPES:
                return shapes, [*problems, f"more than {MOST_SHAPES} shapes: the others are not drawn"]
            try:
                pose, color = frame.placement @ _origin(element), _color(element.find("material"), colors)
                surfaces = [surface.moved(pose) for surface in _surfaces(element, mesh)]
                if not all(np.abs(surface.vertices).max() <= LARGEST for surface in surfaces):
                    raise ValueError(f"it reaches beyond {LARGEST:g} m")
            except ValueError as error:
                problems.append(f"link {quoted(frame.name)}: a {element.tag} is not drawn: {error}")
            else:
                shapes += [Shape(frame.body, surface, color or surface.color or PLAIN) for surface in surfaces]
    drawn = {shape.body for shape in shapes}
    shapes += [link for link in _links(model) if link.body not in drawn]
    return shapes[:MOST_SHAPES], problems


def _surfaces(element: Element, mesh: Callable[[str], tuple[Surface, ...]]) -> tuple[Surface, ...]:
    kind = next(iter(element.find("geometry") or ()), None)
    if kind is None:
        raise ValueError("it has no geometry")
    if kind.tag == "box":
        return (box(_numbers(kind, "size", 3)),)
    if kind.tag == "mesh":
        surfaces = mesh(kind.get("filename", ""))
        scale = np.diag([*_numbers(kind, "scale", 3, "1 1 1", low=-LARGEST), 1.0])
        return tuple(surface.moved(scale) for surface in surfaces)
    if kind.tag not in ("cylinder", "sphere", "capsule"):
        raise ValueError(f"{quoted(kind.tag)} is not known; expected box, cylinder, sphere, capsule or mesh")
    radius = float(_numbers(kind, "radius", 1)[0])
    if kind.tag == "sphere":
        return (sphere(radius),)
    return ((cylinder if kind.tag == "cylinder" else capsule)(radius, float(_numbers(kind, "length", 1)[0])),)


def _numbers(element: Element, name: str, count: int, default: str = "", low: float = 0.0) -> Array:
    text = element.get(name, default)
    values = [plain_number(word) for word in text.split()]
    if len(values) != count or not all(v is not None and low <= v <= LARGEST for v in values):
        raise ValueError(f"{name} of <{element.tag}> is {quoted(text)}; expected numbers from {low:g} to {LARGEST:g}")
    return np.array(values, dtype=float)


def _origin(element: Element) -> Array:
    pose = np.eye(4)
    origin = element.find("origin")
    if origin is not None:
        pose[:3, 3] = _numbers(origin, "xyz", 3, "0 0 0", low=-LARGEST)
        pose[:3, :3] = so3.from_rpy(_numbers(origin, "rpy", 3, "0 0 0", low=-LARGEST))
    return pose


def _color(material: Element | None, known: dict[str, Color | None]) -> Color | None:
    """Return the colour that a material has, or the one of its name; None where there is none."""
    if material is None:
        return None
    color = material.find("color")
    try:
        red, green, blue, _ = _numbers(Element("color") if color is None else color, "rgba", 4)
    except ValueError:
        return known.get(material.get("name", ""))
    return tuple(int(255 * min(1.0, part)) for part in (red, green, blue))  # type: ignore[return-value]


def _links(model: Model) -> Iterator[Shape]:
    """Yield a capsule from each joint to the next ones and to the links' other frames, and a drum about each axis.

    As the joints are at zero; the heavier a link for its length, the thicker.
    """
    poses = forward_kinematics(model, model.neutral())
    segments: list[tuple[int, Array]] = []
    parents = [-1 if j.parent_body == "world" else model.body_names.index(j.parent_body) for j in model.joints]
    for frame in model.frames.values():
        segments.append((frame.body, frame.placement[:3, 3]))
    for joint, parent in zip(model.joints, parents, strict=True):
        start = np.eye(4) if parent < 0 else poses[parent]
        segments.append((parent, start[:3, :3].T @ (poses[joint.index][:3, 3] - start[:3, 3])))
    lengths = [float(np.linalg.norm(end)) for _, end in segments]
    usual = [length for length in lengths if 1e-6 < length < LARGEST]
    radius = THICK * float(np.mean(usual)) if usual else 0.05

    def thickness(body: int) -> float:
        return radius * (1.2 if body < 0 else _share(model, body))

    for joint, parent in zip(model.joints, parents, strict=True):
        own = max(thickness(parent), thickness(joint.index))
        axis = next((np.array(step.axis) for step in joint.type.steps if step.rotation), None)
        drum = cylinder(1.3 * own, 2.8 * own).moved(_along(axis, np.zeros(3))) if axis is not None else sphere(own)
        yield Shape(joint.index, drum, JOINT)
    for (body, end), length in zip(segments, lengths, strict=True):
        own = thickness(body)
        if 0.1 * own < length < LARGEST:
            yield Shape(body, capsule(own, length).moved(_along(end / length, 0.5 * end)), LINK)


def _share(model: Model, body: int) -> float:
    """Return how thick a link is drawn, in usual ones: by the cube root of its share of the mean mass."""
    mean = total_mass(model) / model.n_bodies
    return float(np.clip((model.inertia(body).mass / mean) ** (1.0 / 3.0), 0.6, 1.8)) if mean > 0.0 else 1.0


def _along(direction: Array, center: Array) -> Array:
    """Return a pose (4, 4) at a centre whose z points along a direction of length 1."""
    pose = np.eye(4)
    side = np.cross(direction, np.eye(3)[int(np.abs(direction).argmin())])
    side /= np.linalg.norm(side)
    pose[:3, :3] = np.column_stack((side, np.cross(direction, side), direction))
    pose[:3, 3] = center
    return pose


GOOD, DOUBTFUL, BAD = range(3)


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot, what it looks like, and what of it cannot be drawn."""

    model: Model
    shapes: Sequence[Shape]
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class Effort:
    """Effort of a joint [N m or N], None where it is not known; its limit may be infinite."""

    joint: str
    value: float | None
    limit: float
    unit: str


@dataclass(frozen=True, eq=False)
class PlatformView:
    """A Stewart platform in its base frame [m], its one-sigma ellipsoid, and the status of its pose.

    ``points`` are the ends of legs, the first six on the platform; horns of rotary legs follow.
    """

    pose: Array
    points: Array
    deviations: Array
    axes: Array
    radii: Array
    level: int
    word: str
    stale: bool


@dataclass(frozen=True, eq=False)
class ContactView:
    """A force [N] at a point; the arrow's ends [m], shape (2, 3); None where its frame is none of the robot's."""

    frame: str
    force: float
    arrow: Array | None
    touching: bool | None


@dataclass(frozen=True)
class ReportView:
    """The last diagnostic report of a node."""

    name: str
    level: int
    message: str
    stale: bool


@dataclass(frozen=True, eq=False)
class Picture:
    """Everything that the page shows at one moment."""

    robot: Robot | None = None
    poses: Array | None = None  # of its bodies (n_bodies, 4, 4); None before the first joint states
    age: float | None = None  # of the last joint states [s]
    stale: bool = True
    unknown: tuple[str, ...] = ()  # joints without values for longer than ``stale_after``
    efforts: tuple[Effort, ...] = ()  # by joint; empty where there are none
    source: str = ""  # where they come from
    times: Array = field(default_factory=lambda: np.zeros(0))  # before the moment, shape (n,) [s]
    traces: Array = field(default_factory=lambda: np.zeros((0, 0)))  # efforts then, shape (n, joints)
    platform: PlatformView | None = None
    contact: ContactView | None = None
    reports: tuple[ReportView, ...] = ()
