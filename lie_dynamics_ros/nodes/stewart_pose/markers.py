"""A Stewart platform for RViz: joints, legs and the platform's outline."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.duration import Duration
from rclpy.node import Node

from ...core.arrays import Array
from ...lie_dynamics.stewart import OffsetPlatform, RotaryPlatform
from ...lie_dynamics.stewart.geometry.any_platform import Platform, points_of
from ...ros.wire import qos

try:
    from visualization_msgs.msg import Marker, MarkerArray
except ImportError:
    Marker = MarkerArray = None

LIFETIME = 1.0
"""How long RViz shows a marker that is not published again [s]: a platform that is not tracked vanishes."""
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
        self._publisher = None
        if MarkerArray is not None:
            self._publisher = node.create_lifecycle_publisher(
                MarkerArray, "~/markers", qos.OUTPUT, qos_overriding_options=qos.overridable()
            )

    def set_platform(self, platform: Platform, frame: str) -> None:
        """Make the markers of this platform; coordinates are those of its base frame ``frame``."""
        self._platform, self._points = platform, points_of(platform)
        if self._publisher is None:
            return
        unit = float(platform.characteristic_length)
        self._base = _marker(0, "base_joints", Marker.SPHERE_LIST, JOINT_SHARE * unit, (0.4, 0.4, 0.4), frame)
        self._legs = _marker(1, "legs", Marker.LINE_LIST, LEG_SHARE * unit, (0.2, 0.5, 0.9), frame)
        self._top = _marker(2, "platform_joints", Marker.SPHERE_LIST, JOINT_SHARE * unit, (0.9, 0.5, 0.1), frame)
        self._outline = _marker(3, "platform", Marker.LINE_STRIP, OUTLINE_SHARE * unit, (0.9, 0.5, 0.1), frame)
        self._message = MarkerArray(markers=[self._base, self._legs, self._top, self._outline])
        self._base.points = [_point(a) for a in self._points.base_points]

    @property
    def wanted(self) -> bool:
        """Whether somebody listens."""
        return self._publisher is not None and self._publisher.get_subscription_count() > 0

    def publish(self, pose: Array, stamp: Time) -> None:
        """Publish the platform in a pose, shape (4, 4)."""
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
        self._publisher.publish(self._message)


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
