"""`ConstraintSet`: loops, couplings and user constraints of one model, ready for the algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np

from ..arrays import Array, Mask
from ..engine.lanes import LANES
from ..errors import DescriptionError, InputError
from ..model import layout
from ..model.model import Model
from .kernels import loops as lk
from .kinds import Coupling, Loop, UserConstraint, facing, mimic_couplings, scalars, upright

Constraint = Loop | Coupling | UserConstraint


@dataclass(frozen=True, eq=False)
class ConstraintTable:
    """Constraints of one model as kernels read them."""

    loops: Array  # rows of `kernels.loops`, one a loop
    scalars: Array  # likewise, one a scalar constraint
    fixed: Array  # A of the k couplings (1, k, nv)
    fixed_values: Array  # zeros for their errors and dA/dt qd (1, k, 2)
    coupling_q: Array  # couplings as functions of q (k, nq)
    offsets: Array  # (k,)
    user_size: int  # number of scalar user constraints, which come last
    through_custom: Mask  # which loops pass a user-defined joint
    settings: Array  # stabilisation, none, and the tolerance of the rank (3,)
    quaternions: tuple[int, ...]  # where in q they begin
    ends: tuple[int, int]  # where accelerations and multipliers end in a result
    result_size: int  # numbers of a result
    packed: Array  # loops, couplings and settings in one array (n,)
    row: Array  # the same (1, n)
    quick_head: Array  # what comes before the given accelerations of one state in hybrid dynamics
    quick_tail: Array  # what comes behind them and which they are


class ConstraintSet:
    """All constraints of a model, in the order loops, couplings, user constraints; immutable.

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut. The set also fits changed copies of it (payload, gravity, ...).
    constraints : iterable of Loop, Coupling or UserConstraint
        What holds. Their names must differ.
    rank_tolerance : float
        A constraint whose part that is independent of the others is smaller than the square root of this, relative to
        its own size, counts as dependent on them. Measured in the metric of the mass matrix.

    Attributes
    ----------
    size : int
        Number m of scalar constraints.
    names : tuple of str
        Names, in order.
    slices : mapping of str to slice
        Which scalar constraints each name has.
    joints : tuple of Joint
        Those of the model, the same object for all models that need no other look.
    table : ConstraintTable
        What kernels read.
    known_spins : dict
        What `idle` has found for sets of given coordinates, so that it looks once.

    Raises
    ------
    DescriptionError
        For a name used twice or unknown to the model, or a joint of several coordinates in a coupling.
    InputError
        For a model whose mimic joints are coupled already.
    """

    def __init__(self, model: Model, constraints: Iterable[Constraint], rank_tolerance: float = 1e-12) -> None:
        if model.coupling is not None:
            raise InputError(
                f"model {model.name!r}: its mimic joints have lost their coordinates; the model before "
                "with_coupled_mimics() is expected, with mimic_couplings(model) among the constraints"
            )
        if not 0.0 < rank_tolerance < 1.0:
            raise InputError(f"rank_tolerance: a number between 0 and 1 is expected, got {rank_tolerance!r}")
        given = tuple(constraints)
        for one in given:
            if not isinstance(one, (Loop, Coupling, UserConstraint)):
                raise InputError(f"constraints: Loop, Coupling or UserConstraint is expected, got {one!r}", value=one)
        self.loops = tuple(c for c in given if isinstance(c, Loop))
        self.couplings = tuple(c for c in given if isinstance(c, Coupling))
        self.user = tuple(c for c in given if isinstance(c, UserConstraint))
        self.rank_tolerance = float(rank_tolerance)
        ordered: tuple[Constraint, ...] = (*self.loops, *self.couplings, *self.user)
        self.names = tuple(c.name for c in ordered)
        for name in self.names:
            if self.names.count(name) > 1:
                raise DescriptionError(f"constraint {name!r} is there twice: names must differ", name=name)
        ends = np.cumsum([c.size for c in ordered], dtype=int).tolist()
        slices = {c.name: slice(e - c.size, e) for c, e in zip(ordered, ends, strict=True)}
        self.slices: Mapping[str, slice] = MappingProxyType(slices)
        self.size: int = ends[-1] if ends else 0
        self.joints, self._structure = model.joints, _structure(model)
        self._made_of = model, given
        self.known_spins: dict[bytes, tuple[int, Mask]] = {}
        self.table = _table(self, model)
        self._frozen = True

    def __setattr__(self, key: str, value: Any) -> None:
        if hasattr(self, "_frozen"):
            raise AttributeError(f"a ConstraintSet does not change: cannot set {key}")
        object.__setattr__(self, key, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConstraintSet, (*self._made_of, self.rank_tolerance)

    @classmethod
    def from_yaml(cls, model: Model, source: str | PathLike[str], rank_tolerance: float = 1e-12) -> ConstraintSet:
        """Read the constraints of a model from YAML text or a YAML file; see `readers` for the keys.

        Raises
        ------
        DescriptionError
            For a file or text that cannot be read, missing or unknown keys, and all that the constructors refuse.
        """
        from .readers import read_constraints

        return cls(model, read_constraints(source, model), rank_tolerance)

    @classmethod
    def from_mjcf(cls, model: Model, source: Any, rank_tolerance: float = 1e-12) -> ConstraintSet:
        """Read the equality constraints of MJCF, for the model that `Model.from_mjcf` made of the same.

        Connections become spherical loops, welds welded ones, and equations between two joints couplings. They hold
        exactly: MuJoCo's are soft.

        Raises
        ------
        DescriptionError
            If MuJoCo is not installed or refuses the model, and for all that the constructors refuse.

        Warns
        -----
        DescriptionWarning
            Once, for constraints that are none of these, or switched off.
        """
        from .readers import read_equalities

        return cls(model, read_equalities(source), rank_tolerance)

    @classmethod
    def from_sdf(
        cls,
        model: Model,
        source: str | bytes | PathLike[str],
        rank_tolerance: float = 1e-12,
        *,
        package_dirs: Sequence[str | PathLike[str]] = (),
        max_size: int | None = None,
        robot: str | None = None,
    ) -> ConstraintSet:
        """Read what closes the loops of an SDF, for the model that `Model.from_sdf` made of the same.

        Joints that are cut become loops of their kind, with their names, and joints with a <mimic> couplings. All
        loops are closed where all coordinates are zero. Joints between links that are one body close nothing. `robot`
        names the model in the file, as the argument `model` of `Model.from_sdf` does.

        Raises
        ------
        DescriptionError
            For what `Model.from_sdf` refuses, for a screw that would have to be cut, and for all that the constructors
            refuse.
        """
        from ..model.sdf.reader import read_sdf
        from ..model.urdf.reader import MAX_SIZE
        from .readers import closes_a_loop, loop_of

        size = MAX_SIZE if max_size is None else max_size
        found = read_sdf(source, package_dirs=package_dirs, inertia_check="ignore", max_size=size, model=robot)
        loops = [loop_of(joint) for joint in found.cut if closes_a_loop(model, joint)]
        return cls(model, [*loops, *mimic_couplings(model)], rank_tolerance)

    def to_yaml(self) -> str:
        """Return YAML from which `from_yaml` reads the same; see `readers`.

        Raises
        ------
        DescriptionError
            For user constraints, which are functions.
        """
        from .readers import write_constraints

        return write_constraints((*self.loops, *self.couplings, *self.user))

    def __repr__(self) -> str:
        return f"<ConstraintSet of {self.size} scalar constraints: {', '.join(self.names)}>"

    def check_model(self, model: Model) -> None:
        """Raise InputError unless `model` has the joints and frames that this set was made for."""
        if model.joints is not self.joints and _structure(model) != self._structure:
            raise InputError(
                f"model {model.name!r} has other joints or frames than the model that these constraints belong to"
            )

    def fixed_rows(self, model: Model, q: Array, qd: Array | None, errors: bool = True) -> tuple[Array, Array]:
        """Return A of couplings and user constraints, and their errors and dA/dt qd, for q (B, nq) and qd (B, nv).

        The first has one entry where it is the same for all states; shapes are (B or 1, k, nv) and (B or 1, k, 2).
        """
        table = self.table
        if not self.user and (not errors or not self.couplings):
            return table.fixed, table.fixed_values
        k = len(self.couplings)
        values = np.zeros((len(q), k + table.user_size, 2))
        values[:, :k, 0] = (q[:, None] * table.coupling_q).sum(axis=2) - table.offsets  # the same in batches
        if not self.user:
            return table.fixed, values
        matrix = np.zeros((len(q), k + table.user_size, model.nv))
        matrix[:, :k] = table.fixed[0]
        for s, state in enumerate(q):
            start = k
            for one in self.user:
                part = slice(start, start + one.size)
                matrix[s, part] = one.matrix(model, state)
                values[s, part, 0] = one.error(state)
                if qd is not None:
                    values[s, part, 1] = one.rate_of_matrix(model, state, qd[s])
                start += one.size
        return matrix, values

    def upright_tables(self) -> tuple[Array, Array]:
        """Return loops and scalars for assembly, with those that distinguish upright from upside down."""
        parts = [
            np.concatenate([scalars(c.kind, c.axis, c.second_axis, c.length), extra])
            for c in self.loops
            for extra in [upright(c.kind, c.axis, c.second_axis)]
        ]
        loops = self.table.loops.copy()
        loops[:, lk.FACING_LEAST] = lk.NOTHING  # the sum of squares stays smooth
        loops[:, lk.COUNT] = [len(p) for p in parts]
        loops[:, lk.START] = np.cumsum(loops[:, lk.COUNT]) - loops[:, lk.COUNT]
        return loops, np.concatenate([np.empty((0, lk.SCALAR_SIZE)), *parts])


def _table(constraints: ConstraintSet, model: Model) -> ConstraintTable:
    loops, couplings, n = constraints.loops, constraints.couplings, model.nv
    rows = np.zeros((len(loops), lk.LOOP_SIZE))
    parts = [scalars(c.kind, c.axis, c.second_axis, c.length) for c in loops]
    every = np.concatenate([np.empty((0, lk.SCALAR_SIZE)), *parts])
    rows[:, lk.COUNT] = [len(p) for p in parts]
    rows[:, lk.START] = np.cumsum(rows[:, lk.COUNT]) - rows[:, lk.COUNT]
    for row, loop in zip(rows, loops, strict=True):
        _put_loop(row, loop, model)
    k = len(couplings)
    fixed, coupling_q = np.zeros((1, k, n)), np.zeros((k, model.nq))
    for i, coupling in enumerate(couplings):
        for name, coefficient in coupling.coefficients.items():
            joint = _single_joint(model, name, coupling)
            fixed[0, i, joint.v_slice] = coefficient
            coupling_q[i, joint.q_slice] = coefficient
    support = _support(constraints, model, rows, fixed[0])
    settings = np.array([0.0, 0.0, constraints.rank_tolerance])
    multipliers = n + constraints.size
    size = multipliers + 6 * len(loops) + 2
    # Loops, couplings and settings in the one array that kernels take.
    head = [len(loops), len(every), support.size, k, *settings, size]
    packed = np.concatenate([head, rows.ravel(), every.ravel(), support, fixed.ravel(), np.zeros(2 * k)])
    return ConstraintTable(
        loops=rows,
        scalars=every,
        fixed=fixed,
        fixed_values=np.zeros((1, k, 2)),
        coupling_q=coupling_q,
        offsets=np.array([c.offset for c in couplings]),
        user_size=sum(c.size for c in constraints.user),
        through_custom=np.array([_through_custom(model, row) for row in rows], dtype=np.bool_),
        settings=settings,
        quaternions=tuple(j.q_slice.start for j in model.joints if j.kind in ("spherical", "free")),
        ends=(n, multipliers),
        result_size=size,
        packed=packed,
        row=packed[None],
        quick_head=np.array([1, 0, n > 0, k, 0, 0, *settings, -1, 0]),
        quick_tail=np.concatenate([fixed.ravel(), np.zeros(2 * k)]),
    )


def _support(constraints: ConstraintSet, model: Model, loops: Array, couplings: Array) -> Array:
    """Return, for each eight scalar constraints, which rows their recursion visits: counts, then the rows."""
    parent = model.rows[:, layout.PARENT].astype(int)
    touched: list[set[int]] = []
    for row in loops:
        touched += [{int(row[lk.ROW_1]), int(row[lk.ROW_2])}] * int(row[lk.COUNT])
    touched += [set((np.flatnonzero(row) + 1).tolist()) for row in couplings]
    touched += [set(range(1, model.nv + 1))] * (constraints.size - len(touched))
    lists = []
    for start in range(0, constraints.size, LANES):
        rows = set()
        for i in set().union(*touched[start : start + LANES]):
            while i > 0:
                rows.add(i)
                i = int(parent[i])
        lists.append(sorted(rows, reverse=True))
    return np.array([len(x) for x in lists] + [i for x in lists for i in x], dtype=float)


def _structure(model: Model) -> tuple[Any, ...]:
    """Return what two models must have in common to share constraints: joints, geometry and frames, not inertias."""
    frames = tuple((name, frame.body, frame.placement.tobytes()) for name, frame in model.frames.items())
    rows = model.rows[1 : model.nv + 1]
    geometry = rows[:, : layout.MASS].tobytes(), rows[:, layout.BODY_ROTATION : layout.ROUND_OFF].tobytes()
    return model.joint_names, tuple(joint.kind for joint in model.joints), geometry, frames


def _put_loop(row: Array, loop: Loop, model: Model) -> None:
    parent = model.rows[:, layout.PARENT].astype(int)
    row[lk.FACING : lk.FACING_LEAST + 1] = facing(loop.kind, loop.axis, loop.second_axis)
    ends = []
    for name, placement, at, rotation, origin in (
        (loop.first, loop.first_placement, lk.ROW_1, lk.R_1, lk.P_1),
        (loop.second, loop.second_placement, lk.ROW_2, lk.R_2, lk.P_2),
    ):
        try:
            frame = model.frame(name)
        except InputError as error:
            raise DescriptionError(f"loop {loop.name!r}: {error}", name=loop.name, value=name) from None
        i = 0 if frame.body < 0 else model.body_rows[frame.body]
        turn = model.rows[i, layout.BODY_ROTATION : layout.BODY_ROTATION + 9].reshape(3, 3) if i else np.eye(3)
        pose = frame.placement @ placement
        row[at] = i
        row[rotation : rotation + 9] = (turn @ pose[:3, :3]).ravel()
        row[origin : origin + 3] = turn @ pose[:3, 3]
        ends.append(i)
    if ends[0] == ends[1]:
        raise DescriptionError(
            f"loop {loop.name!r}: {loop.first!r} and {loop.second!r} belong to one body, so nothing is closed; frames "
            "on two bodies are expected",
            name=loop.name,
        )
    path = set()
    i = ends[0]
    while i > 0:
        path.add(i)
        i = int(parent[i])
    i = ends[1]
    while i > 0 and i not in path:
        i = int(parent[i])
    row[lk.ANCESTOR] = i


def _through_custom(model: Model, loop: Array) -> bool:
    """Return whether a loop passes a user-defined joint."""
    for column in (lk.ROW_1, lk.ROW_2):
        i = int(loop[column])
        while i != int(loop[lk.ANCESTOR]):
            if model.rows[i, layout.KIND] in (layout.CUSTOM, layout.CUSTOM_FOLLOW):
                return True
            i = int(model.rows[i, layout.PARENT])
    return False


def _single_joint(model: Model, name: str, coupling: Coupling) -> Any:
    try:
        joint = model.joint(name)
    except InputError as error:
        raise DescriptionError(f"coupling {coupling.name!r}: {error}", name=coupling.name, value=name) from None
    if joint.type.nq != 1:
        raise DescriptionError(
            f"coupling {coupling.name!r}: joint {name!r} has {joint.type.nq} coordinates; a joint of one is expected",
            name=coupling.name,
            value=name,
        )
    return joint
