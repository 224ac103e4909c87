"""An estimate without the IMU beside that with it: nobody is to be worse off for an IMU."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...errors import StewartError
from .kernels import motion as mk
from .result import DISAGREES, FusedPose

#: Chi-square of the distance of both estimates (6 degrees of freedom) from which on they contradict each other.
_APART = 27.0
#: Readings of the IMU after which it would have felt a motion that lengths show.
_READINGS = 3
#: Times `recovery` for which a leg may be blamed beside an IMU that was surprised.
_PATIENCE = 3


class _Estimator(Protocol):
    """What `StewartFusion` is to the choice."""

    def update(self, readings: ArrayLike, *, dt: float, present: ArrayLike, age: ArrayLike) -> FusedPose:
        """Take readings."""

    def reset(self, pose: ArrayLike) -> None:
        """Forget all."""


@dataclass
class _Doubt:
    """Doubt in the estimate with an IMU.

    Attributes
    ----------
    time, since, felt : float
        Now, when doubt began, infinite without, and when the IMU was surprised last [s].
    passed : float
        Time that the other estimate has not taken in [s].
    heard, calm, blamed, lost : int
        Readings of the IMU since doubt began; lengths since what spoke against an estimate; since a leg is blamed; and
        since the estimate with the IMU is lost beside one that is not.
    refuted : bool
        Whether the estimate without the IMU is.
    out : tuple of str
        Sensors that were left out of what counted last.
    """

    time: float = 0.0
    since: float = math.inf
    felt: float = -math.inf
    passed: float = 0.0
    heard: int = 0
    calm: int = 0
    blamed: int = 0
    lost: int = 0
    refuted: bool = False
    out: tuple[str, ...] = ()


class WithoutInertial:
    """The estimate without an IMU beside that with it, and which of them counts.

    A knock, an IMU that fails or errs beyond what its covariance says: all that speaks against the estimate of which it
    is a part, never against the other one, which counts while the first is in doubt or vaguer. Where a leg is blamed
    that the other estimate accepts, and the IMU is not surprised within `horizon`, that leg is at fault, and the other
    estimate refuted until it is accepted again.

    Parameters
    ----------
    alone : the estimate without the IMU.
    inertial : names of the sensors of the IMU.
    recovery : good readings in a row after which doubt ends.
    horizon : by how much later than lengths the IMU may feel a motion [s].
    """

    def __init__(self, alone: _Estimator, inertial: Set[str], recovery: int, horizon: float) -> None:
        self._alone, self._inertial, self._recovery, self._horizon = alone, inertial, recovery, horizon
        self._doubt = _Doubt()

    def reset(self, pose: ArrayLike) -> None:
        """Forget all: the next readings are those of a platform near ``pose`` (4, 4)."""
        self._alone.reset(pose)
        self._doubt = _Doubt()

    def take(self, values: Array, there: Mask, dt: float, ages: Array) -> FusedPose | None:
        """Return the estimate without the IMU; None while it has not begun, or need not be known."""
        self._doubt.passed += dt
        if self._doubt.since == math.inf and not there.any():
            return None
        dt, self._doubt.passed = self._doubt.passed, 0.0
        try:
            return self._alone.update(values, dt=dt, present=there, age=ages)
        except StewartError:
            return None

    def choose(self, fused: FusedPose, alone: FusedPose | None, dt: float, felt: bool | None, legs: bool) -> FusedPose:
        """Return which estimate counts, that with the IMU or that without.

        `felt` says whether the IMU was surprised, None without a reading of it; `legs` whether lengths were read.
        """
        self._doubt.time += dt
        self._weigh(fused, alone, felt, legs)
        if alone is None and legs and fused.left_out.keys() <= self._inertial and not fused.lost:
            self._alone.reset(fused.pose)
        chosen = fused if alone is None or not self._prefers(fused, alone) else self._beside(fused, alone)
        before, self._doubt.out = self._doubt.out, tuple(chosen.left_out)
        if before == self._doubt.out and not chosen.named and not chosen.returned:
            return chosen
        named = tuple(name for name in self._doubt.out if name not in before)
        return replace(chosen, named=named, returned=tuple(name for name in before if name not in self._doubt.out))

    def _weigh(self, fused: FusedPose, alone: FusedPose | None, felt: bool | None, legs: bool) -> None:
        """Take note of what speaks against an estimate."""
        s = self._doubt
        disagree = {name for name, fault in fused.left_out.items() if fault.reason == DISAGREES}
        blamed = disagree - self._inertial
        if felt or fused.disturbed or disagree & self._inertial:
            s.felt = s.time
        trouble = fused.lost or fused.disturbed or not disagree.isdisjoint(fused.named)
        if alone is not None and not (blamed or s.refuted):
            off, P = _distance(fused, alone), alone.error_covariance[:6, :6]
            trouble |= bool(off @ np.linalg.solve(P, off) > _APART)
        if trouble and s.since == math.inf:
            s.since, s.heard = s.time, 0
        s.heard += felt is not None
        s.calm = 0 if trouble else s.calm + legs
        lost = alone is None or alone.lost
        healthy = alone is not None and not (lost or alone.left_out or alone.disturbed)
        s.blamed = s.blamed + legs if blamed else 0
        s.lost = s.lost + legs if fused.lost and healthy else 0
        if blamed and not self._surprised and s.heard >= (_READINGS if self._horizon else 1):
            s.refuted |= s.time - s.since >= self._horizon
        if s.calm >= self._recovery and not disagree:
            if legs and (s.refuted or lost) and not fused.left_out:
                self._alone.reset(fused.pose)
            s.since, s.refuted = math.inf, False

    @property
    def _surprised(self) -> bool:
        """Whether the IMU was surprised about when doubt began, or since."""
        return self._doubt.felt >= self._doubt.since - self._horizon

    def _prefers(self, fused: FusedPose, alone: FusedPose) -> bool:
        """Return whether the estimate without the IMU counts."""
        if alone.lost or self._doubt.refuted:
            return False
        if fused.lost:
            return True
        dead = any(fault.reason != DISAGREES for fault in alone.left_out.values())
        if self._doubt.since < math.inf and not dead:
            return not alone.left_out or (self._surprised and bool(fused.left_out.keys() - self._inertial))
        variances = np.diagonal(fused.error_covariance)[:6], np.diagonal(alone.error_covariance)[:6]
        return not alone.left_out and bool((variances[0] > variances[1]).any())

    @property
    def refutes(self) -> bool:
        """Whether the estimate with the IMU is to go on from that without.

        It was lost beside one that is not, or blames a leg for long though it was the IMU that was surprised.
        """
        blames = not self._doubt.refuted and self._surprised and self._doubt.blamed >= _PATIENCE * self._recovery
        return blames or self._doubt.lost >= self._recovery

    def _beside(self, fused: FusedPose, alone: FusedPose) -> FusedPose:
        """Return the motion of one estimate with errors and delays of the other, which do not go together."""
        state, covariance = fused.state.copy(), fused.error_covariance.copy()
        state[: mk.X_DELAY] = alone.state[: mk.X_DELAY]
        covariance[: mk.E_DELAY] = covariance[:, : mk.E_DELAY] = 0.0
        covariance[: mk.E_DELAY, : mk.E_DELAY] = alone.error_covariance[: mk.E_DELAY, : mk.E_DELAY]
        if self._doubt.since < math.inf and not self._surprised:  # either may be right
            off = _distance(fused, alone)
            covariance[:6, :6] += np.outer(off, off)
        out = dict(alone.left_out) | {name: x for name, x in fused.left_out.items() if name in self._inertial}
        disturbed = alone.disturbed or fused.disturbed
        return replace(fused, state=state, error_covariance=covariance, left_out=out, disturbed=disturbed)


def _distance(fused: FusedPose, alone: FusedPose) -> Array:
    """Return the small rotation and the displacement between two estimates, (6,)."""
    x, y = fused.state, alone.state
    D = x[:9].reshape(3, 3) @ y[:9].reshape(3, 3).T
    turn = 0.5 * (D[2, 1] - D[1, 2]), 0.5 * (D[0, 2] - D[2, 0]), 0.5 * (D[1, 0] - D[0, 1])
    return np.array([*turn, *(x[mk.X_P : mk.X_W] - y[mk.X_P : mk.X_W])])
