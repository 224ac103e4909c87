"""Contacts of a robot from its joint states and measured efforts: where, how hard, how certain, and since when."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import special

from ..arrays import Array
from ..control.tracking_error import gains
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.inverse_dynamics import coriolis_matrix, gravity_force, mass_matrix
from ..dynamics.joint_friction import SMOOTHING_SPEED, JointFriction
from ..dynamics.kinematics import jacobian
from ..dynamics.losses import joint_losses
from ..errors import InputError
from ..lie._arrays import numbers
from ..model.arguments import require_model
from ..model.configuration import by_name
from ..model.model import Model
from ..shown import shown
from .force_sensor import WINDOWS, SensorNoise, _positive
from .kernels import windows as wk
from .kernels.wrenches import N_NUMBERS, NOT_NUMBERS, RANK, REST, felt_wrench

REACH = 0.1
"""Length by which moments and forces are compared [m]: a moment counts as a force with this lever."""
_UNITS = (REACH,) * 3 + (1.0,) * 3


@shown
@dataclass(frozen=True, eq=False)
class ContactWrench:
    """A wrench at a frame, moment first, in the axes of the frame.

    Attributes
    ----------
    wrench : ndarray, shape (6,)
        On the robot [N m, N]; zero along what is not felt.
    covariance : ndarray, shape (6, 6)
        Of its error along what is felt, zero along what is not.
    unfelt : ndarray, shape (k, 6)
        Wrenches that are not felt, orthonormal where moments count over `REACH`; k is zero where all are.
    misfit : float
        Probability that torques of a wrench at this frame, and of nothing else, differ from it by as much as these do;
        small where the contact is elsewhere. 1 where all torques have such a wrench.
    """

    wrench: Array
    covariance: Array
    unfelt: Array
    misfit: float


def contact_wrench(
    model: Model,
    q: npt.ArrayLike,
    frame: str | int,
    torque: npt.ArrayLike,
    covariance: npt.ArrayLike,
    moment: bool = True,
    limit: float = 20.0,
) -> ContactWrench:
    """Return the wrench at a frame with J^T F nearest to external joint torques, weighted by their covariance.

    With the whitened map A = C^-1/2 J^T, moments over `REACH`, the singular value of a direction is the inverse of the
    standard deviation of the estimate along it. Directions with more than `limit` are reported as not felt.

    Parameters
    ----------
    model : Model
    q : array-like, shape (nq,)
        Configuration.
    frame : str or int
        Frame by name, or body by number, on which the wrench acts.
    torque, covariance : array-like, shape (nv,), (nv, nv)
        External torques and the covariance of their errors, positive definite, as in `ContactState`.
    moment : bool
        Whether moments act; else a force alone at the frame's origin, of which less is not felt.
    limit : float
        Largest standard deviation of what counts as felt [N]; of moments times `REACH`.

    Raises
    ------
    InputError
        For arrays that do not fit, an unknown frame, a covariance that is not positive definite.
    """
    require_model(model)
    n, tau, cover = model.nv, numbers(by_name(torque, model.nv, "torque", model)), numbers(covariance)
    if tau.shape != (n,) or cover.shape != (n, n):
        raise _not_finite(n)
    if not isinstance(limit, (int, float)) or not limit > 0.0:
        raise InputError(f"limit: a positive force is expected, got {limit!r}", name="limit", value=limit)
    J = np.ascontiguousarray(jacobian(model, q, frame))
    k = 6 if moment else 3
    scale = np.array([*_UNITS[6 - k :], limit])
    sums, work, found = np.empty(N_NUMBERS), np.empty((n + k, k)), np.empty((7 + k, 6))
    status = felt_wrench(J, np.array(cover, order="C"), np.array(tau), scale, work, sums, found)
    if status == NOT_NUMBERS:
        raise _not_finite(n)
    if status:
        raise InputError("covariance: a positive definite matrix is expected", name="covariance")
    rank, rest = int(sums[RANK]), float(sums[REST])
    misfit = float(special.chdtrc(n - rank, max(rest, 0.0))) if n > rank else 1.0
    return ContactWrench(found[0], found[1:7], found[7 : 7 + k - rank], misfit)


def _not_finite(n: int) -> InputError:
    return InputError(f"torque, covariance: finite arrays ({n},) and ({n}, {n}) are expected", name="torque")


TURN = 1.0
"""Time for which the unexplained part stays the same [s], as between turns of a motion."""
LEAST = 0.1
"""Part of the given uncertainty that is never explained: nothing of a drive is quite constant."""
OUTLYING = 3.0
"""Standard deviations from which on what is missed is no noise."""


class Drift:
    """Offset and dry friction of each joint that a model misses: two normal variables, a Kalman filter for each joint.

    They are learned while nothing touches, and forgotten in a time: x <- k x + sqrt(1 - k^2) w with k = exp(-t / time).
    What they leave unexplained of torques is the largest that was seen; at first it may be as large as they are.
    `variance` (n, 2) are those of offset and friction [N^2 m^2, N^2]; `table` (n, N_DRIFT) is what `kernels.windows`
    reads, last of it the variance of what is neither.
    """

    def __init__(self, variance: Array, time: float) -> None:
        self.active = bool(variance.any())
        self._variance, self._forget_time = variance, time
        self._at = 0.0
        self.table: Array = np.zeros((len(variance), wk.N_DRIFT))
        self.table[:, [wk.D_OFFSETS, wk.D_DRIES]] = self.table[:, [wk.D_FREE_OFFSET, wk.D_FREE_DRY]] = variance
        self.table[:, wk.D_UNEXPLAINED] = variance.sum(axis=1)
        self._seen, self._learned = np.zeros(len(variance)), 0.0

    def restart(self) -> None:
        """Count time from zero again; what was learned is kept."""
        self._at = 0.0

    def kept(self, now: float) -> float:
        """Return the part of values that is not forgotten at a time [s], not before that of the last `learn`."""
        return math.exp(-(now - self._at) / self._forget_time) if self.active else 1.0

    def at(self, now: float) -> tuple[Array, Array]:
        """Return values (n, 2) and covariances (n, 2, 2) at a time [s]."""
        kept = self.kept(now)
        covariance = kept**2 * self.table[:, [wk.D_OFFSETS, wk.D_BOTH, wk.D_BOTH, wk.D_DRIES]]
        covariance[:, ::3] += (1.0 - kept**2) * self._variance
        return kept * self.table[:, : wk.D_DRY + 1], covariance.reshape(-1, 2, 2)

    def learn(self, now: float, gone: Array, noise: Array, lasting: Array, features: Array) -> None:
        """Take in the impulse `gone` (n,) that was missed over a window that ends now [s], without these variables.

        `noise` and `lasting` (n,) are its variances by noise and by errors that last, `features` (n, 2) what one newton
        metre, or newton, of each variable adds to it [s]. Errors that last are the same in all windows within `time`:
        they count in each as often as it holds windows, so that all together carry no more than these errors allow.
        """
        x, P = self.at(now)
        gain = np.einsum("nij,nj->ni", P, features)
        left, span = gone - (features * x).sum(axis=-1), features[:, 0]
        expected = (gain * features).sum(axis=-1) + noise + lasting
        time = float(span.max())
        self._learned += time
        least = self._variance.sum(axis=1) * max(TURN / (TURN + self._learned), LEAST) ** 2
        seen = np.maximum(left**2 - OUTLYING**2 * expected, 0.0) / span**2
        self._seen = np.maximum(self._seen * float(np.exp(-time / self._forget_time)), seen)
        unexplained = np.maximum(self._seen, least)
        often, turns = max(self._forget_time / time, 1.0), max(TURN / time, 1.0)
        variance = expected + (often - 1.0) * lasting + turns * unexplained * span**2
        P = P - gain[:, :, None] * gain[:, None, :] / variance[:, None, None]
        self.table[:, : wk.D_DRY + 1] = x + gain * (left / variance)[:, None]
        self.table[:, wk.D_OFFSETS : wk.D_DRIES + 1] = P.reshape(-1, 4)[:, [0, 1, 3]]
        self.table[:, wk.D_UNEXPLAINED] = unexplained
        self._at = now


_SIZE = WINDOWS[-1] + 1
_SIZES = np.array(WINDOWS, float)
QUIET = 0.5
"""Part of the threshold below which drift of friction is learned."""
GAP = 1.5
"""Periods between two states from which on something may have happened between them that neither shows."""
EVEN = 0.02
"""Part of the usual period by which steps differ that count as even."""
_SURE = 1.25
"""By how much friction at rest is covered beyond what would reach the threshold: noise comes on top."""


@shown
@dataclass(frozen=True, eq=False, slots=True)
class ContactState:
    """Estimate of contacts at a state.

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


@dataclass(eq=False, slots=True)
class _Run:
    """States without a gap: the last of them as `judge_windows` has them, and what it writes.

    `before` are the rates of the last state, `noise` is that of `spreads`, of which so many windows as `places` say
    have their own; of `past`, times and states of late efforts; `quiet_since` when something was last felt, and
    `taught` the number of the state up to which was learned.
    """

    masses: Array
    spreads: Array
    sums: Array
    times: Array
    positions: Array
    missed: Array
    cover: Array
    learned: Array
    work: Array
    settings: Array
    step: Array
    found: Array
    places: Array
    rates: Array
    before: Array
    _: KW_ONLY
    noise: SensorNoise | None = None
    past: deque[tuple[float, Array, Array]] = field(default_factory=deque)
    count: int = 0
    skipped: float = 0.0
    quiet_since: float = np.inf
    touching: bool = False
    taught: int = 0

    @classmethod
    def of(cls, model: Model) -> _Run:
        """Return one without states."""
        n, w = model.nv, len(WINDOWS)
        shapes = (
            (_SIZE, n, n), (_SIZE, w * n, n), (_SIZE, n, wk.N_SUMS), (_SIZE, wk.N_TIMES), (_SIZE, model.nq),
            (w, n), (w, n, n), (n, 4), (n, n + 3), (wk.N_SETTINGS,), (wk.N_STEP,), (wk.N_FOUND,), (3,),
            (n, wk.N_RATES), (n, wk.N_RATES),
        )  # fmt: skip
        return cls(*(np.zeros(shape) for shape in shapes))

    @property
    def now(self) -> float:
        """Time of the last state [s]."""
        return float(self.times[(self.count - 1) % _SIZE, wk.NOW])


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
        self._drift = Drift(self._prior, self._forget_time)
        self._usual, self._steps, self._waited = noise.period, 0, 0.0
        self._run = _Run.of(model)
        self.acceleration: Array = np.zeros(n)

    def reset(self) -> None:
        """Start again; what was learned of offsets and friction is forgotten, too."""
        self._drift = Drift(self._prior, self._forget_time)
        self._usual, self._steps, self._waited = self.noise.period, 0, 0.0
        self.restart()

    def restart(self) -> None:
        """Begin afresh at the next state, as after a gap; what was learned is kept."""
        self._run = _Run.of(self.model)
        self._drift.restart()
        self.acceleration = np.zeros(self.model.nv)

    @property
    def drift(self) -> Array:
        """Offsets and dry friction that were learned, shape (nv, 2) [N m, N]."""
        return self._drift.at(self._run.now)[0]

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
        model, run, n = self.model, self._run, self.model.nv
        step = self.noise.period if period is None else _positive(period)
        tau = np.ascontiguousarray(tau, np.float64)
        if tau.shape != (n,) or not math.isfinite(sum(tau.tolist())):
            raise InputError(f"tau: {n} finite numbers are expected, got {tau}", name="tau", value=tau)
        x: Array = np.ascontiguousarray(q, np.float64)
        v: Array = np.ascontiguousarray(qd, np.float64)
        if self._delay:
            earlier = self._earlier(x, v, step)
            if earlier is None:
                run.skipped += step
                return None
            x, v = earlier
        mass, coriolis = mass_matrix(model, x), coriolis_matrix(model, x, v)
        less = gravity_force(model, x)
        if model.actuation_terms is not None:
            less = less + joint_losses(model, x, v)
        effort = tau if self.friction is None else self.friction.transmitted(tau, v)
        self.acceleration = forward_dynamics(model, x, v, effort)
        rates, before, settings = run.rates, run.before, run.step
        if wk.rates_at(v, effort, mass, coriolis, less, self._joints, rates):
            raise InputError(f"qd, tau: no state of a robot has momenta or torques beyond {wk.LARGEST:g}", name="qd")
        step, run.skipped, place = step + run.skipped, 0.0, run.count % _SIZE
        if run.count:
            more = self._more(step)
            if more:
                run.settings[wk.UNEVEN_AT] = run.count
            settings[0], settings[1], settings[2], settings[3] = step, more, (GAP - 1.0) * self._usual, self._as_held
        else:  # nothing was before: a step of no time
            before, run.settings[wk.CHOSEN], run.settings[wk.UNEVEN_AT] = rates, self._chosen, -1
        settings[wk.PLACE] = place
        wk.add_state(settings, before, rates, mass, run.masses, run.sums, run.times)
        run.positions[place] = x
        run.rates, run.before = run.before, rates
        run.count += 1
        velocity, places = self.noise.velocity, run.places
        places[0], places[1] = place, place + 1
        if run.noise is not self.noise:
            run.noise = self.noise
            alike = (velocity == velocity[-1]).all(axis=(1, 2))
            places[0], places[1] = 0, min(run.count, _SIZE)
            places[2] = 1 if alike.all() else len(velocity)
        wk.spread_noise(places, run.masses, velocity, run.work, run.spreads)
        return self._judge() if run.count > WINDOWS[0] else None

    def _more(self, step: float) -> float:
        """Return by how much a step is longer than the usual one, the median of those so far; zero for even ones.

        A long step by itself, and short ones that make up for it, say nothing of the usual.
        """
        self._steps += 1
        if self._steps == 1:
            self._usual = step
        more = step - self._usual
        if abs(more) <= EVEN * self._usual:
            self._usual, self._waited = self._usual + EVEN * more, 0.0
            return 0.0
        stalled = (GAP - 1.0) * self._usual
        alone, made_up = more > stalled and not self._waited, more < -stalled and self._waited > 0.0
        self._waited = max(self._waited + more, 0.0) if made_up else more * (more > stalled)
        if not (made_up or alone):
            self._usual += float(np.copysign(max(1.0 / (self._steps + 1), 0.1 * EVEN) * self._usual, more))
        return more

    def _earlier(self, q: Array, qd: Array, step: float) -> tuple[Array, Array] | None:
        """Return the state of `effort_delay` ago, on the straight line between the two about it; None in a gap."""
        past, model = self._run.past, self.model
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
        run, noise, n = self._run, self.noise, self.model.nv
        settings, torque, covariance = run.settings, np.empty(n), np.empty((n, n))
        kept = self._drift.kept(run.now)
        settings[0], settings[1], settings[2], settings[3] = run.count, noise.period, self._part, kept
        w = wk.judge_windows(
            settings,
            _SIZES,
            run.spreads,
            run.sums,
            run.times,
            noise.impulse,
            self._drift.table,
            run.missed,
            run.cover,
            run.learned,
            run.work,
            run.found,
            torque,
            covariance,
        )
        if w < 0:
            raise InputError("qd, tau: the covariance of what the model misses is not positive definite", name="qd")
        now, age, middle, statistic = run.found.tolist()
        evidence = statistic / self.threshold
        was = run.touching
        if evidence > 1.0:
            run.quiet_since, run.touching = now, True
        elif was and now - run.quiet_since > self._release:
            run.touching = False
        if self._drift.active:
            self._learn(now, evidence)
        return ContactState(
            torque,
            covariance,
            run.positions[int(middle)].copy(),
            age + self._delay,
            evidence,
            run.touching,
            run.touching and not was,
            was and not run.touching,
        )

    def _learn(self, now: float, evidence: float) -> None:
        """Learn from windows that share no state, while nothing is felt."""
        run = self._run
        if evidence > QUIET or run.touching:
            run.taught = run.count  # nor from windows that reach back to this
        if run.count - run.taught >= _SIZE:
            run.taught = run.count
            over = run.sums[(run.count - 1) % _SIZE] - run.sums[(run.count - _SIZE) % _SIZE]
            gone, noise, held, part = run.learned.T
            lasting = self._all_held * held**2 + part
            features = over[:, [wk.OFFSET, wk.DRY]]
            self._drift.learn(now, gone, noise, lasting, features)
