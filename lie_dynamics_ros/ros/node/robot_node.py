"""Base of nodes that answer the joint states of one robot, and services about its dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory

from ... import lie_dynamics
from ...core.errors import RequestError
from ...core.frames import check_prefix, link_of
from ...core.joint_mapping import JointMapping
from ...core.parameters import parameter
from ...core.robot_core import RobotCore
from ...core.robot_options import RobotOptions
from ...core.robot_state import RobotState
from ...lie_dynamics import JointFriction, Model
from ...lie_dynamics.arrays import Array
from ..inputs.base_input import BaseInput, BaseParameters, ImuInput, ImuParameters, check_base
from ..inputs.commands import read_hybrid_command, read_trajectory_command
from ..inputs.joint_states import PartialStateParameters
from ..inputs.model_loading import FramePrefix, ModelSourceParameters, load_base, load_friction, load_model
from ..inputs.robot_inputs import NAMED, RobotInputs, VelocityParameters
from ..inputs.state_stream import StreamParameters
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..outputs.output import EffortCommands, JointEfforts, JointOutput
from ..wire import qos
from ..wire.compatibility import interfaces
from ..wire.messages import wrench_to_array
from .answering_node import AnsweringNode, AnswerParameters
from .description_source import DescriptionParameters, DescriptionSource
from .managed_node import NodeParameters
from .services import Batch


@dataclass(frozen=True)
class RobotNodeParameters(
    RobotOptions,
    AnswerParameters,
    ModelSourceParameters,
    FramePrefix,
    VelocityParameters,
    PartialStateParameters,
    StreamParameters,
    ImuParameters,
    DescriptionParameters,
    NodeParameters,
):
    """Parameters of nodes that answer the joint states of one robot."""

    payload_when: str = parameter(
        "always",
        "When the payload of the parameters counts: always, or while ~/gripped is true.",
        choices=("always", "gripped"),
    )
    wrench_timeout: float = parameter(
        0.1, "External wrenches older than this count as zero [s]. 0: no limit.", high=3600.0
    )


@dataclass(frozen=True)
class TreeNodeParameters(BaseParameters, RobotNodeParameters):
    """The same for a robot without loops, whose base may move."""

    joints: tuple[str, ...] = parameter(
        [""],
        "Joints of the outputs, and of inputs without names, in this order. [''] stands for all, in model order.",
        "while unconfigured",
    )


Core = TypeVar("Core", bound=RobotCore)


class HeldPayload:
    """The payload of a node's parameters: whether it counts, by ``~/gripped``, and another one by ``~/set_payload``."""

    def __init__(self, node: RobotNode[Any]) -> None:
        self._node, self._gripped = node, False
        node.listen(Bool, "~/gripped", self._on_gripped)
        node.offers.offer("SetPayload", "~/set_payload", self._set)

    def counts(self, values: Mapping[str, Any]) -> bool:
        """Return whether it counts, by parameter values."""
        return values["payload_when"] == "always" or self._gripped

    def _on_gripped(self, message: Bool) -> None:
        if message.data is not self._gripped:
            self._gripped = message.data
            self._node.run_when_idle(self.apply)

    def apply(self) -> None:
        """Go on with the payload as it is held or not."""
        node, core = self._node, self._node.core
        if core is not None:
            options = node.options_of(dict(node.settings))
            if options != core.options:
                node.serve(node.inputs, core.with_options(options))

    def _set(self, request: Any, _: Any) -> None:
        self._node.require_core()
        inertia = request.inertia
        xyz = [inertia.com.x, inertia.com.y, inertia.com.z]
        moments = [inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz]
        if inertia.m == 0.0:
            xyz, moments = [0.0] * 3, [0.0] * 6
        values = {
            "payload_frame": self._node.link_of(request.frame_id),
            "payload_mass": inertia.m,
            "payload_center_of_mass": xyz,
            "payload_inertia": moments,
        }
        self._node.set_values(values)

    def describe(self, values: Mapping[str, Any]) -> str:
        """Return what the payload is, by parameter values."""
        mass = values["payload_mass"]
        if not mass:
            return "none"
        return f"{mass:g} kg at {values['payload_frame']}{'' if self.counts(values) else ', not held'}"


class RobotNode(AnsweringNode[Core], Generic[Core]):
    """Joint states in, answers out; subclasses fill in `OPTIONS`, `CORE`, `outputs` and `publish`."""

    CORE: Callable[[Model, Any, JointFriction | None], Core]
    """Prepares everything for a robot, of options and friction; raises with the reason. Changes nothing else."""
    inputs: RobotInputs | None
    source: DescriptionSource

    def __init__(self, name: str, parameters: type[NodeParameters], **kwargs: Any) -> None:
        super().__init__(name, parameters, **kwargs)
        self._payload = HeldPayload(self)
        self.take_in(WrenchStamped, "~/external_wrench", self._take_wrench, qos.EVENT_INPUT)
        self._imu, self._base = ImuInput(self), BaseInput(self)

    # For subclasses to fill in.

    def build(self, description: str, values: Mapping[str, Any]) -> tuple[RobotInputs, Core]:
        """Prepare the dynamics of this robot, a tree unless a subclass knows more; raises with the reason."""
        prefix = values["joint_prefix"]
        check_prefix(values["frame_prefix"])
        joints = [prefix + joint for joint in values["joints"] if joint]
        model = load_model(description, values, self.get_logger())
        friction = load_friction(description, values, model)
        options: RobotOptions = self.options_of(values)
        RobotOptions.from_values(values).with_payload(model)  # as it will be, where it is not held yet
        model = model.with_joint_prefix(prefix)
        core = self.CORE(model, options, friction)
        base = load_base(description, values, model) if check_base(values) else None
        if base is not None:
            core.mount_on(base)
        return RobotInputs(model, joints, base), core

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint, if there are any."""
        return ()

    def effort_outputs(self) -> tuple[EffortCommands | JointEfforts | None, ...]:
        """Return the outputs on which the last command is published."""
        return ()

    def parameter_joints(self) -> Sequence[str]:
        """Return the joints of the model, which parameters have entries for."""
        return () if self.core is None else self.core.model.joint_names

    def commands(self) -> bool:
        """Return whether somebody obeys the efforts, so that the robot must be brought to rest before they end."""
        return any(output is not None and output.heard for output in self.effort_outputs())

    # Its end.

    def brake(self) -> None:
        """Bring the robot to rest."""
        if self.answering is not None:
            self.answering.brake("the node is to end")

    def at_rest(self) -> bool:
        """Return whether the robot is at rest, or no longer commanded or measured."""
        core = self.answering
        # States that have ceased are still fresh at half of their time: the last command is published by them.
        return core is None or core.at_rest or not self.stream.freshness.holds(0.5) or not self.commands()

    def deactivate(self) -> None:
        """Stop; the last command, which effort controllers keep, holds the robot up. Without a fresh state, none."""
        core, fresh = self.answering, self.stream.freshness.holds()
        super().deactivate()
        if core is None or not fresh:
            return
        try:
            self.publish_last(core, self.get_clock().now().to_msg())
        except Exception as error:
            self.get_logger().error(f"no last command: {error}")

    def publish_last(self, core: Core, stamp: Time) -> None:
        """Publish the last command on all outputs of efforts."""
        command = core.last_command()
        for output in self.effort_outputs():
            if command is not None and output is not None:
                output.publish(command, stamp)

    # Configuration.

    def open_inputs(self) -> None:
        """Subscribe to the robot's description."""
        self.source = DescriptionSource(self, self.build, self.use)

    def can_configure(self) -> bool:
        """Return whether the robot has been made, see `DescriptionSource.ready`."""
        return self.source.ready()

    def configure(self) -> None:
        """Use the robot that is described; raises with the reason where that is not possible."""
        super().configure()
        self.source.configure()

    def hears(self) -> bool:
        """Return whether the node receives states, and has a description or needs none from the topic."""
        return super().hears() and not self.source.missing

    def options_of(self, values: Mapping[str, Any]) -> RobotOptions:
        """Make options of parameter values, without the payload where it is not held; raises ParameterError."""
        counts = self._payload.counts(values)
        found: RobotOptions = super().options_of(values if counts else {**values, "payload_mass": 0.0})
        return found

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other, and a payload that is not held yet; see `AnsweringNode`."""
        super().check_settings(values)
        if self.core is not None:
            RobotOptions.from_values(values).with_payload(self.core.model)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        super().settings_changed(names)
        self.source.settings_changed(names)
        if self.core is not None:
            self.serve(self.inputs, self.core)

    def use(self, robot: tuple[RobotInputs, Core]) -> None:
        """Answer for this robot from now on."""
        inputs, core = robot
        for output in self.outputs():
            if output is not None:
                output.set_joints(inputs.joints, inputs.order)
        self.serve(inputs, core)
        core.forget()
        more = ", ..." if len(inputs.joints) > NAMED else ""
        self.get_logger().info(f"{len(inputs.joints)} joints: {', '.join(inputs.joints[:NAMED])}{more}")
        self.run_when_idle(self._payload.apply)  # it may have been gripped while this robot was being made

    def serve(self, inputs: Any, core: Core) -> None:
        """Answer by this core from now on."""
        inputs.wrench_timeout = round(self.settings["wrench_timeout"] * 1e9)
        inputs.with_effort, inputs.need_effort = core.uses_effort, core.needs_effort
        inputs.velocity_source = self.settings["velocity_source"]
        inputs.velocities.time = inputs.partial.time = self.settings["velocity_filter_time"]
        inputs.partial.age_limit = round(self.settings["joint_age_limit"] * 1e9)
        inputs.base_timeout = self.settings.get("base_timeout", 0.0)
        if inputs.odometry is not None:
            inputs.odometry.timeout = inputs.base_timeout
            inputs.odometry.frame = self.settings["odometry_frame"]
        super().serve(inputs, core)

    # Messages.

    def link_of(self, frame: str) -> str:
        """Return the link that a frame of a message stands for; raises MessageError for one of another robot."""
        return link_of(frame, self.settings["frame_prefix"])

    def frame_of(self, link: str) -> str:
        """Return the frame of messages that a link is."""
        prefix: str = self.settings["frame_prefix"]
        return prefix + link

    def _read(self, message: JointState, time: int, now: int, age: float) -> RobotState:
        """Return the state in a message, as the core has made the robot move until then, and as its base has moved."""
        assert self.core is not None and self.inputs is not None
        self.inputs.acceleration = self.core.acceleration
        state = self.inputs.read(message, time, now, age)
        self.core.update_base(state)
        return state

    def take_commands(self) -> None:
        """Take commands of hybrid dynamics into ``core.command``, from our message and from trajectories."""

        def take(read: Callable[..., Any], core: Any, inputs: RobotInputs, message: Any) -> None:
            core.command.put(read(message, inputs.commands), self.ros_time())

        messages = interfaces("msg")
        if messages is not None:
            self.take_in(messages.HybridCommand, "~/command", partial(take, read_hybrid_command))
        self.take_in(JointTrajectory, "~/joint_trajectory", partial(take, read_trajectory_command))

    def _take_wrench(self, _: Core, inputs: RobotInputs, message: WrenchStamped) -> None:
        link = self.link_of(message.header.frame_id)
        inputs.wrenches.put(link, wrench_to_array(message.wrench), self.ros_time())

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        self.source.describe(report)
        super().describe(report, period)
        report.parts.append(lambda: self._describe_robot(report))

    def _describe_robot(self, report: Report) -> None:
        core, inputs = self.core, self.inputs
        if core is None or inputs is None:
            return
        report.hardware = core.model.name
        report.values["joints"] = ", ".join(inputs.joints[:NAMED])
        self._imu.describe(report)
        self._base.describe(report)
        report.values["payload"] = self._payload.describe(self.settings)
        report.values["friction of joints"] = "none" if core.friction is None else "friction_file"
        report.values["external wrenches at"] = ", ".join(inputs.wrenches.frames) or "none"
        if self.answering is None:
            return
        inputs.describe(report.values)
        for output in self.effort_outputs():
            if isinstance(output, EffortCommands):
                output.expected.ask()
                for text in output.expected.problems(output.joints):
                    report.add(diagnostics.ERROR, text)
                    self.get_logger().error(text, throttle_duration_sec=diagnostics.SAY_AGAIN)
        for what in inputs.take_assumed():
            report.add(diagnostics.WARN, f"{what} are absent or NaN and taken as zero")
        saturated = core.take_saturated()
        if saturated:
            report.add(diagnostics.WARN, f"efforts limited: {', '.join(saturated)}")


# The dynamics of the robot as services, for many states in one call.
#
# Answers follow from the parameters of the dynamics (gravity, payload, losses), and from the request; friction of
# drives counts in efforts, not in matrices and derivatives; never from what the node receives on topics, nor from what
# it leaves out of its own outputs.


class DynamicsServices:
    """Answers requests about the robot of a node, by its options and its limit of states."""

    def __init__(self, node: RobotNode[Any]) -> None:
        self._node = node

    def offer(self, *names: str) -> None:
        """Offer services that methods answer, as ``~/compute_<name>``."""
        for name in names:
            type_name = f"Compute{name.title().replace('_', '')}"
            self._node.offers.offer(type_name, f"~/compute_{name}", getattr(self, name), self._node.worker)

    def _begin(self, request: Any, response: Any) -> tuple[RobotCore, Model, Batch, Array]:
        """Core, its model, states and their positions; fills in what all responses have."""
        core: RobotCore = self._node.require_core()
        limit = self._node.settings["max_batch"]
        batch = Batch(JointMapping(core.model.joint_names), request.joint_names, request.count, request.position, limit)
        response.joint_names = list(batch.names)
        response.count = batch.count
        if hasattr(response, "rows"):
            response.rows = response.cols = len(batch.names)
        return core, core.dynamics, batch, batch.read("position", request.position)

    def _on_bodies(self, model: Model, request: Any) -> Array | None:
        """Return the wrenches of a request on each body, shape (n_bodies, 6) [N m, N]; None where there are none."""
        total: Array | None = None
        neutral = model.neutral()
        for stamped in request.external_wrenches:
            link = self._node.link_of(stamped.header.frame_id)
            wrench = lie_dynamics.external_wrench(model, neutral, link, wrench_to_array(stamped.wrench), "body")
            total = wrench if total is None else total + wrench
        return total

    def inverse_dynamics(self, request: Any, response: Any) -> None:
        """Answer ComputeInverseDynamics."""
        core, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        qdd = batch.read("acceleration", request.acceleration, optional=True)
        tau = lie_dynamics.inverse_dynamics(model, q, qd, qdd, self._on_bodies(model, request))
        response.effort = batch.write(core.drive_effort(qd, tau))

    def forward_dynamics(self, request: Any, response: Any) -> None:
        """Answer ComputeForwardDynamics."""
        core, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        tau = batch.read("effort", request.effort, optional=True)
        force = core.body_effort(qd, tau)
        qdd = lie_dynamics.forward_dynamics(model, q, qd, force, self._on_bodies(model, request))
        response.acceleration = batch.write(qdd)

    def hybrid_dynamics(self, request: Any, response: Any) -> None:
        """Answer ComputeHybridDynamics."""
        core, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        prescribed, qdd, tau = _hybrid_input(batch, request)
        force = core.body_effort(qd, tau)
        qdd, force = lie_dynamics.hybrid_dynamics(model, q, qd, qdd, force, prescribed, self._on_bodies(model, request))
        response.acceleration = batch.write(qdd)
        response.effort = batch.write(np.where(prescribed, core.drive_effort(qd, force), tau))

    def mass_matrix(self, request: Any, response: Any) -> None:
        """Answer ComputeMassMatrix."""
        _, model, batch, q = self._begin(request, response)
        response.mass_matrix = batch.write_matrices(lie_dynamics.mass_matrix(model, q))

    def bias_force(self, request: Any, response: Any) -> None:
        """Answer ComputeBiasForce."""
        _, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        response.bias = batch.write(lie_dynamics.bias_force(model, q, qd))
        response.gravity = batch.write(lie_dynamics.gravity_force(model, q))
        response.coriolis_matrix = batch.write_matrices(lie_dynamics.coriolis_matrix(model, q, qd))

    def dynamics_derivatives(self, request: Any, response: Any) -> None:
        """Answer ComputeDynamicsDerivatives."""
        _, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        f_ext = self._on_bodies(model, request)
        kind = request.dynamics
        if kind != request.HYBRID and len(request.prescribed):
            raise RequestError("prescribed is for HYBRID only; expected it to be empty")
        if kind == request.INVERSE:
            qdd = batch.read("acceleration", request.acceleration, optional=True)
            inverse = lie_dynamics.inverse_dynamics_derivatives(model, q, qd, qdd, f_ext)
            found = inverse.dq, inverse.dqd, inverse.dqdd
        elif kind == request.FORWARD:
            tau = batch.read("effort", request.effort, optional=True)
            forward = lie_dynamics.forward_dynamics_derivatives(model, q, qd, tau, f_ext)
            found = forward.dq, forward.dqd, forward.dtau
        elif kind == request.HYBRID:
            prescribed, qdd, tau = _hybrid_input(batch, request)
            hybrid = lie_dynamics.hybrid_dynamics_derivatives(model, q, qd, qdd, tau, prescribed, f_ext)
            of_acceleration = hybrid.dqdd_dq, hybrid.dqdd_dqd, hybrid.dqdd_dgiven
            of_effort = hybrid.dtau_dq, hybrid.dtau_dqd, hybrid.dtau_dgiven
            # The output of a joint is its effort where its acceleration is prescribed.
            found = tuple(np.where(prescribed[:, None], e, a) for a, e in zip(of_acceleration, of_effort, strict=True))
        else:
            raise RequestError(f"dynamics is {kind}; expected INVERSE (0), FORWARD (1) or HYBRID (2)")
        response.by_position, response.by_velocity, response.by_input = map(batch.write_matrices, found)


def _hybrid_input(batch: Batch, request: Any) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], Array, Array]:
    """Return which accelerations are prescribed, shape (n,), and accelerations and efforts, zero where not read."""
    prescribed = batch.read_flags("prescribed", request.prescribed)
    qdd = batch.read("acceleration", request.acceleration, optional=True, finite=False)
    tau = batch.read("effort", request.effort, optional=True, finite=False)
    qdd[:, ~prescribed] = 0.0
    tau[:, prescribed] = 0.0
    for field, rows in (("acceleration", qdd), ("effort", tau)):
        if not np.isfinite(rows).all():
            raise RequestError(f"{field} holds numbers that are not finite where it is read")
    return prescribed, qdd, tau
