"""Calibration of rotary legs: points, axes, zero angles, horns and rods from angles, and poses, points or distances.

The platform is where all legs fulfil ``|R b_i + p - tip_i(t_i)| = rod_i``; with f these equations, a change of
parameters or angles x moves it by the body twist ``-(df/dT)^-1 df/dx``. All is fitted to what was measured at once,
noise of the angles being carried over to it. The drawing, with its tolerances, counts as a measurement: so directions
that nothing determines stay as drawn, and are reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import se3, so3
from ...lie._arrays import real_numbers
from ...lie._tool_readings import PointMeasured, ToolReadings, fit_of, point_measured, shares_of
from ...shown import shared_options
from ...texts import quoted
from ..geometry import inverse_kinematics as ik
from ..geometry.checks import N_LEGS
from ..geometry.rotary_platform import RotaryPlatform
from .fit import fit_rigid
from .measured import find_frames

if TYPE_CHECKING:
    from typing import Unpack

#: Parameters of a leg: points in {N} and {B}, rotation of the motor's frame about its own axes, of which the third is
#: the zero angle, and lengths [m, rad].
LEG_PARAMETERS = (
    "base_x", "base_y", "base_z", "platform_x", "platform_y", "platform_z", "tilt_x", "tilt_y", "zero", "horn", "rod",
)  # fmt: skip
#: Default standard deviations of axis directions and zero angles [rad].
DIRECTIONS = 0.03, 0.15
#: Parameters of where the base and the tool are: turns and shifts.
_SIX = ("turn x", "turn y", "turn z", "shift x", "shift y", "shift z")
_LEGS, _ZERO = N_LEGS * len(LEG_PARAMETERS), LEG_PARAMETERS.index("zero")
#: Fits, each with what the one before says of how angles' noise moves the tool.
_FITS, _STEPS = 3, 50
#: Tolerances from which on something else than the drawing is wrong.
_FAR = 8.0
#: Pieces of the way from home to each set of angles, corrections, and what is left of rods [in rods].
_PIECES, _CORRECTIONS, _CLOSED = 10, 30, 1e-13


@dataclass(frozen=True, eq=False)
class RotaryCalibration:
    """Result of `calibrate_rotary`.

    Attributes
    ----------
    platform : RotaryPlatform
        With what was found, and the nominal home angles and limits.
    corrections, deviations : ndarray, shape (6, 11)
        What was added to `LEG_PARAMETERS` of each leg, and its standard deviation [m, rad]: with frames that were not
        known that of the shape, both sides laid onto the drawing.
    told : ndarray, shape (6, 11)
        Part of each parameter's tolerance that the measurements took away, 0 (as drawn: not identifiable) to 1.
    names : tuple of str
        Of all n parameters: those of leg 1, of leg 2, ..., of the base's place and of the tool's.
    covariance : ndarray, shape (n, n)
        Of all parameters, the drawing's tolerances counting, too.
    rank : int
        Number of combinations of parameters that the measurements alone determine.
    unidentifiable : tuple of str
        Names of the parameters that take part in combinations that they do not determine.
    base, tool : ndarray, shape (4, 4)
        Pose of {N} in the frame of the measurements, and of what was measured in {B}.
    poses : ndarray, shape (n, 4, 4)
        Of {B} in {N} at the angles.
    residuals : ndarray
        Calculated less measured, in standard deviations, that of the angles counting.
    chi_square, degrees_of_freedom : float, int
        Sum of their squares and of those of the corrections in tolerances, and what it is on average.
    converged : bool
        Whether the last step was below a thousandth of each standard deviation.
    """

    platform: RotaryPlatform
    corrections: Array
    deviations: Array
    told: Array
    names: tuple[str, ...]
    covariance: Array
    rank: int
    unidentifiable: tuple[str, ...]
    base: Array
    tool: Array
    poses: Array
    residuals: Array
    chi_square: float
    degrees_of_freedom: int
    converged: bool

    def __str__(self) -> str:
        ratio = float(np.sqrt(self.chi_square / max(self.degrees_of_freedom, 1)))
        dim = [name for name, part in zip(LEG_PARAMETERS, self.told.min(axis=0), strict=True) if part < 0.5]
        return f"residuals are {ratio:.2g} times what is expected; hardly determined: {', '.join(dim) or 'nothing'}"


@shared_options(point_measured)
def calibrate_rotary(
    nominal: RotaryPlatform,
    poses: ArrayLike | None,
    angles: ArrayLike,
    angle_sigma: float = 1e-3,
    pose_sigma: tuple[float, float] = (1e-3, 1e-4),
    tolerances: tuple[float, float, float] = (2e-3, *DIRECTIONS),
    *,
    tool: ArrayLike = (0.0, 0.0, 0.0),
    fit_tool: bool = False,
    **point: Unpack[PointMeasured],
) -> RotaryCalibration:
    """Return the platform whose legs fit measurements at known angles of the motors.

    Parameters
    ----------
    nominal : RotaryPlatform
        As drawn, or measured with calipers.
    poses : array-like, shape (n, 4, 4), or None
        Of {B} in {N}, measured. One kind of measurement is given.
    angles : array-like, shape (n, 6)
        From the motors' sensors, or commands [rad].
    angle_sigma : float
        Standard deviation of angles [rad].
    pose_sigma : (float, float)
        Of measured orientations [rad], and of positions, heights or distances [m].
    tolerances : (float, float, float)
        How far the drawing may be off, as standard deviations: points and lengths [m], directions of axes and zero
        angles [rad].
    positions : array-like, shape (n, 3), optional
        Measured positions of `tool`, as a probe has them [m].
    heights : array-like, shape (n,), optional
        Measured heights of `tool`, as a dial gauge has them [m].
    distances : (array-like (m, 2), array-like (m,)), optional
        Pairs of indices into `angles`, and measured distances [m] of `tool` between the two.
    tool : array-like, shape (3,)
        The point that is measured, in {B} [m]; of poses too, whose axes are those of {B}.
    fit_base, fit_tool : bool
        Whether it is unknown where {N} is in the frame of the measurements, and where the tool is on the platform.

    Raises
    ------
    StewartError
        Shapes, numbers that are not finite or positive; angles far beyond their limits, or to which no regular way
        leads from home; machines that are many tolerances off the drawing.
    GroupError, InputError
        For what is no pose; for bad measurements.
    """
    if not isinstance(nominal, RotaryPlatform):
        raise StewartError(f"nominal: a RotaryPlatform is expected, got {quoted(nominal)}", name="nominal")
    t = ik.as_vector(angles, N_LEGS, "angles")
    if t.ndim != 2 or not len(t) or not np.isfinite(t).all():
        raise StewartError(f"angles {t.shape}: finite (n, 6) are expected", name="angles")
    sizes = [np.ravel(x) for x in (angle_sigma, pose_sigma, tolerances)]
    if [len(x) for x in sizes] != [1, 2, 3] or not all((np.isfinite(x) & (x > 0.0)).all() for x in sizes):
        raise StewartError("angle_sigma, pose_sigma and tolerances: 1, 2 and 3 numbers above zero are expected")
    beyond = -nominal.motor_margins(t)
    if beyond.max() > _FAR * tolerances[2]:
        k, leg = np.unravel_index(int(beyond.argmax()), beyond.shape)
        raise StewartError(
            f"angles: that of leg {leg + 1} in measurement {k} is {t[k, leg]:.6g} rad, limits are "
            f"{nominal.angle_limits[leg].tolist()}: degrees?", name="angles",
        )  # fmt: skip
    measured = point_measured(t, poses, (pose_sigma[1], pose_sigma[0]), **point)
    place = real_numbers(tool, "tool")
    if place.shape != (3,) or not np.isfinite(place).all():
        raise StewartError(f"tool: three finite numbers are expected, got shape {place.shape}", name="tool")
    at_tool = se3.from_parts(np.eye(3), place)
    problem = _Problem(nominal, t, _poses_at(nominal, t), at_tool, measured.fit_base, fit_tool)
    problem = problem.placed(measured)
    sigma = tolerances_of(tolerances)
    prior = np.zeros(len(problem.names))
    prior[:_LEGS] = 1.0 / sigma
    values, state = np.zeros(len(prior)), problem.own
    for _ in range(_FITS):
        weight = problem.weight(measured, values, state, angle_sigma)

        def at(values: Array, state: Array, weight: Array = weight) -> tuple[Array, Array, Array]:
            place, slopes, state = problem.at(values, state)
            rows, J = measured.residuals(place, slopes)
            return *_weighted(weight, rows, J), state

        fit = fit_of(at, values, state, prior, _STEPS)
        values, state = fit.values, fit.state
        far = np.abs(values * prior)
        if far.max() > _FAR:
            name, size = problem.names[int(far.argmax())], values[int(far.argmax())]
            raise StewartError(
                f"{name} would be {size:.3g} off the drawing, {far.max():.3g} tolerances: other units, legs swapped, a "
                f"frame that is not known, or larger tolerances?", name=name,
            )  # fmt: skip
    rank, lost, _ = shares_of(fit.slopes)
    _, _, back = shares_of(np.concatenate([fit.slopes, np.diag(prior)]))
    covariance = back.T @ back
    free = problem.free_of_frames(values, sigma)
    spread = np.einsum("ij,jk,ik->i", free, covariance[:_LEGS, :_LEGS], free)
    deviations = np.sqrt(spread).reshape(N_LEGS, -1)
    base, place = problem.frames(values)
    return RotaryCalibration(
        problem.platform(values), values[:_LEGS].reshape(N_LEGS, -1), deviations,
        1.0 - (deviations / sigma.reshape(N_LEGS, -1)) ** 2, problem.names, covariance, rank,
        tuple(name for name, gone in zip(problem.names, lost, strict=True) if gone), base, place, state, fit.rows,
        float((fit.rows**2).sum() + ((prior * values) ** 2).sum()), fit.rows.size - len(values) + _LEGS, fit.converged,
    )  # fmt: skip


def rotary_rows(
    nominal: RotaryPlatform, poses: Array, angle_sigma: float, pose_sigma: tuple[float, float], points: float
) -> tuple[Array, Array, Array]:
    """Return what poses (k, 4, 4), measured in unknown frames, would determine of the drawing's n parameters.

    An infinite deviation of orientations stands for positions alone; `points` is the drawing's tolerance [m].

    Returns
    -------
    rows : ndarray, shape (k, 6, n) or (k, 3, n)
        Of the weighted problem, for each pose.
    information : ndarray, shape (n, n)
        Of the drawing.
    shape : ndarray, shape (66, n)
        Takes changes of the parameters to those of the shape [m], angles at the horns' balls.
    """
    tolerances = tolerances_of((points, *DIRECTIONS))
    t = nominal.motor_positions(poses)
    problem = _Problem(nominal, t, poses, np.eye(4), True, True, np.eye(4))
    turns = None if np.isinf(pose_sigma[0]) else poses[:, :3, :3]
    measured = ToolReadings(poses[:, :3, 3], turns, None, np.zeros(0), (pose_sigma[1], pose_sigma[0]))
    values = np.zeros(len(problem.names))
    place, slopes, _ = problem.at(values, poses)
    weight = problem.weight(measured, values, poses, angle_sigma)
    _, J = measured.residuals(place, slopes)
    information = np.diag(np.append(1.0 / tolerances**2, np.ones(12)))  # frames are known to a metre
    units = np.ones((N_LEGS, len(LEG_PARAMETERS)))
    units[:, 6:9] = nominal.horns[:, None]
    shape = np.zeros((_LEGS, len(values)))
    shape[:, :_LEGS] = units.reshape(-1, 1) * problem.free_of_frames(values, tolerances)
    return weight @ J, information, shape


def tolerances_of(tolerances: tuple[float, float, float]) -> Array:
    """Return those of all parameters of legs (66,)."""
    lengths, direction, zero = tolerances
    return np.tile([*[lengths] * 6, direction, direction, zero, lengths, lengths], N_LEGS)


@dataclass(frozen=True)
class _Legs:
    """Geometry that parameters give: points, frames of motors, horns and rods."""

    base: Array
    balls: Array
    frames: Array
    horns: Array
    rods: Array

    def closed(self, t: Array, T: Array) -> tuple[Array, Array, Array]:
        """Return what rods are too long for poses (k, 6), their units (k, 6, 3), and horns' directions, (k, 6, 3)."""
        along = np.cos(t)[..., None] * self.frames[..., 0] + np.sin(t)[..., None] * self.frames[..., 1]
        rods = ik.leg_vectors(self.base + self.horns[:, None] * along, self.balls, T)
        lengths, units = ik.leg_units(rods)
        return lengths - self.rods, units, along

    def poses(self, t: Array, T: Array) -> tuple[Array, Array]:
        """Return poses (k, 4, 4) at angles (k, 6) near to others, by Newton's method, and what is left of rods."""
        error = np.full(t.shape, np.inf)
        for _ in range(_CORRECTIONS):
            error, units, _ = self.closed(t, T)
            if not np.isfinite(error).all() or np.abs(error).max() < _CLOSED * self.rods.max():
                break
            step = np.linalg.solve(self.rows(units, T), error[..., None])[..., 0]
            T = np.asarray(T @ se3.exp(-step))
        return T, np.abs(error).max(axis=1)

    def rows(self, units: Array, T: Array) -> Array:
        """Return how rods are longer by body twists (k, 6, 6)."""
        seen = units @ T[:, :3, :3]
        return np.concatenate([np.cross(self.balls, seen), seen], axis=-1)


def _poses_at(platform: RotaryPlatform, t: Array) -> Array:
    """Return the poses (k, 4, 4) of the drawing at angles (k, 6), on straight ways from home."""
    legs = _Legs(
        platform.base_points, platform.platform_points, platform.frames, platform.horns, platform.rods
    )  # fmt: skip
    T = np.tile(platform.home_pose, (len(t), 1, 1))
    for part in np.arange(1, _PIECES + 1) / _PIECES:
        try:
            T, left = legs.poses(platform.home_angles + part * (t - platform.home_angles), T)
        except np.linalg.LinAlgError:
            left = np.full(len(t), np.nan)
        lost = np.flatnonzero(~(left < 1e-9 * platform.rods.max()))
        if lost.size:
            raise StewartError(
                f"angles: no regular way of the drawing leads from home to measurement {lost[0]}, "
                f"{t[lost[0]].tolist()} rad: other units, legs swapped?", name="angles",
            )  # fmt: skip
    return T


@dataclass(frozen=True)
class _Problem:
    """A drawing, angles (k, 6), its poses there, and where base and tool are thought to be, known or not."""

    nominal: RotaryPlatform
    angles: Array
    own: Array
    tool: Array
    fit_base: bool
    fit_tool: bool
    base: Array | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        legs = (f"leg {leg} {name}" for leg in range(1, N_LEGS + 1) for name in LEG_PARAMETERS)
        places = [side for side, fitted in (("base", self.fit_base), ("tool", self.fit_tool)) if fitted]
        return (*legs, *(f"{side} {name}" for side in places for name in _SIX))

    def placed(self, measured: ToolReadings) -> _Problem:
        """Return the problem with first guesses of where base and tool are, as far as measurements determine them."""
        base, tool = np.eye(4), self.tool
        seen = None if measured.turns is None else se3.from_parts(measured.turns, measured.points)
        points = None if measured.pairs is not None or measured.level else measured.points
        if points is None:
            return replace(self, base=base)
        if self.fit_base and self.fit_tool:
            whole = se3.from_parts(np.tile(np.eye(3), (len(points), 1, 1)), points) if seen is None else seen
            base, target = find_frames(whole, self.own, "position" if seen is None else "pose")
            tool = se3.inverse(target)
        elif self.fit_base:
            there = self.own @ tool
            base = fit_rigid(there[:, :3, 3], points) if seen is None else seen[0] @ se3.inverse(there[0])
        elif self.fit_tool:
            first = se3.from_parts(self.own[0, :3, :3], points[0]) if seen is None else seen[0]
            tool = se3.inverse(self.own[0]) @ first
        return replace(self, base=base, tool=np.asarray(tool))

    def legs(self, values: Array) -> _Legs:
        """Return the geometry of parameters (n,)."""
        x, drawn = values[:_LEGS].reshape(N_LEGS, -1), self.nominal
        frames = drawn.frames @ np.asarray(so3.exp(x[:, 6:9]))
        return _Legs(
            drawn.base_points + x[:, :3], drawn.platform_points + x[:, 3:6], frames, drawn.horns + x[:, 9],
            drawn.rods + x[:, 10],
        )  # fmt: skip

    def frames(self, values: Array) -> tuple[Array, Array]:
        """Return where base and tool are (4, 4): turned and shifted from the guesses, the tool in its own axes."""
        base, tool, more = self.base, self.tool, values[_LEGS:]
        assert base is not None
        if self.fit_base:
            base = se3.from_parts(so3.exp(more[:3]) @ base[:3, :3], base[:3, 3] + more[3:6])
        if self.fit_tool:
            turn, shift = more[-6:-3], more[-3:]
            tool = se3.from_parts(tool[:3, :3] @ so3.exp(turn), tool[:3, 3] + shift)
        return np.asarray(base), np.asarray(tool)

    def free_of_frames(self, values: Array, sigma: Array) -> Array:
        """Return what takes out of changes of legs' parameters what only moves frames that are not known.

        Both sides are laid onto the drawing as well as rigid motions can, in units of its tolerances.
        """
        legs, unit = self.legs(values), np.eye(3)
        moves = np.zeros((N_LEGS, len(LEG_PARAMETERS), 12))
        for k, points in ((0, legs.base), (1, legs.balls)):
            moves[:, 3 * k : 3 * k + 3, 6 * k : 6 * k + 3] = np.cross(unit, points[:, None]).swapaxes(-1, -2)
            moves[:, 3 * k : 3 * k + 3, 6 * k + 3 : 6 * k + 6] = unit
        moves[:, 6:9, :3] = legs.frames.swapaxes(-1, -2)
        chosen = moves.reshape(_LEGS, 12)[:, np.repeat((self.fit_base, self.fit_tool), 6)] / sigma[:, None]
        return np.asarray(np.eye(_LEGS) - (sigma[:, None] * chosen) @ np.linalg.pinv(chosen) / sigma)

    def platform(self, values: Array) -> RotaryPlatform:
        """Return the platform of parameters (n,)."""
        legs, drawn = self.legs(values), self.nominal
        arguments = (
            legs.base, legs.balls, legs.frames[..., 2], legs.horns, legs.rods, legs.frames[..., 0], drawn.home_angles,
            drawn.angle_limits,
        )  # fmt: skip
        try:
            return RotaryPlatform(*arguments)
        except StewartError:  # home is not nearly level
            return RotaryPlatform(*arguments, home_pose=drawn.home_pose)

    def at(self, values: Array, near: Array) -> tuple[Array, Array, Array]:
        """Return the tool (k, 4, 4), its slopes along parameters (k, 6, n), and poses (k, 4, 4).

        Slopes are turns in the tool's axes, and shifts in those of the measurements.
        """
        legs, t = self.legs(values), self.angles
        T, left = legs.poses(t, near)
        if not left.max() < 1e-9 * legs.rods.max():
            raise StewartError("with these parameters rods do not reach")
        _, units, along = legs.closed(t, T)
        R, count = T[:, :3, :3], len(t)
        x = values[:_LEGS].reshape(N_LEGS, -1)
        arms = np.stack([np.cos(t), np.sin(t), 0.0 * t], axis=-1)
        turned = -legs.horns[:, None] * np.cross(arms, np.einsum("lij,kli->klj", legs.frames, units))
        turned = np.einsum("kli,lij->klj", turned, np.asarray(so3.right_jacobian(x[:, 6:9])))
        change = np.concatenate(
            [-units, units @ R, turned, -(units * along).sum(axis=-1, keepdims=True), -np.ones((count, N_LEGS, 1))],
            axis=-1,
        )  # of rods, by parameters of their own leg
        gain = -np.linalg.inv(legs.rows(units, T))
        twists = (gain[..., None] * change[:, None]).reshape(count, 6, -1)
        base, tool = self.frames(values)
        seen = base @ T @ tool
        slopes = np.zeros((count, 6, len(values)))
        slopes[:, :3, :_LEGS] = tool[:3, :3].T @ twists[:, :3]
        move = twists[:, 3:] - so3.hat(tool[:3, 3]) @ twists[:, :3]
        slopes[:, 3:, :_LEGS] = base[:3, :3] @ R @ move
        at = _LEGS
        if self.fit_base:
            turns = np.asarray(so3.left_jacobian(values[at : at + 3]))
            slopes[:, :3, at : at + 3] = np.swapaxes(seen[:, :3, :3], -1, -2) @ turns
            slopes[:, 3:, at : at + 3] = -so3.hat(seen[:, :3, 3] - base[:3, 3]) @ turns
            slopes[:, 3:, at + 3 : at + 6] = np.eye(3)
            at += 6
        if self.fit_tool:
            slopes[:, :3, at : at + 3] = so3.right_jacobian(values[at : at + 3])
            slopes[:, 3:, at + 3 : at + 6] = base[:3, :3] @ R
        return seen, slopes, T

    def weight(self, measured: ToolReadings, values: Array, near: Array, sigma: float) -> Array:
        """Return the inverse roots (..., r, r) of the residuals' covariance, with what angles' noise does to them.

        A motor's zero angle moves the tool as the angle itself does, which is another one at each measurement.
        """
        place, slopes, _ = self.at(values, near)
        zeros = slopes[..., _ZERO : _LEGS : len(LEG_PARAMETERS)]
        if measured.pairs is None:
            _, moved = measured.residuals(place, zeros)
            moved = moved.reshape(len(place), -1, N_LEGS)
        else:  # an angle takes part in several distances
            wide = np.einsum("kij,kl->kilj", zeros, np.eye(len(place))).reshape(len(place), 6, -1)
            _, moved = measured.residuals(place, wide)
        spread = np.eye(moved.shape[-2]) + sigma**2 * moved @ np.swapaxes(moved, -1, -2)
        return np.linalg.inv(np.linalg.cholesky(spread))


def _weighted(weight: Array, rows: Array, J: Array) -> tuple[Array, Array]:
    """Return residuals and slopes in units of all noise."""
    if weight.ndim == 2:
        return weight @ rows, weight @ J
    shape = (len(weight), weight.shape[-1])
    return (weight @ rows.reshape(*shape, 1))[..., 0], weight @ J.reshape(*shape, -1)
