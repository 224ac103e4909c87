"""Results of a `ClosedLoopTracker`: one tracked configuration, or a motion of them, with rates of all coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Integers, Mask
from ...dynamics.kinematics import frame_pose, jacobian
from ...errors import InputError, SingularityError
from ...lie._arrays import as_real
from ...model.model import Model
from ...tracking import TrackingStatus
from ..constraint_set import ConstraintSet
from ..idle import HELD, IdleFreedom, free_motions, single_places
from ..inputs import refuse_upside_down
from ..kernels import tracking as tk
from ..quantities import constraint_error, constraint_jacobian, constraint_quantities
from ..resolution import RANK_CUT


class ClosedMotion:
    """Motions that keep loops closed at q: q' = F z and q'' = F z + p, with A F = 0 and A p + dA/dt q' = 0.

    Raises InputError for a loop that is closed upside down.
    """

    def __init__(self, model: Model, constraints: ConstraintSet, q: Array) -> None:
        self._model, self._constraints, self.q = model, constraints, q
        found = constraint_quantities(model, constraints, q, model.zero_velocity)
        refuse_upside_down(model, constraints, found.error[None])
        self._u, self._s, vt = np.linalg.svd(found.jacobian)
        rank = int((self._s > RANK_CUT * self._s.max(initial=0.0)).sum())
        self._held, self._free = vt[:rank], vt[rank:].T
        self._u, self._s = self._u[:, :rank], self._s[:rank]

    @property
    def freedoms(self) -> int:
        """Number of freedoms of the mechanism."""
        return int(self._free.shape[1])

    def held_by(self, places: npt.NDArray[np.intp]) -> int:
        """Return how many of them joints at places hold."""
        return int(np.linalg.matrix_rank(self._free[places], HELD))

    def left_by(self, places: npt.NDArray[np.intp]) -> Array:
        """Return a basis (nv, k) of the motions that joints at places leave."""
        _, s, vt = np.linalg.svd(self._free[places])
        return np.asarray(self._free @ vt[int((s > HELD).sum()) :].T)

    def gain(self, places: npt.NDArray[np.intp], noise: Array) -> Array:
        """Return the rates (nv, k) that unit rates at places make, by least squares weighted by their noise (k,)."""
        return np.asarray(
            self._free @ np.linalg.pinv(self._free[places] / noise[:, None], HELD * noise.min() / noise.max()) / noise
        )

    def accelerations(self, rates: Array, places: npt.NDArray[np.intp], given: Array) -> Array:
        """Return accelerations (nv,) at rates (nv,) that come nearest to those given at places (k,)."""
        bias = constraint_quantities(self._model, self._constraints, self.q, rates).bias
        found = -self._held.T @ ((self._u.T @ bias) / self._s)
        return np.asarray(found + self._free @ (np.linalg.pinv(self._free[places], HELD) @ (given - found[places])))


@dataclass(frozen=True, eq=False)
class Setup:
    """Data shared by results of a tracker: which joints are measured, their places in rates and in q, what is idle."""

    model: Model
    constraints: ConstraintSet
    names: tuple[str, ...]
    places: npt.NDArray[np.intp]
    positions: npt.NDArray[np.intp]
    noise: Array
    given: ConstraintSet  # without what holds idle freedoms
    idle: tuple[IdleFreedom, ...] = ()


class TrackedMotion:
    """Configurations tracked for one sample after another, as arrays with one row each. ``motion[i]`` is one state."""

    def __init__(self, setup: Setup, rows: Array, setups: Sequence[Setup] = ()) -> None:
        self._setup, self._rows, self._setups = setup, rows, setups

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> TrackedState:
        return TrackedState(self._setups[index] if self._setups else self._setup, self._rows[index])

    @property
    def q(self) -> Array:
        """Configurations (n, nq); the last good one where `valid` is False."""
        return self._rows[:, tk.RESULT : -len(self._setup.names)]

    @property
    def statuses(self) -> Integers:
        """Codes of `TrackingStatus` (n,)."""
        return self._rows[:, tk.STATUS].astype(np.int64)

    @property
    def valid(self) -> Mask:
        """Where the configuration belongs to the sample (n,)."""
        return self.continued

    @property
    def continued(self) -> Mask:
        """Where it is the end of the regular straight line in the measured joints (n,)."""
        return np.asarray(self._rows[:, tk.CONTINUED] > 0.0)

    @property
    def certified(self) -> Mask:
        """Where no other configuration with these joints was within reach (n,); False without a bound of the speed."""
        return np.asarray(self._rows[:, tk.CERTIFIED] > 0.0)

    @property
    def regular_for(self) -> Array:
        """As `TrackedState.regular_for` (n,)."""
        return self._rows[:, tk.RADIUS].copy()


class TrackedConfiguration:
    """A tracked configuration, and what follows from it for a mechanism; found when it is requested."""

    __slots__ = ("_known", "_row", "_setup")

    def __init__(self, setup: Setup, row: Array) -> None:
        self._setup, self._row = setup, row
        self._known: tuple[ClosedMotion, Array] | None = None  # and the gain of the measured joints

    @property
    def q(self) -> Array:
        """Configuration (nq,); the last good one where `valid` is False."""
        return self._row[tk.RESULT : -len(self._setup.names)]

    def _motion(self) -> tuple[ClosedMotion, Array]:
        if self._known is None:
            setup = self._setup
            motion = ClosedMotion(setup.model, setup.constraints, self.q)
            self._known = motion, motion.gain(setup.places, setup.noise)
        return self._known

    def told(self, name: str) -> bool:
        """Whether the measured joints determine a joint's position, or the pose of a body or frame, here."""
        setup = self._setup
        motions = free_motions(constraint_jacobian(setup.model, setup.given, self.q), setup.places)
        part = (
            motions[setup.model.joint(name).v_slice]
            if name in setup.model.joint_names
            else jacobian(setup.model, self.q, name, "aligned") @ motions
        )
        return bool(np.abs(part).max(initial=0.0) < HELD)

    @property
    def residuals(self) -> Array:
        """Errors of the constraints at `q` (m,) [m, rad]."""
        return np.asarray(constraint_error(self._setup.model, self._setup.given, self.q))

    @property
    def amplification(self) -> float:
        """Largest rate of all coordinates for measured joints at a rate of 1, as norms; grows at singularities."""
        return float(np.linalg.norm(self._motion()[1], 2))

    def rates(self, measured: ArrayLike) -> Array:
        """Return the rates of all coordinates (..., nv) from those of the measured joints (..., k).

        Raises
        ------
        InputError
            For a wrong shape, NaN and infinity.
        """
        given = as_real(measured, (len(self._setup.names),), "measured")
        return np.asarray(given @ self._motion()[1].T)

    def accelerations(self, rates: ArrayLike, given: ArrayLike, joints: Sequence[str] | None = None) -> Array:
        """Return the accelerations of all coordinates (nv,) that come nearest to those given of some joints.

        Parameters
        ----------
        rates : array-like, shape (nv,)
            Of all coordinates, as `rates` returns them [rad/s, m/s].
        given : array-like, shape (k,)
            Accelerations of the joints [rad/s^2, m/s^2].
        joints : sequence of str, optional
            Joints of one coordinate; the measured ones when left out.

        Raises
        ------
        InputError
            For a wrong shape, NaN and infinity, and joints that are not there.
        """
        setup = self._setup
        places = setup.places if joints is None else single_places(setup.model, joints, "joints")
        qd, qdd = as_real(rates, (setup.model.nv,), "rates"), as_real(given, (len(places),), "given")
        if qd.ndim != 1 or qdd.ndim != 1:
            raise InputError("rates, given: one state is expected, got a batch", name="rates")
        return self._motion()[0].accelerations(qd, places, qdd)

    @property
    def covariance(self) -> Array:
        """Covariance of all coordinates from the sensors' noise (nv, nv), along `Model.integrate`."""
        spread = self._motion()[1] * self._setup.noise
        return np.asarray(spread @ spread.T)

    def pose(self, frame: str) -> Array:
        """Return the pose (4, 4) of a body or frame in the world frame [m]."""
        return frame_pose(self._setup.model, self.q, frame)

    def twist(self, frame: str, measured: ArrayLike) -> Array:
        """Return the body twist (..., 6) of a body or frame, from rates as `rates` takes them [rad/s, m/s]."""
        return np.asarray(self.rates(measured) @ jacobian(self._setup.model, self.q, frame).T)

    def pose_covariance(self, frame: str) -> Array:
        """Return the covariance (6, 6) of a pose: small rotation about the world's axes, then displacement."""
        J = jacobian(self._setup.model, self.q, frame, "aligned")
        return np.asarray(J @ self.covariance @ J.T)


class TrackedState(TrackedConfiguration):
    """One tracked configuration, with what became of its sample."""

    __slots__ = ()

    @property
    def measured(self) -> Array:
        """The sample (k,)."""
        return self._row[-len(self._setup.names) :]

    @property
    def status(self) -> TrackingStatus:
        """Outcome of the sample."""
        return TrackingStatus(int(self._row[tk.STATUS]))

    @property
    def valid(self) -> bool:
        """Whether `q` belongs to the sample."""
        return self.continued

    @property
    def continued(self) -> bool:
        """Whether `q` is the end of the regular straight line in the measured joints from the last good sample."""
        return bool(self._row[tk.CONTINUED] > 0.0)

    @property
    def certified(self) -> bool:
        """Whether no other configuration with these joints was within reach since the last certified or given one.

        At ``max_speed``, whatever the path; False without this bound.
        """
        return bool(self._row[tk.CERTIFIED] > 0.0)

    @property
    def steps(self) -> int:
        """Steps that were tried; 1 unless the joints jumped."""
        return int(self._row[tk.STEPS])

    @property
    def regular_for(self) -> float:
        """Time [s] during which no singular configuration can be reached at ``max_speed``, whatever the motion.

        Proven, and short of the truth; without ``max_speed`` for rates of 1 rad/s and 1 m/s. Zero where not `valid`.
        """
        return float(self._row[tk.RADIUS])

    @property
    def idle(self) -> tuple[IdleFreedom, ...]:
        """Freedoms that the measured joints leave: `q`, rates and accelerations are those with these held."""
        return self._setup.idle

    @property
    def sensor_residuals(self) -> Array:
        """Sample less `q` (k,) [rad, m]; zero where sensors are not redundant."""
        return self.measured - self.q[self._setup.positions]

    @property
    def message(self) -> str:
        """The outcome, in a sentence."""
        status, row = self.status, self._row
        last = "q is the last good configuration"
        if status is TrackingStatus.TRACKED:
            return f"tracked in {self.steps} step(s): continued" + (", certified" if self.certified else "")
        if status is TrackingStatus.AMBIGUOUS:
            return "continued; other configurations with these joints within reach at max_speed cannot be excluded"
        if status is TrackingStatus.NOT_FINITE:
            joint = self._setup.names[int(row[tk.JOINT])]
            return f"position of joint {joint!r} is {self.measured[int(row[tk.JOINT])]}, a number is expected; {last}"
        if status is TrackingStatus.OUT_OF_REACH:
            return f"no configuration with these joints was within reach at max_speed: check joints, dt, rates; {last}"
        covered = f"{100.0 * row[tk.COVERED]:.4g}% of the way from the last good sample"
        if status is TrackingStatus.SINGULAR:
            return f"the mechanism would pass a singularity, or its loops cannot close, {covered}; {last}"
        return f"the joints jumped too far: {self.steps} steps covered {covered}; {last}"

    def require(self) -> TrackedState:
        """Return itself when valid, raise SingularityError with the `message` otherwise."""
        if not self.valid:
            raise SingularityError(self.message, name=self.status.name)
        return self

    def __repr__(self) -> str:
        return f"TrackedState({self.status.name}, q={self.q.tolist()})"
