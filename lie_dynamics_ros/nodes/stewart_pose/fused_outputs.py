"""Outputs of the node stewart_pose for an estimate that is fused of legs and an IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time

from ...lie_dynamics.lie import so3
from ...ros.outputs.certainty import Certainty
from ...ros.outputs.pose_outputs import PoseOutputs
from ...ros.wire.messages import LINEAR_FIRST
from .fusing import FusedAnswer

if TYPE_CHECKING:
    from ...ros.wire.compatibility import Logger


class FusedOutputs:
    """Publishes estimates, and the sensors left out of them.

    Parameters
    ----------
    outputs : PoseOutputs
    certainty : Certainty
    log : Logger
        Where it is told when that changes.
    """

    def __init__(self, outputs: PoseOutputs, certainty: Certainty, log: Logger) -> None:
        self._outputs, self._certainty, self._log = outputs, certainty, log
        self._faults, self._quaternion = "", np.zeros(4)

    def publish(self, answer: FusedAnswer, faults: str, stamp: Time) -> None:
        """Publish an estimate without the sensors that have `faults`; raises MessageError where it is not good."""
        outputs, fused = self._outputs, answer.fused
        if faults != self._faults:
            self._log.warning(f"left out: {faults}" if faults else "all sensors are used again")
            self._faults = faults
        self._certainty.report_fused("" if answer.refusal is None else str(answer.refusal), faults, stamp)
        if answer.refusal is not None:
            raise answer.refusal
        outputs.covariance_matrix[0] = fused.covariance[np.ix_(LINEAR_FIRST, LINEAR_FIRST)]
        pose = fused.pose
        quaternion = so3.to_quaternion(pose[:3, :3])
        if quaternion @ self._quaternion < 0.0:
            quaternion = -quaternion
        self._quaternion = quaternion
        outputs.publish_pose(pose[:3, 3].tolist(), quaternion.tolist(), stamp)
        if outputs.twist_wanted:
            outputs.publish_twist(fused.twist, np.eye(3), stamp)
