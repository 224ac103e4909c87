"""Bags as ROS records them, written by rosbags."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("rosbags", reason="rosbags, which reads and writes bags, is not installed")

START = 1_700_000_000 * 10**9  # [ns]


@cache
def store():
    """Types of messages, loaded by who writes a bag, not by all who collect tests."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


class Bag:
    """A bag that is being written."""

    def __init__(self, path: Path, storage: str = "mcap", mode: str = "") -> None:
        from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
        if mode:
            self._writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
        self._connections: dict[str, object] = {}

    def __enter__(self) -> Bag:
        self._writer.open()
        return self

    def __exit__(self, *error) -> None:
        self._writer.close()

    def _write(self, topic: str, kind: str, time: float, message) -> None:
        self.raw(topic, kind, store().serialize_cdr(message, kind), time)

    def raw(self, topic: str, kind: str, content: bytes, time: float = 0.0) -> None:
        """Write a message as it is sent."""
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=store())
        stamp = START + round(time * 1e9)
        self._writer.write(self._connections[topic], stamp, content)

    def state(self, topic: str, time: float, names, position=(), velocity=(), effort=(), stamped=True, late=0.0):
        """Write a JointState, which is received late [s]."""
        types, kind = store().types, "sensor_msgs/msg/JointState"
        at = START + round(time * 1e9) if stamped else 0
        header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](at // 10**9, at % 10**9), "")
        numbers = (np.asarray(x, np.float64) for x in (position, velocity, effort))
        self._write(topic, kind, time + late, types[kind](header, list(names), *numbers))

    def pose(self, topic: str, time: float, kind: str, pose) -> None:
        """Write what a device tells of a pose (4, 4): a PoseStamped, TransformStamped, PointStamped, Imu."""
        types, geometry = store().types, "geometry_msgs/msg/"
        header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "tracker")
        position, turn = pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat()
        vector, quaternion = types[geometry + "Vector3"], types[geometry + "Quaternion"](*turn)
        if kind == "Imu":
            unknown, zero = np.zeros(9), vector(0.0, 0.0, 0.0)
            kind = "sensor_msgs/msg/Imu"
            message = types[kind](header, quaternion, unknown, zero, unknown, zero, unknown)
        else:
            point, kind = types[geometry + "Point"](*position), geometry + kind
            message = {
                geometry + "PoseStamped": lambda: types[kind](header, types[geometry + "Pose"](point, quaternion)),
                geometry + "TransformStamped": lambda: types[kind](
                    header, "target", types[geometry + "Transform"](vector(*position), quaternion)
                ),
                geometry + "PointStamped": lambda: types[kind](header, point),
            }[kind]()
        self._write(topic, kind, time, message)

    def number(self, topic: str, time: float, value: float) -> None:
        """Write a Float64."""
        kind = "std_msgs/msg/Float64"
        self._write(topic, kind, time, store().types[kind](value))

    def command(self, topic: str, time: float, effort) -> None:
        """Write a Float64MultiArray."""
        types, kind = store().types, "std_msgs/msg/Float64MultiArray"
        layout = types["std_msgs/msg/MultiArrayLayout"]([], 0)
        self._write(topic, kind, time, types[kind](layout, np.asarray(effort, np.float64)))


def write_bag(path: Path, storage: str, names, time, q, effort) -> None:
    """Write one topic with all joints."""
    with Bag(path, storage) as bag:
        for t, x, tau in zip(time, q, effort, strict=True):
            bag.state("/joint_states", t, names, x, (), tau)
