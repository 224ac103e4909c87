"""Result of an identification: parameters, predicted efforts, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.forward_dynamics import solve_mass_matrix
from ...dynamics.inverse_dynamics import inverse_dynamics
from ...dynamics.joint_friction import JointFriction
from ...files import write_file
from ...model.model import Model
from ...model.urdf_inertias import LOSSES, with_inertias
from ...shown import shown
from ..base_parameters import BaseParameters
from .problems import Problem
from .samples import Measured, measured, moving_of


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
        Where joints move: what friction holds at rest is not identified.
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
    return Prediction(recording.time[at], found, efforts, before, moving_of(recording)[at] & used, *errors)
