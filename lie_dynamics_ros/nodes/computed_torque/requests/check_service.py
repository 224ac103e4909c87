"""The service ~/check_trajectory: a trajectory checked and retimed, not followed."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ....core.errors import MessageError
from ....core.joint_mapping import JointMapping
from ....lie_dynamics.arrays import Array
from ....lie_dynamics.control.feasibility import KINDS
from ....ros.inputs.commands import read_joint_trajectory
from ....ros.node.answering_node import AnsweringNode
from ....ros.node.worker import SideNode
from ....ros.wire.serialized import let_go
from ..core import ComputedTorqueCore
from ..trajectories.trajectory_piece import Desired, Piece

CHECK = "~/check_trajectory"


class CheckService:
    """Answers CheckTrajectory, beside the executor.

    Parameters
    ----------
    node : AnsweringNode
    side : SideNode
        On whose thread requests are taken.
    """

    def __init__(self, node: AnsweringNode[ComputedTorqueCore], side: SideNode) -> None:
        self._node = node
        node.offers.offer("CheckTrajectory", CHECK, self._check, node.worker, side)

    def _check(self, request: Any, response: Any) -> None:
        core = self._node.require_core()
        names, player, zero = core.model.joint_names, core.player, core.zero
        desired = Desired(core.model.neutral(), zero, zero, zero) if player is None else player.desired
        try:
            _, points = read_joint_trajectory(request.trajectory, JointMapping(names))
        finally:
            let_go(request.trajectory)
        try:
            core.judge.require_end(points)
        except MessageError as error:
            response.reason = str(error)
        points = core.turns.near(points, desired.position)
        points = core.judge.brought_to_rest(points, desired.position)
        path = Piece(0, points, desired if points.times[0] > 0.0 else None).path(desired.position)
        found = core.judge.report(path)
        response.feasible = found.feasible and not response.reason
        response.reason = response.reason if found.excess is None else str(found.excess)
        response.joint_names, response.factor = list(names), 1.0
        for kind in KINDS:
            setattr(response, f"{kind}_use", [float(x) for x in np.nan_to_num(found.use(kind))])
        if request.retime and not response.feasible:
            slow = core.judge.slowed(path)
            response.factor = slow.factor
            moved = [names[k] for k in points.joints]
            response.retimed = to_message(moved, slow.times, slow.q, slow.qd, slow.qdd, slow.effort)


def to_message(
    names: list[str], times: Array, q: Array, qd: Array, qdd: Array | None, effort: Array | None
) -> JointTrajectory:
    """Return the points of a path as a message."""
    message = JointTrajectory(joint_names=names)
    for k, time in enumerate(times):
        seconds, rest = divmod(round(float(time) * 1e9), 10**9)
        point = JointTrajectoryPoint(
            positions=q[k].tolist(),
            velocities=qd[k].tolist(),
            accelerations=[] if qdd is None else qdd[k].tolist(),
            effort=[] if effort is None else effort[k].tolist(),
            time_from_start=Duration(sec=seconds, nanosec=rest),
        )
        message.points.append(point)
    return message
