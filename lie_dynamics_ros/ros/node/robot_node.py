"""Base of nodes that answer the joint states of one robot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from ...core.arrays import Array
from ...core.errors import RequestError
from ...core.robot_options import MODEL_SETTINGS, RobotOptions
from ...core.robot_task import RobotTask
from ...core.setting import Setting
from ...lie_dynamics import Model
from ..inputs.state_stream import STATE_TIMEOUT, StateStream
from ..model.model_loading import INERTIA_CHECK, load_model
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..outputs.response_times import DEADLINE
from ..requests.services import Services
from ..requests.worker import Worker
from ..wire import qos
from ..wire.messages import wrench_to_array
from .described_node import DescribedNode

ROBOT_SETTINGS = (
    Setting(
        "joints",
        [""],
        "Joints of the outputs, and of inputs without names, in this order. [''] stands for all, in model order.",
        "while unconfigured",
    ),
    INERTIA_CHECK,
    *MODEL_SETTINGS,
    STATE_TIMEOUT,
    DEADLINE,
    Setting(
        "wrench_timeout",
        0.1,
        "External wrenches older than this count as zero [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
    Setting(
        "max_batch",
        1000,
        "Largest number of states in one service request.",
        low=1,
        high=1_000_000,
    ),
)

NAMED = 100
"""Joints that the log and the diagnostics name; nobody reads more."""

Task = TypeVar("Task", bound=RobotTask)


class RobotNode(DescribedNode, ABC, Generic[Task]):
    """Joint states in, answers out; subclasses fill in `read_options`, `make_task`, `answer` and `forget_inputs`.

    Attributes
    ----------
    task : RobotTask or None
        The robot at hand; None while unconfigured.
    answering : RobotTask or None
        The same while the node is active.
    offers : Services
    worker : Worker
        For services that compute: joint states are answered meanwhile.
    """

    def __init__(self, name: str, settings: tuple[Setting, ...], **kwargs: Any) -> None:
        self.worker = Worker()
        self.task: Task | None = None
        self.answering: Task | None = None
        self._prepared: Task | None = None
        self._velocity_assumed = False
        super().__init__(name, settings, **kwargs)
        self.offers = Services(self)
        self.offers.offer("SetPayload", "~/set_payload", self._set_payload)
        self.stream = StateStream(self, self._answer, self._start_afresh)
        self.listen(WrenchStamped, "~/external_wrench", self._on_wrench, qos.EVENT_INPUT)
        self.set_timeouts()

    def destroy_node(self) -> None:
        """End the thread of the services with the node."""
        self.worker.close()
        super().destroy_node()

    def listen(
        self, type_: type, topic: str, callback: Callable[[Any], None], profile: QoSProfile = qos.SETPOINT_INPUT
    ) -> Subscription:
        """Subscribe, with a quality of service that the user can override."""
        return self.create_subscription(type_, topic, callback, profile, qos_overriding_options=qos.overridable())

    # For subclasses to fill in.

    @abstractmethod
    def read_options(self, values: Mapping[str, Any]) -> RobotOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""

    @abstractmethod
    def make_task(self, model: Model, joints: list[str], options: RobotOptions) -> Task:
        """Prepare everything for a robot; raises with the reason where that cannot be done. Changes nothing else."""

    @abstractmethod
    def set_joints(self, joints: tuple[str, ...]) -> None:
        """Make the outputs for these joints."""

    @abstractmethod
    def answer(self, task: Task, message: JointState, wrenches: Array | None, now: int) -> None:
        """Publish the answer to the state in ``task``; raises MessageError where there is none."""

    def forget_inputs(self) -> None:
        """Forget what was received besides states, because time no longer says how old it is."""

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other, and build what they lead to; raises whatever stands against it."""
        options = self.read_options(values)
        self._prepared = None
        if self.task is not None and options != self.task.options:
            self._prepared = self.task.with_options(options)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        self.set_timeouts()
        if self._prepared is not None:
            self._swap(self._prepared)
        super().settings_changed(names)

    def set_timeouts(self) -> None:
        """Take over the timeouts among the parameters."""
        self.stream.set_timeout()
        self._wrench_timeout = round(self.settings["wrench_timeout"] * 1e9)

    def build(self, description: str, values: Mapping[str, Any]) -> Task:
        """Prepare the dynamics of this robot; raises with the reason where that cannot be done."""
        joints = [joint for joint in values["joints"] if joint]
        model = load_model(description, values["inertia_check"], self.get_logger())
        return self.make_task(model, joints, self.read_options(values))

    def use(self, robot: Task) -> None:
        """Answer for this robot from now on."""
        self.set_joints(robot.joints)
        self._swap(robot)
        self.forget_inputs()
        more = ", ..." if len(robot.joints) > NAMED else ""
        self.get_logger().info(f"{len(robot.joints)} joints: {', '.join(robot.joints[:NAMED])}{more}")

    def _swap(self, task: Task) -> None:
        self.task, self._prepared = task, None
        if self.answering is not None:
            self.answering = task

    def activate(self) -> None:
        """Begin to answer states."""
        self.forget_inputs()
        self.answering = self.task
        self.stream.start()

    def deactivate(self) -> None:
        """Stop answering."""
        self.stream.stop()
        self.answering = None

    def cleanup(self) -> None:
        """Let go of the robot."""
        self.answering = self.task = self._prepared = None

    def _start_afresh(self) -> None:
        """Forget what was received before time ran backwards, as when a bag is played again."""
        if self.task is not None:
            self.task.wrenches.clear()
        self.forget_inputs()

    # Messages.

    def _answer(self, message: JointState, now: int) -> None:
        task = self.answering
        assert task is not None
        task.position, task.velocity, assumed = task.reader.read(message, task.states.match(message.name))
        self._velocity_assumed |= assumed
        self.answer(task, message, task.wrenches.on_bodies(now, self._wrench_timeout), now)

    def _on_wrench(self, message: WrenchStamped) -> None:
        task = self.answering
        if task is not None:
            wrench = message.wrench
            self.accept(lambda: task.wrenches.put(message.header.frame_id, wrench_to_array(wrench), self.ros_time()))

    def accept(self, take: Callable[[], None]) -> bool:
        """Take in a message that is not a state; whatever is wrong with it is counted. Tells whether it was taken."""
        return self.stream.accept(take)

    # Services.

    def require_task(self) -> Task:
        """Return the robot at hand, for a service; raises RequestError where there is none."""
        if self.task is None:
            raise RequestError("the node is not configured: it has no robot yet")
        return self.task

    def _set_payload(self, request: Any, _: Any) -> None:
        self.require_task()
        inertia = request.inertia
        xyz = [inertia.com.x, inertia.com.y, inertia.com.z]
        moments = [inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz]
        if inertia.m == 0.0:
            xyz, moments = [0.0] * 3, [0.0] * 6
        values = {
            "payload_frame": request.frame_id,
            "payload_mass": inertia.m,
            "payload_center_of_mass": xyz,
            "payload_inertia": moments,
        }
        result = self.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])
        if not result.successful:
            raise RequestError(result.reason)

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        self.stream.describe(report, period)
        self.offers.describe(report)
        task = self.task
        if task is None:
            return
        report.hardware = task.model.name
        report.values["joints"] = ", ".join(task.joints[:NAMED])
        report.values["gravity [m/s^2]"] = ", ".join(f"{g:g}" for g in self.settings["gravity"])
        mass = self.settings["payload_mass"]
        report.values["payload"] = f"{mass:g} kg at {self.settings['payload_frame']}" if mass else "none"
        report.values["external wrenches at"] = ", ".join(task.wrenches.frames) or "none"
        if self.answering is None:
            return
        if self._velocity_assumed:
            report.add(diagnostics.WARN, "velocities are absent or NaN and taken as zero")
            self._velocity_assumed = False
        saturated = task.take_saturated()
        if saturated:
            report.add(diagnostics.WARN, f"efforts limited: {', '.join(saturated)}")
