"""Contacts of a robot from its joint states and measured efforts: how hard, how certain, and since when."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..control.momentum_observer import momentum_terms
from ..control.tracking_error import gains
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.joint_friction import SMOOTHING_SPEED, JointFriction
from ..errors import InputError
from ..model.arguments import require_model
from ..model.model import Model
from ..shown import shown
from .drift import Drift
from .kernels import sums as sk
from .kernels import windows as wk
from .sensor_noise import WINDOWS, SensorNoise, _positive

_SIZE = WINDOWS[-1] + 1
_SIZES = np.array(WINDOWS, float)
QUIET = 0.5
"""Part of the threshold below which drift of friction is learned."""
GAP = 1.5
"""Periods between two states from which on something may have happened between them that neither tells."""
EVEN = 0.02
"""Part of the usual period by which steps differ that count as even."""
_SURE = 1.25
"""By how much friction at rest is covered beyond what would reach the threshold: noise comes on top."""


@shown
@dataclass(frozen=True, eq=False, slots=True)
class ContactState:
    """What is known of contacts at a state.

    Attributes
    ----------
    torque : ndarray, shape (nv,)
        Mean of the torques that the surroundings exert on the joints, over the last `averaging` seconds [N m, N].
    covariance : ndarray, shape (nv, nv)
        Of the error of `torque` [N^2 m^2, N^2].
    q : ndarray, shape (nq,)
        Configuration in the middle of that time, where these torques acted in the mean [rad, m].
    age : float
        How long ago that was [s].
    evidence : float
        Largest statistic of all windows over its threshold; above 1 something touches.
    touching : bool
        Whether something touches, or did less than `release` ago.
    begun, ended : bool
        Whether that is new.
    """

    torque: Array
    covariance: Array
    q: Array
    age: float
    evidence: float
    touching: bool
    begun: bool
    ended: bool


class ContactObserver:
    """External joint torques with their covariance, and contacts with a stated rate of false alarms.

    The momentum p = M qd changes over a window from t_0 to t_1 by the impulse of all torques,

        p_1 - p_0 - integral (tau + C^T qd - g) dt = integral tau_ext dt + M_1 n_1 - M_0 n_0 + integral n_tau dt,

    with errors n of measured velocities and efforts: without contact the left side has a known covariance, S. The
    squared length d^T S^-1 d of that side is held against a threshold, for windows of 2 to 64 states at once; the sum
    over windows and states of the probabilities to exceed it is what `false_alarms` says, an upper bound whatever
    windows share. Over its length the same side is the mean torque of the surroundings, with covariance S over the
    square of the length.

    What the model misses enters S: offsets and dry friction of each joint that are not known, which are learned while
    nothing touches (two normal variables a joint that forget within `drift_time`), what these leave unexplained, all
    the friction of a joint that rests, and a part of the efforts; and what happens in gaps and by stamps that are off.
    What S forgives so is not learned. See ``doc/contact.md``.

    Parameters
    ----------
    model : Model
        Losses that it includes are accounted for.
    noise : SensorNoise
    false_alarms : float
        Upper bound of their rate for normal noise [1/h].
    averaging : float
        Time over which torques are averaged, down to whole windows of `WINDOWS` [s].
    release : float
        How long nothing must be felt for a contact to have ended [s].
    friction : JointFriction, optional
        Of drives whose efforts are measured ahead of it.
    offset_error, friction_error : array-like, shape () or (nv,)
        Standard deviations of what is not known of torques: constant, and with the sign of the velocity [N m, N].
    drift_time : float
        In which these change [s].
    model_error : float
        Part of the efforts that the model misses [1], as a standard deviation.
    effort_delay : float
        How much older efforts are than the states that they come with [s]. All that is reported is late by that.
    held : bool
        Whether an effort acted, as it is, over the period before its state, as commands do; else it was read at it.

    Attributes
    ----------
    threshold : float
        Of the statistic of every window.
    acceleration : ndarray, shape (nv,)
        That efforts and model lead to without contact, at the last state: what a `VelocityFilter` is to expect.
    """

    def __init__(
        self,
        model: Model,
        noise: SensorNoise,
        *,
        false_alarms: float = 0.01,
        averaging: float = 0.035,
        release: float = 0.1,
        friction: JointFriction | None = None,
        offset_error: npt.ArrayLike = 0.0,
        friction_error: npt.ArrayLike = 0.0,
        drift_time: float = 600.0,
        model_error: float = 0.0,
        effort_delay: float = 0.0,
        held: bool = False,
    ) -> None:
        require_model(model)
        n = model.nv
        for name, value, least in (
            ("release", release, 0.0), ("model_error", model_error, 0.0), ("effort_delay", effort_delay, 0.0),
            ("averaging", averaging, np.nextafter(0.0, 1.0)), ("drift_time", drift_time, np.nextafter(0.0, 1.0)),
            ("false_alarms", false_alarms, np.nextafter(0.0, 1.0)),
        ):  # fmt: skip
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < np.inf:
                raise InputError(f"{name}: a number from {least:g} is expected, got {value!r}", name=name, value=value)
        if not isinstance(noise, SensorNoise) or noise.offset.shape != (n,):
            raise InputError(f"noise: a SensorNoise of {n} coordinates is expected", name="noise", value=noise)
        self.model, self.noise, self.friction = model, noise, friction
        self.threshold = noise.threshold(min(0.5, false_alarms * noise.period / (3600.0 * len(WINDOWS))))
        self._release, self._forget_time, self._part = release, drift_time, model_error
        self._delay, self._as_held = effort_delay, held
        self._chosen = max(0, sum(size * noise.period <= averaging for size in WINDOWS) - 1)
        errors = [gains(model, x, name) for x, name in (
            (offset_error, "offset_error"), (friction_error, "friction_error")
        )]  # fmt: skip
        self._prior = np.array(errors).T ** 2  # (n, 2)
        smoothing = np.full(n, SMOOTHING_SPEED) if friction is None else friction.smoothing_speed
        # Whatever its known friction holds, a joint at rest does not exceed the threshold by that alone. What is not
        # known of friction is not learned there: rest leaves its sign open, and joints that turn round its course.
        known = np.zeros(n) if friction is None else friction.static_friction.max(axis=0)
        held = _SURE * known * np.sqrt(n / self.threshold) + errors[1]
        full = known + errors[1]  # what learning is not to learn of it
        self._all_held = np.divide(full, held, out=np.zeros(n), where=held > 0.0) ** 2
        self._joints = np.column_stack([held, smoothing])
        self.reset()

    def reset(self) -> None:
        """Start again; what was learned of offsets and friction is forgotten, too."""
        self._drift = Drift(self._prior, self._forget_time)
        self._usual, self._steps = self.noise.period, 0
        self.restart()

    def restart(self) -> None:
        """Begin afresh at the next state, as after a gap; what was learned is kept."""
        n = self.model.nv
        self._momenta, self._masses = np.zeros((_SIZE, n)), np.zeros((_SIZE, n, n))
        self._sums, self._times = np.zeros((_SIZE, n, wk.N_SUMS)), np.zeros((_SIZE, wk.N_TIMES))
        self._positions = np.zeros((_SIZE, self.model.nq))
        self._count, self._skipped = 0, 0.0
        self._sum: Array = np.zeros((n, wk.N_SUMS))
        self._time: Array = np.zeros(wk.N_TIMES)
        self._rates: Array | None = None
        self._work = np.zeros((n, n + 1)), np.zeros((n, 4))
        self._past: deque[tuple[float, Array, Array]] = deque()
        self._quiet_since, self._touching, self._learned = np.inf, False, 0
        self._drift.restart()
        self.acceleration: Array = np.zeros(n)

    @property
    def drift(self) -> Array:
        """Offsets and dry friction that were learned, shape (nv, 2) [N m, N]."""
        return self._drift.at(self._time[wk.NOW])[0]

    def update(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, period: float | None = None
    ) -> ContactState | None:
        """Take in a state; return what is known of contacts, None while there are fewer states than a window has.

        Parameters
        ----------
        q, qd : array-like, shape (nq,), (nv,)
            Measured state.
        tau : array-like, shape (nv,)
            Measured efforts; see `effort_delay` and `held`.
        period : float, optional
            Since the state before [s]; that of the noise where it is left out.

        Raises
        ------
        InputError
            For arrays that do not fit, numbers that are not finite, and periods that are not positive.
        """
        model, n = self.model, self.model.nv
        step = self.noise.period if period is None else _positive(period)
        tau = np.asarray(tau, np.float64)
        if tau.shape != (n,) or not np.isfinite(tau).all():
            raise InputError(f"tau: {n} finite numbers are expected, got {tau}", name="tau", value=tau)
        x: Array = np.asarray(q, np.float64)
        v: Array = np.asarray(qd, np.float64)
        if self._delay:
            earlier = self._earlier(x, v, step)
            if earlier is None:
                self._skipped += step
                return None
            x, v = earlier
        mass, momentum, known = momentum_terms(model, x, v)
        effort = tau if self.friction is None else self.friction.transmitted(tau, v)
        self.acceleration = forward_dynamics(model, x, v, effort)
        rates = np.empty((n, sk.N_RATES))
        if sk.rates_at(v, effort, known, momentum, self._joints, rates):
            raise InputError(f"qd, tau: no state of a robot has momenta or torques beyond {sk.LARGEST:g}", name="qd")
        step, self._skipped = step + self._skipped, 0.0
        if self._rates is not None:
            more = self._more(step)
            settings = np.array([step, more, (GAP - 1.0) * self._usual, self._as_held])
            sk.add_step(settings, self._rates, rates, self._sum, self._time)
        self._rates = rates
        place = self._count % _SIZE
        self._momenta[place], self._masses[place], self._sums[place] = momentum, mass, self._sum
        self._times[place], self._positions[place] = self._time, x
        self._count += 1
        return self._judge() if self._count > WINDOWS[0] else None

    def _more(self, step: float) -> float:
        """Return by how much a step is longer than the usual one, the median of those so far; zero for even ones."""
        self._steps += 1
        if self._steps == 1:
            self._usual = step
        more = step - self._usual
        if abs(more) <= EVEN * self._usual:
            return 0.0
        self._usual += float(np.copysign(max(1.0 / (self._steps + 1), 0.1 * EVEN) * self._usual, more))
        return more

    def _earlier(self, q: Array, qd: Array, step: float) -> tuple[Array, Array] | None:
        """Return the state of `effort_delay` ago, on the straight line between the two about it; None in a gap."""
        past, model = self._past, self.model
        past.append((past[-1][0] + step if past else 0.0, q.copy(), qd.copy()))
        wanted = past[-1][0] - self._delay
        if past[0][0] > wanted:
            return None
        while past[1][0] <= wanted:
            past.popleft()
        (begin, x, v), (end, y, w) = past[0], past[1]
        part = (wanted - begin) / (end - begin)
        if part > 0.0 and end - begin > GAP * self._usual:
            return None
        return model.integrate(x, part * model.difference(x, y)), v + part * (w - v)

    def _judge(self) -> ContactState:
        now = float(self._time[wk.NOW])
        drift, certainty = self._drift.at(now)
        n, noise = self.model.nv, self.noise
        statistic, missed, cover = np.zeros(len(WINDOWS)), np.empty((len(WINDOWS), n)), np.empty((len(WINDOWS), n, n))
        work, learned = self._work
        w = wk.judge_windows(
            np.array([self._count, noise.period, self._part]),
            _SIZES,
            self._momenta,
            self._masses,
            self._sums,
            self._times,
            noise.velocity,
            noise.impulse,
            drift,
            certainty,
            self._drift.unexplained,
            statistic,
            missed,
            cover,
            learned,
            work,
        )
        if w < 0:
            raise InputError("qd, tau: the covariance of what the model misses is not positive definite", name="qd")
        evidence = max(statistic.tolist()) / self.threshold
        was = self._touching
        if evidence > 1.0:
            self._quiet_since, self._touching = now, True
        elif was and now - self._quiet_since > self._release:
            self._touching = False
        if self._drift.active:
            self._learn(now, learned, evidence)
        k = min(self._chosen, w - 1)
        size = WINDOWS[k]
        span = now - self._times[(self._count - 1 - size) % _SIZE, wk.NOW]
        middle = (self._count - 1 - size // 2) % _SIZE
        return ContactState(
            missed[k] / span,
            cover[k] / span**2,
            self._positions[middle].copy(),
            float(now - self._times[middle, wk.NOW]) + self._delay,
            evidence,
            self._touching,
            self._touching and not was,
            was and not self._touching,
        )

    def _learn(self, now: float, learned: Array, evidence: float) -> None:
        """Learn from windows that share no state, while nothing is felt."""
        if evidence > QUIET or self._touching:
            self._learned = self._count  # nor from windows that reach back to this
        if self._count - self._learned >= _SIZE:
            self._learned = self._count
            over = self._sum - self._sums[(self._count - _SIZE) % _SIZE]
            gone, noise, held, part = learned.T
            lasting = self._all_held * held**2 + part
            features = over[:, [wk.OFFSET, wk.DRY]]
            self._drift.learn(now, gone, noise, lasting, features)
