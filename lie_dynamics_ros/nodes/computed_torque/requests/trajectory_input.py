"""Trajectories on their way into the node computed_torque, and what is reported to their senders."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from ....core.errors import TRAJECTORIES, MessageError
from ....core.joint_mapping import JointMapping
from ....ros.inputs.commands import read_joint_trajectory
from ....ros.node.answering_node import AnsweringNode
from ....ros.node.worker import Job, Worker
from ....ros.wire import qos
from ....ros.wire.compatibility import interfaces
from ....ros.wire.serialized import header_of
from ..core import ComputedTorqueCore
from ..trajectories.judging import Prepared


class TrajectoryInput:
    """Lets trajectories of all senders be prepared beside the executor, and takes them in one after the other."""

    def __init__(self, node: AnsweringNode[ComputedTorqueCore]) -> None:
        self._node = node
        self._background = Worker("trajectories")
        self._jobs: deque[tuple[Job, Callable[[Job], None]]] = deque()  # being prepared, in the order they came in
        status = getattr(interfaces("msg"), "TrajectoryStatus", None)
        self._status = status and node.create_publisher(status, "~/trajectory_status", qos.DESCRIPTION)
        node.listen(JointTrajectory, "~/joint_trajectory", self._receive, raw=True)

    def close(self) -> None:
        """End the thread."""
        self._background.close()

    def prepare(self, make: Callable[[], Prepared], then: Callable[[Job], None]) -> None:
        """Let a trajectory be prepared beside the executor; `then` takes it in its turn, after an answer."""
        job = Job(None, make)
        self._jobs.append((job, then))
        self._background.start(job)

    def due(self, core: ComputedTorqueCore) -> bool:
        """Return whether there may be something for `go_on` to do."""
        return bool(self._jobs) or (core.player is not None and bool(core.player.dropped))

    def go_on(self, core: ComputedTorqueCore) -> None:
        """Take in what has been prepared, and report the outcomes of trajectories that waited."""
        while self._jobs and self._jobs[0][0].done:
            job, then = self._jobs.popleft()
            then(job)
        while core.player is not None and core.player.dropped:
            start, _, reason = core.player.dropped.pop(0)
            self._node.stream.statistics.reject(TRAJECTORIES, reason)
            header = Header()
            header.stamp.sec, header.stamp.nanosec = divmod(start, 10**9)
            self._tell(header, reason)

    def _receive(self, message: bytes) -> None:
        core = self._node.answering
        if core is not None:
            joints = JointMapping(core.model.joint_names)
            self.prepare(
                lambda: core.prepare(*reversed(read_joint_trajectory(message, joints))),
                lambda job: self._take(header_of(message), job),
            )

    def _take(self, header: Header, job: Job) -> None:
        core = self._node.answering
        if core is None:
            return

        def take() -> None:
            try:
                core.take(job.result())
            except MessageError as error:
                self._tell(header, str(error))
                raise
            self._tell(header, "")

        self._node.stream.accept(take)

    def _tell(self, header: Header, reason: str) -> None:
        """Tell the sender of a trajectory what became of it; no reason stands for its being taken."""
        core, logger = self._node.core, self._node.get_logger()
        note = "" if core is None or reason else core.note
        if note:
            logger.warning(f"a trajectory is {note}", throttle_duration_sec=1.0)
        if reason:
            logger.warning(f"a trajectory is refused: {reason}", throttle_duration_sec=1.0)
        if self._status is not None:
            self._status.publish(self._status.msg_type(header=header, accepted=not reason, reason=reason or note))
