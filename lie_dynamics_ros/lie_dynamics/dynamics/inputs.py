"""Inputs of the algorithms: the one path of every public function from what callers give to kernels.

The quick path hands arguments straight to a kernel, which checks shapes as it goes. Whatever it refuses (lists,
integers, batches to be broadcast, strided arrays, bad values) is evaluated as an `Algorithm` declares. Arrays that
kernels take as they are go a short way there: to look at everything that a caller may hand over takes some 15 us; after
other work has filled the caches, ten times as long, a good part of the time that a batch of ten thousand states takes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..engine.compile import COMPILED
from ..errors import GroupError, InputError, SingularityError
from ..lie._arrays import as_numbers
from ..model import layout
from ..model.arguments import require_model
from ..model.configuration import common_batch, coordinate_name, require_finite, shaped
from ..model.coupling import MimicCoupling
from ..model.model import Model
from ..model.pack import extend

#: Stands for "no external wrenches" in a call for one state.
NO_WRENCH = np.zeros((0, 0))

#: Stands for "no mask": not that of a robot without coordinates.
NO_MASK = np.zeros(0, np.bool_)

_FLOAT = np.dtype(np.float64)

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Algorithm:
    """Declaration of a public function, from which all inputs are handled: its kernels and its results."""

    batch: Callable[..., int]  # kernel made by `kernels.common.states.make_batch`
    # axes of each of the one or two results for one state, with blanks between axes and a comma between results: a
    # number, "n" for the coordinates of all joints, "b" for bodies, and what `_sizes` has besides. Axes "n" are reduced
    # to the independent coordinates where mimic joints are coupled
    results: str
    # kernel for one state of any size, same inputs, which serves a state alone
    single: Callable[..., int] | None = None
    # kernel for one state, same inputs, whose status says why a result is not finite
    diagnose: Callable[..., int] | None = None
    # ``extension(joints, q, qd)`` appends to q what the kernel needs of user-defined joints
    extension: Callable[..., Array] = extend

    def evaluate(
        self,
        model: Model,
        inputs: dict[str, Any],
        f_ext: ArrayLike | None = None,
        *,
        given: Mask = NO_MASK,
        threads: int = 1,
        parameters: Array | None = None,
        into: Array | None = None,
    ) -> list[Array]:
        """Validate and broadcast the inputs, run a kernel over all states, and return its results.

        Parameters
        ----------
        model : Model
            The model.
        inputs : dict
            "q" first (nq), then names and values of up to three arrays (nv), in the kernel's order.
        f_ext : array-like, shape (..., n_bodies, 6), optional
            External wrenches.
        given : ndarray of bool
            Mask, the same for all states.
        threads : int
            Number of threads that share a batch.
        parameters : ndarray, shape (k,) or (states, k), optional
            One more array, the same for all states or one row for each, which the kernel takes after the others.
        into : ndarray, optional
            Memory for the only result, used where its shape fits.
        """
        require_model(model)
        require_threads(threads)
        if parameters is None and threads == 1:
            found = self._evaluate_contiguous(model, inputs, f_ext, given, into)
            if found is not None:
                return found
        arrays = [shaped(value, model.nq if name == "q" else model.nv, name, model) for name, value in inputs.items()]
        names = list(inputs)
        if f_ext is not None:
            arrays.append(_shaped_wrench(model, f_ext))
            names.append("f_ext")
        batch = common_batch(**dict(zip(names, arrays, strict=True)))
        if model.coupling is not None:
            for name, a in zip(names, arrays, strict=True):  # before coupling smears NaN over all joints
                _require_finite(model, name, a.reshape(-1, a.shape[-1]))
            arrays = [_expanded(model.coupling, name, a) for name, a in zip(names, arrays, strict=True)]
        kind = np.result_type(*arrays)
        if kind != np.float64 and COMPILED:
            raise InputError("complex numbers are taken by the plain-Python kernels only: set NUMBA_DISABLE_JIT=1")
        count = int(np.prod(batch))
        spread = (_spread(a, batch, kind).reshape(count, a.shape[-1]) for a in arrays)
        flat = dict(zip(names, spread, strict=True))
        q = flat["q"]
        if model.custom_joints:
            for name, array in flat.items():
                _require_finite(model, name, array, given)
            q = self.extension(model.custom_joints, q, flat.get("qd", np.zeros((count, model.rows.shape[0] - 1))))
        outputs = [memory_for((*batch, *shape), kind, into) for shape in self._shapes(model)]
        if count == 0:
            return self._for_caller(model, outputs)
        none = np.empty((count, 0), kind)
        others = [array for name, array in flat.items() if name not in ("q", "f_ext")]
        if parameters is not None:
            others.append(_spread(parameters, (count,), kind))
        own = [q, *others]
        others += [none] * (3 - len(others))
        data = [q, others[0], others[1], flat.get("f_ext", none), others[2]]
        targets = [o.reshape(count, -1) if o.size else none for o in outputs] + [none] * (2 - len(outputs))
        if self.single is not None and batch == ():  # lanes for other states would be idle, and their memory slow
            results = [t[0] for t in targets[: len(outputs)]]
            status = _run_one(model, self.single, own, flat.get("f_ext"), given, results, 0)
        else:
            status = _run(model, self.batch, data, given, targets, threads)
        if status != layout.OK:  # only now is it worth the time to look for what was wrong
            for name, array in flat.items():
                _require_finite(model, name, array, given)
            _check_quaternions(model, arrays[0])
            if self.diagnose is not None:
                bad = int(np.argmin(np.isfinite(targets[0]).all(axis=-1) & np.isfinite(targets[1]).all(axis=-1)))
                results = [np.empty(t.shape[1], kind) for t in targets[: len(outputs)]]
                status = _run_one(model, self.diagnose, own, flat.get("f_ext"), given, results, bad)
            _refuse(model, status)
        return self._for_caller(model, outputs)

    def _evaluate_contiguous(
        self, model: Model, inputs: dict[str, Any], f_ext: Any, given: Mask, into: Array | None
    ) -> list[Array] | None:
        """Run a kernel over a batch of plain arrays, or over a state alone where there is a kernel for one of any size.

        None where the inputs are not plain, or where something is wrong with them.
        """
        if model.coupling is not None or model.custom_joints:
            return None
        batch = _batch(model, inputs, f_ext)
        if batch == ():
            if self.single is None:
                return None
            outputs = [memory_for(shape, _FLOAT, into) for shape in self._shapes(model)]
            state = list(inputs.values())
            state.insert(3, NO_WRENCH if f_ext is None else f_ext)
            mask = () if given is NO_MASK else (given,)
            return outputs if self.single(model.table, *state, *mask, *outputs) == layout.OK else None
        if batch is None or batch == (0,):
            return None
        (count,) = batch
        outputs = [memory_for((count, *shape), _FLOAT, into) for shape in self._shapes(model)]
        none = np.empty((count, 0))
        a = [*inputs.values(), none, none, none]
        load = none if f_ext is None else f_ext.reshape(count, 6 * model.n_bodies)
        targets = [*(o.reshape(count, o.size // count) for o in outputs), none]
        status = self.batch(model.table, a[0], a[1], a[2], load, a[3], given, targets[0], targets[1])
        return outputs if status == layout.OK else None

    def _shapes(self, model: Model) -> tuple[tuple[int, ...], ...]:
        return _sizes(self.results, model.rows.shape[0] - 1, model.n_bodies)

    def _for_caller(self, model: Model, outputs: list[Array]) -> list[Array]:
        """Return the results in the independent coordinates."""
        if model.coupling is None:
            return outputs
        return [_reduced(model.coupling, axes, x) for axes, x in zip(self.results.split(","), outputs, strict=True)]


def memory_for(shape: tuple[int, ...], kind: np.dtype[Any], into: Array | None) -> Array:
    """Return memory for a result: what is given, where it fits."""
    if into is not None and into.shape == shape and into.dtype == kind and into.flags.carray:
        return into
    return np.empty(shape, kind)


@cache
def _sizes(results: str, n: int, bodies: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the results of an `Algorithm` for one state."""
    known = {"n": n, "b": bodies, "10b": 10 * bodies, "3n+1": 3 * n + 1, "4nnn": 4 * n**3}
    return tuple(tuple(known[a] if a in known else int(a) for a in axes.split()) for axes in results.split(","))


def quick_path(
    kernel: Callable[..., Any], arguments: str, unloaded: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Let a function of a model hand its arguments to a kernel first, as they are; what that refuses takes its own way.

    The quick kernel makes its results, from those of the function's `arguments` that are named, in its order; an
    `f_ext` that is left out is none, or makes `unloaded` serve, which takes none. So the decorated function gets what
    no kernel takes: lists, batches, bad values, models that are not plain. What stands before it is written for its
    arguments, since a kernel takes no longer than passing them on.
    """
    names = arguments.split()
    absent = {} if unloaded else {"f_ext": "NO_WRENCH if f_ext is None else f_ext"}
    call = f"kernel(model.table, {', '.join(absent.get(a, a) for a in names)})"
    if unloaded:
        call = f"unloaded(model.table, {', '.join(a for a in names if a != 'f_ext')}) if f_ext is None else {call}"

    def decorate(function: Function) -> Function:
        code = function.__code__
        places = code.co_varnames[: code.co_argcount]
        keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        lines = (
            f"def {function.__name__}({', '.join([*places, '*', *keywords])}):",
            "    try:",
            f"        found = ({call}) if model.plain else None",
            "    except (AttributeError, TypeError):  # of what is no model; others are raised",
            "        require_model(model)",
            "        raise",
            "    if found is not None:",
            "        return found",
            f"    return function({', '.join([*places, *(f'{k}={k}' for k in keywords)])})",
        )
        space: dict[str, Any] = {"kernel": kernel, "unloaded": unloaded, "function": function}
        space |= {"NO_WRENCH": NO_WRENCH, "require_model": require_model}
        exec(compile("\n".join(lines), f"<quick path of {function.__name__}>", "exec"), space)
        quick: Any = space[function.__name__]
        quick.__defaults__, quick.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        return cast(Function, wraps(function)(quick))

    return decorate


def _batch(model: Model, inputs: dict[str, Any], f_ext: Any) -> tuple[int, ...] | None:
    """Return the batch axes, at most one, that all inputs share; None where kernels do not take them as they are."""
    arrays = list(inputs.values())
    if not all(map(is_plain, arrays)) or not 1 <= arrays[0].ndim <= 2:
        return None
    batch: tuple[int, ...] = arrays[0].shape[:-1]
    if arrays[0].shape[-1] != model.nq or any(x.shape != (*batch, model.nv) for x in arrays[1:]):
        return None
    if f_ext is not None and not (is_plain(f_ext) and f_ext.shape == (*batch, model.n_bodies, 6)):
        return None
    return batch


def is_plain(x: Any) -> TypeGuard[Array]:
    """Return whether kernels are compiled for this array."""
    return type(x) is np.ndarray and x.dtype is _FLOAT and x.flags.carray


def _expanded(coupling: MimicCoupling, name: str, array: Array) -> Array:
    """Return the coordinates or rates of all joints from the independent ones."""
    if name == "f_ext":
        return array
    if name == "q":
        return np.asarray(array @ coupling.positions.T + coupling.offset)
    return np.asarray(array @ coupling.rates.T)


def _reduced(coupling: MimicCoupling, axes: str, array: Array) -> Array:
    """Return what of a result belongs to the independent coordinates, along each of its axes "n"."""
    for place, size in enumerate(reversed(axes.split())):
        if size == "n":
            array = np.moveaxis(np.moveaxis(array, -1 - place, -1) @ coupling.rates, -1, -1 - place)
    return np.ascontiguousarray(array)


def _spread(array: Array, batch: tuple[int, ...], kind: Any) -> Array:
    """Broadcast, as a writable contiguous array: the only kind that kernels are compiled for."""
    shape = (*batch, array.shape[-1])
    if array.shape == shape and array.dtype == kind and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(np.broadcast_to(array, shape), kind, order="C")


def _run(
    model: Model,
    batch_kernel: Callable[..., int],
    data: list[Array],
    given: Mask,
    targets: list[Array],
    threads: int,
) -> int:
    count = data[0].shape[0]
    if threads == 1:
        return int(batch_kernel(model.table, *data, given, *targets))

    def run(part: slice) -> int:
        return int(batch_kernel(model.table, *(a[part] for a in data), given, *(t[part] for t in targets)))

    return int(max(over_parts(threads, count, run)))


def require_threads(threads: int) -> None:
    """Raise InputError for what is no number of threads."""
    if not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads: at least 1 is expected, got {threads!r}", name="threads", value=threads)


def over_parts(threads: int, count: int, run: Callable[[slice], Any]) -> list[Any]:
    """Return what `run` finds for each part of a batch, in threads; kernels let go of the interpreter lock."""
    if threads == 1:
        return [run(slice(0, count))]
    chunk = -(-count // threads)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, (slice(start, start + chunk) for start in range(0, count, chunk))))


def in_parts(threads: int, function: Callable[..., tuple[Array, ...]], *arrays: Array) -> tuple[Array, ...]:
    """Return the arrays that a function makes of arrays (count, ...), state by state, in threads."""
    if threads == 1 or len(arrays[0]) < 2:
        return function(*arrays)
    parts = over_parts(threads, len(arrays[0]), lambda part: function(*(a[part] for a in arrays)))
    return tuple(np.concatenate(results) for results in zip(*parts, strict=True))


def _run_one(
    model: Model,
    single: Callable[..., int],
    data: list[Array],
    f_ext: Array | None,
    given: Mask,
    results: list[Array],
    k: int,
) -> int:
    """Run a kernel for single states on state `k`."""
    state = [array[k] for array in data]
    state.insert(3, NO_WRENCH if f_ext is None else f_ext[k].reshape(-1, 6))
    mask = () if given is NO_MASK else (given,)
    return int(single(model.table, *state, *mask, *results))


def _shaped_wrench(model: Model, f_ext: ArrayLike) -> Array:
    """Return external wrenches as (..., 6 n_bodies)."""
    wrench = as_numbers(f_ext, "f_ext")
    if wrench.ndim < 2 or wrench.shape[-2:] != (model.n_bodies, 6):
        raise InputError(
            f"f_ext: shape (..., {model.n_bodies}, 6) is expected by model {model.name!r}, got {wrench.shape}",
            name="f_ext",
            value=wrench.shape,
            expected=f"(..., {model.n_bodies}, 6)",
        )
    return wrench.reshape(*wrench.shape[:-2], 6 * model.n_bodies)


def _require_finite(model: Model, name: str, array: Array, given: Mask = NO_MASK) -> None:
    """Raise an error that names the joint or body where a batch of inputs holds NaN or infinity."""
    if given.size and name in ("qdd", "tau"):  # what is not read may be anything
        array = np.where(given if name == "qdd" else ~given, array, 0.0)
    if name != "f_ext":
        require_finite(array, name, model)
    elif not np.isfinite(array).all():
        state, entry = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
        body = model.body_names[entry // 6]
        value = array[state, entry]
        raise InputError(f"f_ext: finite numbers are expected, got {value} on body {body!r}", name=body, value=value)


def _check_quaternions(model: Model, q: Array) -> None:
    for joint in model.joints:
        if joint.kind in ("spherical", "free"):
            start = joint.q_slice.start
            part = q[..., start : start + 4]
            with np.errstate(over="ignore"):
                norm = np.sqrt((part * part).sum(axis=-1))
                bad = np.abs(norm * norm - 1.0) >= layout.QUATERNION_TOLERANCE
            if bad.any():
                worst = part[bad][0]
                raise GroupError(
                    f"joint {joint.name!r}: a unit quaternion (x, y, z, w) is expected in q, got {worst.tolist()} "
                    f"of norm {np.abs(norm[bad].flat[0]):.6g}",
                    name=joint.name,
                    value=worst,
                    expected="a unit quaternion",
                )


def _refuse(model: Model, status: int) -> None:
    row, code = divmod(status, layout.STATUS_STEP)
    if code == layout.OK:  # alone the state passes: round-off decides, so no digit of the result would be right
        raise SingularityError(f"model {model.name!r}: the articulated inertia is singular to round-off")
    if code == layout.SINGULAR:
        joint = coordinate_name(model, row - 1, False)
        raise SingularityError(
            f"joint {joint!r}: the articulated inertia along it vanishes, so a force gives no finite acceleration; "
            "a body with inertia beyond it, an armature, or a prescribed acceleration is expected",
            name=joint,
        )
    raise InputError(f"model {model.name!r}: the result overflows; the inputs are finite but too large")
