"""`ClosedLoopTracker`: all joints of a closed mechanism from those that are measured, and what that proves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import AnyArray, Array, ArrayLike
from ...errors import InputError, SingularityError
from ...lie._arrays import as_real, count_of, number_of, real_numbers
from ...model import layout
from ...model.arguments import require_model
from ...model.configuration import shaped
from ...model.model import Model
from ...tracking import CONTRADICTIONS, SINGULAR, TOO_FAR, uncertify
from ..assembly import assemble
from ..constraint_set import ConstraintSet
from ..idle import IdleFreedom, bends, free_motions, holding, idle_freedoms, listed_joints, single_names
from ..inputs import require_constraints
from ..kernels import loop_derivatives as sk
from ..kernels import loops as lk
from ..kernels import tracking as tk
from ..quantities import constraint_error, constraint_jacobian, constraint_quantities
from .result import Setup, TrackedMotion, TrackedState


def largest_rates(model: Model, given: ArrayLike | Mapping[str, Any] | None) -> Array:
    """Return the largest rate of each coordinate (nv,); those of a rotation or a displacement all have its own.

    Raises InputError unless each joint has a number above zero; a free joint a linear and an angular one [m/s, rad/s].
    """
    if given is None:
        return np.ones(model.nv)
    rates = np.empty(model.nv)
    if not isinstance(given, Mapping):
        array = real_numbers(given, "max_speed")
        if array.shape != (model.nv,):
            raise InputError(
                f"max_speed: a mapping from joints to their largest rates, or {model.nv} numbers, are expected, "
                f"got shape {array.shape}",
                name="max_speed",
            )
        given = {joint.name: array[joint.v_slice] for joint in model.joints}
    for joint in model.joints:
        if joint.name not in given:
            raise InputError(f"max_speed: joint {joint.name!r} is missing", name=joint.name)
        value = real_numbers(given[joint.name], f"max_speed: joint {joint.name!r}")
        part = rates[joint.v_slice]
        if joint.kind == "free" and value.shape == (2,):
            part[:3], part[3:] = value[1], value[0]
        elif joint.kind == "free" and value.shape == (6,):
            part[:3], part[3:] = np.linalg.norm(value[:3]), np.linalg.norm(value[3:])
        elif joint.kind == "spherical" and value.shape == (3,):
            part[:] = np.linalg.norm(value)
        elif joint.kind != "free" and value.shape in ((), part.shape):
            part[:] = value
        else:
            wanted = "(m/s, rad/s) is" if joint.kind == "free" else "one number is"
            raise InputError(
                f"max_speed: joint {joint.name!r}: {wanted} expected, got {given[joint.name]!r}", name=joint.name
            )
    if not (np.isfinite(rates).all() and (rates > 0.0).all()):
        raise InputError("max_speed: finite numbers above zero are expected", name="max_speed", value=given)
    return rates


def coordinate_groups(model: Model, rates: Array) -> Array:
    """Return the table of groups of `kernels.loop_derivatives`."""
    groups = []
    for joint in model.joints:
        first, place = joint.v_slice.start + 1, joint.q_slice.start
        if joint.kind in ("spherical", "free"):
            groups.append([first, 3, 1.0 / rates[first - 1], place, sk.ROTATION])
            if joint.kind == "free":
                groups.append([first + 3, 3, 1.0 / rates[first + 2], place + 4, sk.DISPLACEMENT])
        else:
            count = joint.v_slice.stop - joint.v_slice.start
            groups += [[first + c, 1, 1.0 / rates[first + c - 1], place + c, sk.SINGLE] for c in range(count)]
    return np.array(groups, float).reshape(-1, sk.GROUP_WIDTH)


def loop_chains(model: Model, constraints: ConstraintSet, rates: Array) -> tuple[Array, Array]:
    """Return the tables of chains and links of `kernels.loop_derivatives`."""
    chains: list[list[float]] = []
    links: list[list[float]] = []
    for loop in constraints.table.loops:
        first, stop = len(links), int(loop[lk.ANCESTOR])
        for side, column in ((2, lk.ROW_2), (1, lk.ROW_1)):
            joints = []
            i = int(loop[column])
            while i != stop:
                joints.append(_links(model, i, side, rates))
                i = int(model.rows[int(model.rows[i, layout.FIRST]), layout.PARENT])
            for parts in joints if side == 2 else joints[::-1]:
                links += parts
        kinds = constraints.table.scalars[int(loop[lk.START]) : int(loop[lk.START] + loop[lk.COUNT]), lk.TYPE]
        placed = loop[lk.ROW_1] != stop and (kinds == lk.ALONG).sum() < 3
        chains.append([first, len(links) - first, sum(link[sk.TURN] for link in links[first:]), placed])
    return np.array(chains, float).reshape(-1, sk.CHAIN_SIZE), np.array(links, float).reshape(-1, sk.LINK_SIZE)


def _links(model: Model, row: int, side: int, rates: Array) -> list[list[float]]:
    """Return the links of the joint that ends with a row; what a free joint slides comes before what it turns."""
    first = int(model.rows[row, layout.FIRST])
    kind, rate = model.rows[first, layout.KIND], rates[first - 1]
    if kind == layout.AXIS:
        return [[row, 1, side, 1, rate, abs(model.rows[row, layout.AXIS_W]) * rate]]
    turn = [[first, 3, side, 2, rate, rate]]
    return [[first + 3, 3, side, 3, rates[first + 2], 0.0], *turn] if kind == layout.FREE else turn


_NO_TIMES = np.zeros(0)

#: Redundant sensors weigh so little beside closed loops that they open them by a millionth of their contradictions.
_WEIGHT = 1e-3
#: How often one update may choose anew what holds idle freedoms.
_HOLDS = 16
_HELD_BADLY = (SINGULAR, TOO_FAR)
#: Looking ahead, a piece of the way that takes more steps is cut, down to this part of the way.
_STEPS_OF_A_PIECE, _SMALLEST_PIECE = 40, 0.004
#: Errors of constraints that the first configuration may have [m, rad].
_CLOSED = 1e-8


@dataclass(frozen=True, eq=False)
class _Hold:
    """Undetermined freedoms as they are held, from one closed configuration on."""

    at: Array  # the configuration (nq,)
    setup: Setup
    freedoms: int  # how many there are without those that are idle
    tables: tuple[AnyArray, ...]  # what the kernel reads
    sizes: tuple[int, ...]  # what its workspace is for

    def space(self) -> Array:
        """Return a new workspace."""
        return tk.tracking_space(*self.sizes)


def _stand(memory: Array, setup: Setup, q: Array) -> None:
    """Put a known configuration into a tracker's memory."""
    memory[tk.AGE] = memory[tk.BLUR] = 0.0
    memory[tk.MEMORY :] = np.concatenate([q, q[setup.positions], q])


class HoldingTracker:
    """What a tracker of a closed mechanism remembers, and how it holds the freedoms that its sensors leave."""

    def __init__(
        self,
        model: Model,
        constraints: ConstraintSet,
        q: ArrayLike,
        measured: Sequence[str],
        max_speed: ArrayLike | Mapping[str, Any] | None = None,
        *,
        sensor_error: ArrayLike = 0.0,
        sensor_noise: ArrayLike = 1e-5,
        max_steps: int = 1000,
        idle: Sequence[str] = (),
    ) -> None:
        require_model(model)
        require_constraints(model, constraints)
        if constraints.user or model.custom_joints:
            raise InputError(
                f"model {model.name!r}: user constraints and user-defined joints have no known bounds of second "
                "derivatives; loops and couplings of the library's own joints are expected"
            )
        names = single_names(model, measured, "measured")
        joints = [model.joint(name) for name in names]
        max_steps = count_of("max_steps", max_steps, 1, 10**9)
        count = len(names)
        noise = _each(sensor_noise, count, "sensor_noise", least=1e-300)
        errors = _each(sensor_error, count, "sensor_error", least=0.0)
        start = np.array(shaped(q, model.nq, "q", model), dtype=float)
        self._rows = np.array([joint.v_slice.start + 1 for joint in joints])
        self._rates = largest_rates(model, max_speed)
        self._bounded = max_speed is not None
        self._may_idle = tuple(idle)
        for name in self._may_idle:
            model.joint(name)
        self.setup = Setup(
            model, constraints, names, self._rows - 1, np.array([j.q_slice.start for j in joints]), noise, constraints
        )
        self._settings = np.array([self._bounded, max_steps, *errors], float)
        self._memory = np.zeros(tk.MEMORY + 2 * model.nq + count)
        self._track = tk.tracking_kernel()
        self._width = tk.RESULT + model.nq + count
        self._shape = (count,)
        self._time = np.zeros(1) if self._bounded else _NO_TIMES
        self._hold = self._holding(start)
        self.setup = self._hold.setup
        self._space = self._hold.space()
        self._refuted = False
        _stand(self._memory, self.setup, start)

    def _holding(self, q: Array) -> _Hold:
        """Return how undetermined freedoms are held as at a closed configuration, and the inputs of kernels for it."""
        setup, rows = self.setup, self._rows
        model = setup.model
        constraints, idle, freedoms = _held(model, setup, q, self._may_idle)
        redundant = len(setup.names) > freedoms
        others = np.arange(1, model.nv + 1) if redundant else np.setdiff1d(np.arange(1, model.nv + 1), rows)
        weights = _WEIGHT * setup.noise.min() / setup.noise if redundant else np.zeros(0)
        chains, links = loop_chains(model, constraints, self._rates)
        sizes = model.nv, model.nq, len(links), len(others), constraints.size + len(weights), len(setup.names)
        groups = coordinate_groups(model, self._rates)
        unknown = np.flatnonzero(np.isin(groups[:, 0], others))
        # Coordinates of few constraints first, for the inverse of their Jacobian.
        touched = np.count_nonzero(constraint_jacobian(model, constraints, q), axis=0)
        unknown = unknown[np.argsort(touched[groups[unknown, 0].astype(int) - 1], kind="stable")]
        others = np.concatenate([np.zeros(0), *(first + np.arange(size) for first, size in groups[unknown, :2])])
        order = unknown, np.searchsorted(groups[:, 0], rows)
        tables = (
            model.table, constraints.table.packed, constraints.table.offsets, chains, links,
            groups[np.concatenate(order)], others, rows.astype(float), weights,
        )  # fmt: skip
        return _Hold(q.copy(), replace(setup, constraints=constraints, idle=idle), freedoms, tables, sizes)

    def _take(self, hold: _Hold) -> None:
        self._hold, self.setup, self._space = hold, hold.setup, hold.space()

    def _run(self, positions: Array, times: Array, out: Array) -> None:
        self._track(*self._hold.tables, self._settings, self._memory, positions, times, self._space, out)

    def _again(self, out: Array, y: Array) -> None:
        """Try a sample again where what holds idle freedoms may be singular, not the mechanism: hold them anew."""
        first, count = tk.MEMORY + self.setup.model.nq, len(self.setup.names)
        memory = self._memory
        for k in range(_HOLDS):
            covered, old = out[tk.COVERED], memory[first : first + count]
            failed = out[tk.STATUS] in _HELD_BADLY if k == 0 else out[tk.STATUS] == SINGULAR
            if not failed or (covered == 0.0 and np.array_equal(self._hold.at, self.q)):
                return
            if covered > 0.0:  # most of the way that was proven
                trial, settings, there = memory.copy(), self._settings.copy(), np.empty(self._width)
                settings[tk.BOUNDED] = 0.0
                middle = old + 0.9 * covered * (y - old)
                self._track(*self._hold.tables, settings, trial, middle, _NO_TIMES, self._space, there)
                if not there[tk.CONTINUED]:
                    return
                memory[tk.MEMORY : first + count] = trial[tk.MEMORY : first + count]
            try:
                self._take(self._holding(self.q))
            except (InputError, SingularityError):
                return
            if self._bounded:  # the last certified configuration, in a turn that is held now
                setup = self.setup
                turned = assemble(setup.model, setup.constraints, memory[first + count :], held=list(setup.names))
                if turned.converged:
                    memory[first + count :] = turned.q
            self._run(y, np.zeros(len(self._time)), out)

    def _latch(self, rows: Array) -> None:
        """Certify nothing from the first sample on that contradicts what certificates rest on."""
        if self._bounded:
            self._refuted = uncertify(rows, tk.STATUS, tk.CERTIFIED, self._refuted)

    @property
    def q(self) -> Array:
        """The last good configuration (nq,)."""
        return self._memory[tk.MEMORY : tk.MEMORY + self.setup.model.nq].copy()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a ClosedLoopTracker is not copied: make another one from the last q")


class ClosedLoopTracker(HoldingTracker):
    """Follows the configuration of a closed mechanism through measured joints.

    Each `update` follows the straight line in the measured joints from the last good sample to the new one, in steps
    that are proven to stay regular: the configuration is then ``continued``. With ``max_speed`` it is also
    ``certified`` when no other configuration with these joints was within reach at these rates since the last
    certified one, whatever the path; otherwise the status is AMBIGUOUS (doc/closed_loop_tracking.md). When a sample
    cannot be used the result gives the reason, its ``valid`` is False and its ``q`` is the last good one; tracking goes
    on from it. After OUT_OF_REACH, or positions that cannot be, a sensor, time or ``max_speed`` was wrong, it is not
    known which: nothing is certified until `reset` gets a known configuration.

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut, without user-defined joints.
    constraints : ConstraintSet
        Loops and couplings.
    q : array-like, shape (nq,)
        The configuration that the mechanism is known to be in, closed to 1e-8: see `assemble`.
    measured : sequence of str
        Joints of one coordinate whose positions are known: any that determine the rest. Where there are more than
        freedoms the best fit is found, weighted by `sensor_noise`.
    max_speed : mapping or array-like, optional
        Largest rate of each joint [rad/s, m/s], of free ones (m/s, rad/s): by names, or as (nv,). Left out: unknown,
        and nothing is ever certified.
    sensor_error : float or array-like, shape (k,)
        Largest errors of the measured joints that what is certified allows for.
    sensor_noise : float or array-like, shape (k,)
        Their standard deviations, above zero.
    max_steps : int
        Proven steps that one update may take.
    idle : sequence of str
        Joints that the measured ones need not determine. Spins of rods between ball joints are found without.

    Raises
    ------
    InputError
        For joints that do not determine the rest, anywhere or at `q`; for open loops, and arguments that make no sense.
    SingularityError
        Where `q` is singular for these sensors.

    A tracker keeps the last configuration, so it belongs to one thread at a time.
    """

    @property
    def idle(self) -> tuple[IdleFreedom, ...]:
        """Freedoms that measured joints do not determine, and how they are held (doc/closed_loop_tracking.md)."""
        return self.setup.idle

    @property
    def freedoms(self) -> int:
        """Number of freedoms of the mechanism, without idle ones."""
        return self._hold.freedoms

    @property
    def uncertainty(self) -> float:
        """Bound of the distance to the last certified `q`, as the time that it takes at ``max_speed`` [s]."""
        return float(self._memory[tk.BLUR])

    @property
    def refuted(self) -> bool:
        """Whether positions since the last `reset` were what they cannot be, so that nothing is certified."""
        return self._refuted

    def reset(self, q: ArrayLike) -> None:
        """Start again from another configuration (nq,), which the mechanism is known to be in; errors as above."""
        model = self.setup.model
        start = np.array(shaped(q, model.nq, "q", model), dtype=float)
        self._take(self._holding(start))
        self._refuted = False
        _stand(self._memory, self.setup, start)

    def twin(self, q: Array, max_steps: int) -> ClosedLoopTracker:
        """Return another such tracker, of so many steps, at another configuration, which is known to be good."""
        hold, memory, settings, space = self._hold, self._memory.copy(), self._settings.copy(), self._space.copy()
        settings[tk.MAX_STEPS] = max_steps
        if self.idle and np.abs(constraint_error(self.setup.model, self.setup.constraints, q)).max() > _CLOSED:
            hold = self._holding(q)  # in another turn than idle freedoms are held here
            space = hold.space()
        space[0] = 0.0
        _stand(memory, hold.setup, q)
        other = object.__new__(type(self))
        own = {"_memory": memory, "_settings": settings, "_space": space, "_refuted": False}
        other.__dict__.update(self.__dict__, _hold=hold, setup=hold.setup, **own)
        return other

    def update(self, positions: ArrayLike, *, dt: float | None = None) -> TrackedState:
        """Go to the configuration for new positions (k,) of the measured joints.

        Parameters
        ----------
        positions : array-like, shape (k,)
            In the order of `measured`; fastest as a contiguous float64 array.
        dt : float
            Time since the last update, or since the start [s]; needed with ``max_speed``, ignored without.

        Raises
        ------
        InputError
            For arguments of a wrong shape, no `dt` or one below 0 where it is needed. Bad positions do not raise: the
            result's ``status`` and ``message`` show.
        """
        out = np.empty(self._width)
        y: Any = positions
        try:
            good = type(y) is np.ndarray and y.shape == self._shape
            if self._bounded:
                good = good and isinstance(dt, (float, int)) and 0.0 <= dt < np.inf
                self._time[0] = dt
            known = self._settings, self._memory
            if good and self._track(*self._hold.tables, *known, y, self._time, self._space, out) == layout.OK:
                if self.setup.idle and out[tk.STATUS] in _HELD_BADLY:
                    self._again(out, y)
                if self._refuted or out[tk.STATUS] in CONTRADICTIONS:
                    self._latch(out[None])
                return TrackedState(self.setup, out)
        except (TypeError, ValueError, OverflowError):
            pass
        return self.update_many(real_numbers(positions, "positions")[None], dt=dt)[0]

    def time_to_singularity(self, rates: ArrayLike, horizon: float = 1.0) -> float:
        """Return when the measured joints come to a singular configuration if they keep their rates [s].

        The way from the last good configuration until then is proven to be regular. A singularity follows within some
        hundredths of the `horizon` [s], or is missed by so little that the proof would take many steps. Infinity where
        the way is regular as far as the horizon. Changes nothing.

        Parameters
        ----------
        rates : array-like, shape (k,)
            Of the measured joints [rad/s, m/s].

        Raises
        ------
        InputError
            For rates of a wrong shape, NaN and infinity; a horizon that is not above zero.
        """
        given = as_real(rates, self._shape, "rates")
        time = number_of("horizon", horizon, "a finite number above zero", lambda x: 0.0 < x < np.inf)
        if given.ndim != 1:
            raise InputError(f"rates: shape {self._shape} is expected, got {given.shape}", name="rates")
        first = tk.MEMORY + self.setup.model.nq
        memory, settings, out = self._memory.copy(), self._settings.copy(), np.empty(self._width)
        settings[tk.BOUNDED], settings[tk.MAX_STEPS] = 0.0, _STEPS_OF_A_PIECE
        start, hold, space = memory[first : first + len(given)].copy(), self._hold, self._hold.space()
        done, piece = 0.0, time
        while done < time:
            piece = min(piece, time - done)
            trial, ahead = memory.copy(), start + (done + piece) * given
            self._track(*hold.tables, settings, trial, ahead, _NO_TIMES, space, out)
            here = memory[tk.MEMORY : first]
            if out[tk.CONTINUED] > 0.0:
                memory, done, piece = trial, done + piece, 2.0 * piece
            elif piece <= _SMALLEST_PIECE * time and self.idle and not np.array_equal(here, hold.at):
                try:
                    hold = self._holding(here.copy())
                except (InputError, SingularityError):
                    return done
                space = hold.space()
            elif piece <= _SMALLEST_PIECE * time:
                return done
            else:
                piece = max(0.25 * piece, _SMALLEST_PIECE * time)
        return np.inf

    def update_many(self, positions: ArrayLike, *, dt: ArrayLike | None = None) -> TrackedMotion:
        """Go through many positions (n, k) of the measured joints in turn, in one compiled loop.

        `dt` [s] is a number, or one before each sample (n,). Errors as `update`.
        """
        samples = np.array(real_numbers(positions, "positions"), order="C")
        if samples.ndim != 2 or samples.shape[1] != len(self.setup.names):
            raise InputError(
                f"positions: {len(self.setup.names)} of the measured joints in each row are expected, got shape "
                f"{samples.shape}",
                name="positions",
            )
        times = _NO_TIMES
        if self._bounded:
            if dt is None:
                raise InputError("dt: the time since the last sample [s] is expected with max_speed", name="dt")
            try:
                times = np.array(np.broadcast_to(real_numbers(dt, "dt"), (len(samples),)))
            except ValueError:
                raise InputError(f"dt: a number or {len(samples)} are expected", name="dt", value=dt) from None
            if not ((times >= 0.0) & (times < np.inf)).all():
                raise InputError("dt: finite times of at least 0 s are expected", name="dt", value=dt)
        out = np.empty((len(samples), self._width))
        if not self.idle:
            self._run(samples.reshape(-1), times, out.reshape(-1))
            self._latch(out)
            return TrackedMotion(self.setup, out)
        setups = []
        for k, (y, row) in enumerate(zip(samples, out, strict=True)):
            self._run(y, times[k : k + 1], row)
            if row[tk.STATUS] in _HELD_BADLY:
                self._again(row, y)
            setups.append(self.setup)
        self._latch(out)
        return TrackedMotion(self.setup, out, setups)


def _held(
    model: Model, setup: Setup, q: Array, may_idle: tuple[str, ...]
) -> tuple[ConstraintSet, tuple[IdleFreedom, ...], int]:
    """Return constraints that hold idle freedoms too, those, and how many others there are; refuse the rest."""
    constraints, places, names = setup.given, setup.places, setup.names
    found = constraint_quantities(model, constraints, q, model.zero_velocity)
    worst = float(np.abs(found.error).max(initial=0.0))
    if not worst <= _CLOSED:
        raise InputError(
            f"q: a closed configuration is expected, constraints are off by up to {worst:.3g}; see assemble", name="q"
        )
    motions = free_motions(found.jacobian, places)
    idle = tuple(idle_freedoms(model, constraints, q, motions))
    held, freedoms = constraints, int(free_motions(found.jacobian, places[:0]).shape[1]) - motions.shape[1]
    lost = [one for one in idle if not one.spins and not set(one.joints) <= set(may_idle)]
    if lost or sum(one.count for one in idle) < motions.shape[1]:
        joint = lost[0].joints[0] if lost and lost[0].joints else names[0]
        moves = listed_joints(lost or idle)
        if bends(model, constraints, q, motions, places):
            raise SingularityError(
                f"measured: with the joints {list(names)} held, {moves} can still move at this configuration, which is "
                "singular for them",
                name=joint,
            )
        raise InputError(
            f"measured: {len(names)} joints, {', '.join(names)}, cannot determine the configuration of a mechanism of "
            f"{freedoms + motions.shape[1]} freedoms: {moves} can still move; measure more joints, or name these as "
            "idle if nothing that is requested depends on them",
            name="measured",
            value=joint,
        )
    if idle:
        held, idle = holding(model, constraints, q, idle)
        if free_motions(constraint_jacobian(model, held, q), places).shape[1]:
            raise SingularityError(f"measured: nothing holds the idle freedoms of {listed_joints(idle)} here")
    return held, idle, freedoms


def _each(value: ArrayLike, count: int, name: str, least: float) -> Array:
    try:
        array = np.array(np.broadcast_to(real_numbers(value, name), (count,)))
    except ValueError:
        array = np.full(count, np.nan)
    if not (np.isfinite(array).all() and (array >= least).all()):
        above = "above zero" if least > 0.0 else "of at least zero"
        raise InputError(f"{name}: a number {above}, or {count}, are expected, got {value!r}", name=name, value=value)
    return array
