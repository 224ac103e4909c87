"""Interpolation of way points, to the order that the points carry, on the configuration manifold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from ..lie import se3, so3
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model
from ..shown import Plotted, shown, table, value_text


@shown
@dataclass(frozen=True, eq=False)
class TrajectoryPoint:
    """Desired motion at one time: `q` (nq,), `qd` (nv,), `qdd` (nv,)."""

    q: Array
    qd: Array
    qdd: Array


class Trajectory(Plotted):
    """A motion through way points.

    Between two points the motion is q0 exp(u(t)), with u a polynomial in the tangent space of q0 on each joint: linear
    where the points carry positions only, cubic (Hermite) with velocities, quintic with accelerations too. Position is
    continuous always, velocity with cubic, acceleration with quintic segments. Before the first point and after the
    last one the robot stands still there.

    Parameters
    ----------
    model : Model
        The robot.
    times : array-like, shape (k,)
        Times of the points [s], rising.
    q : array-like, shape (k, nq)
        Configurations.
    qd, qdd : array-like, shape (k, nv), optional
        Velocities and accelerations at the points; accelerations want velocities.

    Raises
    ------
    InputError
        For times that do not rise, wrong shapes, NaN, or accelerations without velocities.
    """

    def __init__(
        self,
        model: Model,
        times: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
    ) -> None:
        require_model(model)
        self.model = model
        self.times = np.array(times, np.float64)
        self.q = np.atleast_2d(checked(q, model.nq, "q", model))
        count = len(self.q)
        if self.times.shape != (count,) or not np.isfinite(self.times).all() or (np.diff(self.times) <= 0.0).any():
            raise InputError(
                f"times: {count} rising times are expected, one for each point, got {self.times.tolist()}", name="times"
            )
        if qdd is not None and qd is None:
            raise InputError("qdd: accelerations at the points want velocities there too", name="qdd")
        self.order = 1 if qd is None else (3 if qdd is None else 5)
        ends = [None if x is None else checked(x, model.nv, n, model) for x, n in ((qd, "qd"), (qdd, "qdd"))]
        for name, x in zip(("qd", "qdd"), ends, strict=True):
            if x is not None and np.atleast_2d(x).shape != (count, model.nv):
                raise InputError(f"{name}: shape ({count}, {model.nv}) is expected, got {x.shape}", name=name)
        self._coefficients = np.zeros((max(count - 1, 0), 6, model.nv))  # of u in powers of t - t0
        for k in range(count - 1):
            self._coefficients[k] = self._segment(k, *(None if x is None else x[k : k + 2] for x in ends))

    def __repr__(self) -> str:
        kind = {1: "linear", 3: "cubic", 5: "quintic"}[self.order]
        return f"<Trajectory of {self.model.name!r}: {len(self.times)} points in {self.duration:.6g} s, {kind}>"

    def _repr_html_(self) -> str:
        """Return the way points as a table for notebooks."""
        rows = [(value_text(float(time)), value_text(q)) for time, q in zip(self.times, self.q, strict=True)]
        return table(("time", "q"), rows, repr(self)[1:-1])

    @property
    def duration(self) -> float:
        """Time from the first point to the last [s]."""
        return float(self.times[-1] - self.times[0])

    def at(self, time: float) -> TrajectoryPoint:
        """Return the desired motion at a time [s]."""
        model, zero = self.model, np.zeros(self.model.nv)
        if len(self.times) == 1 or not self.times[0] <= time < self.times[-1]:
            end = 0 if time < self.times[0] else -1
            return TrajectoryPoint(self.q[end].copy(), zero, zero.copy())
        k = int(np.searchsorted(self.times, time, "right")) - 1
        t, c = time - self.times[k], self._coefficients[k]
        u, du, ddu = powers(float(t)) @ c
        if model.nq == model.nv:
            return TrajectoryPoint(self.q[k] + u, du, ddu)
        qd, qdd = du.copy(), ddu.copy()
        for joint in model.joints:
            at = joint.v_slice
            if joint.kind in ("spherical", "free"):
                J, dJ = _right_jacobian_and_rate(u[at], du[at])
                qd[at], qdd[at] = J @ du[at], J @ ddu[at] + dJ @ du[at]
        return TrajectoryPoint(model.integrate(self.q[k], u), qd, qdd)

    def _segment(self, k: int, qd: Array | None, qdd: Array | None) -> Array:
        """Return the coefficients (6, nv) of u from point k to the next."""
        model, h = self.model, self.times[k + 1] - self.times[k]
        end = model.difference(self.q[k], self.q[k + 1])
        if qd is None:
            return hermite(float(h), end)
        v0, v1 = qd[0], qd[1].copy()
        a0 = a1 = None
        if qdd is not None:
            a0, a1 = qdd[0], qdd[1].copy()
        for joint in model.joints:  # rates of u from those of q: at the start they are the same
            at = joint.v_slice
            if joint.kind in ("spherical", "free"):
                inverse = so3.right_jacobian_inverse if joint.kind == "spherical" else se3.right_jacobian_inverse
                back = inverse(end[at])
                v1[at] = back @ v1[at]
                if a1 is not None:
                    _, dJ = _right_jacobian_and_rate(end[at], v1[at])
                    a1[at] = back @ (a1[at] - dJ @ v1[at])
        return hermite(float(h), end, v0, v1, a0, a1)


def _right_jacobian_and_rate(u: Array, du: Array) -> tuple[Array, Array]:
    """Return J_r(u) and its rate along du, by a complex step (exact to round-off) on SE(3)."""
    if u.size == 3:
        return so3.right_jacobian(u), so3.right_jacobian_derivative(u, du)
    step = 1e-30
    J = se3.right_jacobian(u + 1j * step * du)
    return np.asarray(J.real), np.asarray(J.imag / step)


def hermite(
    duration: float | Array,
    end: Array,
    v0: Array | None = None,
    v1: Array | None = None,
    a0: Array | None = None,
    a1: Array | None = None,
) -> Array:
    """Return the coefficients (6, ..., n), of rising powers of time, of polynomials from zero to `end`.

    Linear without velocities, cubic with velocities `v0`, `v1` at the ends, quintic with accelerations `a0`, `a1` too.
    `duration` [s] is above zero, one for all or (..., 1); all others (..., n).
    """
    h, c = duration, np.zeros((6, *end.shape))
    if v0 is None or v1 is None:
        c[1] = end / h
        return c
    c[1] = v0
    if a0 is None or a1 is None:
        c[2] = (3.0 * end / h - 2.0 * v0 - v1) / h
        c[3] = (-2.0 * end / h + v0 + v1) / h**2
        return c
    c[2] = 0.5 * a0
    rest, slope, bend = end - h * (v0 + h * c[2]), v1 - v0 - h * a0, a1 - a0
    c[3] = (10.0 * rest / h - 4.0 * slope + 0.5 * h * bend) / h**2
    c[4] = (-15.0 * rest / h + 7.0 * slope - h * bend) / h**3
    c[5] = (6.0 * rest / h - 3.0 * slope + 0.5 * h * bend) / h**4
    return c


def powers(t: float) -> Array:
    """Return the matrix (3, 6) that takes coefficients to value, rate and acceleration at the time `t` [s]."""
    return np.array(
        [
            [1.0, t, t**2, t**3, t**4, t**5],
            [0.0, 1.0, 2.0 * t, 3.0 * t**2, 4.0 * t**3, 5.0 * t**4],
            [0.0, 0.0, 2.0, 6.0 * t, 12.0 * t**2, 20.0 * t**3],
        ]
    )


class StopPlan:
    """Velocities that die away, (qd0 + c t) exp(-l t) with c = qdd0 + l qd0, so that each joint stops before its limit.

    Accelerations begin at qdd0 and never step: what is elastic is not struck.

    Parameters
    ----------
    position, velocity : ndarray, shape (n,)
        Where it begins [rad, m and per s].
    rate, fastest : float
        l [1/s]: usually `rate`; up to `fastest` where a joint would pass its limit.
    lower, upper : ndarray, shape (n,)
        Limits of positions.
    acceleration : ndarray, shape (n,), optional
        qdd0 [rad/s^2, m/s^2], zero by default; as far as it brakes, by l qd0 at most, so that no joint turns round.
    """

    def __init__(
        self,
        position: Array,
        velocity: Array,
        rate: float,
        fastest: float,
        lower: Array,
        upper: Array,
        acceleration: Array | None = None,
    ) -> None:
        room = np.where(velocity > 0.0, upper - position, position - lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(room > 0.0, 2.0 * np.abs(velocity) / room, np.where(velocity == 0.0, 0.0, np.inf))
        self.rates = np.clip(np.nan_to_num(needed, nan=rate, posinf=fastest), rate, max(rate, fastest))
        self._position, self._velocity = position.copy(), velocity.copy()
        steady = self.rates * velocity
        if acceleration is None:
            self._slope = steady
        else:
            self._slope = steady + np.clip(acceleration, np.minimum(-steady, 0.0), np.maximum(-steady, 0.0))
        self._end = self._position + (self._velocity + self._slope / self.rates) / self.rates

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration, `time` [s] after it began."""
        fading = np.exp(-self.rates * time)
        slope = self._slope * fading
        velocity = self._velocity * fading + slope * time
        return self._end - (velocity + slope / self.rates) / self.rates, velocity, slope - self.rates * velocity
