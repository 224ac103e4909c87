"""The Model: an immutable robot, ready for every algorithm; `ModelBuilder` makes one body by body."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import DescriptionWarning, InputError
from ..lie import SpatialInertia
from ..lie._arrays import numbers
from ..shown import shared_options
from . import configuration, layout
from .bodies import BodyTree
from .checks import check_joint_terms
from .coupling import couple
from .model_data import ModelData
from .pack import copied, get_inertia, put_inertia, put_round_off, refresh_columns
from .structure import ActuationTerms, AnySpring, free_rotors, free_sliding, joint_springs

if TYPE_CHECKING:
    from typing import Unpack


class FileOptions(TypedDict, total=False):
    """Keywords of `file_options`."""

    package_dirs: Sequence[str | PathLike[str]]
    inertia_check: Literal["error", "warn", "ignore"]
    max_size: int | None


def file_options(
    *,
    package_dirs: Sequence[str | PathLike[str]] = (),
    inertia_check: Literal["error", "warn", "ignore"] = "error",
    max_size: int | None = None,
) -> tuple[Sequence[str | PathLike[str]], Literal["error", "warn", "ignore"], int]:
    """Return where packages are, what happens to inertias that no body can have, and the largest size [bytes]."""
    from .urdf.reader import MAX_SIZE

    return package_dirs, inertia_check, MAX_SIZE if max_size is None else max_size


class Model(ModelData):
    """A tree of rigid bodies, immutable and safe to share between threads.

    Made by `Model.from_urdf` or `ModelBuilder`. Body ``i`` is carried by joint ``i``; bodies come after their
    parents. Welded bodies are part of the body they are fixed to, and their names are frames.

    Attributes are those of `ModelData`.
    """

    __slots__ = ()

    _weightless: Model | None  # this model without gravity, kept once it was requested

    def __reduce__(self) -> tuple[Any, ...]:
        data = (self.name, self.rows, self.joints, dict(self.frames), self.limits, self.coupling)
        return _restore, (data, self.actuation_terms, self.body_springs)

    @classmethod
    @shared_options(file_options)
    def from_urdf(
        cls,
        xml_or_path: str | bytes | PathLike[str],
        floating_base: bool = False,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        couple_mimics: bool = False,
        locked: Mapping[str, float] | None = None,
        base_link: str | None = None,
        with_carriers: bool = False,
        **reading: Unpack[FileOptions],
    ) -> Model:
        """Read a model from URDF, version 1.0, 1.1 or 1.2; see `read_urdf` for what is read, refused and warned of.

        Parameters
        ----------
        xml_or_path : str, bytes or path
            URDF text (also as xacro puts it out), a file's path, or a ``package://`` or ``file://`` URI.
        floating_base : bool
            Give the root link a free joint, called "root_joint", on the world. Otherwise the root link is fixed.
        gravity : array-like, shape (3,)
            Acceleration of free fall in the world frame [m/s^2].
        couple_mimics : bool
            Let mimic joints lose their coordinates to the joints they follow, see `with_coupled_mimics`.
        package_dirs : sequence of path
            Further folders in which ``package://`` URIs are looked up.
        inertia_check : {"error", "warn", "ignore"}
            What to do about inertias that no body can have; see `read_urdf`.
        max_size : int, optional
            Largest text or file that is read [bytes]; `urdf.reader.MAX_SIZE` when left out.
        locked : mapping of str to float, optional
            Joints that do not move, and where they are [rad or m]: what they carry is part of the body before them.
        base_link : str, optional
            Lock all joints that do not lie below this link, at zero unless `locked` gives a position. The world frame
            and its gravity remain those of the whole robot.
        with_carriers : bool
            Do not lock the joints between the root link and `base_link`, which carry it; they come first.

        Raises
        ------
        DescriptionError, InertiaError
            For a description that cannot be read or makes no sense; names the link or joint.

        Notes
        -----
        Joints are ordered depth first, siblings by joint name. Mimic joints are coordinates of their own.
        """
        from .bodies import bodies_from_description
        from .description import lock_joints
        from .urdf.reader import read_urdf

        on_world = not floating_base and base_link is None
        description = read_urdf(xml_or_path, *file_options(**reading), on_world=on_world)
        if all(link.inertia is None for link in description.links) and len(description.links) > 1:
            text = "no link has an <inertial>: all bodies are massless, and nothing of the dynamics can be computed"
            warnings.warn(f"robot '{description.name}': {text}", DescriptionWarning, stacklevel=3)
        if locked or base_link is not None:
            description = lock_joints(description, locked or {}, base_link, with_carriers)
        bodies = bodies_from_description(description, floating_base)
        model = cls(description.name, *bodies.parts()).with_gravity(gravity)
        return model.with_coupled_mimics() if couple_mimics else model

    @classmethod
    def from_mjcf(cls, source: Any) -> Model:
        """Read a model from MJCF by MuJoCo's own compiler (``pip install mujoco``).

        Bodies, joints and their coordinates are those of MuJoCo, in its order. Values of joints are its ``qpos``, but
        free and ball joints have the order of entries of all models here, see ``doc/models.md``. Bodies and sites are
        frames. Where MuJoCo's body frame is at no joint, the body that moves has another frame and the name
        "body/joint". Armature, damping, dry friction and springs are in `limits`, spatial tendons between two sites
        and springs of balls in `body_springs`. Equality constraints come by `ConstraintSet.from_mjcf`.

        Parameters
        ----------
        source : str, path or mujoco.MjModel
            MJCF text, a file's path, or a model that is compiled already.

        Raises
        ------
        DescriptionError
            If MuJoCo is not installed, or refuses the model; or for a free joint whose armature, damping or friction
            differs between directions, which MuJoCo takes along the world's axes.

        Warns
        -----
        DescriptionWarning
            Once, for what the model leaves out: other tendons, actuators, contacts, the medium, ...
        """
        from .mjcf import read_mjcf

        name, bodies, gravity, springs = read_mjcf(source)
        model = cls(name, *bodies.parts()).with_gravity(gravity)
        return model.with_body_springs(springs).with_joint_terms() if springs else model

    @classmethod
    @shared_options(file_options)
    def from_sdf(
        cls,
        source: str | bytes | PathLike[str],
        floating_base: bool = False,
        gravity: ArrayLike | None = None,
        *,
        model: str | None = None,
        **reading: Unpack[FileOptions],
    ) -> Model:
        """Read a model from SDF, version 1.4 to 1.12: the tree; its loops come by `ConstraintSet.from_sdf`.

        All coordinates are zero where the file puts the links. Links and frames are frames of the same names, those of
        a nested model as "nested::link". Where the joint of a link is not at the link's origin, the body that moves has
        the name "link/joint". See ``doc/models.md`` for which joints are cut where there are loops.

        Parameters
        ----------
        source : str, bytes or path
            SDF text, a file's path, or a ``package://`` or ``file://`` URI.
        floating_base : bool
            Give the robot a free joint, called "root_joint", on the world, for its pose there. Otherwise it is fixed
            where the file puts it.
        gravity : array-like, shape (3,), optional
            Acceleration of free fall in the world frame [m/s^2]. When left out that of the <world>, and (0, 0, -9.81)
            for a model without one.
        package_dirs, inertia_check, max_size
            As for `from_urdf`. An <include> of "model://NAME" is read from NAME/model.sdf in one of package_dirs.
        model : str, optional
            Name of the model that is the robot, of one in another "outer::inner". When left out the only one, or the
            only one that is not static.

        Raises
        ------
        DescriptionError, InertiaError
            For a description that cannot be read or makes no sense; names the link or joint. For several models of
            which none is chosen; names them.

        Warns
        -----
        DescriptionWarning
            Once for what the model leaves out, and once for what is not known in SDF.

        Notes
        -----
        Joints are ordered depth first, siblings by joint name. Mimic joints are coordinates of their own.
        """
        from .sdf.reader import read_sdf

        robot = read_sdf(source, floating_base, *file_options(**reading), model)
        for remark in robot.remarks:
            warnings.warn(f"robot '{robot.name}': {remark}", DescriptionWarning, stacklevel=3)
        if gravity is None:
            gravity = (0.0, 0.0, -9.81) if robot.gravity is None else robot.gravity
        return cls(robot.name, *robot.bodies.parts()).with_gravity(gravity)

    def to_urdf(self, *, without_armature: bool = False) -> str:
        """Return this model as URDF, which `from_urdf` reads back, equal to round-off but for the order of joints.

        Gravity is not part of URDF: give it to `from_urdf` again. Limits that are infinite are written as "inf". A
        helical joint becomes a hinge and a slide that mimics it, "JOINT_rise": `with_coupled_mimics` makes them one.

        Parameters
        ----------
        without_armature : bool
            Leave out the inertia of rotors, an attribute of <dynamics> that most other readers pass over.

        Raises
        ------
        DescriptionError
            For what URDF cannot hold: joints that are none of its kinds, losses and rotors that differ between the
            coordinates of a joint, coupled mimics, springs between bodies; names the joint or spring.
        """
        from .urdf.writer import write_urdf

        return write_urdf(self, without_armature)

    # -- physical data ---------------------------------------------------------------------------------------------

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall in the world frame [m/s^2], (3,)."""
        return self.rows[0, layout.GRAVITY : layout.GRAVITY + 3].copy()

    def with_gravity(self, gravity: ArrayLike) -> Model:
        """Return this model with another gravity vector (3,) in the world frame [m/s^2], e.g. (0, 0, -9.81)."""
        vector = numbers(gravity)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise InputError(
                f"gravity: three finite numbers are expected, got {gravity!r}", name="gravity", value=gravity
            )
        table = copied(self.table)
        table[0, layout.GRAVITY : layout.GRAVITY + 3] = vector
        return self._changed(table)

    def without_gravity(self) -> Model:
        """Return this model without gravity; made once, since recursions ask for it again and again."""
        if self._weightless is None:
            object.__setattr__(self, "_weightless", self.with_gravity((0.0, 0.0, 0.0)))
        assert self._weightless is not None
        return self._weightless

    def with_inertia(self, body: str | int, inertia: SpatialInertia) -> Model:
        """Return this model with another inertia, in the body frame, of one moving body and all welded to it.

        Raises
        ------
        InputError
            If there is no such moving body.
        InertiaError
            If no body can have this inertia.
        """
        frame = self.moving_frame(body)
        name = self.joints[frame.body].body
        inertia.check(name)
        table = copied(self.table)
        put_inertia(table[self.body_rows[frame.body]], inertia.transformed(frame.placement))
        return self.with_table(table)

    def with_payload(self, body: str | int, mass: float, com: ArrayLike, inertia: ArrayLike | None = None) -> Model:
        """Return this model with a payload fixed to a body; cheap enough to call while a robot runs.

        Parameters
        ----------
        body : str or int
            Body or frame that carries it.
        mass : float
            Mass [kg], not negative.
        com : array-like, shape (3,)
            Its centre of mass in the frame of `body` [m].
        inertia : array-like, shape (3, 3), optional
            Rotational inertia about its centre of mass, in axes of that frame [kg m^2]; a point mass when left out.

        Raises
        ------
        InputError
            If there is no such body, or the body does not move.
        InertiaError
            If no payload can have this inertia.
        """
        frame = self.moving_frame(body)
        payload = SpatialInertia(mass, np.asarray(com), np.zeros((3, 3)) if inertia is None else np.asarray(inertia))
        payload.check(f"payload on {frame.name}")
        table = copied(self.table)
        row = table[self.body_rows[frame.body]]
        put_inertia(row, get_inertia(row) + payload.transformed(frame.placement))
        return self.with_table(table)

    def with_joint_terms(
        self, armature: bool = False, damping: bool = False, friction: bool = False, springs: bool = False
    ) -> Model:
        """Return this model with rotors, viscous damping, dry friction or springs of `limits` as part of its dynamics.

        So are damping and stiffness of `body_springs`. They are left out by default: then the dynamics are those of the
        rigid bodies alone.

        Raises
        ------
        DescriptionError
            For armature that differs between the directions of a ball or free joint, see
            `checks.check_joint_terms`; names the joint.

        Notes
        -----
        Armature and dry friction along the position of a free joint act along the axes in which the position is
        counted, those of the world where the joint stands on it, as in MuJoCo.
        """
        table = copied(self.table)
        limits = self.limits if self.coupling is None else self.coupling.limits
        if armature:
            check_joint_terms(self.joints, self.limits.armature)
        table[1 : self.rows.shape[0], layout.ARMATURE] = limits.armature if armature else 0.0
        zero = np.zeros(self.nv)
        rotors = free_rotors(self.joints, self.limits.armature) if armature else ()
        losses = (self.limits.damping if damping else zero, self.limits.friction if friction else zero)
        sliding = free_sliding(self.joints, losses[1])
        held = joint_springs(self.joints, self.limits) if springs else ()
        between = tuple(
            replace(one, stiffness=one.stiffness if springs else 0.0, damping=one.damping if damping else 0.0)
            for one in self.body_springs
            if springs or damping
        )
        terms = ActuationTerms(*losses, rotors, sliding, held, between)
        return self._changed(table, terms if damping or friction or rotors or held or between else None)

    def with_armature(self, armature: ArrayLike) -> Model:
        """Return this model with other rotors (nv,), which are part of its dynamics [kg m^2 or kg].

        Raises
        ------
        InputError
            For another shape, numbers that are negative or not finite, and models with coupled mimics.
        DescriptionError
            As `with_joint_terms`.
        """
        values = numbers(armature)
        good = values.shape == (self.nv,) and bool((np.isfinite(values) & (values >= 0.0)).all())
        if not good or self.coupling is not None:
            raise InputError(
                f"armature: {self.nv} numbers, none negative, of a model without coupled mimics are expected, got "
                f"{armature!r}",
                name="armature",
                value=armature,
            )
        check_joint_terms(self.joints, values)
        table = copied(self.table)
        table[1 : self.rows.shape[0], layout.ARMATURE] = values
        rotors, terms = free_rotors(self.joints, values), self.actuation_terms
        if rotors or terms is not None:
            none = ActuationTerms(self.zero_velocity, self.zero_velocity)
            terms = (terms or none)._replace(free_rotors=rotors)
        return self._changed(table, terms, limits=replace(self.limits, armature=values))

    def with_springs(self, springs: Mapping[str, tuple[float, float]]) -> Model:
        """Return this model with springs on joints in place of its own, as part of its dynamics.

        Parameters
        ----------
        springs : mapping of str to (float, float)
            For each joint with a spring its stiffness k [N m/rad or N/m] and its position at rest q0 [rad or m]. The
            spring exerts -k (q - q0).

        Raises
        ------
        InputError
            For what is no mapping, an unknown joint, one that has not one coordinate, a stiffness that is negative,
            numbers that are not finite, and models with coupled mimics; names the joint.
        """
        if self.coupling is not None:
            raise InputError("springs: a model without coupled mimics is expected; couple them afterwards")
        if not isinstance(springs, Mapping):
            raise InputError(f"springs: a mapping of joints' names is expected, got {springs!r}", name="springs")
        stiffness, reference = np.zeros(self.nv), np.zeros(self.nv)
        for name, given in springs.items():
            joint, pair = self.joint(name), numbers(given)
            good = joint.type.nq == joint.type.nv == 1 and pair.shape == (2,) and math.isfinite(sum(pair))
            if not good or pair[0] < 0.0:
                raise InputError(
                    f"springs: joint {name!r}: a joint of one coordinate, and two finite numbers, a stiffness that is "
                    f"not negative and a position, are expected, got a {joint.kind} joint and {given!r}",
                    name=name,
                    value=given,
                )
            stiffness[joint.v_slice], reference[joint.v_slice] = pair
        limits = replace(self.limits, stiffness=stiffness, spring_reference=reference)
        terms = self.actuation_terms or ActuationTerms(self.zero_velocity, self.zero_velocity)
        terms = terms._replace(springs=joint_springs(self.joints, limits))
        return self._changed(copied(self.table), terms, limits=limits)

    def with_body_springs(self, springs: Sequence[AnySpring]) -> Model:
        """Return this model with springs and dampers between bodies in place of its own, as part of its dynamics.

        Raises
        ------
        InputError
            For what is no sequence of `BodySpring` or `TorsionSpring`, and ends that are no frames or on one body.
        """
        if not isinstance(springs, Sequence) or not all(isinstance(one, AnySpring) for one in springs):
            text = f"springs: a sequence of BodySpring or TorsionSpring is expected, got {springs!r}"
            raise InputError(text, name="springs")
        for one in springs:
            if self.frame(one.first).body == self.frame(one.second).body:
                raise InputError(f"spring {one.name!r}: ends on two bodies are expected", name=one.name)
        terms = self.actuation_terms or ActuationTerms(self.zero_velocity, self.zero_velocity)
        terms = terms._replace(body_springs=tuple(springs))
        return self._changed(copied(self.table), terms, body_springs=tuple(springs))

    def with_joint_prefix(self, prefix: str) -> Model:
        """Return this model with other names of its joints, which begin with a prefix; those of links stay."""
        if not isinstance(prefix, str):
            raise InputError(f"prefix: a text is expected, got {prefix!r}", name="prefix", value=prefix)
        joints = tuple(joint.with_prefix(prefix) for joint in self.joints)
        users = tuple(j for j in joints if j.type.custom is not None)
        by_name = {joint.name: joint for joint in joints}
        return self._changed(self.table, joints=joints, _by_name=by_name, custom_joints=users)

    def with_coupled_mimics(self) -> Model:
        """Return this model with its mimic joints coupled: they lose their coordinates to the joints they follow.

        Joint forces then are those at the remaining coordinates. Forward and hybrid dynamics of such a model solve
        with its dense mass matrix, since a coupling across the tree is a closed loop.

        Raises
        ------
        DescriptionError
            If a joint follows one that does not move or itself, or either has more than one coordinate.
        """
        found = None if self.coupling is not None else couple(self.joints, self.limits)
        if found is None:
            return self
        joints, limits, coupling = found
        model = Model(self.name, self.rows, joints, self.frames, limits, coupling)
        object.__setattr__(model, "body_springs", self.body_springs)
        if self.actuation_terms is None:
            return model
        damping, friction, rotors, _, springs, between = self.actuation_terms
        damping, friction = coupling.rates.T**2 @ damping, np.abs(coupling.rates).T @ friction
        rotors, sliding = free_rotors(joints, limits.armature) if rotors else (), free_sliding(joints, friction)
        held = joint_springs(joints, limits) if springs else ()
        return _with_terms(model, ActuationTerms(damping, friction, rotors, sliding, held, between))

    def with_table(self, table: Array) -> Model:
        """Return this model with other numbers in the rows of its table, a copy made by `pack.copied`.

        Of the internal interface: bounds of round-off and the columns behind the rows are brought up to date here.
        """
        put_round_off(table[: self.rows.shape[0]])
        refresh_columns(table)
        return self._changed(table)

    def _changed(self, table: Array, terms: ActuationTerms | Literal["same"] | None = "same", **values: Any) -> Model:
        # Everything but the table is shared: a changed copy costs microseconds.
        assert table.shape == self.table.shape, "the columns behind the rows would be missing"
        model = object.__new__(Model)
        for key in ModelData.__slots__:
            object.__setattr__(model, key, getattr(self, key))
        for key, value in (("_weightless", None), ("table", table), ("rows", table[: len(self.rows)]), *values.items()):
            object.__setattr__(model, key, value)
        return model if terms == "same" else _with_terms(model, terms)

    # -- configurations --------------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """Return the configuration (nq,) with all coordinates zero and all rotations the identity."""
        return configuration.neutral(self)

    def random(self, rng: np.random.Generator | int) -> Array:
        """Return a random configuration (nq,), uniform within the limits; `rng` may be a seed, too.

        Angles without limits are in (-pi, pi), lengths without limits in (-1, 1) m, and rotations are uniform.
        """
        return configuration.random(self, rng)

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the configurations (..., nq) reached from `q` (..., nq) along the tangent vectors `v` (..., nv).

        Sums for axis joints; q exp(v) for ball and free joints, v in the child frame.
        """
        return configuration.integrate(self, q, v)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the tangent vectors v (..., nv) with ``integrate(q0, v) == q1``."""
        return configuration.difference(self, q0, q1)


def _with_terms(model: Model, terms: ActuationTerms | None) -> Model:
    object.__setattr__(model, "actuation_terms", terms)
    object.__setattr__(model, "plain", terms is None and not model.custom_joints and model.coupling is None)
    return model


def _restore(data: tuple[Any, ...], terms: ActuationTerms | None, springs: tuple[AnySpring, ...] = ()) -> Model:
    model = _with_terms(Model(*data), terms)
    object.__setattr__(model, "body_springs", springs)
    return model


class ModelBuilder(BodyTree):
    """Collects bodies, parents first, and makes a Model of them.

    Parameters
    ----------
    gravity : array-like, shape (3,)
        Acceleration of free fall in the world frame [m/s^2].
    world : str
        Name of the inertial frame.
    judge_inertias : bool
        Refuse inertias that no body can have; False where they have been checked, perhaps with what is welded to them.

    Examples
    --------
    >>> builder = ModelBuilder()
    >>> rod = SpatialInertia(1.0, [0.5, 0, 0], np.diag([0.0, 1.0, 1.0]) / 12.0)
    >>> model = builder.add("upper", joint=revolute([0, 1, 0]), inertia=rod).build()
    """

    def __init__(
        self, gravity: ArrayLike = (0.0, 0.0, -9.81), world: str = "world", judge_inertias: bool = True
    ) -> None:
        super().__init__(world, judge_inertias)
        self._gravity = gravity

    def build(self, name: str = "robot") -> Model:
        """Return the model of the bodies added so far.

        Raises
        ------
        InputError
            If gravity is no finite 3-vector.
        """
        return Model(name, *self.parts()).with_gravity(self._gravity)
