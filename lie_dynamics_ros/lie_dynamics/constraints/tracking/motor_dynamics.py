"""`MotorDynamics`: a closed mechanism as its motors feel it; `platform_wrench`: what they exert beyond the model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, ArrayLike
from ...dynamics.inverse_dynamics import gravity_force, inverse_dynamics, mass_matrix
from ...dynamics.kinematics import FrameKind, jacobian
from ...errors import InputError, SingularityError
from ...lie._arrays import as_real
from ...model.arguments import validate_model
from ...model.configuration import shaped
from ...model.model import Model
from ...model.structure import Frame, Joint, JointLimits
from ...shown import shown
from ..constraint_set import ConstraintSet
from ..idle import HELD, idle_freedoms, listed_joints, single_places
from ..inputs import require_constraints
from ..quantities import constraint_quantities
from .result import ClosedMotion, TrackedMotion
from .tracker import ClosedLoopTracker

#: Names of the components of a wrench, in order.
COMPONENTS = ("moment_x", "moment_y", "moment_z", "force_x", "force_y", "force_z")
#: Singular values below this part of the largest determine nothing.
_SINGULAR = 1e-6


@shown
@dataclass(frozen=True, eq=False)
class PlatformWrench:
    """A wrench determined by efforts of motors.

    Attributes
    ----------
    wrench : ndarray, shape (..., 6)
        Moment and force that the environment exerts at the frame's origin [N m, N]; zero where not looked for.
    map : ndarray, shape (6, k)
        By which efforts become wrenches.
    condition : float
        Of that map, each component over its own scale: by how much more errors of efforts may count than efforts do.
    """

    wrench: Array
    map: Array
    condition: float

    def covariance(self, noise: ArrayLike) -> Array:
        """Return the covariance (6, 6) by standard deviations of the efforts, one for all or one for each [N m, N]."""
        try:
            spread = self.map * np.broadcast_to(as_real(noise, (), "noise"), self.map.shape[1:])
        except ValueError:
            count = self.map.shape[1]
            raise InputError(f"noise: one number or {count} are expected, got {noise!r}", name="noise") from None
        return np.asarray(spread @ spread.T)


@validate_model
def platform_wrench(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    efforts: ArrayLike,
    motors: Sequence[str],
    frame: str,
    *,
    components: Sequence[str] = COMPONENTS,
    axes: FrameKind = "body",
) -> PlatformWrench:
    """Return the wrench at a platform that motors balance by what they exert beyond the model.

    With q' = G y' the motion that keeps loops closed and comes nearest to rates y' of the motors, and J the Jacobian of
    the frame, efforts e beyond those of the model balance a wrench w where e = -(J G)^T w, by virtual work. That is
    solved for the components that are looked for, by least squares where the mechanism has more freedoms.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q : array-like, shape (nq,)
        A closed configuration.
    efforts : array-like, shape (..., k)
        Measured ones of the motors, less those that `constrained_inverse_dynamics` returns for the motion [N m, N].
    motors : sequence of str
        Joints of one coordinate.
    frame : str
        A body or frame.
    components : sequence of str
        Components, of `COMPONENTS`, to be determined, in the axes of the frame or as `axes` says; the others are taken
        as zero.
    axes : {"body", "aligned"}
        Axes of the wrench: the frame's, or the world's; its point is the frame's origin.

    Raises
    ------
    InputError
        For more components than freedoms, which efforts cannot determine; for wrong shapes and names.
    SingularityError
        Where some component moves no motor, or the motors do not hold the frame.
    """
    names = tuple(components) if isinstance(components, Iterable) else ()
    if not names or not all(name in COMPONENTS for name in names) or len(set(names)) < len(names):
        raise InputError(f"components: some of {list(COMPONENTS)}, each once, are expected, got {components!r}")
    if axes not in ("body", "aligned"):
        raise InputError(f"axes: 'body' or 'aligned' is expected, got {axes!r}", name="axes")
    places = single_places(model, motors, "motors")
    given = as_real(efforts, (len(places),), "efforts")
    require_constraints(model, constraints)
    closed = np.array(shaped(q, model.nq, "q", model), dtype=float)
    if closed.ndim != 1:
        raise InputError(f"q: one configuration is expected, of shape ({model.nq},), got {closed.shape}", name="q")
    motion = ClosedMotion(model, constraints, closed)
    freedoms = motion.held_by(places)
    J = jacobian(model, motion.q, frame, axes)
    if freedoms < motion.freedoms:
        left = motion.left_by(places)
        if np.abs(J @ left).max() > HELD:  # what they leave is not idle
            raise SingularityError(
                f"model {model.name!r}: the motors {list(motors)} hold {freedoms} of {motion.freedoms} freedoms here; "
                f"{listed_joints(idle_freedoms(model, constraints, motion.q, left))} can still move {frame!r}"
            )
    if len(names) > freedoms:
        raise InputError(
            f"components: the efforts of a mechanism with {freedoms} freedoms determine {freedoms} components at most, "
            f"got {len(names)}",
            name="components",
        )
    at = [COMPONENTS.index(name) for name in names]
    felt = (J @ motion.gain(places, np.ones(len(places))))[at].T  # (k, n)
    sizes = np.linalg.norm(felt, axis=0)
    u, s, vt = np.linalg.svd(felt / np.where(sizes > 0.0, sizes, 1.0), full_matrices=False)
    if not (sizes > 0.0).all() or s[-1] <= _SINGULAR * s[0]:
        raise SingularityError(f"model {model.name!r}: {', '.join(names)} at {frame!r} cannot be distinguished here")
    found = np.zeros((6, len(places)))
    found[at] = -((vt.T / s) @ u.T) / sizes[:, None]
    return PlatformWrench(given @ found.T, found, float(s[0] / s[-1]))


_KEPT = 8
#: Inertias of idle freedoms that are smaller, relative to the largest of all, are none.
_NO_INERTIA = 1e-14
_SAME = 1e-9
#: Proven steps of a way to one y, as controllers ask for them, and to each of a batch.
_QUICK_STEPS, _STEPS = 1000, 100_000


class _Maps(NamedTuple):
    """Rates of all coordinates from those of the motors, q' = T y', at some configurations."""

    q: Array  # (..., nq)
    T: Array  # (..., nv, f)
    passive: Array  # A of the joints without motors (..., m, nv - f)
    idle: int = 0  # freedoms that the motors leave


class _Place:
    """Configuration of the mechanism, shared by all copies of a `MotorDynamics`."""

    def __init__(self, tracker: ClosedLoopTracker, q: Array) -> None:
        self.tracker, self.q, self.lost = tracker, q, False
        self.maps: dict[bytes, _Maps] = {}
        self.batch: tuple[Array, _Maps] | None = None  # the last one


class MotorMotion:
    """How a closed mechanism moves with its motors, at positions y: q' = T y', which keeps all loops closed.

    Arguments, attributes and errors are those of `MotorDynamics`.
    """

    tree: Model
    name: str
    n_bodies: int
    frames: Mapping[str, Frame]
    frame: Callable[[str], Frame]
    joint: Callable[[str], Joint]

    def __init__(
        self,
        model: Model,
        constraints: ConstraintSet,
        q: ArrayLike,
        motors: Sequence[str],
        *,
        idle: Sequence[str] = (),
    ) -> None:
        tracker = ClosedLoopTracker(model, constraints, q, motors, idle=idle)
        start, setup, freedoms = tracker.q, tracker.setup, tracker.freedoms
        if len(setup.names) != freedoms:
            raise InputError(
                f"motors: {freedoms} joints are expected, as many as the mechanism has freedoms, got "
                f"{len(setup.names)}: {', '.join(setup.names)}",
                name="motors",
            )
        self.constraints, self.joint_names = constraints, setup.names
        self._use(model)
        self.nv = self.nq = freedoms
        self.idle = tracker.idle
        self._places, self._positions = setup.places, setup.positions
        self._others = np.setdiff1d(np.arange(model.nv), self._places)
        at = {name: self._positions if name in ("lower", "upper") else self._places for name in _LIMITS}
        self.limits = JointLimits(**{name: getattr(model.limits, name)[at[name]] for name in _LIMITS})
        self._place = _Place(tracker, start)

    def _use(self, model: Model) -> None:
        self.tree, self.name, self.n_bodies, self.frames = model, model.name, model.n_bodies, model.frames
        self.frame, self.joint = model.frame, model.joint

    @property
    def q(self) -> Array:
        """The configuration (nq,) in which the mechanism stands."""
        return self._place.q.copy()

    def stand(self, q: Array, lost: bool = False) -> None:
        """From now on go from a closed configuration (nq,), which is not checked: see `ClosedLoopTracker.update`.

        Where it is `lost`, the present one is unknown: single results are those of `q` then, whatever y.
        """
        self._place.q, self._place.lost = np.array(q), lost
        self._place.maps.clear()

    def along(self, y: ArrayLike) -> TrackedMotion:
        """Return the configurations along positions of the motors (k, f), one after another; changes nothing."""
        place = self._place
        return place.tracker.twin(place.q, _STEPS).update_many(y)

    def configuration(self, y: ArrayLike) -> Array:
        """Return configurations (..., nq) for positions of the motors (..., f).

        Raises
        ------
        SingularityError
            Where there is no regular way there.
        """
        return self._at(as_real(y, (self.nv,), "y")).q.copy()

    def _at(self, y: Array) -> _Maps:
        place = self._place
        if y.ndim > 1:
            return self._rows(y)
        key = b"" if place.lost else y.tobytes()
        maps = place.maps.get(key)
        if maps is None:
            q = place.q
            if not place.lost and not np.array_equal(q[self._positions], y):
                tracked = place.tracker.twin(q, _QUICK_STEPS).update(y)
                if not tracked.valid:
                    raise SingularityError(f"motors at {y.tolist()}: {tracked.message}", name=tracked.status.name)
                q = tracked.q
            if len(place.maps) >= _KEPT:
                place.maps.clear()
            maps = place.maps[key] = self._maps(q)
        return maps

    def _rows(self, y: Array) -> _Maps:
        """Return maps of a batch; those of the last one where it was the same, and began in the same configuration."""
        flat, place = np.ascontiguousarray(y.reshape(-1, self.nv)), self._place
        tracker, known = place.tracker.twin(place.q, _STEPS), place.batch
        if known is not None and len(flat) and np.array_equal(known[0], y):
            first = tracker.update(flat[0])
            if first.valid and np.abs(first.q - known[1].q.reshape(len(flat), -1)[0]).max() < _SAME:
                return known[1]
            tracker = place.tracker.twin(place.q, _STEPS)
        found = tracker.update_many(flat)
        if not found.valid.all():
            k = int(np.argmin(found.valid))
            raise SingularityError(f"motors at {flat[k].tolist()}: {found[k].message}")
        maps = self._maps(found.q.reshape(*y.shape[:-1], -1))
        place.batch = y.copy(), maps
        return maps

    def _maps(self, q: Array) -> _Maps:
        A = constraint_quantities(self.tree, self.constraints, q, np.zeros((*q.shape[:-1], self.tree.nv))).jacobian
        passive = A[..., self._others]
        T = np.empty((*q.shape[:-1], self.tree.nv, self.nv))
        T[..., self._places, :] = np.eye(self.nv)
        count = sum(one.count for one in self.idle)
        T[..., self._others, :] = _solved(passive, -A[..., self._places], count)
        if count:
            N = np.zeros((*q.shape[:-1], self.tree.nv, count))
            N[..., self._others, :] = np.swapaxes(np.linalg.svd(passive)[2][..., -count:, :], -1, -2)
            M = mass_matrix(self.tree, q)
            w, v = np.linalg.eigh(np.swapaxes(N, -1, -2) @ M @ N)
            some = w > _NO_INERTIA * np.abs(M).max(axis=(-1, -2))[..., None]
            N = np.where(some[..., None, :], N @ v, 0.0)
            T -= N @ (np.swapaxes(N, -1, -2) @ M @ T / np.where(some, w, 1.0)[..., None])
        return _Maps(q, T, passive, count)

    def rates(self, y: ArrayLike, yd: ArrayLike) -> Array:
        """Return the rates of all coordinates (..., nv) from those of the motors (..., f)."""
        return _times(self._at(as_real(y, (self.nv,), "y")).T, as_real(yd, (self.nv,), "yd"))

    def accelerations(self, y: ArrayLike, yd: ArrayLike, ydd: ArrayLike) -> Array:
        """Return the accelerations of all coordinates (..., nv): T y'' + dT/dt y'."""
        maps = self._at(as_real(y, (self.nv,), "y"))
        return self._accelerations(maps, _times(maps.T, as_real(yd, (self.nv,), "yd")), as_real(ydd, (self.nv,), "ydd"))

    def _accelerations(self, maps: _Maps, rates: Array, ydd: Array) -> Array:
        found = _times(maps.T, ydd)
        if rates.any():
            bias = constraint_quantities(self.tree, self.constraints, maps.q, rates).bias
            found[..., self._others] -= _solved(maps.passive, bias[..., None], maps.idle)[..., 0]
        return found


class MotorDynamics(MotorMotion):
    """A closed mechanism as its motors feel it: M(y) y'' + h(y, y') = u, with y the positions of the motors.

    With q' = T y', which keeps all loops closed, and T the unit matrix at the motors, what loops transmit does no work:
    M = T^T M_tree T and h = T^T (h_tree + M_tree dT/dt y'), and friction and wrenches at other joints come along
    (doc/closed_loops.md). Of several configurations for y, continuation selects one, from where the mechanism
    `stands`: the end of the regular straight line in y from there, see `ClosedLoopTracker`.

    Idle freedoms N, such as rods that spin between ball joints, move freely: T is the one with N^T M T = 0, which the
    motors make where nothing else moves them.

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut, without user-defined joints.
    constraints : ConstraintSet
        Loops and couplings.
    q : array-like, shape (nq,)
        Closed configuration to begin with.
    motors : sequence of str
        Joints of one coordinate with motors, as many as freedoms, idle ones apart.
    idle : sequence of str
        As for `ClosedLoopTracker`.

    Raises
    ------
    InputError
        For more or fewer motors than freedoms, open loops, and arguments that make no sense.
    SingularityError
        Where `q` is singular for these motors.

    Attributes
    ----------
    tree : Model
    constraints : ConstraintSet
    name, n_bodies, frames, frame, joint
        As those of the tree.
    joint_names : tuple of str
        The motors.
    nv, nq : int
        Their number.
    limits : JointLimits
        Of the motors.
    idle : tuple of IdleFreedom
        What the motors leave.

    Results for one y are found once and kept; they belong to one thread at a time. Batches (..., f) are found afresh,
    one row after another along straight lines, and may be requested in any thread.
    """

    @property
    def gravity(self) -> Array:
        """Of the tree (3,) [m/s^2]."""
        return self.tree.gravity

    def with_model(self, model: Model) -> MotorDynamics:
        """Return the same mechanism, standing where this one does, with another inertia, losses or gravity."""
        if model.joint_names != self.tree.joint_names:
            raise InputError("model: the same tree is expected, got one with other joints", name="model")
        other = copy.copy(self)
        other._use(model)
        return other

    def with_gravity(self, gravity: ArrayLike) -> MotorDynamics:
        """Return it under another gravity, see `Model.with_gravity`."""
        return self.with_model(self.tree.with_gravity(gravity))

    def with_payload(self, *args: Any, **options: Any) -> MotorDynamics:
        """Return it with a payload, see `Model.with_payload`."""
        return self.with_model(self.tree.with_payload(*args, **options))

    def with_joint_terms(self, **options: bool) -> MotorDynamics:
        """Return it with losses and armature, see `Model.with_joint_terms`."""
        return self.with_model(self.tree.with_joint_terms(**options))

    def difference(self, y0: ArrayLike, y1: ArrayLike) -> Array:
        """Return y1 - y0 (..., f); InputError for other shapes, NaN and infinity."""
        return np.asarray(as_real(y1, (self.nv,), "y1") - as_real(y0, (self.nv,), "y0"))

    def neutral(self) -> Array:
        """Return where the motors are (f,): positions from which no way leads through singular configurations."""
        return np.array(self._place.q[self._positions])

    def jacobian(self, y: ArrayLike, frame: str, axes: FrameKind = "body") -> Array:
        """Return the Jacobian (..., 6, f) of a body or frame with respect to the motors; axes as in `jacobian`."""
        maps = self._at(as_real(y, (self.nv,), "y"))
        return np.asarray(jacobian(self.tree, maps.q, frame, axes) @ maps.T)

    def mass_matrix(self, y: ArrayLike) -> Array:
        """Return T^T M T (..., f, f) [kg m^2, kg m, kg]."""
        maps = self._at(as_real(y, (self.nv,), "y"))
        return np.asarray(np.swapaxes(maps.T, -1, -2) @ mass_matrix(self.tree, maps.q) @ maps.T)

    def gravity_force(self, y: ArrayLike) -> Array:
        """Return the efforts (..., f) of the motors that hold the mechanism at rest [N m, N]."""
        maps = self._at(as_real(y, (self.nv,), "y"))
        return _felt(maps.T, gravity_force(self.tree, maps.q))

    def inverse_dynamics(self, y: ArrayLike, yd: ArrayLike, ydd: ArrayLike, f_ext: ArrayLike | None = None) -> Array:
        """Return the efforts (..., f) of the motors for a motion; `f_ext` (..., n_bodies, 6) as for the tree."""
        maps = self._at(as_real(y, (self.nv,), "y"))
        rates = _times(maps.T, as_real(yd, (self.nv,), "yd"))
        accelerations = self._accelerations(maps, rates, as_real(ydd, (self.nv,), "ydd"))
        return _felt(maps.T, inverse_dynamics(self.tree, maps.q, rates, accelerations, f_ext))

    def forward_dynamics(self, y: ArrayLike, yd: ArrayLike, effort: ArrayLike, f_ext: ArrayLike | None = None) -> Array:
        """Return the accelerations (..., f) of the motors under efforts (..., f)."""
        rest = as_real(effort, (self.nv,), "effort") - self.inverse_dynamics(y, yd, np.zeros(self.nv), f_ext)
        return _solved(self.mass_matrix(y), rest[..., None])[..., 0]


_LIMITS = tuple(field.name for field in fields(JointLimits))


def _times(T: Array, rates: Array) -> Array:
    return np.asarray((T @ rates[..., None])[..., 0])


def _felt(T: Array, load: Array) -> Array:
    return np.asarray((load[..., None, :] @ T)[..., 0, :])


def _solved(A: Array, b: Array, idle: int = 0) -> Array:
    """Return the solution of A x = b, by least squares; the shortest where some are idle."""
    try:
        if A.shape[-2] == A.shape[-1] and not idle:
            return np.asarray(np.linalg.solve(A, b))
        return np.asarray(np.linalg.pinv(A, HELD if idle else 1e-15) @ b)
    except np.linalg.LinAlgError as error:
        raise SingularityError(f"the motors do not hold the mechanism at this configuration: {error}") from error
