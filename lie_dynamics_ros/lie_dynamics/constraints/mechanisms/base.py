"""Ready-made mechanisms, and the parts they are made of."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from ...arrays import Array, ArrayLike
from ...dynamics.kinematics import frame_pose
from ...errors import DescriptionError, InputError
from ...files import write_file
from ...lie import SpatialInertia, se3
from ...lie._arrays import as_array
from ...model import joint_types as jt
from ...model.model import Model, ModelBuilder
from ...shown import pictures, shown
from ...texts import LARGEST
from ...travel import TravelLeft
from ..constraint_set import ConstraintSet
from ..travel import constrained_travel_left
from .assemblies import Assemblies, Candidates, assemblies_from_starts, verified

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")

#: Shortest and longest sliding leg, in lengths of the home configuration; URDF wants limits of slides.
STROKE = 0.5, 1.5
#: Acceleration of free fall, z being up [m/s^2].
DOWN = (0.0, 0.0, -9.81)


@shown
@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree with the constraints that close it.

    Attributes
    ----------
    model : Model
        The tree that is left when the loops are cut.
    constraints : ConstraintSet
        What closes them.
    q : ndarray, shape (nq,)
        The home configuration, which satisfies the constraints.
    actuated : tuple of str
        The joints that usually have a motor.
    platform : str
        The body or frame that they move.
    """

    model: Model
    constraints: ConstraintSet
    q: Array
    actuated: tuple[str, ...]
    platform: str

    def motors(self, q: ArrayLike) -> Array:
        """Return the positions (..., k) of the motors in configurations (..., nq)."""
        return np.asarray(q, dtype=float)[..., self._places]

    @property
    def _places(self) -> list[int]:
        return [self.model.joint(name).q_slice.start for name in self.actuated]

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose (..., 4, 4) of the platform in the world frame [m]."""
        return frame_pose(self.model, q, self.platform)

    def output(self, q: ArrayLike) -> Array:
        """Return what the motors move, as `configuration` takes it; the `pose` unless a mechanism says otherwise."""
        return self.pose(q)

    def show(self, q: ArrayLike | None = None) -> Figure:
        """Draw the mechanism in a configuration (nq,), at home when left out. It needs matplotlib."""
        figure: Figure = pictures().plot_model(self.model, self.q if q is None else q, self.constraints)
        return figure

    def configuration(self, output: ArrayLike) -> Array:
        """Return the closed configuration (..., nq) that has an output, legs bent as they are at home.

        Raises
        ------
        InputError
            For what is out of reach, naming the leg, and for an output that the mechanism cannot have.
        """
        raise InputError(f"mechanism {self.model.name!r} has no inverse kinematics in closed form")

    def inverse_kinematics(self, output: ArrayLike) -> Array:
        """Return the positions (..., k) of the motors for an output; see `configuration`."""
        return self.motors(self.configuration(output))

    def travel_left(self, q: ArrayLike) -> TravelLeft:
        """Return how far the platform can go along and about each axis from a closed configuration (nq,).

        See `constrained_travel_left`; limits of the motors are the model's.

        Raises
        ------
        InputError
            For a wrong shape, NaN, and loops that are open.
        """
        return constrained_travel_left(self.model, self.constraints, q, self.actuated, self.platform)

    def assembly_modes(self, positions: ArrayLike) -> Assemblies:
        """Return all closed configurations in which the motors have these positions (k,); see `Assemblies`.

        Raises
        ------
        InputError
            For positions of a wrong shape, or not finite.
        """
        given = real_numbers(positions, (len(self.actuated),), "positions")
        if given.ndim != 1:
            raise InputError(f"positions: {len(self.actuated)} numbers are expected, got shape {given.shape}")
        found = self._candidates(given)
        if found is None:
            return assemblies_from_starts(self.model, self.constraints, self.actuated, given)
        found.q[:, self._places] = given
        return verified(self.model, self.constraints, self.actuated, found)

    def _candidates(self, positions: Array) -> Candidates | None:
        """Return the configurations that algebra gives; None: to be searched from many starts."""
        return None

    def write(self, folder: str | PathLike[str], uri: str | None = None) -> tuple[Path, Path, Path]:
        """Write what the node closed_loop reads: "NAME.urdf", "NAME_loops.yaml", and its parameters, "NAME.yaml".

        Parameters
        ----------
        folder : path
            Made where it is missing.
        uri : str, optional
            What the node is to call the folder, such as "package://my_robot/mechanisms"; its path when left out.

        Returns
        -------
        tuple of Path
            In that order.
        """
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        uri = into.resolve().as_uri() if uri is None else uri
        name, urdf = self.model.name, self.model.to_urdf()
        positions: list[float] = []
        read = Model.from_urdf(urdf)
        for joint in read.joints:
            leader, ratio, shift = (joint.name, 1.0, 0.0) if joint.mimic is None else joint.mimic
            place = self.q[self.model.joint(leader).q_slice]
            positions += ((ratio * place + shift).round(14) + 0.0).tolist()
        mimics = "mimics: true\n" if any(joint.mimic is not None for joint in read.joints) else ""
        parameters = {
            "robot_description": f"{uri}/{name}.urdf",
            "loops": f"{uri}/{name}_loops.yaml",
            "measured_joints": list(self.actuated),
            "start_positions": positions,
            "platform_frame": self.platform,
            "gravity": self.model.gravity.tolist(),
        }
        lines = [f"      {key}: {json.dumps(value)}\n" for key, value in parameters.items()]
        texts = {
            f"{name}.urdf": urdf,
            f"{name}_loops.yaml": self.constraints.to_yaml() + mimics,
            f"{name}.yaml": "/**:\n  closed_loop:\n    ros__parameters:\n" + "".join(lines),
        }
        for file, text in texts.items():
            write_file(into / file, text)
        first, second, third = (into / file for file in texts)
        return first, second, third


def rod(length: float, mass: float, axis: int = 0, start: float = 0.0) -> SpatialInertia:
    """Return the inertia of a slender rod along an axis of its frame, from `start` to `start + length`."""
    along = np.eye(3)[axis]
    square = mass * length * length / 12.0
    return SpatialInertia(mass, (start + 0.5 * length) * along, square * (np.eye(3) - np.outer(along, along)))


def disc(radius: float, mass: float) -> SpatialInertia:
    """Return the inertia of a thin disc about its centre, z being its axis."""
    return SpatialInertia(mass, np.zeros(3), 0.25 * mass * radius**2 * np.diag([1.0, 1.0, 2.0]))


def shifted(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    """Return the pose (4, 4) of a frame at (x, y, z), not turned."""
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def placed(rotation: ArrayLike, origin: ArrayLike) -> Array:
    """Return the pose (4, 4) of a rotation and an origin."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, origin
    return T


def about_z(angle: float) -> Array:
    """Return the rotation (3, 3) about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def for_legs(value: ArrayLike, legs: int = 3) -> Array:
    """Return a dimension for each leg (legs,), which may be one number for all."""
    return np.array(np.broadcast_to(np.asarray(value, dtype=float), (legs,)))


def thirds() -> list[Array]:
    """Return the rotations about z by 0, 120 and 240 degrees, of three legs."""
    return [about_z(2.0 * np.pi * k / 3.0) for k in range(3)]


def add_universal(
    builder: ModelBuilder,
    body: str,
    parent: str | None,
    axes: tuple[list[float], list[float]],
    placement: Array,
    inertia: SpatialInertia,
    joint: str,
    offset: float = 0.0,
) -> None:
    """Add a body on two hinges, "JOINT_1" and "JOINT_2", with a massless cross: URDF has no universal joint.

    The second hinge is `offset` along z from the first [m].
    """
    builder.add(f"{body}_cross", parent, jt.revolute(axes[0]), placement, None, f"{joint}_1")
    builder.add(body, f"{body}_cross", jt.revolute(axes[1]), shifted(z=offset), inertia, f"{joint}_2")


def dimensions(
    signed: str = "", from_zero: str = "", per_leg: str = "", legs: int = 6
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function refuse, by a DescriptionError, what is no dimension: all are above zero but those named here.

    Those named `per_leg` may be one number for each of so many `legs`. What kind of thing is expected follows from what
    stands there when it is left out: a number, so many numbers, a truth value. None says nothing.
    """

    def decorated(make: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(make).parameters

        @wraps(make)
        def call(*args: P.args, **named: P.kwargs) -> T:
            for key, value in (*zip(parameters, args, strict=False), *named.items()):
                if key not in parameters:
                    text = f"{make.__name__}: unknown dimension {key!r}; known are {list(parameters)}"
                    raise DescriptionError(text, name=key, value=value)
                default = parameters[key].default
                if isinstance(default, bool):
                    wanted = "" if isinstance(value, (bool, np.bool_)) else "True or False is"
                elif isinstance(default, (float, tuple)) and key != "gravity":
                    least = -np.inf if key in signed.split() else 0.0
                    many = key in per_leg.split() and (
                        isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)
                    )
                    wanted = _wanted(value, (legs,) if many else np.shape(default), least, key in from_zero.split())
                else:
                    continue
                if wanted:
                    text = f"{make.__name__}: {key}: {wanted} expected, got {value!r}"
                    each = list(value) if key in per_leg.split() and isinstance(value, (list, tuple)) else []
                    least, zero = -np.inf if key in signed.split() else 0.0, key in from_zero.split()
                    bad = [k for k, one in enumerate(each, start=1) if _wanted(one, (), least, zero)]
                    if len(each) == legs and bad:
                        text += f"; that of leg {bad[0]} is none"
                    raise DescriptionError(text, name=key, value=value)
            return make(*args, **named)

        numbers = {key: one.default for key, one in parameters.items() if key not in ("gravity", "spatial")}
        call.defaults = {key: x for key, x in numbers.items() if not key.endswith(("mass", "masses"))}  # type: ignore[attr-defined]
        call.from_zero = from_zero.split()  # type: ignore[attr-defined]
        call.legs = dict.fromkeys(per_leg.split(), legs)  # type: ignore[attr-defined]
        return call

    return decorated


def _wanted(value: object, shape: tuple[int, ...], least: float, with_least: bool) -> str:
    """Return what is wanted in place of a value; nothing where it is good."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray("")
    good = array.shape == shape and array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
    if good and not bool((np.abs(array) <= LARGEST).all()):
        return f"numbers of at most {LARGEST:g} are"
    if good and bool((array >= least if with_least else array > least).all()):
        return ""
    kind = "" if least < 0.0 else ", 0 or more," if with_least else " above zero"
    return f"{shape[0]} numbers{kind} are" if shape else f"a number{kind} is"


def require_reach(there: ArrayLike, mechanism: str, leg: object, exception: type[Exception] = InputError) -> None:
    """Raise an error that names the leg unless it reaches everywhere."""
    if not np.all(there):
        raise exception(f"{mechanism}: out of reach of {leg}")


def real_numbers(value: ArrayLike, tail: tuple[int, ...], name: str) -> Array:
    """Return real numbers of shape (..., *tail), none beyond LARGEST; raises InputError for anything else."""
    array = as_array(value, tail, name)
    if np.iscomplexobj(array) or np.abs(array).max(initial=0.0) > LARGEST:
        raise InputError(f"{name}: real numbers up to {LARGEST:g} are expected, got {value!r}", name=name, value=value)
    return array


def real_pose(value: ArrayLike) -> Array:
    """Return poses (..., 4, 4) of the platform that are real; raises GroupError or InputError for anything else."""
    return np.asarray(se3.check(real_numbers(value, (4, 4), "output"), "output"))


def file_name(name: str) -> str:
    """Return a name in lower case, with underscores for what is neither letter nor digit."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
