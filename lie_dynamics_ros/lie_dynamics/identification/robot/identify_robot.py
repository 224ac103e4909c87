"""From arrays of a recording to an identified robot."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.joint_friction import JointFriction
from ...lie import SpatialInertia
from ...lie._arrays import number_of
from ...model.arguments import require_model
from ...model.model import Model
from ..estimation import chosen_bodies
from ..recordings import even_times
from .fit import MOST_STATIC, Equations, Fit
from .problems import judged_fit, stop_at
from .result import IdentifiedRobot, known_sums, predicted, shares_of
from .samples import Samples, measured, samples_of
from .signals import signals_of

#: Called with the part that is done, the time that is left [s], and what is being done.
Progress = Callable[[float, float, str], None]


def identify_robot(
    model: Model,
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    effort: npt.ArrayLike,
    *,
    bodies: Sequence[str | int] | None = None,
    gains: bool = False,
    drive_gains: npt.ArrayLike | None = None,
    left_out: Sequence[str] = (),
    cutoff: float | None = None,
    unused: float = 0.25,
    prior_weight: float = 1.0,
    despite_problems: bool = False,
    progress: Progress | None = None,
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
        Whether measured efforts are the true ones times a gain of each joint. Recordings tell gains against each
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
    signals = signals_of(model, q, effort, left_out, drive_gains)
    full = measured(model, time, signals.q, signals.effort, cutoff)
    chosen = chosen_bodies(model, bodies)
    unused = number_of("unused", unused, "a number from 0.05 to 0.5", lambda x: 0.05 <= x <= 0.5)
    prior_weight = number_of("prior_weight", prior_weight, "a positive number", lambda x: 0.0 < x < np.inf)
    clock_at = _Clock(progress)
    positions, efforts, problems, out = signals.q, signals.effort, signals.problems, signals.left_out
    stop_at(problems, despite_problems)
    n = round((1.0 - unused) * len(full.time))
    times = np.asarray(time, np.float64)
    clock_at.tell(0.05, "filtering")
    first = samples_of(measured(model, times[:n], positions[:n], efforts[:n], full.cutoff))
    rest = measured(model, times[n:], positions[n:], efforts[n:], full.cutoff)
    tells = clock_at.part(0.1, 0.7, "fitting"), clock_at.part(0.7, 0.9, "looking for what is wrong")
    first, fit, more, out = judged_fit(model, first, chosen, out, gains, prior_weight, despite_problems, tells)
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
    identified = model
    for b, parameters in zip(bodies, fit.parameters, strict=True):
        identified = identified.with_inertia(model.body_names[b], SpatialInertia.from_parameters(parameters))
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
