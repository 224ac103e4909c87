"""Calibration of closed mechanisms by name: dimensions and zeros of motors, from poses, points, heights or distances.

With the motors at a the other joints p solve f(a + offsets, p; d) = 0, d being the dimensions, and the tool is at
T(q; d). So dp/dd = -(df/dp)^-1 df/dd, and T changes by both. df/dd and dT/dd are differences at one q; the rest is
analytic. Gauss and Newton's steps are the shortest ones, so what no measurement determines stays nominal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..constraints.mechanisms import MECHANISMS, Mechanism
from ..constraints.mechanisms.base import file_name
from ..constraints.quantities import constraint_error, constraint_quantities
from ..constraints.tracking.tracker import ClosedLoopTracker
from ..dynamics.kinematics import jacobian
from ..errors import DescriptionError, InputError
from ..lie import se3, so3
from ..lie._arrays import as_real, number_of
from ..lie._tool_readings import ToolCalibration, ToolMeasured, ToolReadings, fit_of, tool_measured
from ..shown import shared_options
from ..stewart import OffsetPlatform, RotaryPlatform, StewartPlatform
from ..stewart.geometry.any_platform import points_of

if TYPE_CHECKING:
    from typing import Unpack

#: What is fitted where nothing else is said: dimensions that place joints; of platforms those of their geometry.
UNKNOWN = {
    "6-UPS": ("base_points", "platform_points"),
    "6-UCU": ("base_points", "platform_points", "base_offsets", "platform_offsets"),
    "delta": ("base_radius", "arm", "forearm", "tower_angles"),
    "linear delta": ("base_radius", "forearm", "tower_angles"),
    "3-RPS": ("base_radius", "platform_radius"),
    "five-bar": ("lengths",),
    "6-RUS": ("crank", "rod_length"),
    "planar 3-RRR": ("base_radius", "crank", "coupler"),
    "four-bar arm": ("upper_arm", "forearm", "crank", "link", "tail"),
}
_STEP, _CLOSED, _NEWTON = 1e-7, 1e-13, 20


@dataclass(frozen=True, eq=False)
class MechanismCalibration(ToolCalibration):
    """Dimensions of a mechanism from measurements.

    Its names are those of dimensions, with the number of the leg, "zero of JOINT", and "base". Its values are changes
    of the nominal dimensions, zeros of motors that are added to their readings, and the base's turn and shift [m, rad].
    What else it has: see `ToolCalibration`.

    Attributes
    ----------
    dimensions : dict
        For `mechanism`, the calibrated ones among them.
    zeros : ndarray, shape (k,)
        Of the motors: readings and these are their positions.
    base : ndarray, shape (4, 4)
        Pose of the mechanism's base in the frame of the measurements.
    made : Mechanism
        The calibrated mechanism.
    """

    dimensions: dict[str, Any]
    zeros: Array
    base: Array
    made: Mechanism
    _tool: Array

    def tool_positions(self, readings: npt.ArrayLike) -> Array:
        """Return where the measured point is (n, 3) for readings of the motors (n, k) [m].

        Raises
        ------
        InputError
            For a wrong shape, and for readings to which no regular way leads from home.
        """
        given = as_real(readings, (len(self.zeros),), "readings")
        q = _configurations(self.made, given.reshape(-1, len(self.zeros)) + self.zeros)
        return np.asarray((self.base @ self.made.pose(q) @ self._tool)[..., :3, 3].reshape(*given.shape[:-1], 3))


@shared_options(tool_measured)
def calibrate_mechanism(
    name: str | Callable[..., Mechanism],
    readings: npt.ArrayLike,
    *,
    dimensions: Mapping[str, Any] | None = None,
    unknown: Sequence[str] | None = None,
    common: Sequence[str] = (),
    fit_zeros: bool = True,
    tool: npt.ArrayLike = (0.0, 0.0, 0.0),
    deviation: float | None = None,
    **readout: Unpack[ToolMeasured],
) -> MechanismCalibration:
    """Return the dimensions of a mechanism, and the zeros of its motors, that explain measurements best.

    Parameters
    ----------
    name : str or function
        As for `mechanism`, or what returns a `Mechanism` of dimensions that have defaults, as a pentapod of its own.
    readings : array-like, shape (n, k)
        Of the motors at each measurement [rad, m].
    dimensions : mapping, optional
        Nominal ones, where they are not those that the mechanism has by itself.
    unknown : sequence of str, optional
        Dimensions that are fitted, those of each leg by themselves; see `UNKNOWN` for what is when left out. Of a
        `geometry` its points and numbers: "base_points", "platform_points", and "base_axes", "base_offsets",
        "platform_axes", "platform_offsets", "screw_leads", or "axes", "horns", "rods".
    common : sequence of str
        Those of them that are the same for all legs.
    fit_zeros : bool
        Whether the motors' zeros are not known.
    poses : array-like, shape (n, 4, 4), optional
        Measured poses of the platform [m]. One kind of measurement is given.
    positions : array-like, shape (n, 3), optional
        Measured positions of `tool` [m].
    heights : array-like, shape (n,), optional
        Measured heights of `tool` above the xy plane, as of a bed that is probed [m].
    distances : (array-like (m, 2), array-like (m,)), optional
        Pairs of indices into `readings`, and measured distances [m] between `tool` at the two.
    tool : array-like, shape (3,)
        The point that is measured, in the platform's frame [m].
    position_noise, rotation_noise : float
        Standard deviations of each coordinate, height or distance [m], and of each component of a turn [rad].
    deviation : float, optional
        By how much dimensions and zeros differ from the nominal ones, as a standard deviation [m, rad]. What
        measurements hardly determine then stays near them, which is wise where these are few.
    fit_base : bool
        Whether the pose of the base in the frame of the measurements is not known.
    max_iterations : int
        Largest number of steps.

    Returns
    -------
    MechanismCalibration

    Raises
    ------
    DescriptionError
        For names and dimensions that make no mechanism.
    InputError, GroupError
        For bad input, and readings to which no regular way leads from home.
    """
    key = next((x for x in MECHANISMS if file_name(x) == file_name(name)), "") if isinstance(name, str) else ""
    if not (key or callable(name)) or (unknown is None and key not in UNKNOWN):
        wanted = f"one of {list(UNKNOWN)}, or a function and what is unknown of its dimensions,"
        raise DescriptionError(f"calibrate_mechanism: {wanted} is expected, got {name!r}", name="name")
    nominal = dict(dimensions or {})
    make = name if callable(name) else MECHANISMS[key]
    if "geometry" in nominal or key in ("6-UPS", "6-UCU"):
        make = _of_geometry(make, nominal)
    made = make(**nominal)
    given = as_real(readings, (len(made.actuated),), "readings")
    if given.ndim != 2 or not len(given):
        raise InputError(f"readings: shape (n, {len(made.actuated)}) is expected, got {given.shape}", name="readings")
    measured = tool_measured(given, **readout)
    if deviation is not None:
        number_of("deviation", deviation, "a positive number", lambda v: 0.0 < v < np.inf)
    shift = np.eye(4)
    shift[:3, 3] = as_real(tool, (3,), "tool")
    chosen = tuple(UNKNOWN[key] if unknown is None else unknown)
    problem = _Problem(make, nominal, chosen, tuple(common), fit_zeros, measured.fit_base, given, shift)
    return _fitted(problem, measured, deviation)


def _of_geometry(make: Callable[..., Mechanism], dimensions: dict[str, Any]) -> Callable[..., Mechanism]:
    """Return what makes a mechanism of the points and numbers of its geometry, which it takes out of the dimensions."""
    if "geometry" not in dimensions:
        dimensions["geometry"] = make(**dimensions).geometry  # type: ignore[attr-defined]
    drawn = dimensions.pop("geometry")
    points = points_of(drawn)
    names = ["base_points", "platform_points"]
    if isinstance(drawn, OffsetPlatform):
        names += ["base_axes", "platform_axes", "base_offsets", "platform_offsets"] + ["screw_leads"] * drawn.has_screws
    elif isinstance(drawn, RotaryPlatform):
        names += ["axes", "horns", "rods"]
    defaults = {key: np.array(getattr(points if key in names[:2] else drawn, key)) for key in names}

    def call(**named: Any) -> Mechanism:
        values = {key: named.pop(key, defaults[key]) for key in names}
        base, top, *more = values.values()
        if isinstance(drawn, RotaryPlatform):
            (axes, horns, rods), zero = more, drawn.frames[..., 0]
            legs = RotaryPlatform(base, top, axes, horns, rods, zero, drawn.home_angles, drawn.angle_limits)
            return make(geometry=legs, **named)
        geometry: Any = StewartPlatform(base, top, points.leg_limits, home_pose=points.home_pose, allow_singular=True)
        if isinstance(drawn, OffsetPlatform):
            geometry = OffsetPlatform(geometry, *more)
        return make(geometry=geometry, **named)

    call.defaults = defaults  # type: ignore[attr-defined]
    return call


def _fitted(problem: _Problem, measured: ToolReadings, deviation: float | None) -> MechanismCalibration:
    count = len(problem.names)
    prior = np.zeros(count)
    if deviation is not None:
        prior[: count - 6 * problem.fit_base] = 1.0 / deviation

    def at(values: Array, q: Array) -> tuple[Array, Array, Array]:
        tool, slopes, q = problem.at(values, q)
        return *measured.residuals(tool, slopes), q

    fit = fit_of(at, np.zeros(count), problem.first(), prior, measured.max_iterations)
    dimensions, zeros, base = problem.parts(fit.values)
    return MechanismCalibration(
        **vars(fit.calibration(problem.names, prior)), dimensions=dimensions, zeros=zeros, base=base,
        made=problem.make(**dimensions), _tool=problem.tool,
    )  # fmt: skip


class _Problem:
    """A family of mechanisms, which of its dimensions are unknown, and the readings of the motors."""

    def __init__(
        self,
        make: Callable[..., Mechanism],
        dimensions: dict[str, Any],
        unknown: tuple[str, ...],
        common: tuple[str, ...],
        fit_zeros: bool,
        fit_base: bool,
        readings: Array,
        tool: Array,
    ) -> None:
        self.make, self.readings, self.tool, self.fit_base = make, readings, tool, fit_base
        self.nominal, names = dict(dimensions), list[str]()
        self._sizes: list[tuple[str, tuple[int, ...], int]] = []
        own = inspect.signature(make).parameters.items()
        defaults = getattr(make, "defaults", None) or {name: x.default for name, x in own if x.default is not x.empty}
        legs = getattr(make, "legs", {})
        for key in unknown:
            start = self.nominal.get(key, defaults.get(key))
            if key not in defaults or start is None or isinstance(start, (str, bool)):
                raise DescriptionError(f"unknown: some of {list(defaults)} are expected, got {key!r}", name="unknown")
            value = np.array(start, dtype=float)
            if key in legs and key not in common:
                value = np.array(np.broadcast_to(value, (legs[key],)))
            self.nominal[key] = value if value.shape else float(value)
            self._sizes.append((key, value.shape, value.size))
            labels = [" ".join(str(i + 1) for i in place) for place in np.ndindex(value.shape)]
            names += [f"{key} {label}".strip() for label in labels]
        actuated = self.make(**self.nominal).actuated
        self._light = "rod_mass" in getattr(make, "from_zero", ())
        self._dimensions = len(names)
        self._zeros = len(actuated) if fit_zeros else 0
        names += [f"zero of {joint}" for joint in actuated[: self._zeros]]
        names += [f"base {what} {axis}" for what in ("turn", "shift") for axis in "xyz"] if fit_base else []
        self.names = tuple(names)

    def parts(self, values: Array) -> tuple[dict[str, Any], Array, Array]:
        """Return dimensions, zeros of the motors and the pose of the base for values (n,)."""
        found, at = dict(self.nominal), 0
        for key, shape, size in self._sizes:
            change = values[at : at + size].reshape(shape)
            found[key] = np.asarray(self.nominal[key] + change) if shape else float(self.nominal[key] + change)
            at += size
        zeros = np.zeros(self.readings.shape[1])
        if self._zeros:
            zeros = values[at : at + self._zeros].copy()
        base = np.eye(4)
        if self.fit_base:
            base = se3.from_parts(so3.exp(values[-6:-3]), values[-3:])
        return found, zeros, np.asarray(base)

    def first(self) -> Array:
        """Return the nominal configurations (k, nq) of the readings, by the way from home."""
        return _configurations(self._built(np.zeros(len(self.names))), self.readings)

    def _built(self, values: Array) -> Mechanism:
        """Return the mechanism, without rods where it can do without: they do not affect where the platform is."""
        dimensions = self.parts(values)[0]
        return self.make(**{**dimensions, **({"rod_mass": 0.0} if self._light else {})})

    def at(self, values: Array, q: Array) -> tuple[Array, Array, Array]:
        """Return poses of the tool (k, 4, 4), how they change with the values (k, 6, n), and configurations (k, nq).

        Turns [rad] are in the tool's frame, shifts [m] those of the measured point in the frame of the measurements.
        """
        _, zeros, base = self.parts(values)
        made = self._built(values)
        model = made.model
        places = np.array([model.joint(joint).v_slice.start for joint in made.actuated])
        others = np.setdiff1d(np.arange(model.nv), places)
        q = q.copy()
        q[:, made._places] = self.readings + zeros
        still = np.zeros((len(q), model.nv))
        for _ in range(_NEWTON):
            found = constraint_quantities(model, made.constraints, q, still)
            inverse = np.linalg.pinv(found.jacobian[..., others], 1e-9)
            worst = np.abs(found.error).max(initial=0.0)
            if worst < _CLOSED:
                break
            step = np.zeros_like(still)
            step[:, others] = -(inverse @ found.error[..., None])[..., 0]
            q = np.asarray(model.integrate(q, step))
        if not worst < 1e-9:
            text = f"readings: with these dimensions loops do not close, {worst:.3g} is left"
            raise InputError(text, name="readings", value=float(worst))
        T = base @ made.pose(q) @ self.tool
        J = self._tool_jacobian(made, q, base)
        n = len(self.names)
        slopes = np.zeros((len(q), 6, n))
        for i in range(self._dimensions):
            other = self._built(values + _STEP * np.eye(n)[i])
            rate = (np.asarray(constraint_error(other.model, other.constraints, q)) - found.error) / _STEP
            there = base @ other.pose(q) @ self.tool
            slopes[:, :3, i] = so3.log(np.swapaxes(T[:, :3, :3], -1, -2) @ there[:, :3, :3]) / _STEP
            slopes[:, 3:, i] = (there[:, :3, 3] - T[:, :3, 3]) / _STEP
            slopes[:, :, i] -= (J[..., others] @ (inverse @ rate[..., None]))[..., 0]
        for i in range(self._zeros):
            passive = inverse @ found.jacobian[..., places[i], None]
            slopes[:, :, self._dimensions + i] = J[..., places[i]] - (J[..., others] @ passive)[..., 0]
        if self.fit_base:
            turns = so3.left_jacobian(values[-6:-3])
            slopes[:, :3, -6:-3] = np.swapaxes(T[:, :3, :3], -1, -2) @ turns
            slopes[:, 3:, -6:-3] = -so3.hat(T[:, :3, 3] - values[-3:]) @ turns
            slopes[:, 3:, -3:] = np.eye(3)
        return T, slopes, q

    def _tool_jacobian(self, made: Mechanism, q: Array, base: Array) -> Array:
        J = jacobian(made.model, q, made.platform, "aligned")
        T = made.pose(q)
        lever = (T[:, :3, :3] @ self.tool[:3, 3, None])[..., 0]
        move = J[:, 3:] - so3.hat(lever) @ J[:, :3]
        turned = np.swapaxes(T[:, :3, :3], -1, -2) @ J[:, :3]
        return np.concatenate([turned, base[:3, :3] @ move], axis=1)


def _configurations(made: Mechanism, positions: Array) -> Array:
    """Return configurations (k, nq) for positions of the motors (k, f), each by the straight line from home."""
    tracker = ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated, max_steps=100_000)
    found = []
    for k, one in enumerate(positions):
        tracker.reset(made.q)
        state = tracker.update(np.ascontiguousarray(one))
        if not state.valid:
            raise InputError(f"readings: row {k + 1}, {one.tolist()}: {state.message}", name="readings", value=k)
        found.append(state.q)
    return np.array(found)
