"""Legs that are not accepted merely because they agree again with an estimate that has become vague meanwhile."""

from __future__ import annotations

import math

import numpy as np

from ...core.arrays import Array
from ...core.leg_state import LEGS, LegState
from ...lie_dynamics.stewart import FusedPose, StewartError
from ...lie_dynamics.stewart.fusion.estimator import LARGEST
from ...lie_dynamics.stewart.geometry.any_platform import PointJointed

BELIEVED_AFTER = 20
"""Readings of each leg without a fault after which an estimate that was lost is accepted."""
TOGETHER = 3
"""So many sensors that disagree at once speak against the motion, or against all, and against none of them."""
WILD = 3
"""A leg that jumped so often while it was suspected is no longer off by something that stays."""
SHARP, FAR = 10.0, 5.0
"""Standard deviations: of how far a leg is off to be recorded, and of a jump back to fit that."""


class Suspects:
    """Deviations of legs that disagree, and those excluded since the estimate was lost.

    Six lengths alone fit a pose, right or wrong. So a leg that was off by something that stays, as after a slip, would
    be believed as soon as nothing speaks against it any more. It is suspected until it jumps back by as much as it was
    off, or has jumped so often that it was off by nothing that stays.

    Parameters
    ----------
    platform : StewartPlatform or RotaryPlatform
    noise : ndarray, shape (6,)
        Standard deviations of the lengths or angles [m, rad]; may change.
    """

    def __init__(self, platform: PointJointed, noise: Array) -> None:
        self._platform, self.noise = platform, noise
        self._off: dict[int, tuple[float, float]] = {}  # how far a leg is off [m], and the variance of that
        self._jumps: dict[int, int] = {}  # of each suspect

    @property
    def legs(self) -> tuple[int, ...]:
        """Indices of the legs that are suspected."""
        return tuple(self._jumps)

    def watch(self, fused: FusedPose, state: LegState, out: list[int]) -> None:
        """Record how far the legs that are left out are off, while the estimate is sharp; 0: no more."""
        self._off = {leg: self._off[leg] for leg in out if leg in self._off}
        for leg, (off, variance) in self._distances(fused, state, out):
            furthest = max(abs(off), abs(self._off.get(leg, (0.0, 0.0))[0]))
            if variance <= (furthest / SHARP) ** 2:
                back = abs(off) <= FAR * math.sqrt(variance)
                self._off[leg] = (0.0, 0.0) if back else (off, variance)

    def lose(self, legs: list[int]) -> None:
        """Suspect legs that were left out as the estimate was lost, but for those that were off no more."""
        for leg in legs:
            if self._off.get(leg) != (0.0, 0.0):
                self._jumps.setdefault(leg, 0)

    def jumped(self, fused: FusedPose, state: LegState, out: list[int]) -> None:
        """Record legs that jumped against an estimate that used them."""
        for leg, (change, variance) in self._distances(fused, state, [leg for leg in out if leg in self._jumps]):
            before, uncertain = self._off.get(leg, (math.nan, math.nan))
            sharp = variance <= (change / SHARP) ** 2
            self._count(leg, change, sharp and abs(before + change) <= FAR * math.sqrt(uncertain + variance))

    def moved(self, changes: Array) -> None:
        """Take note of how readings (6,) changed from some that no pose fits [m]."""
        for leg in self.legs:
            before, _ = self._off.get(leg, (math.nan, 0.0))
            self._count(leg, changes[leg], abs(before + changes[leg]) * SHARP <= abs(before))

    def _count(self, leg: int, change: float, back: bool) -> None:
        """Count a jump that is one beside how far a leg was off; clear a leg that came back, or jumps to and fro."""
        least = max(FAR * self.noise[leg], abs(self._off.get(leg, (0.0, 0.0))[0]) / SHARP)
        self._jumps[leg] += abs(change) > least
        if back or self._jumps[leg] >= WILD:
            del self._jumps[leg]
            self._off.pop(leg, None)

    def _distances(self, fused: FusedPose, state: LegState, legs: list[int]) -> list[tuple[int, tuple[float, float]]]:
        """Return how far readings of legs are from what is expected of them [m], and the variances of that."""
        if not legs:
            return []
        pose, ages = fused.pose, np.zeros(LEGS) if state.ages is None else state.ages
        try:
            expected, slopes = self._platform.motor_positions(pose), self._platform.jacobian(pose, "aligned")
        except StewartError:  # no angle is expected of a leg that does not reach
            return []
        past = (ages[:LEGS] + fused.delays[:LEGS]) * (slopes @ fused.twist)
        off = np.clip(state.lengths[:LEGS], -LARGEST, LARGEST) - expected + past
        variances = self.noise**2 + np.einsum("ij,jk,ik->i", slopes, fused.covariance, slopes)
        return [(leg, (float(off[leg]), float(variances[leg]))) for leg in legs if np.isfinite(state.lengths[leg])]
