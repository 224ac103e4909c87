"""Outputs of the node stewart_pose beside the pose: fused estimates, markers for RViz, diagnostics once a second."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.duration import Duration
from rclpy.node import Node

from ...lie_dynamics.arrays import Array
from ...lie_dynamics.stewart import OffsetPlatform, RotaryPlatform, TrackedPose
from ...lie_dynamics.stewart.geometry.any_platform import Platform, points_of
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.tracked_outputs import Certainty, PoseOutputs, word_for
from ...ros.wire import qos
from ...ros.wire.messages import LINEAR_FIRST
from .core import StewartPoseCore
from .fusing import FusedAnswer, FusingCore
from .inputs import OLD, LegInputs

if TYPE_CHECKING:
    from ...ros.wire.compatibility import Logger


# A Stewart platform for RViz: joints, legs and the platform's outline.

try:
    from visualization_msgs.msg import Marker, MarkerArray
except ImportError:
    Marker = MarkerArray = None

LIFETIME = 1.0
"""Time for which RViz shows a marker that is not published again [s]: an untracked platform vanishes."""
LEG_SHARE, JOINT_SHARE, OUTLINE_SHARE = 0.04, 0.12, 0.03
"""Width of legs, size of joints, and width of the outline, as shares of the platform's radius."""


class StewartMarkers:
    """Publishes markers of a platform on ``~/markers``, where their messages are installed.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    """

    def __init__(self, node: Node) -> None:
        self._publisher: Any = None
        self._drawn: _DrawnPlatform | None = None
        if MarkerArray is not None:
            self._publisher = node.create_lifecycle_publisher(
                MarkerArray, "~/markers", qos.OUTPUT, qos_overriding_options=qos.overridable()
            )

    def set_platform(self, platform: Platform, frame: str) -> None:
        """Make the markers of this platform; coordinates are those of its base frame ``frame``."""
        if self._publisher is not None:
            self._drawn = _DrawnPlatform(platform, frame)

    @property
    def wanted(self) -> bool:
        """Whether somebody listens."""
        return self._publisher is not None and self._publisher.get_subscription_count() > 0

    def publish(self, pose: Array, stamp: Time) -> None:
        """Publish the platform in a pose, shape (4, 4)."""
        if self._drawn is not None:
            self._publisher.publish(self._drawn.at(pose, stamp))


class _DrawnPlatform:
    """The markers of one platform, whose points are filled in for each pose."""

    def __init__(self, platform: Platform, frame: str) -> None:
        self._platform, self._points = platform, points_of(platform)
        unit = float(platform.characteristic_length)
        self._base = _marker(0, "base_joints", Marker.SPHERE_LIST, JOINT_SHARE * unit, (0.4, 0.4, 0.4), frame)
        self._legs = _marker(1, "legs", Marker.LINE_LIST, LEG_SHARE * unit, (0.2, 0.5, 0.9), frame)
        self._top = _marker(2, "platform_joints", Marker.SPHERE_LIST, JOINT_SHARE * unit, (0.9, 0.5, 0.1), frame)
        self._outline = _marker(3, "platform", Marker.LINE_STRIP, OUTLINE_SHARE * unit, (0.9, 0.5, 0.1), frame)
        self._message = MarkerArray(markers=[self._base, self._legs, self._top, self._outline])
        self._base.points = [_point(a) for a in self._points.base_points]

    def at(self, pose: Array, stamp: Time) -> Any:
        """Return the message for a pose (4, 4)."""
        ends = self._points.platform_points @ pose[:3, :3].T + pose[:3, 3]
        tops = [_point(end) for end in ends]
        feet, heads = self._base.points, tops
        if isinstance(self._platform, OffsetPlatform):
            # From second axis to second axis; where a leg has no such ends, from the first ones.
            C, D, good = self._platform.stationary_feet(pose)
            D = D @ pose[:3, :3].T + pose[:3, 3]
            feet = [_point(c) if there else p for c, there, p in zip(C, good, feet, strict=True)]
            heads = [_point(d) if there else p for d, there, p in zip(D, good, heads, strict=True)]
        pairs = list(zip(feet, heads, strict=True))
        if isinstance(self._platform, RotaryPlatform):  # horns, then rods
            angles = self._platform.reached_angles(pose)
            there = np.isfinite(angles)
            tips = self._platform.tips(np.where(there, angles, 0.0))
            knees = [_point(tip) if good else foot for tip, good, foot in zip(tips, there, feet, strict=True)]
            pairs = [*zip(feet, knees, strict=True), *zip(knees, heads, strict=True)]
        self._legs.points = [point for pair in pairs for point in pair]
        self._top.points = tops
        # Around the centre in the platform's plane, whatever the order of the legs.
        arms = self._points.platform_points - self._points.platform_points.mean(axis=0)
        around = np.argsort(np.arctan2(arms[:, 1], arms[:, 0]))
        self._outline.points = [tops[i] for i in (*around, around[0])]
        for marker in self._message.markers:
            marker.header.stamp = stamp
        return self._message


def _marker(id_: int, namespace: str, kind: int, size: float, color: tuple[float, float, float], frame: str) -> Any:
    marker = Marker(id=id_, ns=namespace, type=kind, action=Marker.ADD)
    marker.header.frame_id = frame
    marker.lifetime = Duration(seconds=LIFETIME).to_msg()
    marker.scale.x = marker.scale.y = marker.scale.z = size
    marker.color.r, marker.color.g, marker.color.b = color
    marker.color.a = 1.0
    return marker


def _point(coordinates: Array) -> Point:
    x, y, z = coordinates.tolist()
    return Point(x=x, y=y, z=z)


# An estimate that is fused of legs and an IMU.


class FusedOutputs:
    """Publishes estimates, and the sensors left out of them.

    Parameters
    ----------
    outputs : PoseOutputs
    certainty : Certainty
    log : Logger
        Where it is logged when that changes.
    """

    def __init__(self, outputs: PoseOutputs, certainty: Certainty, log: Logger) -> None:
        self._outputs, self._certainty, self._log = outputs, certainty, log
        self._faults = ""

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
        outputs.publish_matrix(fused.pose, stamp)
        if outputs.twist_wanted:
            outputs.publish_twist(fused.twist, np.eye(3), stamp)


# Diagnostics, once a second.

HORIZON, OFFSET_HORIZON = 60.0, 2.0
"""Furthest that the diagnostics look ahead for a singular pose, and on offset joints, where it takes longer [s]."""


def describe_temperatures(inputs: LegInputs, report: Report, active: bool, now: float) -> None:
    """Tell the temperatures at a time [s], and of which legs there is none yet, or an old one."""
    known = inputs.temperatures.values
    report.values["leg temperatures [deg C]"] = ", ".join(f"{value:.1f}" for value in known)
    missing = [leg for leg, value in zip(inputs.measured, known, strict=False) if np.isnan(value)]
    if active and missing:
        report.add(diagnostics.WARN, f"no temperature of {', '.join(missing)} yet: that of reference is taken")
    old = inputs.temperatures.old(now)
    if active and old:
        report.add(diagnostics.WARN, f"temperatures of {', '.join(old)} were told over {OLD:g} s ago")


def describe_fusion(core: FusingCore, names: Sequence[str], report: Report, active: bool) -> None:
    """Tell what is left out, how sure the estimate is, and the delays found."""
    fused, values = core.latest, report.values
    values["tracking"] = "not started" if fused is None else "lost" if core.lost else "fused"
    late, used, core.inertial.late, core.inertial.used = core.inertial.late, core.inertial.used, 0, 0
    if active and core.fusion_options.inertial is not None and fused is not None and not used:
        report.add(diagnostics.WARN, "no readings of the IMU that fit the times of the lengths")
    if late:
        text = f"{late} readings of the IMU came after lengths of a later time, and were not used"
        report.add(diagnostics.WARN, text)
    if fused is None:
        if active and core.awaited():
            report.add(diagnostics.WARN, f"not started: no length of {', '.join(core.awaited())} yet")
        return
    faults = core.faults(fused)
    values["left out"] = faults or "none"
    deviations = np.sqrt(np.diagonal(fused.covariance))
    values["deviation of rotation [rad]"] = f"{deviations[:3].max():.3g}"
    values["deviation of position [m]"] = f"{deviations[3:].max():.3g}"
    delays = [*zip(names, fused.delays, fused.delay_deviations, strict=True)]
    if core.fusion_options.inertial is not None:
        delays.append(("IMU", *fused.inertial_delay))
    values["delays [ms]"] = ", ".join(
        f"{name} {1e3 * delay:.2f} +- {1e3 * s:.2f}" if s < np.inf else f"{name} not known yet"
        for name, delay, s in delays
    )
    if active and core.lost:
        report.add(diagnostics.ERROR, f"lost: {core.lost}" + (f"; now {core.awaits}" if core.awaits else ""))
    if active and faults:
        report.add(diagnostics.WARN, f"left out: {faults}")


def describe_tracking(core: StewartPoseCore, settings: Mapping[str, Any], report: Report) -> None:
    """Tell how the last lengths were followed, and what is near."""
    last, tracked, values = core.last, core.tracked, report.values
    if last is None:
        values["tracking"] = "not started"
        return
    values["tracking"] = word_for(last)
    if tracked is None:
        return
    condition = tracked.condition_number
    horizon = OFFSET_HORIZON
    values["proven steps"] = tracked.steps
    if isinstance(tracked, TrackedPose):
        horizon = HORIZON
        values["iterations"] = tracked.iterations
        values["step h"] = f"{tracked.largest_h:.3g}"
    values["residual [m]"] = f"{tracked.residual:.3g}"
    values["condition number"] = f"{condition:.4g}"
    margins, unit = core.platform.motor_margins(tracked.lengths), core.platform.motor_units[0]
    leg = int(margins.argmin())
    if margins[leg] < float("inf"):
        values[f"nearest leg limit [{unit}]"] = f"{margins[leg]:.4g} at {core.legs[leg]}"
    left = tracked.time_to_singularity(horizon)
    values["time to singularity [s]"] = f"{left:.3g}" if left < math.inf else "none ahead"
    if left < settings["singularity_warning"]:
        report.add(diagnostics.WARN, f"{left:.2g} s to a singular pose at the present speed")
    if condition > settings["condition_warning"]:
        report.add(diagnostics.WARN, f"close to a singular pose: condition number {condition:.3g}")
