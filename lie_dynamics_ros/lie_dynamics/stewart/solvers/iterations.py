"""Gauss-Newton and Levenberg-Marquardt iterations on a batch of problems, as the paper's Algorithms A1 and A2.

The readings that its misprints leave open are options. Each problem of the batch runs as if alone: those that have
ended are set aside, the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from .charts import Chart, LegEquations

#: Why an iteration ended; position in the tuple is the code in `Outcome.stop`.
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


@dataclass(frozen=True)
class Outcome:
    """Last iterates of a batch: unknowns, iterations (n,), index into `STOPS` (n,), poses on the way."""

    x: Array
    iterations: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    path: list[Array]


def gauss_newton(
    chart: Chart, equations: LegEquations, x: Array, options: GaussNewtonOptions, record: bool = False
) -> Outcome:
    """Run Algorithm A1 on a batch; ``record`` keeps the unknowns of every iteration."""
    run = _Run(x, record)
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
    return run.outcome()


def levenberg_marquardt(
    chart: Chart, equations: LegEquations, x: Array, options: LevenbergMarquardtOptions, record: bool = False
) -> Outcome:
    """Run Algorithm A2 on a batch, gain ratio with denominator ``s^T (mu s - g) / 2``."""
    run = _Run(x, record)
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
    return run.outcome()


class _Run:
    """Book-keeping of a batch: unknowns, which problems still run, why the others ended."""

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

    def outcome(self) -> Outcome:
        """Return the state of all problems."""
        return Outcome(self.x, self.iterations, self.stop, self.path)


def _solve(matrices: Array, right: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
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


def _accepts(
    chart: Chart, problem: tuple[LegEquations, Array, Array, Array], alpha: Array, rule: AcceptRule
) -> npt.NDArray[np.bool_]:
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
