"""Ready-made mechanisms, and the parts they are made of; all configurations of one whose motors are held."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Complex
from ...dynamics.kinematics import forward_kinematics, frame_pose
from ...errors import DescriptionError, InputError
from ...files import write_file
from ...lie import SpatialInertia, quaternion, se3
from ...lie._arrays import as_array
from ...model import joint_types as jt
from ...model.model import Model, ModelBuilder
from ...shown import pictures, shown
from ...stewart import StewartPlatform, StewartWarning, assembly_modes
from ...stewart.geometry.workspace import TravelLeft
from ...texts import LARGEST
from ..assembly import assemble
from ..constraint_set import ConstraintSet
from ..quantities import constraint_quantities
from ..travel import constrained_travel_left


def circles(first: Any, first_radius: Any, second: Any, second_radius: Any, side: Any) -> Complex:
    """Return where two circles in the plane cross; points are complex numbers, NaN where they do not.

    `side` is 1 for the point to the left of the way from the first centre to the second, -1 for that to the right.
    """
    gap = np.asarray(second - first, dtype=complex)
    distance = np.abs(gap)
    with np.errstate(all="ignore"):
        along = (distance**2 + np.square(first_radius) - np.square(second_radius)) / (2.0 * distance)
        height = np.sqrt(np.square(first_radius) - along**2)
        return np.asarray(first + gap / distance * (along + 1j * side * height))


def side_of(first: complex, second: complex, point: complex) -> float:
    """Return the `side` of `circles` on which a point is."""
    return 1.0 if ((point - first) * np.conj(second - first)).imag >= 0.0 else -1.0


def cosine_angle(a: Any, b: Any, value: Any, side: Any) -> Array:
    """Return the angle x with a cos x + b sin x = value on one side of the maximum; NaN where there is none."""
    with np.errstate(all="ignore"):
        return np.asarray(np.arctan2(b, a) + side * np.arccos(value / np.hypot(a, b)))


def real_roots(function: Callable[[Array], Array], degree: int) -> Array | None:
    """Return the angles at which a trigonometric polynomial of a degree, real at real angles, is zero.

    It has 2 `degree` complex roots z = exp(i x), of which those on the unit circle are real angles. Roots within 1e-3
    of it are returned: whether they are real is to be verified. None where values are not finite.
    """
    count = 2 * degree + 1
    values = function(2.0 * np.pi * np.arange(count) / count)
    if not np.isfinite(values).all():
        return None
    roots = np.roots(np.fft.fftshift(np.fft.fft(values))[::-1])
    return np.asarray(np.angle(roots[np.abs(np.abs(roots) - 1.0) < 1e-3]))


#: Largest error of a constraint in what counts as closed, in sizes of the mechanism.
CLOSED = 1e-10
#: Configurations whose points are nearer than this are one, and candidates may be so far off, in sizes too.
_SAME, _NEAR = 1e-6, 1e-3
#: Singular values of A for the joints without motor that are smaller, relative to the largest, count as zero.
_SINGULAR = 1e-8
#: Starting points of a search, and seed of their random numbers.
STARTS, SEED = 200, 1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations (n, nq) that algebra found, how many there are over the complex numbers, and how."""

    q: Array
    complex_count: int
    method: str
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Assemblies:
    """Configurations of a closed mechanism that have the same positions of the motors.

    Attributes
    ----------
    q : ndarray, shape (n, nq)
        The configurations, each once.
    residuals : ndarray, shape (n,)
        Their largest error of a constraint [m, rad].
    complete : bool
        True when none is missing. False after a search from many starts, at singular configurations, and where
        a candidate could not be closed.
    complex_count : int
        Solutions over the complex numbers, which bound the number of real ones; 0 where it is not known.
    method : str
        How they were found.
    hits : ndarray, shape (n,)
        How many starts led to each; ones where there was no search. Where each was found many times, a further one
        is unlikely, which is no proof.
    """

    q: Array
    residuals: Array
    complete: bool
    complex_count: int
    method: str
    hits: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.q)

    @property
    def message(self) -> str:
        """The result, in a sentence."""
        text = f"{len(self)} configurations by {self.method}"
        if self.complex_count:
            text += f", {self.complex_count} over the complex numbers"
        return text + ("" if self.complete else "; others may be missing")


def verified(model: Model, constraints: ConstraintSet, held: Sequence[str], found: Candidates) -> Assemblies:
    """Return the candidates that close the loops, after Newton's method with the motors held; each once."""
    free = np.ones(model.nv, np.bool_)
    for name in held:
        free[model.joint(name).v_slice] = False
    kept: list[Array] = []
    places: list[Array] = []
    residuals: list[float] = []
    complete = found.complete
    for candidate in found.q:
        q = candidate
        for _ in range(4):
            state = constraint_quantities(model, constraints, q, model.zero_velocity)
            step = np.zeros(model.nv)
            step[free] = -np.linalg.lstsq(state.jacobian[:, free], state.error, rcond=1e-10)[0]
            q = model.integrate(q, step)
        error = constraint_quantities(model, constraints, q, model.zero_velocity).error
        residual = float(np.abs(error).max(initial=0.0))
        place = _seen(model, constraints, q)
        # Where passive joints can move, solutions are multiple, or there is a whole family of them.
        values = np.linalg.svd(state.jacobian[:, free], compute_uv=False)
        complete &= len(values) == free.sum() and bool(values[-1] > _SINGULAR * values[0])
        size = float(np.ptp(place, axis=0).max())
        if not residual <= CLOSED * size or _distance(_seen(model, constraints, candidate), place) > _NEAR * size:
            complete = False
        elif all(_distance(place, other) > _SAME * size for other in places):
            kept.append(q)
            places.append(place)
            residuals.append(residual)
    return Assemblies(
        np.array(kept).reshape(-1, model.nq), np.array(residuals), complete, found.complex_count, found.method,
        np.ones(len(kept), np.intp),
    )  # fmt: skip


def six_legs(base: Array, platform: Array, lengths: Array) -> tuple[Array, Candidates]:
    """Return all poses (n, 4, 4) of a platform on six legs of given lengths, and what is known of their number."""
    with warnings.catch_warnings():  # where motors stand, points may be almost singular
        warnings.simplefilter("ignore", StewartWarning)
        modes = assembly_modes(StewartPlatform(base, platform, allow_singular=True), lengths)
    method = f"paths from a start system, class {modes.platform_class}"
    if modes.self_motion:
        method += ", which can move though all motors are locked"
    return modes.poses, Candidates(np.empty(0), modes.complex_count, method, modes.certain)


def assemblies_from_starts(
    model: Model, constraints: ConstraintSet, held: Sequence[str], positions: ArrayLike, starts: int = STARTS
) -> Assemblies:
    """Return the configurations to which `assemble` leads from random starts, the joints `held` staying (k,).

    Some may be missing: `Assemblies.complete` is False, and `Assemblies.hits` says how often each was found.
    """
    rng = np.random.default_rng(SEED)
    kept: list[Array] = []
    seen: list[Array] = []
    hits: list[int] = []
    places = [model.joint(name).q_slice.start for name in held]
    for _ in range(starts):
        q = model.random(rng)
        q[places] = positions
        found = assemble(model, constraints, q, held=list(held), tolerance=CLOSED, iterations=60)
        if not found.converged:
            continue
        place = _seen(model, constraints, found.q)
        size = float(np.ptp(place, axis=0).max())
        same = next((k for k, other in enumerate(seen) if _distance(place, other) <= _SAME * size), None)
        if same is None:
            kept.append(_turned_back(model, found.q, held))
            seen.append(place)
            hits.append(1)
        else:
            hits[same] += 1
    method = f"{starts} random starts, of which {sum(hits)} closed"
    result = verified(model, constraints, held, Candidates(np.array(kept).reshape(-1, model.nq), 0, method, False))
    return Assemblies(result.q, result.residuals, False, 0, method, np.array(hits, np.intp)[: len(result)])


def _seen(model: Model, constraints: ConstraintSet, q: Array) -> Array:
    """Return origins and centres of mass of bodies, and both ends of loops: configurations that share them are one.

    So a rod that is turned about itself is the same one, as on a universal joint that is turned over.
    """
    poses = forward_kinematics(model, q)
    mass = np.array([model.inertia(name).com for name in model.body_names])
    points = [poses[:, :3, 3], (poses[:, :3, :3] @ mass[..., None])[..., 0] + poses[:, :3, 3]]
    for loop in constraints.loops:
        for name, end in ((loop.first, loop.first_placement), (loop.second, loop.second_placement)):
            points.append((frame_pose(model, q, name) @ end[:, 3])[None, :3])
    return np.concatenate(points)


def _distance(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max(initial=0.0))


def _turned_back(model: Model, q: Array, held: Sequence[str]) -> Array:
    """Return q with its angles, but those held, within half a turn."""
    turning = [j for j in model.joints if j.kind in ("revolute", "continuous") and j.name not in held]
    places, q = [j.q_slice.start for j in turning], q.copy()
    q[places] = np.angle(np.exp(1j * q[places]))
    return q


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

    def _with_platform(self, T: Array, value: Callable[[list[str]], Array]) -> Array:
        """Return configurations (..., nq) with the free body "platform" at poses; words of names tell other joints."""
        q = np.empty((*T.shape[:-2], self.model.nq))
        for joint in self.model.joints:
            part = q[..., joint.q_slice]
            if joint.name == "platform":
                part[..., :4], part[..., 4:] = quaternion.from_matrix(T[..., :3, :3]), T[..., :3, 3]
            else:
                part[..., 0] = value(joint.name.split("_"))
        return q

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
