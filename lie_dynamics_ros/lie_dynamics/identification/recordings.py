"""From recorded positions and joint forces to what identification needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from ..lie._arrays import as_numbers, count_of, number_of
from ..model.arguments import require_model
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

    Raises
    ------
    InputError
        For a cutoff [Hz] that is not below half the sampling rate, and too few samples for it.
    """
    from scipy.signal import butter, sosfiltfilt

    cutoff = number_of("cutoff", cutoff, f"a frequency below {0.5 / step:g} Hz", lambda x: 0.0 < x < 0.5 / step)
    sections = butter(count_of("order", order, 1, 20), cutoff, output="sos", fs=1.0 / step)
    least = 4 * edge_of(cutoff, step)
    if count < least:
        raise InputError(f"recording: at least {least} samples are expected for a cutoff of {cutoff} Hz, got {count}")
    return lambda x: np.asarray(sosfiltfilt(sections, x, axis=0))
