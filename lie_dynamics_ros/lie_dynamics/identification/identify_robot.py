"""From arrays of a recording to an identified robot: parameters, how well they are known, files and a report."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..dynamics.forward_dynamics import solve_mass_matrix
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.joint_friction import JointFriction
from ..files import new_figure, write_file
from ..lie._arrays import number_of
from ..model.arguments import require_model
from ..model.model import Model
from ..model.urdf_inertias import LOSSES, with_inertias
from ..shown import picture, shared_options, shown, table, write_page
from .estimation import chosen_bodies, columns_of, parameters_of, with_parameters
from .fit import MOST_STATIC, TERMS, Equations, Fit
from .problems import Problem, judged_fit, stop_at
from .recordings import Measured, Samples, clear_of_rest, even_times, measured, samples_of
from .regression import BaseParameters, parameter_names, reduce_columns
from .signals import RecordingOptions, RecordingUse, signals_of

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.figure import Figure


#: Error of efforts in another motion that a sum of parameters may cause and still counts as seen, over their range.
SEEN = 0.02
#: Singular values of scaled columns, over the largest, that are round-off, so that nothing shows their direction.
NOT_SHOWN = 1e-10
_STATES = 200


def known_sums(
    model: Model, samples: Samples, bodies: list[int], fit: Fit
) -> tuple[BaseParameters, Array, Array, tuple[str, ...]]:
    """Return the sums of parameters that efforts depend on, their values and deviations, and those hardly seen."""
    nv, rng = model.nv, np.random.default_rng(0)
    names = [name for b in bodies for name in parameter_names(model)[10 * b : 10 * b + 10]]
    names += [f"{term}({joint})" for term in TERMS for joint in model.joint_names]
    names = [name for name, yes in zip(names, fit.active, strict=True) if yes]
    reach = np.clip(model.limits.lower, -np.pi, None), np.clip(model.limits.upper, None, np.pi)
    q = rng.uniform(*reach, (_STATES, nv))
    top, hard = np.abs(samples.qd).max(axis=0), np.abs(samples.qdd).max(axis=0)
    qd, qdd = (rng.uniform(-x, x, (_STATES, nv)) for x in (top, hard))
    Y = torque_regressor(model, q, qd, qdd)[..., columns_of(bodies)]
    rigid = Y @ fit.parameters.ravel()
    columns = (qd, np.sign(qd), rng.normal(size=qd.shape), np.sign(qd) * np.abs(rigid), qdd, np.ones_like(qd), rigid)
    full = np.concatenate([Y, *(x[..., None] * np.eye(nv) for x in columns)], axis=-1)[..., fit.active]
    base = reduce_columns(full.reshape(-1, full.shape[-1]), names, 1e-8)
    kept = list(base.independent)
    x = np.concatenate([fit.parameters.ravel(), *(fit.coefficients[term] for term in TERMS)])[fit.active]
    R = np.asarray(np.linalg.qr(fit.R[:, kept], mode="r"))
    size = np.maximum(np.linalg.norm(R, axis=0), 1e-12)
    _, s, V = np.linalg.svd(R / size, full_matrices=False)
    shown = s > NOT_SHOWN * s.max(initial=0.0)
    # What has a part in a direction that nothing shows is not known at all: the least squares of least norm say 0.
    unknown = (V[~shown] ** 2).sum(axis=0) > NOT_SHOWN
    back = V[shown].T / s[shown] / size[:, None]
    inverse = back @ back.T
    parts = np.maximum(np.einsum("ik,jkl,li->ji", inverse, fit.scatter[:, kept][:, :, kept], inverse), 0.0)
    lasting = parts.sum(axis=0)
    # So wide that 1.96 of them hold 95 %, as Student's distribution has it, though noise is known from what is left.
    freedom = lasting**2 / np.maximum((parts**2 / fit.freedom[:, None]).sum(axis=0), 1e-300)
    wider = special.stdtrit(np.maximum(freedom, 1.0), 0.975) / special.ndtri(0.975)
    deviations = np.where(unknown, np.inf, wider * np.sqrt(lasting))
    strength = np.sqrt((full[..., kept] ** 2).mean(axis=0))  # (nv, rank)
    effect = np.multiply(strength, deviations, where=strength > 0.0, out=np.zeros_like(strength))
    spans = np.maximum(np.ptp(samples.effort(fit.delay), axis=0), 1e-12)
    hidden = (effect / spans[:, None]).max(axis=0) > SEEN
    unseen = tuple(text for text, yes in zip(base.expressions(), hidden, strict=True) if yes)
    return base, base.values(x), deviations, unseen


def shares_of(model: Model, samples: Samples, bodies: list[int], fit: Fit, drives: Array) -> dict[str, Array]:
    """Return the root mean square effort (nv,), over the range, that each body's change and each term make."""
    Y = torque_regressor(model, samples.q, samples.qd, samples.qdd)[..., columns_of(bodies)]
    change = fit.parameters - parameters_of(model, bodies)
    spans = np.maximum(np.ptp(samples.effort(fit.delay), axis=0), 1e-12)
    found = {}
    for k, b in enumerate(bodies):
        part = Y[..., 10 * k : 10 * k + 10] @ change[k]
        found[model.body_names[b]] = np.sqrt((part**2).mean(axis=0)) / spans
    for k, term in enumerate(TERMS[:-1]):
        part = drives[..., k] * fit.coefficients[term]
        found[term] = np.sqrt((part**2).mean(axis=0)) / spans
    return found


@shown
@dataclass(frozen=True, eq=False)
class Prediction:
    """Efforts of a motion, measured and predicted, n samples.

    Attributes
    ----------
    time : ndarray, shape (n,)
        [s].
    measured, predicted, before : ndarray, shape (n, nv)
        Efforts as measured, low-passed; of the identified robot; of the one that was given, without friction.
    moving : ndarray of bool, shape (n, nv)
        Where joints move, and the low-pass mixes nothing in that friction held at rest, which is not identified.
    acceleration_error, acceleration_error_before : ndarray, shape (n, nv)
        What a wrong effort does: M^-1 (measured - predicted) [rad/s^2, m/s^2].
    """

    time: Array
    measured: Array
    predicted: Array
    before: Array
    moving: npt.NDArray[np.bool_]
    acceleration_error: Array
    acceleration_error_before: Array

    @property
    def error(self) -> Array:
        """Root mean square of the error where joints move, over the range of what was measured (nv,)."""
        return self._relative(self.predicted)

    @property
    def error_before(self) -> Array:
        """The same of the robot that was given (nv,)."""
        return self._relative(self.before)

    def _relative(self, efforts: Array) -> Array:
        squares = np.where(self.moving, (efforts - self.measured) ** 2, 0.0)
        mean = squares.sum(axis=0) / np.maximum(self.moving.sum(axis=0), 1)
        return np.asarray(np.sqrt(mean) / np.maximum(np.ptp(self.measured, axis=0), 1e-12))

    def tracking_error(self, bandwidth: float) -> tuple[Array, Array]:
        """Return the errors of position to expect of computed torque, root mean squares (nv,): before, identified.

        With the rate ``bandwidth`` w [rad/s] of feedback, e obeys e'' + 2 w e' + w^2 e = M^-1 (effort - predicted).
        """
        from scipy.signal import cont2discrete, lfilter

        step = float(self.time[-1] - self.time[0]) / (len(self.time) - 1)
        b, a, _ = cont2discrete(([1.0], [1.0, 2.0 * bandwidth, bandwidth**2]), step, "foh")
        errors = (self.acceleration_error_before, self.acceleration_error)
        before, after = (np.sqrt((lfilter(b.ravel(), a, x, axis=0) ** 2).mean(axis=0)) for x in errors)
        return before, after


@shown
@dataclass(frozen=True, eq=False)
class IdentifiedRobot:
    """Result of an identification.

    Attributes
    ----------
    model : Model
        With the identified inertias and rotors, which are part of its dynamics.
    given : Model
        What it was before.
    friction : JointFriction
        Of the drives [N m, N].
    offset : ndarray, shape (nv,)
        What efforts are off by, beyond what friction that differs by direction explains [N m, N].
    gain : ndarray, shape (nv,)
        Measured efforts over true ones; one where gains were not requested.
    delay : float
        By which efforts are recorded later than the motion they cause [s].
    base : BaseParameters
        Which sums of parameters the recording distinguishes: of bodies, then damping, friction, ... of joints.
    base_values, base_deviations : ndarray, shape (rank,)
        These, and their standard deviations, with regard to noise that lasts [as efforts are measured]; infinite where
        nothing in the recording shows them, as of drives that are left out.
    unseen : tuple of str
        Sums of parameters of the robot that the motion hardly shows.
    prediction : Prediction
        Of the part of the recording that was not used.
    problems : tuple of Problem
        What is wrong with the recording, or may be.
    cutoff : float
        Of the filter [Hz].
    shares : dict of str to ndarray (nv,)
        Which change of the model explains which part of the error: root mean square effort of each, over the range.
    left_out : dict of str to str
        Joints whose efforts were not used, and why: their drives stay as they were given.
    """

    model: Model
    given: Model
    friction: JointFriction
    offset: Array
    gain: Array
    delay: float
    base: BaseParameters
    base_values: Array
    base_deviations: Array
    unseen: tuple[str, ...]
    prediction: Prediction
    problems: tuple[Problem, ...]
    cutoff: float
    shares: Mapping[str, Array]
    left_out: Mapping[str, str]

    def predict(self, time: npt.ArrayLike, q: npt.ArrayLike, effort: npt.ArrayLike) -> Prediction:
        """Return what is predicted of another recording of the same robot; arguments as in `identify_robot`."""
        recording = measured(self.model, time, q, effort, self.cutoff)
        used = ~np.isin(self.model.joint_names, list(self.left_out))
        return predicted(self.model, self.given, self.friction, self.gain, self.offset, self.delay, recording, used)

    def write(self, folder: str | PathLike[str], urdf: str | bytes | PathLike[str]) -> tuple[Path, Path]:
        """Write `robot.urdf`, the given URDF with these inertias and losses, and `friction.yaml`; return their paths.

        The URDF is what the given model was read from. Its rotors count in the nodes of this package; friction belongs
        to `friction_file`, or, without Stribeck's curve and load, to `include_damping` and `include_friction`.
        """
        target = Path(folder)
        bodies = [b for b in range(self.model.n_bodies) if self.model.inertia(b) != self.given.inertia(b)]
        law, names = self.friction, self.model.joint_names
        values = np.column_stack([law.damping, law.friction.mean(axis=0), self.model.limits.armature]).tolist()
        told = zip(names, values, strict=True)
        losses = {n: dict(zip(LOSSES, own, strict=True)) for n, own in told if n not in self.left_out}
        changed = {self.model.body_names[b]: self.model.inertia(b) for b in bodies}
        text = with_inertias(urdf, changed, losses, self.given)
        paths = target / "robot.urdf", target / "friction.yaml"
        write_file(paths[0], text)
        write_file(paths[1], law.to_yaml(self.model))
        return paths


def predicted(
    model: Model, given: Model, friction: JointFriction, gain: Array, offset: Array, delay: float, recording: Measured,
    used: npt.NDArray[np.bool_] | bool = True,
) -> Prediction:  # fmt: skip
    """Return the efforts that a robot predicts for a filtered recording, by other functions than the fit used.

    Joints that are not used (nv,) count as standing.
    """
    at = recording.kept()
    bodies = np.asarray(inverse_dynamics(model, recording.q, recording.qd, recording.qdd))
    drives = recording.smooth(friction.force(recording.qd, bodies))
    efforts = (gain * (bodies + drives) + offset)[at]
    before = np.asarray(inverse_dynamics(given, *(x[at] for x in (recording.q, recording.qd, recording.qdd))))
    found = recording.later(recording.effort, at, delay)
    errors = [np.asarray(solve_mass_matrix(model, recording.q[at], (found - x) / gain)) for x in (efforts, before)]
    return Prediction(recording.time[at], found, efforts, before, clear_of_rest(recording)[at] & used, *errors)


# The report needs matplotlib.

_SHARES = (
    "Root mean square of the effort that each body's change and each term of the drives makes, over the range of the "
    "joint's effort: what the model before got wrong, and by which parameter."
)


def write_report(
    robot: IdentifiedRobot, path: str | PathLike[str], remarks: Sequence[str] = (), bandwidth: float = 20.0
) -> Path:
    """Write what was identified, how well, and what the recording does not show; return the path.

    Parameters
    ----------
    robot : IdentifiedRobot
    path : str or path
        The HTML file.
    remarks : sequence of str
        Sentences on where the recording comes from.
    bandwidth : float
        Rate of computed torque [rad/s] for the errors of position to expect.
    """
    bandwidth = number_of("bandwidth", bandwidth, "a positive rate", lambda x: 0.0 < x < np.inf)
    names, told = robot.model.joint_names, robot.prediction
    before, after = told.tracking_error(bandwidth)
    parts = ["<h1>" + escape(f"Identified: {robot.model.name}") + "</h1>", *_texts(robot, remarks)]
    parts.append("<h2>Efforts of a motion that was not used</h2>")
    rows = _rows(names, 100.0 * told.error_before, 100.0 * told.error)
    parts.append(table(("joint", "error before, % of the range", "identified, %"), rows))
    parts.append(picture(plot_efforts(robot), "plot_efforts"))
    parts.append("<h2>What explains which part of the efforts</h2>")
    parts.append(f"<p>{_SHARES}</p>")
    parts.append(picture(plot_shares(robot), "plot_shares"))
    parts.append("<h2>Errors of position to expect</h2>")
    parts.append(f"<p>Of computed torque at the rate {bandwidth:g} rad/s on the same motion, root mean squares.</p>")
    rows = _rows(names, 1e3 * before, 1e3 * after)
    parts.append(table(("joint", "before, mrad or mm", "identified, mrad or mm"), rows))
    parts += ["<h2>Drives</h2>", _drives(robot), picture(plot_friction(robot), "plot_friction")]
    parts += ["<h2>What the motion could not see</h2>", _unseen(robot)]
    parts += ["<h2>Sums of parameters, with regions of 95 %</h2>", _sums(robot)]
    return write_page(path, "Identified robot", parts)


def _rows(names: Sequence[str], before: Array, after: Array) -> list[tuple[str, str, str]]:
    return [(name, f"{a:.3g}", f"{b:.3g}") for name, a, b in zip(names, before, after, strict=True)]


def _texts(robot: IdentifiedRobot, remarks: Sequence[str]) -> list[str]:
    delay = f"efforts were recorded {1e3 * robot.delay:.1f} ms later than the motion they cause"
    facts = [*remarks, f"{delay}; all was filtered at {robot.cutoff:.1f} Hz, without delay"]
    if (robot.gain != 1.0).any():
        facts.append("gains of the drives: " + ", ".join(f"{g:.3f}" for g in robot.gain))
    if robot.offset.any():
        facts.append("offsets of efforts beyond friction: " + ", ".join(f"{x:.3g}" for x in robot.offset))
    found = [f"<p>{escape(fact)}.</p>" for fact in facts]
    return found + [f"<p class='bad'>{escape(problem.text)}.</p>" for problem in robot.problems]


def _unseen(robot: IdentifiedRobot) -> str:
    if not robot.unseen:
        return "<p>Every sum of parameters that counts in motions as fast as this one was seen.</p>"
    rows = "".join(f"<li>{escape(text)}</li>" for text in robot.unseen)
    return f"<p>Through these, efforts of other motions may be wrong by more than 2 % of the range:</p><ul>{rows}</ul>"


def _drives(robot: IdentifiedRobot) -> str:
    law, numbers = robot.friction, []
    for j, name in enumerate(robot.model.joint_names):
        pairs = (f"{x[0, j]:.3g} / {x[1, j]:.3g}" for x in (law.friction, law.static_friction))
        single = (law.stribeck_speed[j], law.load_friction[j], law.damping[j], robot.model.limits.armature[j])
        numbers.append((name, *pairs, *(f"{x:.3g}" for x in single)))
    heads = ("joint", "dry friction, forwards / backwards", "at rest", "Stribeck speed", "by load", "damping", "rotor")
    return table(heads, numbers)


def _sums(robot: IdentifiedRobot) -> str:
    rows = []
    for text, value, deviation in zip(robot.base.expressions(), robot.base_values, robot.base_deviations, strict=True):
        rows.append((text if len(text) < 160 else text[:157] + "...", f"{value:.4g}", f"{1.96 * deviation:.2g}"))
    return table(("sum", "value", "+-"), rows)


def _plain(names: Iterable[str]) -> list[str]:
    """Return names that matplotlib takes for no formulas, nor for labels to be hidden."""
    return [("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$") for name in names]


def _figure(rows: int, height: float) -> tuple[Figure, Any]:
    figure = new_figure((11.0, height))
    return figure, figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]


def plot_efforts(robot: IdentifiedRobot) -> Figure:
    """Draw efforts of each joint, measured, predicted before and after."""
    told = robot.prediction
    figure, axes = _figure(robot.model.nv, 1.3 * robot.model.nv + 0.8)
    for j, (ax, name) in enumerate(zip(axes, _plain(robot.model.joint_names), strict=True)):
        ax.plot(told.time, told.measured[:, j], color="0.7", lw=3.0, label="measured")
        ax.plot(told.time, told.before[:, j], "--", color="tab:orange", lw=1.0, label="before")
        ax.plot(told.time, told.predicted[:, j], color="tab:blue", lw=1.0, label="identified")
        ax.set_title(f"{name} [N m, N]", loc="left", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=8)
    axes[-1].set_xlabel("time [s]")
    return figure


def plot_shares(robot: IdentifiedRobot) -> Figure:
    """Draw which change of the model makes which part of the efforts, as a table of colours."""
    table = 100.0 * np.array(list(robot.shares.values()))
    figure, (ax,) = _figure(1, 0.35 * len(table) + 1.5)
    image = ax.imshow(table, aspect="auto", cmap="Blues")
    ax.set_xticks(range(table.shape[1]), _plain(robot.model.joint_names), rotation=20, fontsize=8)
    ax.set_yticks(range(len(table)), _plain(robot.shares), fontsize=8)
    for (i, j), x in np.ndenumerate(table):
        ax.text(j, i, f"{x:.1f}" if x >= 0.05 else "", ha="center", va="center", fontsize=7,
                color="w" if x > 0.6 * table.max() else "k")  # fmt: skip
    figure.colorbar(image, label="% of the range")
    return figure


def plot_friction(robot: IdentifiedRobot) -> Figure:
    """Draw friction of all joints over their rates, without load."""
    figure, (ax,) = _figure(1, 3.5)
    rate = np.linspace(-1.0, 1.0, 801)[:, None] * np.maximum(10.0 * robot.friction.stribeck_speed, 0.5)
    force = robot.friction.force(rate)
    for j, name in enumerate(_plain(robot.model.joint_names)):
        ax.plot(rate[:, j], force[:, j], lw=1.0, label=name)
    ax.set(xlabel="rate [rad/s, m/s]", ylabel="friction [N m, N]")
    figure.legend(loc="outside right upper", fontsize=7)
    return figure


#: Called with the part that is done, the time that is left [s], and what is being done.
Progress = Callable[[float, float, str], None]


@shared_options(RecordingUse)
def identify_robot(
    model: Model,
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    effort: npt.ArrayLike,
    *,
    bodies: Sequence[str | int] | None = None,
    gains: bool = False,
    unused: float = 0.25,
    progress: Progress | None = None,
    **options: Unpack[RecordingOptions],
) -> IdentifiedRobot:
    """Identify bodies, friction and rotors of a robot, and the delay of its efforts, from a recording.

    Positions are enough: rates and accelerations are differences after a low-pass filter without delay, which efforts
    and friction go through alike. Found are, one with the others,

    - inertias, by `consistent_fit`: bodies with them exist, and what the motion does not show stays as it was given;
    - viscous and dry friction, and where they lower the error on parts of the recording that were not used, Stribeck's
      curve and growth with the load; rotors; offsets of efforts, and if requested, gains of drives;
    - the delay between motion and efforts.

    Residuals that are larger than the others count less (Huber); joints that stand still do not count.

    Parameters
    ----------
    model : Model
        The robot as given, for instance by its drawing; inertias may be off by half and more.
    time : array-like, shape (n,)
        Evenly spaced [s].
    q : array-like, shape (n, nq)
        Measured positions of joints with one coordinate each [rad, m].
    effort : array-like, shape (n, nv)
        Measured or commanded efforts [N m, N].
    bodies : sequence of str or int, optional
        Bodies to identify; all that have mass when left out.
    gains : bool
        Whether measured efforts are the true ones times a gain of each joint. Recordings determine gains against each
        other; their common size follows from the masses that are given, or from a payload of known mass
        (`gains_from_payload`).
    drive_gains : array-like, shape (nv,) or (nv, nv), optional
        Newton metres, or newtons, for each unit of ``effort``, such as N m/A. A matrix takes efforts of coupled drives
        to those of joints.
    left_out : sequence of str
        Joints whose efforts are not used; unusable ones are left out anyway, with the reason in `problems`.
    cutoff : float, optional
        Of the filter [Hz]; when left out, ten times the bandwidth of the motion, within 4 and 20 Hz.
    unused : float
        Part of the recording, at its end, that is kept for validation: 0.05 to 0.5.
    prior_weight : float
        Weight of the given inertias, in measurements.
    despite_problems : bool
        Return what is found also where it means nothing.
    progress : callable, optional
        Called with the part that is done, the time left [s] and what is being done.

    Raises
    ------
    InputError
        For bad input.
    RecordingError
        For a recording that no robot can be identified from; with the reason.
    """
    require_model(model)
    model = model.with_joint_terms()  # losses and rotors are found, not taken from the drawing
    even_times(time)
    use = RecordingUse(**options)
    signals = signals_of(model, q, effort, use.left_out, use.drive_gains)
    full = measured(model, time, signals.q, signals.effort, use.cutoff)
    chosen = chosen_bodies(model, bodies)
    unused = number_of("unused", unused, "a number from 0.05 to 0.5", lambda x: 0.05 <= x <= 0.5)
    clock_at = _Clock(progress)
    positions, efforts, problems, out = signals.q, signals.effort, signals.problems, signals.left_out
    stop_at(problems, use.despite_problems)
    n = round((1.0 - unused) * len(full.time))
    times = np.asarray(time, np.float64)
    clock_at.tell(0.05, "filtering")
    first = samples_of(measured(model, times[:n], positions[:n], efforts[:n], full.cutoff))
    rest = measured(model, times[n:], positions[n:], efforts[n:], full.cutoff)
    tells = clock_at.part(0.1, 0.7, "fitting"), clock_at.part(0.7, 0.9, "looking for what is wrong")
    first, fit, more, out = judged_fit(model, first, chosen, out, gains, use.prior_weight, use.despite_problems, tells)
    problems += more
    clock_at.tell(0.9, "judging")
    base, values, deviations, unseen = known_sums(model, first, chosen, fit)
    equations = Equations(model, first, chosen)
    drives = equations.drive_columns(fit.structure, equations.rigid(fit.parameters.ravel()))
    identified, law, offset, gain = _robot(model, first, chosen, fit)
    used = ~np.isin(np.arange(model.nv), list(out))
    judged = predicted(identified, model, law, gain, offset, fit.delay, rest, used)
    shares = shares_of(model, first, chosen, fit, drives)
    found = IdentifiedRobot(
        identified, model, law, offset, gain, fit.delay, base, values, deviations, unseen, judged, tuple(problems),
        full.cutoff, shares, {model.joint_names[j]: why for j, why in out.items()},
    )  # fmt: skip
    clock_at.tell(1.0, "done")
    return found


def _robot(model: Model, samples: Samples, bodies: list[int], fit: Fit) -> tuple[Model, JointFriction, Array, Array]:
    """Return the identified model, friction in newtons, what is left of offsets, and gains."""
    c, nv = fit.coefficients, model.nv
    gain = c["gain"]
    identified = with_parameters(model, bodies, fit.parameters)
    bent = fit.structure.bend >= 0
    speed = np.where(bent, samples.bend_speeds[fit.structure.bend, np.arange(nv)], 0.0)
    # While a joint moves, an offset is friction that differs by direction.
    shift = np.clip(c["offset"], -c["friction"], c["friction"])
    sides = np.array([c["friction"] + shift, c["friction"] - shift]) / gain
    static = sides + np.where(bent, np.minimum(c["static"], MOST_STATIC * c["friction"]), 0.0) / gain
    law = JointFriction(c["damping"] / gain, sides, static, speed, np.minimum(c["load"], 0.9), samples.smoothing)
    rotors = np.where(samples.moving.any(axis=0), c["armature"] / gain, model.limits.armature)
    return identified.with_armature(rotors), law, c["offset"] - shift, gain


class _Clock:
    """Tells the part that is done, and how long the rest takes if it goes on like that."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._start = progress, clock.monotonic()

    def tell(self, done: float, what: str) -> None:
        if self._progress is not None:
            passed = clock.monotonic() - self._start
            self._progress(done, passed * (1.0 - done) / max(done, 1e-3), what)

    def part(self, low: float, high: float, what: str) -> Callable[[float], None]:
        return lambda done: self.tell(low + done * (high - low), what)
