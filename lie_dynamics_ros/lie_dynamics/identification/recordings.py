"""From recorded positions and joint forces to filtered samples, as few as hold all of the motion."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.joint_friction import SMOOTHING_SPEED
from ..errors import InputError
from ..lie._arrays import as_numbers, count_of, number_of
from ..model.arguments import require_model, require_single_coordinates
from ..model.configuration import checked
from ..model.model import Model
from ..shown import Plotted, shown

#: Largest step of a recording [s]: motion is not seen by less.
MOST_STEP = 0.5


@shown
@dataclass(frozen=True, eq=False)
class Recording(Plotted):
    """A filtered recording of n samples.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times [s].
    q, qd, qdd, tau : ndarray, shape (n, nq), (n, nv), (n, nv), (n, nv)
        Motion and joint forces.
    slide : ndarray, shape (n, nv)
        sign(qd), filtered as the joint forces are: what they show of dry friction.
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    slide: Array


def filtered_motion(
    model: Model,
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    tau: npt.ArrayLike,
    cutoff: float,
    qd: npt.ArrayLike | None = None,
    order: int = 4,
) -> Recording:
    """Return a recording low-pass filtered, all signals alike and without delay, with rates and accelerations.

    Positions of axis joints are filtered; those of ball and free joints stay as they are. Rates are central differences
    along the configuration manifold where they are not given, accelerations central differences of the filtered rates.
    The filter is a Butterworth filter run forwards and backwards. Some samples at both ends are left out, since neither
    filter nor differences are right there.

    Parameters
    ----------
    model : Model
        The robot.
    time : array-like, shape (n,)
        Times of the samples, evenly spaced [s].
    q, tau : array-like, shape (n, nq), (n, nv)
        Recorded configurations and joint forces.
    cutoff : float
        Frequency [Hz] that is kept to a half: above that of the motion, below that of the noise.
    qd : array-like, shape (n, nv), optional
        Recorded rates, where there are any better than differences of `q`.
    order : int
        Order of the filter.

    Returns
    -------
    Recording
        The inner samples.

    Raises
    ------
    InputError
        For bad input, uneven times, too few samples, or a cutoff that is not below half the sampling rate.
    """
    require_model(model)
    positions, forces = checked(q, model.nq, "q", model), checked(tau, model.nv, "tau", model)
    times = even_times(time)
    n, step = len(times), float(times[-1] - times[0]) / (len(times) - 1)
    if positions.shape != (n, model.nq) or forces.shape != (n, model.nv):
        raise InputError(f"recording: n samples are expected, got {times.shape}, {positions.shape}, {forces.shape}")
    smooth = low_pass(cutoff, step, n, order)
    edge = edge_of(cutoff, step)
    positions = positions.copy()
    positions[:, model.vector_q] = smooth(positions[:, model.vector_q])
    if qd is None:
        rates = np.zeros_like(forces)
        rates[1:-1] = model.difference(positions[:-2], positions[2:]) / (2.0 * step)
        rates[0], rates[-1] = rates[1], rates[-2]
        if len(model.vector_q) != model.nq:
            rates = smooth(rates)
    else:
        rates = smooth(checked(qd, model.nv, "qd", model))
    accelerations = np.gradient(rates, step, axis=0)
    inner = slice(edge, n - edge)
    results = (times, positions, rates, accelerations, smooth(forces), smooth(np.sign(rates)))
    return Recording(*(a[inner] for a in results))


def even_times(time: npt.ArrayLike) -> Array:
    """Return times (n,) that are evenly spaced and grow, or raise an InputError."""
    times = as_numbers(time, "time")
    if np.iscomplexobj(times) or not np.isfinite(times).all():
        raise InputError("time: finite real times are expected", name="time", value=time)
    steps = np.diff(times) if times.ndim == 1 else np.zeros(0)
    if len(steps) < 2 or not (steps > 0.0).all() or np.ptp(steps) > 1e-3 * steps.mean():
        text = "time: evenly spaced, growing times are expected"
        if len(steps):
            usual = float(np.median(steps))
            at = int(np.argmax(np.abs(steps - usual)))
            text += f", got a step of {steps[at]:.4g} after sample {at}, others of {usual:.4g}"
        raise InputError(text, name="time", value=time)
    if steps.mean() > MOST_STEP:
        message = f"time: seconds are expected, at most {MOST_STEP:g} s between samples, got {steps.mean():.4g}"
        raise InputError(f"{message}: milliseconds or nanoseconds?", name="time", value=time)
    return np.asarray(times)


def edge_of(cutoff: float, step: float) -> int:
    """Return how many samples at each end a low-pass filter gets wrong."""
    return int(np.ceil(2.0 / (cutoff * step)))


def low_pass(cutoff: float, step: float, count: int, order: int = 4) -> Callable[[Array], Array]:
    """Return a filter of arrays (count, ...) along time without delay: a Butterworth filter forwards and backwards.

    Raises InputError for a cutoff [Hz] that is not below half the sampling rate, and too few samples for it.
    """
    from scipy.signal import butter, sosfiltfilt

    cutoff = number_of("cutoff", cutoff, f"a frequency below {0.5 / step:g} Hz", lambda x: 0.0 < x < 0.5 / step)
    sections = butter(count_of("order", order, 1, 20), cutoff, output="sos", fs=1.0 / step)
    least = 4 * edge_of(cutoff, step)
    if count < least:
        raise InputError(f"recording: at least {least} samples are expected for a cutoff of {cutoff} Hz, got {count}")
    return lambda x: np.asarray(sosfiltfilt(sections, x, axis=0))


#: Lowest and highest cutoff that is chosen [Hz], over the motion's bandwidth, and the part of the sampling rate.
LEAST_CUTOFF, MOST_CUTOFF, CUTOFF_RATIO, CUTOFF_PART = 4.0, 20.0, 10.0, 0.1
#: Samples that are kept in each period of the cutoff; low-passed noise has two of its own in it.
KEPT, OWN = 5, 2
#: Stribeck speeds that are tried, over the largest speed of the joint.
BENDS = np.geomspace(0.02, 0.3, 8)
#: Speed below which a joint stands, over its largest speed.
STANDING = 0.02


@dataclass(frozen=True, eq=False)
class Measured:
    """A recording at its full rate, filtered without delay, n samples."""

    time: Array  # [s] (n,)
    q: Array  # filtered positions, of which the next two are differences [rad, m, ...] (n, nv)
    qd: Array
    qdd: Array
    effort: Array  # filtered efforts [as measured] (n, nv)
    cutoff: float  # of the filter [Hz]

    @property
    def step(self) -> float:
        """Time between samples [s]."""
        return float(self.time[-1] - self.time[0]) / (len(self.time) - 1)

    def smooth(self, x: Array) -> Array:
        """Filter what is sampled at the same times."""
        return low_pass(self.cutoff, self.step, len(self.time))(x)

    def kept(self, most: int | None = None) -> npt.NDArray[np.intp]:
        """Return which samples are enough to know all that the filter let pass, without those at the ends."""
        edge = edge_of(self.cutoff, self.step)
        every = max(1, round(1.0 / (KEPT * self.cutoff * self.step)))
        inner = len(self.time) - 2 * edge
        if most is not None:
            every = max(every, -(-inner // most))
        return np.arange(edge, len(self.time) - edge, every)

    def later(self, x: Array, at: npt.NDArray[np.intp], delay: float) -> Array:
        """Return a signal (n, nv) of this recording a delay [s] after the samples `at`."""
        columns = [np.interp(self.time[at] + delay, self.time, column) for column in x.T]
        return np.array(columns).reshape(x.shape[1], len(at)).T


def measured(
    model: Model, time: npt.ArrayLike, q: npt.ArrayLike, effort: npt.ArrayLike, cutoff: float | None = None
) -> Measured:
    """Return a recording filtered; raises InputError for bad input, uneven times and too few samples."""
    require_model(model)
    require_single_coordinates(model, "identification from a recording")
    times = even_times(time)
    positions, efforts = checked(q, model.nq, "q", model), checked(effort, model.nv, "effort", model)
    for name, x in (("q", positions), ("effort", efforts)):
        if x.shape != (len(times), model.nv):
            raise InputError(f"{name}: shape ({len(times)}, {model.nv}) is expected, got {x.shape}", name=name)
    step = float(times[-1] - times[0]) / (len(times) - 1)
    cutoff = motion_cutoff(positions, step) if cutoff is None else number_of(
        "cutoff", cutoff, f"a frequency below {0.5 / step:g} Hz", lambda x: 0.0 < x < 0.5 / step
    )  # fmt: skip
    smooth = low_pass(cutoff, step, len(times))
    place = smooth(positions)
    rate = np.gradient(place, step, axis=0)
    return Measured(times, place, rate, np.gradient(rate, step, axis=0), smooth(efforts), cutoff)


def motion_cutoff(q: Array, step: float) -> float:
    """Return a cutoff [Hz] ten times the frequency below which 90 % of the power of all joints' rates is."""
    window = np.hanning(len(q))[:, None]
    frequency = np.fft.rfftfreq(len(q), step)
    power = np.abs(np.fft.rfft((q - q.mean(axis=0)) * window, axis=0)) ** 2 * frequency[:, None] ** 2
    power[frequency > MOST_CUTOFF] = 0.0
    size = power.sum(axis=0)
    total = np.cumsum((power / np.where(size > 0.0, size, 1.0)).sum(axis=1))
    band = float(frequency[np.searchsorted(total, 0.9 * total[-1])]) if total[-1] > 0.0 else 0.0
    return float(min(max(CUTOFF_RATIO * band, LEAST_CUTOFF), MOST_CUTOFF, CUTOFF_PART / step))


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of the equations, n samples; filtered alike."""

    source: Measured  # what they are taken from
    at: npt.NDArray[np.intp]  # which samples (n,)
    q: Array  # (n, nv)
    qd: Array
    qdd: Array
    side: Array  # v / sqrt(v^2 + v_e^2), filtered as efforts are (n, nv)
    bends: Array  # side exp(-(v / v_s)^2), filtered, for each of the Stribeck speeds v_s (k, n, nv)
    bend_speeds: Array  # v_s [rad/s, m/s] (k, nv)
    smoothing: Array  # v_e [rad/s, m/s] (nv,)
    moving: npt.NDArray[np.bool_]  # where the joint does not stand, so that what friction holds is known (n, nv)
    steady: npt.NDArray[np.bool_]  # where it keeps its direction as far as the filter sees (n, nv)

    def effort(self, delay: float) -> Array:
        """Return the efforts (n, nv) that were measured a delay [s] after the motion they cause."""
        return self.source.later(self.source.effort, self.at, delay)

    def without(self, joints: Collection[int]) -> Samples:
        """Return samples in which the efforts of some joints do not count."""
        kept = ~np.isin(np.arange(self.q.shape[1]), list(joints))
        return replace(self, moving=self.moving & kept, steady=self.steady & kept)


def samples_of(recording: Measured, most: int = 6000) -> Samples:
    """Return at most so many samples of a recording, and what friction depends on."""
    from scipy.ndimage import minimum_filter1d

    rate, at = recording.qd, recording.kept(most)
    top = np.maximum(np.abs(rate[at[0] : at[-1] + 1]).max(axis=0), 1e-9)
    smoothing = np.clip(0.008 * top, 1e-6, SMOOTHING_SPEED)
    side = rate / np.hypot(rate, smoothing)
    speeds = BENDS[:, None] * top
    bends = np.array([recording.smooth(side * np.exp(-((rate / v) ** 2)))[at] for v in speeds])
    return Samples(
        recording,
        at,
        recording.q[at],
        rate[at],
        recording.qdd[at],
        recording.smooth(side)[at],
        bends,
        speeds,
        smoothing,
        moving_of(recording)[at],
        minimum_filter1d(np.abs(rate), _width(recording), axis=0)[at] > 2.0 * STANDING * top,
    )


def moving_of(recording: Measured) -> npt.NDArray[np.bool_]:
    """Return where joints (n, nv) do not stand, as far as the filter sees."""
    from scipy.ndimage import maximum_filter1d

    speed = np.abs(recording.qd)
    least = np.maximum(STANDING * speed.max(axis=0), 1e-9)
    return np.asarray(maximum_filter1d(speed, _width(recording), axis=0) > least)


def clear_of_rest(recording: Measured) -> npt.NDArray[np.bool_]:
    """Return where joints (n, nv) move, and the filter mixes nothing in that friction held while they stood."""
    from scipy.ndimage import minimum_filter1d

    return np.asarray(minimum_filter1d(moving_of(recording), 2 * _width(recording) + 1, axis=0))


def _width(recording: Measured) -> int:
    return max(1, round(1.0 / (recording.cutoff * recording.step)))
