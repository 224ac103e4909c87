"""Forward kinematics from a guess: the six solvers of the paper, and a default for production use.

    auto      Levenberg-Marquardt on SE(3), body screw, lengths in units of the platform's characteristic length
    gn-se3    gn-r6    gn-quat     Algorithm A1 on SE(3), R^6 (roll, pitch, yaw), R^7 (quaternion)
    lm-se3    lm-r6    lm-quat     Algorithm A2 on the same

The six are the paper's, in cm and rad and in the reading that reproduces most of its tables; options give the other
readings. They find the pose whose basin the guess lies in, which need not be the pose of the machine.

Each problem of a batch runs as if alone: those that have ended are set aside, the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Integers, Mask
from ...errors import StewartError
from ...lie import se3, so3
from ...shown import shown
from ...texts import LARGEST
from ..geometry import inverse_kinematics as ik
from ..geometry.any_platform import PointJointed, require_legs
from ..geometry.platform import StewartPlatform, check_lengths, check_place, why_unreachable
from ..geometry.rotary_platform import RotaryPlatform
from .charts import Chart, LegEquations, PoseSE3, Quaternion, ResidualForm, RollPitchYaw

#: Why an iteration ended; position in the tuple is the code in `Iterates.stop`.
STOPS = (
    "iteration limit",
    "gradient below eps1",
    "step below eps2",
    "no descent step above eps3",
    "singular normal equations",
    "numbers out of range",
)
_FACTORS_AT_ONCE = 8
_LIMIT, _GRADIENT, _STEP, _NO_DESCENT, _SINGULAR, _RANGE = range(len(STOPS))

AcceptRule = Literal["monotone", "strict", "decrease", "always"]


@dataclass(frozen=True)
class GaussNewtonOptions:
    """Options of A1.

    Attributes
    ----------
    alpha : first step factor, in (0, 1); an array gives each problem of the batch its own.
    accept : when a factor is taken: "monotone", ``|r(alpha/2)| <= |r(0)|`` and ``|r(alpha)| <= |r(alpha/2)|`` (A1,
        line 10); "strict", the same with ``<`` (27); "decrease", ``|r(alpha)| < |r(0)|``; "always".
    shrink : how a refused factor shrinks: "square", alpha <- alpha^2 (A1), or "power", alpha <- alpha alpha_0 (27).
    keep_alpha : start the next iteration from the last factor instead of from ``alpha``.
    order : "square then test", or "test then square", the printed order of A1, lines 12 and 13: the step taken is
        then one shrinking shorter than the one tested.
    eps1, eps2, eps3, k_max : thresholds for gradient, step and factor, and the iteration limit.
    """

    alpha: float | Array = 0.99
    accept: AcceptRule = "monotone"
    shrink: Literal["square", "power"] = "square"
    keep_alpha: bool = False
    order: Literal["square then test", "test then square"] = "square then test"
    eps1: float = 1e-14
    eps2: float = 1e-14
    eps3: float = 1e-14
    k_max: int = 200

    def __post_init__(self) -> None:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if not np.all((alpha > 0.0) & (alpha < 1.0)) and self.accept != "always":
            raise StewartError(f"option alpha is {alpha}, expected step factors between 0 and 1, both excluded")


@dataclass(frozen=True)
class LevenbergMarquardtOptions:
    """Options of A2.

    Attributes
    ----------
    tau : first damping over the largest diagonal entry of ``J^T J``; an array gives each problem its own.
    eps1, eps2, k_max : thresholds for gradient and step, and the iteration limit.
    """

    tau: float | Array = 1e-6
    eps1: float = 1e-14
    eps2: float = 1e-14
    k_max: int = 200

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.tau, dtype=np.float64) > 0.0):
            raise StewartError(f"option tau is {self.tau}, expected positive damping ratios")


def gauss_newton(
    chart: Chart, equations: LegEquations, x: Array, options: GaussNewtonOptions, record: bool = False
) -> Iterates:
    """Run Algorithm A1 on a batch; ``record`` keeps the unknowns of every iteration."""
    run = Iterates(x, record)
    first = np.broadcast_to(np.asarray(options.alpha, dtype=np.float64), (len(x),)).copy()
    factors = first.copy()
    for iteration in range(options.k_max + 1):
        rows = run.active
        if not rows.size:
            break
        residual, jacobian = chart.linearise(equations.select(rows), run.x[rows])
        gradient = np.einsum("nmk,nm->nk", jacobian, residual)
        small = np.abs(gradient).max(axis=1) <= options.eps1
        run.end(rows[small], _GRADIENT)
        if iteration == options.k_max or small.all():
            break
        rows, residual, jacobian, gradient = rows[~small], residual[~small], jacobian[~small], gradient[~small]
        run.iterations[rows] += 1
        step, solved = _solve(np.swapaxes(jacobian, 1, 2) @ jacobian, -gradient)
        run.end(rows[~solved], _SINGULAR)
        short = solved & (np.linalg.norm(step, axis=1) <= options.eps2)
        run.end(rows[short], _STEP)
        going = solved & ~short
        rows, step, residual = rows[going], step[going], residual[going]
        if not rows.size:
            continue
        start = factors[rows] if options.keep_alpha else first[rows]
        alpha = _step_factors(chart, equations.select(rows), run.x[rows], step, residual, (start, first[rows]), options)
        stuck = ~(alpha > options.eps3)
        run.end(rows[stuck], _NO_DESCENT)
        rows, step, alpha = rows[~stuck], step[~stuck], alpha[~stuck]
        factors[rows] = alpha
        run.advance(rows, chart.move(run.x[rows], alpha[:, None] * step))
    return run


def levenberg_marquardt(
    chart: Chart, equations: LegEquations, x: Array, options: LevenbergMarquardtOptions, record: bool = False
) -> Iterates:
    """Run Algorithm A2 on a batch, gain ratio with denominator ``s^T (mu s - g) / 2``."""
    run = Iterates(x, record)
    residual, jacobian = chart.linearise(equations, run.x)
    normal = np.swapaxes(jacobian, 1, 2) @ jacobian
    gradient = np.einsum("nmk,nm->nk", jacobian, residual)
    tau = np.broadcast_to(np.asarray(options.tau, dtype=np.float64), (len(x),))
    mu = tau * np.einsum("nkk->nk", normal).max(axis=1)
    nu = np.full(len(x), 2.0)
    cost = 0.5 * np.einsum("nm,nm->n", residual, residual)
    run.end(np.flatnonzero(np.abs(gradient).max(axis=1) <= options.eps1), _GRADIENT)
    identity = np.eye(normal.shape[-1])
    for _ in range(options.k_max):
        rows = run.active
        if not rows.size:
            break
        run.iterations[rows] += 1
        step, solved = _solve(normal[rows] + mu[rows, None, None] * identity, -gradient[rows])
        run.end(rows[~solved], _SINGULAR)
        short = solved & (np.linalg.norm(step, axis=1) <= options.eps2)
        run.end(rows[short], _STEP)
        rows, step = rows[solved & ~short], step[solved & ~short]
        if not rows.size:
            continue
        selected = equations.select(rows)
        moved = chart.move(run.x[rows], step)
        new_residual, new_jacobian = chart.linearise(selected, moved)
        new_cost = 0.5 * np.einsum("nm,nm->n", new_residual, new_residual)
        predicted = 0.5 * np.einsum("nk,nk->n", step, mu[rows, None] * step - gradient[rows])
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (cost[rows] - new_cost) / predicted
        good = gain > 0.0
        bad_rows = rows[~good]
        mu[bad_rows] *= nu[bad_rows]
        nu[bad_rows] *= 2.0
        run.end(bad_rows[~np.isfinite(mu[bad_rows])], _RANGE)
        rows = rows[good]
        cost[rows] = new_cost[good]
        normal[rows] = np.swapaxes(new_jacobian[good], 1, 2) @ new_jacobian[good]
        gradient[rows] = np.einsum("nmk,nm->nk", new_jacobian[good], new_residual[good])
        mu[rows] *= np.maximum(1.0 / 3.0, 1.0 - (2.0 * gain[good] - 1.0) ** 3)
        nu[rows] = 2.0
        run.advance(rows, moved[good])
        run.end(rows[np.abs(gradient[rows]).max(axis=1) <= options.eps1], _GRADIENT)
    return run


class Iterates:
    """State of a batch: unknowns, iterations (n,), index into `STOPS` (n,), poses on the way, what still runs."""

    def __init__(self, x: Array, record: bool) -> None:
        self.x = x.copy()
        self.iterations = np.zeros(len(x), dtype=np.int64)
        self.stop = np.full(len(x), _LIMIT, dtype=np.int64)
        self.active = np.arange(len(x))
        self.path = [x.copy()] if record else []
        self._record = record

    def end(self, rows: npt.NDArray[np.intp], why: int) -> None:
        """Set problems aside."""
        if rows.size:
            self.stop[rows] = why
            self.active = self.active[~np.isin(self.active, rows)]

    def advance(self, rows: npt.NDArray[np.intp], x: Array) -> None:
        """Take the new unknowns of some problems."""
        self.x[rows] = x
        if self._record and rows.size:
            self.path.append(self.x.copy())


def _solve(matrices: Array, right: Array) -> tuple[Array, Mask]:
    """Solve (n, k, k) systems; the flag (n,) marks those solved with finite numbers."""
    solved = np.asarray(np.isfinite(matrices).all(axis=(1, 2)) & np.isfinite(right).all(axis=1))
    step = np.zeros_like(right)
    try:
        step[solved] = np.linalg.solve(matrices[solved], right[solved, :, None])[..., 0]
    except np.linalg.LinAlgError:  # one exactly singular matrix stops the whole batch: go one by one
        for row in np.flatnonzero(solved):
            try:
                step[row] = np.linalg.solve(matrices[row], right[row])
            except np.linalg.LinAlgError:
                solved[row] = False
    return step, np.asarray(solved & np.isfinite(step).all(axis=1))


def _step_factors(
    chart: Chart,
    equations: LegEquations,
    x: Array,
    step: Array,
    residual: Array,
    factors: tuple[Array, Array],
    options: GaussNewtonOptions,
) -> Array:
    """Step factors (n,) that satisfy the accept rule; at most eps3 where none does. ``factors``: start and alpha_0."""
    alpha, first = factors[0].copy(), factors[1]
    if options.accept == "always":
        return alpha
    at_zero = np.linalg.norm(residual, axis=1)
    pending, count = np.arange(len(x)), 1
    while pending.size:
        # Most first factors are accepted; after that the refused ones are tested several at a time, for speed only.
        tested = _shrunken(alpha[pending], first[pending], count, options.shrink)
        rows = np.repeat(pending, count)
        problem = (equations.select(rows), x[rows], step[rows], at_zero[rows])
        accepted = _accepts(chart, problem, tested[:, :-1].ravel(), options.accept).reshape(-1, count)
        taken = tested[:, 1:] if options.order == "test then square" else tested[:, :-1]
        ends = accepted | (tested[:, :-1] <= options.eps3)
        ended, where = ends.any(axis=1), ends.argmax(axis=1)
        rest = tested[:, -1]
        alpha[pending] = np.where(ended, np.take_along_axis(taken, where[:, None], axis=1)[:, 0], rest)
        pending, count = pending[~ended], _FACTORS_AT_ONCE
    return alpha


def _shrunken(alpha: Array, first: Array, count: int, shrink: str) -> Array:
    """Return ``alpha`` (n,) and the ``count`` factors that follow it when it is refused, (n, count + 1)."""
    columns = [alpha]
    for _ in range(count):
        columns.append(columns[-1] * (columns[-1] if shrink == "square" else first))
    return np.stack(columns, axis=1)


def _accepts(chart: Chart, problem: tuple[LegEquations, Array, Array, Array], alpha: Array, rule: AcceptRule) -> Mask:
    """Say for each problem (equations, unknowns, step, residual norm) whether ``alpha`` satisfies the accept rule."""
    equations, x, step, at_zero = problem
    rows = np.tile(np.arange(len(x)), 1 if rule == "decrease" else 2)
    shares = alpha if rule == "decrease" else np.concatenate([alpha, 0.5 * alpha])
    with np.errstate(over="ignore", invalid="ignore"):
        moved = chart.move(x[rows], shares[:, None] * step[rows])
        sizes = np.linalg.norm(chart.residual(equations.select(rows), moved), axis=1)
    full = sizes[: len(x)]
    if rule == "decrease":
        return np.asarray(full < at_zero)
    half = sizes[len(x) :]
    if rule == "strict":
        return np.asarray((half < at_zero) & (full < half))
    return np.asarray((half <= at_zero) & (full <= half))


# Names and options of the forward kinematics solvers: which chart and which iteration a method stands for.


@dataclass(frozen=True)
class _CommonOptions:
    """Options that every method has, see `solve_forward_kinematics`."""

    record_path: bool = False
    length_unit: float | None = None
    residual: ResidualForm = "squared"
    tolerance: float | None = None


_Options = TypeVar("_Options")


@lru_cache
def _words(cls: Any) -> dict[str, tuple[str, ...]]:
    """Words that options may be, by the names of these."""
    hints = get_type_hints(cls).items()
    return {name: get_args(hint) for name, hint in hints if cast("Any", get_origin(hint)) is Literal}


def _taken(cls: type[_Options], options: dict[str, Any], known: list[str], defaults: Mapping[str, Any]) -> _Options:
    """Make a dataclass of the options by the names of its fields, which are taken out and noted as known."""
    values: dict[str, Any] = {}
    for field in fields(cls):  # type: ignore[arg-type]
        known.append(field.name)
        values[field.name] = value = options.pop(field.name, defaults.get(field.name, field.default))
        words = _words(cast("Any", cls)).get(field.name)
        if words and value not in words:
            raise StewartError(f"option {field.name} is {value!r}, expected one of {', '.join(map(repr, words))}")
    return cls(**values)


_Method = tuple[type[Chart], type[GaussNewtonOptions] | type[LevenbergMarquardtOptions], dict[str, Any]]
#: The solvers by name: what to hold the pose in, how to iterate, and defaults that are the method's own.
_METHODS: dict[str, _Method] = {
    "auto": (PoseSE3, LevenbergMarquardtOptions, {"tau": 0.1}),
    "gn-se3": (PoseSE3, GaussNewtonOptions, {}),
    "lm-se3": (PoseSE3, LevenbergMarquardtOptions, {"screw": "spatial"}),
    "gn-r6": (RollPitchYaw, GaussNewtonOptions, {}),
    "lm-r6": (RollPitchYaw, LevenbergMarquardtOptions, {}),
    "gn-quat": (Quaternion, GaussNewtonOptions, {}),
    "lm-quat": (Quaternion, LevenbergMarquardtOptions, {}),
}
#: Names that `solve_forward_kinematics` takes as ``method``.
METHODS = tuple(_METHODS)
#: Unit of the paper [m]: its thresholds and its damping are for lengths in cm.
PAPER_UNIT = 0.01
_GUESS_TOLERANCE = 1e-3
_SINGULAR_CONDITION = 1e7
_RELATIVE_TOLERANCE = 1e-10


@shown
@dataclass(frozen=True)
class ForwardKinematicsResult:
    """Outcome of `solve_forward_kinematics`; scalars for one problem, arrays (...) for a batch.

    Attributes
    ----------
    pose : (..., 4, 4), last iterate, a rigid motion also when the solver failed; the guess where that overflowed.
    converged : the lengths of ``pose`` agree with those requested within the tolerance, and the pose is not singular.
    iterations : iterations taken.
    residual : largest difference of a leg length [m].
    reason : why it did not converge, "" where it did.
    stop : how the iteration ended, one of `fk_iterations.STOPS`.
    path : poses (k, 4, 4) on the way from the guess, with ``record_path=True``, otherwise None.
    """

    pose: Array
    converged: bool | Mask
    iterations: int | Integers
    residual: float | Array
    reason: str | npt.NDArray[np.object_]
    stop: str | npt.NDArray[np.object_]
    path: Array | None = None


def solve_forward_kinematics(
    platform: PointJointed, lengths: ArrayLike, guess: ArrayLike, method: str = "auto", **options: Any
) -> ForwardKinematicsResult:
    """Find a pose with the given leg lengths, starting from a guess.

    Parameters
    ----------
    platform : the platform.
    lengths : array-like, shape (..., 6) [m]; for a `RotaryPlatform` one set of angles (6,) [rad].
    guess : array-like, shape (..., 4, 4), poses to start from; rotations good to 1e-3 will do.
    method : "auto" or one of the six names in the module's text.
    **options :
        All methods: ``length_unit`` [m] (the unit inside the solver), ``residual`` ("squared" or "length"),
        ``tolerance`` [m] (default 1e-10 of the longest leg), ``record_path``.
        GN methods: the fields of `GaussNewtonOptions`; LM methods and auto: those of `LevenbergMarquardtOptions`.
        gn-se3, lm-se3, auto: ``screw`` ("body" or "spatial"; lm-se3 defaults to "spatial", which reproduces the
        paper's Table 3). gn-quat, lm-quat: ``rotation``, ``weight``, ``rescale`` of `Quaternion`.
        ``alpha`` and ``tau`` may be arrays that broadcast with the batch.

    Raises
    ------
    StewartError : unknown method or option, wrong shapes, a length that is NaN, infinite, zero, negative or far beyond
        the platform (millimetres), a guess beyond all measure.
    GroupError : an invalid guess.

    Lengths that no pose has, or a singular pose, are no error: ``converged`` is False and ``reason`` gives the cause.
    """
    require_legs(platform)
    if isinstance(platform, RotaryPlatform):
        platform, lengths = platform.locked(lengths)
    if not isinstance(method, str) or method not in _METHODS:
        raise StewartError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    (held, iteration, defaults), left, known = _METHODS[method], dict(options), list[str]()
    chart, iterated = _taken(held, left, known, defaults), _taken(iteration, left, known, defaults)
    common = _taken(_CommonOptions, left, known, {})
    if left:
        unknown = ", ".join(sorted(left))
        raise StewartError(f"method {method!r} has no option {unknown}; its options are {', '.join(known)}")
    unit = PAPER_UNIT if method != "auto" else platform.characteristic_length
    unit = unit if common.length_unit is None else float(common.length_unit)
    if not 0.0 < unit < np.inf:
        raise StewartError(f"length_unit is {unit}, expected a positive length in metres")
    targets, poses, batch = _as_batch(check_lengths(lengths, platform), guess)
    check_place(platform, poses, "guess")
    tolerance = _RELATIVE_TOLERANCE * targets.max(axis=1) if common.tolerance is None else float(common.tolerance)

    scaled = poses.copy()
    scaled[:, :3, 3] /= unit
    ends = platform.base_points / unit, platform.platform_points / unit
    equations = LegEquations(*ends, targets / unit, common.residual)
    # Iterates of a diverging problem may overflow; the result then says so.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        start = chart.from_pose(scaled)
        if isinstance(iterated, GaussNewtonOptions):
            iterated = replace(iterated, alpha=_each(iterated.alpha, batch))
            outcome = gauss_newton(chart, equations, start, iterated, common.record_path)
        else:
            iterated = replace(iterated, tau=_each(iterated.tau, batch))
            outcome = levenberg_marquardt(chart, equations, start, iterated, common.record_path)
        found = _unscaled(chart.to_pose(outcome.x), unit, poses)
        way = [_unscaled(chart.to_pose(x), unit, poses) for x in outcome.path]
    path = np.stack(way) if common.record_path else None
    if path is not None and not batch:
        path = path[:, 0]
    return _result(platform, targets, found, outcome, np.broadcast_to(tolerance, len(targets)), batch, path)


def _each(value: float | Array, batch: tuple[int, ...]) -> Array:
    """Return one number for each problem of a batch."""
    return np.broadcast_to(np.asarray(value, dtype=np.float64), batch).reshape(-1)


def _as_batch(lengths: ArrayLike, guess: ArrayLike) -> tuple[Array, Array, tuple[int, ...]]:
    """Lengths (n, 6), poses (n, 4, 4) and the shape of the batch, checked."""
    targets = np.asarray(lengths)
    poses = se3.check(ik.as_pose(guess, "guess"), "guess", tolerance=_GUESS_TOLERANCE)
    poses = se3.from_parts(so3.nearest(poses[..., :3, :3]), poses[..., :3, 3])
    if not (np.abs(poses[..., :3, 3]) <= LARGEST).all():
        raise StewartError(f"guess: a position beyond {LARGEST:g} m, expected metres")
    try:
        batch = np.broadcast_shapes(targets.shape[:-1], poses.shape[:-2])
    except ValueError as error:
        raise StewartError(
            f"lengths of shape {targets.shape} and guesses of shape {poses.shape} do not broadcast, "
            "expected (..., 6) and (..., 4, 4)"
        ) from error
    targets = np.broadcast_to(targets, (*batch, 6)).reshape(-1, 6)
    return targets, np.broadcast_to(poses, (*batch, 4, 4)).reshape(-1, 4, 4), batch


def _unscaled(poses: Array, unit: float, otherwise: Array) -> Array:
    """Poses in metres; others where they have overflowed."""
    poses = poses.copy()
    poses[:, :3, 3] *= unit
    return np.where(np.isfinite(poses).all(axis=(1, 2), keepdims=True), poses, otherwise)


def _result(
    platform: StewartPlatform,
    targets: Array,
    poses: Array,
    outcome: Iterates,
    tolerances: Array,
    batch: tuple[int, ...],
    path: Array | None,
) -> ForwardKinematicsResult:
    """Judge the last iterates by their leg lengths and put the batch into its shape."""
    with np.errstate(all="ignore"):
        residual = np.abs(platform.leg_lengths(poses) - targets).max(axis=1)
    fits = residual <= tolerances
    condition = np.zeros(len(targets))
    condition[fits] = platform.condition_number(poses[fits])
    converged = fits & (condition < _SINGULAR_CONDITION)
    reasons = np.full(len(targets), "", dtype=object)
    for row in np.flatnonzero(~converged):
        if fits[row]:
            reasons[row] = (
                f"the pose found is singular (condition number {condition[row]:.1e}): near it the lengths do not "
                "determine the pose"
            )
        else:
            ended = f"the iteration ended ({STOPS[outcome.stop[row]]}) with a leg off by {residual[row]:.3g} m"
            reasons[row] = why_unreachable(platform, targets[row]) or f"no pose with these lengths found: {ended}"
    stops = np.array(STOPS, dtype=object)[outcome.stop]
    if not batch:
        return ForwardKinematicsResult(
            poses[0], bool(converged[0]), int(outcome.iterations[0]), float(residual[0]), reasons[0], stops[0], path
        )
    return ForwardKinematicsResult(
        poses.reshape(*batch, 4, 4),
        converged.reshape(batch),
        outcome.iterations.reshape(batch),
        residual.reshape(batch),
        reasons.reshape(batch),
        stops.reshape(batch),
        None if path is None else path.reshape(len(path), *batch, 4, 4),
    )
