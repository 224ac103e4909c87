"""Outputs of the node computed_torque besides efforts and reports: diagnostics, the tool's pose, what is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, PoseStamped

from ...core.commands import STOPPED, STOPPING
from ...lie_dynamics import Model, frame_pose, mass_matrix
from ...lie_dynamics.arrays import Array
from ...ros.node.robot_node import RobotNode
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import Output
from ...ros.wire import qos
from ...ros.wire.messages import fill_pose_from_matrix
from .core import ComputedTorqueCore
from .gains import LoopReport
from .tool_control import ToolControl
from .tool_options import TOOL_MODES


class ToolOutputs:
    """The tool's pose and the desired one, in the robot's base, while somebody listens."""

    def __init__(self, node: RobotNode[Any]) -> None:
        self._frame_of = node.frame_of
        self._desired, self._actual = (Output(node, PoseStamped, f"~/{name}") for name in ("desired_pose", "tool_pose"))
        self._message = PoseStamped()

    def publish(self, tool: ToolControl, position: Array, stamp: Time) -> None:
        """Publish what there is at a state."""
        if self._desired.heard and tool.reference is not None:
            self._send(self._desired, tool, tool.reference.pose, stamp)
        if self._actual.heard:
            self._send(self._actual, tool, frame_pose(tool.model, position, tool.frame), stamp)

    def _send(self, output: Output, tool: ToolControl, pose: Array, stamp: Time) -> None:
        self._message.header.stamp, self._message.header.frame_id = stamp, self._frame_of(tool.base)
        fill_pose_from_matrix(self._message.pose, pose)
        output.send(self._message)


def describe_tool(core: ComputedTorqueCore, report: Report) -> None:
    """Write what is known of the tool into a diagnostic report."""
    tool = core.tool
    report.values["tool"] = tool.frame
    report.values["tool: directions given up near a singularity"] = tool.damped
    report.values["tool: part of the desired speed"] = f"{tool.pace:.3f}"
    report.values["tool: held back by limits of joints"] = tool.held
    if core.options.mode != "impedance":
        return
    report.values["stiffness in force, least part"] = f"{tool.share:.3f}"
    shares = " ".join(f"{part:.3f}" for part in tool.shares)
    report.values["stiffness in force, part about and along x, y, z"] = shares
    if tool.share < 1.0:
        report.add(
            diagnostics.WARN,
            f"the stiffness is brought down to {100.0 * tool.share:.2g} % of what is requested in one direction: at "
            f"this pose the loop carries natural frequencies up to {core.gains.tool.fastest:.0f} rad/s",
        )


ESTIMATE_PERIOD = 50_000_000  # between estimates [ns]


class InertiaOutput:
    """The estimate of the first body whose parameters are learned, some times a second."""

    def __init__(self, node: RobotNode[ComputedTorqueCore]) -> None:
        self._frame_of = node.frame_of
        self._published = 0
        self._output = node.create_lifecycle_publisher(
            InertiaStamped, "~/estimated_inertia", qos.OUTPUT, qos_overriding_options=qos.overridable()
        )

    def publish(self, core: ComputedTorqueCore, time: int, stamp: Time) -> None:
        """Publish the estimate at a state's time [ns], which is its stamp too, unless the last one is fresh."""
        if time - self._published < ESTIMATE_PERIOD:
            return
        self._published = time
        message = InertiaStamped()
        message.header.stamp = stamp
        link, found = core.estimate()
        message.header.frame_id = self._frame_of(link)
        inertia, moments = message.inertia, found.inertia.tolist()
        inertia.m = found.mass
        inertia.com.x, inertia.com.y, inertia.com.z = found.com.tolist()
        inertia.ixx, inertia.ixy, inertia.ixz = moments[0]
        _, inertia.iyy, inertia.iyz = moments[1]
        inertia.izz = moments[2][2]
        self._output.publish(message)


#: A joint is light where its links' inertia over its effort limit is less [kg m^2 / (N m)], as geared rotors have.
LIGHT = 0.01


SLOW = 0.5  # states that come at less than so much of the declared rate are reported
SLOWEST = 50.0  # where no rate is declared, states are expected to come this often at least [Hz]


def too_slow(declared: float, measured: float) -> str:
    """Tell that states come far less often than is declared (0: nothing is), and the remedies; empty where not [Hz]."""
    if measured >= (SLOW * declared or SLOWEST):
        return ""
    expected = f"the parameter rate declares {declared:g}" if declared else f"at least {SLOWEST:g} are expected"
    return (
        f"{measured:.3g} joint states a second, {expected}: they may be an aggregate of several drivers; name the "
        "topic of the driver itself in joint_state_topics or remap joint_states to it, raise the update_rate of its "
        f"controller manager, or set rate to {measured:.3g}, and gains that it carries"
    )


def rotors_not_given(core: ComputedTorqueCore) -> str:
    """Tell the light joints whose rotors neither the parameter ``rotors`` nor the URDF gives; empty where none is."""
    model = core.dynamics  # with the rotors that are given
    if not isinstance(model, Model) or model.nv != len(model.joint_names):
        return ""  # motors of a closed robot
    limits = model.limits
    inertia = np.diagonal(mass_matrix(model, model.neutral()))
    light = (limits.armature == 0.0) & np.isfinite(limits.effort) & (inertia < LIGHT * limits.effort)
    names = ", ".join(name for name, wanted in zip(model.joint_names, light, strict=True) if wanted)
    return names and f"rotors of light joints are not given (parameter rotors, or armature in the URDF): {names}"


def describe_control(core: ComputedTorqueCore, report: Report) -> None:
    """Write down what the controller is set to do, active or not."""
    values = report.values
    values["rotors"] = rotors_not_given(core) or "given, or of no weight"
    values["mode"] = core.options.mode
    values["phase"] = f"{core.phase}: {core.reason}"
    values["gravity included"] = not core.options.driver_compensates_gravity
    values["speed scaling"] = f"{core.clock.rate:.3g}"
    values["goals"] = len(core.goals.active)
    values["trajectories"] = 0 if core.player is None else core.player.count
    if core.options.mode == "adaptive":
        body, inertia = core.estimate()
        values["estimated mass [kg]"] = f"{inertia.mass:.4g} of {body}"


def describe_loop(core: ComputedTorqueCore, report: Report) -> None:
    """Write down how the loop stands while states are answered, and what is to be warned of."""
    gains, values = core.gains, report.values
    values["loop period [ms]"] = f"{gains.usual * 1e3:.3f}"
    if slow := too_slow(core.options.rate, 1.0 / gains.usual):
        report.add(diagnostics.WARN, slow)
    values["loop: gains suit a period of [ms]"] = f"{gains.period * 1e3:.3f}"
    values["loop delay [periods]"] = f"{gains.delay:g}"
    values["loop: effort acts after [ms]"] = f"{core.lead * 1e-6:.3f}"
    report.parts.append(lambda: _examine_loop(core, report))
    mode, motors = core.mode, core.motors
    if motors is not None and motors.follower.last is not None:
        last = motors.follower.last
        values["loops"] = motors.lost or "followed"
        values["loops: amplification"] = f"{last.amplification:.4g}"
        values["loops: open by [m, rad]"] = f"{np.abs(last.residuals).max(initial=0.0):.2g}"
    factor = gains.factor if mode == "computed_torque" else gains.slide_factor
    if mode in TOOL_MODES:
        factor = gains.tool.factor if mode == "operational_space" else 1.0
    if factor < 1.0 and mode != "gravity_compensation":
        report.add(
            diagnostics.WARN,
            f"the bandwidth is brought down to {100.0 * factor:.0f} % of what the gains ask for: a period of "
            f"{gains.period * 1e3:.2f} ms and a delay of {gains.delay:g} periods carry no more"
            + ("" if gains.pole is None else ", with velocities found in positions"),
        )
    values["loop: feedback after oscillation"] = f"{core.feedback_factor:.3g}"
    if core.feedback_factor < 1.0:
        report.add(
            diagnostics.WARN,
            f"efforts of feedback oscillated: its rates are brought down to {100.0 * core.feedback_factor:.0f} %; does "
            "the URDF give the rotors (armature), and is the delay right?",
        )
    if mode in TOOL_MODES:
        describe_tool(core, report)
    if core.phase in (STOPPING, STOPPED):
        report.add(diagnostics.ERROR, f"stopped: {core.reason}; ~/hold resumes control")
    if core.note:
        report.add(diagnostics.WARN, core.note)


def _examine_loop(core: ComputedTorqueCore, report: Report) -> None:
    loop = core.loop()
    report.values["loop: largest rate of damping [1/s]"] = f"{loop.rate:.0f}, allowed {loop.allowed:.0f}"
    report.parts.append(lambda: _find_radius(loop, report))


def _find_radius(loop: LoopReport, report: Report) -> None:
    report.values["loop: spectral radius"] = f"{loop.radius:.4f}"
