"""Forward kinematics from a guess: the six solvers of the paper, and a default for production use.

    auto      Levenberg-Marquardt on SE(3), body screw, lengths in units of the platform's characteristic length
    gn-se3    gn-r6    gn-quat     Algorithm A1 on SE(3), R^6 (roll, pitch, yaw), R^7 (quaternion)
    lm-se3    lm-r6    lm-quat     Algorithm A2 on the same

The six are the paper's, in cm and rad and in the reading that reproduces most of its tables; options give the other
readings. They find the pose whose basin the guess lies in, which need not be the pose of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import se3, so3
from ...shown import shown
from ...texts import LARGEST
from ..errors import StewartError
from ..geometry import inverse_kinematics as ik
from ..geometry.any_platform import PointJointed, require_legs
from ..geometry.platform import StewartPlatform
from ..geometry.rotary_platform import RotaryPlatform
from .charts import Chart, LegEquations, PoseSE3, Quaternion, ResidualForm, RollPitchYaw
from .iterations import STOPS, GaussNewtonOptions, LevenbergMarquardtOptions, Outcome, gauss_newton, levenberg_marquardt
from .reachability import check_lengths, why_unreachable

# Names and options of the forward kinematics solvers: which chart and which iteration a method stands for.


class Settings:
    """Options by name, each taken once; what nobody takes is an error that lists the known ones."""

    def __init__(self, method: str, options: dict[str, Any]) -> None:
        self.method = method
        self._options = options
        self._known: list[str] = []

    def take(self, name: str, default: Any) -> Any:
        """Return an option, or its default."""
        self._known.append(name)
        return self._options.pop(name, default)

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> Any:
        """Return an option that must be one of some words."""
        value = self.take(name, default)
        if value not in allowed:
            raise StewartError(f"option {name} is {value!r}, expected one of {', '.join(map(repr, allowed))}")
        return value

    def refuse_rest(self) -> None:
        """Raise StewartError for options that the method does not know."""
        if self._options:
            unknown, known = ", ".join(sorted(self._options)), ", ".join(self._known)
            raise StewartError(f"method {self.method!r} has no option {unknown}; its options are {known}")


Iterate = Callable[[Chart, LegEquations, Array, "tuple[int, ...]", bool], Outcome]


def _gauss_newton(settings: Settings) -> Iterate:
    """Read the options of A1 and return the iteration."""
    allowed = {
        "accept": ("monotone", "strict", "decrease", "always"),
        "shrink": ("square", "power"),
        "order": ("square then test", "test then square"),
    }
    values: dict[str, Any] = {}
    for field in fields(GaussNewtonOptions):
        if field.name in allowed:
            values[field.name] = settings.choice(field.name, allowed[field.name], str(field.default))
        else:
            values[field.name] = settings.take(field.name, field.default)
    alpha = np.asarray(values.pop("alpha"), dtype=np.float64)
    if not np.all((alpha > 0.0) & (alpha < 1.0)) and values["accept"] != "always":
        raise StewartError(f"option alpha is {alpha}, expected step factors between 0 and 1, both excluded")

    def iterate(chart: Chart, equations: LegEquations, x: Array, batch: tuple[int, ...], record: bool) -> Outcome:
        spread = np.broadcast_to(alpha, batch).reshape(-1)
        return gauss_newton(chart, equations, x, GaussNewtonOptions(alpha=spread, **values), record)

    return iterate


def _levenberg_marquardt(settings: Settings, **defaults: float) -> Iterate:
    """Read the options of A2 and return the iteration."""
    values = {
        field.name: settings.take(field.name, defaults.get(field.name, field.default))
        for field in fields(LevenbergMarquardtOptions)
    }
    tau = np.asarray(values.pop("tau"), dtype=np.float64)
    if not np.all(tau > 0.0):
        raise StewartError(f"option tau is {tau}, expected positive damping ratios")

    def iterate(chart: Chart, equations: LegEquations, x: Array, batch: tuple[int, ...], record: bool) -> Outcome:
        spread = np.broadcast_to(tau, batch).reshape(-1)
        return levenberg_marquardt(chart, equations, x, LevenbergMarquardtOptions(tau=spread, **values), record)

    return iterate


def _on_se3(settings: Settings, default: Literal["body", "spatial"]) -> Chart:
    return PoseSE3(settings.choice("screw", ("body", "spatial"), default))


def _on_quaternions(settings: Settings) -> Chart:
    rotation = settings.choice("rotation", ("homogeneous", "normalised"), "normalised")
    return Quaternion(rotation, float(settings.take("weight", 1.0)), bool(settings.take("rescale", False)))


#: The solvers by name: what to hold the pose in, and how to iterate.
METHOD_BUILDERS: dict[str, Callable[[Settings], tuple[Chart, Iterate]]] = {
    "auto": lambda settings: (_on_se3(settings, "body"), _levenberg_marquardt(settings, tau=0.1)),
    "gn-se3": lambda settings: (_on_se3(settings, "body"), _gauss_newton(settings)),
    "lm-se3": lambda settings: (_on_se3(settings, "spatial"), _levenberg_marquardt(settings)),
    "gn-r6": lambda settings: (RollPitchYaw(), _gauss_newton(settings)),
    "lm-r6": lambda settings: (RollPitchYaw(), _levenberg_marquardt(settings)),
    "gn-quat": lambda settings: (_on_quaternions(settings), _gauss_newton(settings)),
    "lm-quat": lambda settings: (_on_quaternions(settings), _levenberg_marquardt(settings)),
}


#: Names that `solve_forward_kinematics` takes as ``method``.
METHODS = tuple(METHOD_BUILDERS)
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
    converged: bool | npt.NDArray[np.bool_]
    iterations: int | npt.NDArray[np.int64]
    residual: float | Array
    reason: str | npt.NDArray[np.object_]
    stop: str | npt.NDArray[np.object_]
    path: Array | None = None


def solve_forward_kinematics(
    platform: PointJointed, lengths: npt.ArrayLike, guess: npt.ArrayLike, method: str = "auto", **options: Any
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
    build = METHOD_BUILDERS.get(method) if isinstance(method, str) else None
    if build is None:
        raise StewartError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    settings = Settings(method, dict(options))
    chart, iterate = build(settings)
    record = bool(settings.take("record_path", False))
    unit = float(settings.take("length_unit", platform.characteristic_length if method == "auto" else PAPER_UNIT))
    if not 0.0 < unit < np.inf:
        raise StewartError(f"length_unit is {unit}, expected a positive length in metres")
    form: ResidualForm = settings.choice("residual", ("squared", "length"), "squared")
    targets, poses, batch = _as_batch(check_lengths(lengths, platform), guess)
    tolerance = settings.take("tolerance", None)
    tolerances = (
        _RELATIVE_TOLERANCE * targets.max(axis=1) if tolerance is None else np.full(len(targets), float(tolerance))
    )
    settings.refuse_rest()

    scaled = poses.copy()
    scaled[:, :3, 3] /= unit
    equations = LegEquations(platform.base_points / unit, platform.platform_points / unit, targets / unit, form)
    # Iterates of a diverging problem may overflow; the result then says so.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        outcome = iterate(chart, equations, chart.from_pose(scaled), batch, record)
        found = _unscaled(chart.to_pose(outcome.x), unit, poses)
        path = np.stack([_unscaled(chart.to_pose(x), unit, poses) for x in outcome.path]) if record else None
    if path is not None and not batch:
        path = path[:, 0]
    return _result(platform, targets, found, outcome, tolerances, batch, path)


def _as_batch(lengths: npt.ArrayLike, guess: npt.ArrayLike) -> tuple[Array, Array, tuple[int, ...]]:
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
    outcome: Outcome,
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
