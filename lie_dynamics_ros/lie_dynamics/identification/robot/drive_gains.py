"""Gains of drives in newton metres for each unit of their efforts, from a payload of known mass.

One recording has the same arm without the payload and one with it. An effort of a joint is

    effort = (bodies + friction + rotor + payload) / gain,

and all but the payload is the same law in both, with coefficients that need not be known: each joint's own linear least
squares have the columns of bodies, of the drive and, in one recording, the joint force that the payload takes. The
coefficient of the last is 1 / gain, whatever the masses of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...dynamics.derivatives.inverse_derivatives import torque_regressor
from ...errors import InputError
from ...lie import SpatialInertia
from ...model.arguments import require_model
from ...model.model import Model
from ...shown import shown
from ..recordings import even_times
from .payload import Arrays, friction_as, three_of, transfer
from .problems import RecordingError, stop_at
from .samples import Samples, measured, samples_of
from .signals import signals_of

#: Largest standard deviation of a gain, over it, that counts as told.
TOLD = 0.1
#: Singular values, over the largest, that are round-off.
_CUT = 1e-7
#: Time in which errors may hang together [s].
_BLOCK = 1.0


@shown
@dataclass(frozen=True, eq=False)
class DriveGains:
    """Gains of drives, and how well they are known.

    Attributes
    ----------
    joints : tuple of str
        k joints.
    gains : ndarray, shape (k,)
        Newton metres, or newtons, for each unit of effort; as ``drive_gains`` of `identify_robot` for all joints.
    covariance : ndarray, shape (k, k)
        Of these; errors that last up to a second are in it.
    """

    joints: tuple[str, ...]
    gains: Array
    covariance: Array

    def report(self) -> str:
        """Return a line for each joint with its gain and the standard deviation of that."""
        rows = zip(self.joints, self.gains, np.sqrt(np.diag(self.covariance)), strict=True)
        unit = "N m or N for each unit of effort"
        return "\n".join(f"{name}: {gain:.5g} +- {deviation:.2g} {unit}" for name, gain, deviation in rows)


def gains_from_payload(
    model: Model,
    without: Arrays,
    loaded: Arrays,
    frame: str | int,
    payload: SpatialInertia,
    *,
    joints: Sequence[str] | None = None,
    cutoff: float | None = None,
) -> DriveGains:
    """Return gains of drives from two recordings of an arm, without a known payload and with it.

    Parameters
    ----------
    model : Model
        The arm without the payload. Its inertias do not count, its joints do.
    without, loaded : tuple of array-like
        (time (n,), q (n, nq), effort (n, nv)): evenly sampled, positions and efforts in any unit, such as amperes. Best
        is the same motion twice, through postures in which the payload loads each joint differently.
    frame : str or int
        Body or frame that carries the payload.
    payload : SpatialInertia
        Mass [kg], centre of mass [m] and inertia about it [kg m^2], in axes of the frame.
    joints : sequence of str, optional
        Whose gains to find; all when left out.
    cutoff : float, optional
        Of the filter [Hz], as in `identify_robot`.

    Raises
    ------
    InputError
        For bad input, and joints whose gains the recordings do not determine to 10 %: the payload loads them too
        little.
    RecordingError
        For signals that nothing is identified from.
    """
    require_model(model)
    if not isinstance(payload, SpatialInertia) or not payload.mass > 0.0:
        raise InputError(f"payload: a SpatialInertia with mass is expected, got {payload!r}", name="payload")
    names = model.joint_names if joints is None else tuple(joints)
    if isinstance(joints, str) or not names or not all(name in model.joint_names for name in names):
        message = f"joints: some of the joints {list(model.joint_names)} are expected, got {joints!r}"
        raise InputError(message, name="joints", value=joints)
    carrier, own = model._moving(frame), model.with_joint_terms()
    runs, at = [], cutoff
    for name, arrays in (("without", without), ("loaded", loaded)):
        time, q, effort = three_of(arrays, name)
        even_times(time)
        signals = signals_of(own, q, effort)
        try:
            stop_at(signals.problems, False)
        except RecordingError as error:
            raise RecordingError(error.problems, name) from error
        silent = [n for n in names if model.joint_names.index(n) in signals.left_out]
        if silent:
            why = signals.left_out[model.joint_names.index(silent[0])]
            raise InputError(f"{name}: joint {silent[0]!r}: {why}; other joints are expected", name=name)
        recording = measured(own, time, signals.q, signals.effort, at)
        at = recording.cutoff
        runs.append(samples_of(recording))
    runs[1] = friction_as(*runs)
    load = transfer(carrier.placement) @ payload.parameters()
    wanted = slice(10 * carrier.body, 10 * carrier.body + 10)
    regressors = [np.asarray(torque_regressor(own, run.q, run.qd, run.qdd)) for run in runs]
    forces = [np.zeros_like(runs[0].q), regressors[1][..., wanted] @ load]
    blocks = [2 * ((run.source.time[run.at] - run.source.time[0]) // _BLOCK).astype(np.intp) + k
              for k, run in enumerate(runs)]  # fmt: skip
    _, block = np.unique(np.concatenate(blocks), return_inverse=True)
    inverse, scores = np.zeros(len(names)), np.zeros((len(names), int(block.max()) + 1))
    for k, name in enumerate(names):
        j = model.joint_names.index(name)
        columns = [np.column_stack([Y[:, j], _drive(run, j)]) for Y, run in zip(regressors, runs, strict=True)]
        force = np.concatenate([x[:, j] for x in forces])
        aim = np.concatenate([run.effort(0.0)[:, j] for run in runs])
        use = np.concatenate([run.moving[:, j] for run in runs])
        own_columns = np.concatenate(columns)[use]
        inverse[k], scores[k] = _coefficient(own_columns, force[use], aim[use], block[use], scores.shape[1])
    deviation = np.sqrt((scores**2).sum(axis=1))
    vague = ~(deviation < TOLD * np.abs(inverse))
    if vague.any():
        k = int(np.argmax(vague))
        part = 100.0 * deviation[k] / max(abs(inverse[k]), 1e-300)
        told = f"its gain is known to {part:.0f} %" if np.isfinite(deviation[k]) else "the payload does not load it"
        raise InputError(
            f"joints: {[n for n, yes in zip(names, vague, strict=True) if yes]} are not identified by this motion "
            f"(joint {names[k]!r}: {told}, {100.0 * TOLD:.0f} % or better expected): a heavier payload, other "
            "postures, or other joints", name="joints",
        )  # fmt: skip
    slopes = -scores / inverse[:, None] ** 2
    return DriveGains(tuple(names), 1.0 / inverse, slopes @ slopes.T)


def _drive(run: Samples, j: int) -> Array:
    """Return the columns of a joint's damping, dry friction by Stribeck's curves, rotor and offset, and of a delay.

    An effort that is recorded later by a delay is, to first order, less its rate times that.
    """
    rate = np.gradient(run.source.effort[:, j], run.source.step)[run.at]
    friction = run.side[:, j], *run.bends[:, :, j]
    return np.column_stack([run.qd[:, j], *friction, run.qdd[:, j], np.ones(len(run.at)), rate])


def _coefficient(columns: Array, force: Array, aim: Array, block: Array, count: int) -> tuple[float, Array]:
    """Return the coefficient of a force (n,) beside other columns, and the error that each block of rows makes of it.

    What other columns explain of the force is taken out of it (Frisch, Waugh and Lovell); where nothing is left, errors
    are infinite.
    """
    size = np.linalg.norm(columns, axis=0)
    U, s, _ = np.linalg.svd(columns / np.where(size > 0.0, size, 1.0), full_matrices=False)
    U = U[:, s > _CUT * s.max(initial=0.0)]
    own = force - U @ (U.T @ force)
    square = float(own @ own)
    if not square > (_CUT * np.linalg.norm(force)) ** 2:
        return 0.0, np.full(count, np.inf)
    found = float(own @ aim) / square
    rest = aim - force * found
    rest -= U @ (U.T @ rest)
    D = np.column_stack([U, own / np.sqrt(square)])
    scores = np.zeros(count)
    for b in np.unique(block):
        at = block == b
        # As the block is without having been fitted (jackknife): short recordings look better than they are else.
        unfitted = np.linalg.lstsq(np.eye(int(at.sum())) - D[at] @ D[at].T, rest[at], rcond=_CUT)[0]
        scores[b] = own[at] @ unfitted / square
    return found, scores
