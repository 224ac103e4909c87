"""The last minute of motion as a file that viser's client plays, with a time line, in a page of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics.lie import so3
from .picture import Picture

LENGTH = 60.0
"""How far back the replay goes [s]."""
SPACING = 0.04
"""Shortest time between two remembered pictures [s]."""
PATH = "/last_minute.viser"
"""Where the page has the file."""
REPLAY = f"/?playbackPath={PATH}"
REPLAY_LINK = f"<a href='{REPLAY}' target='_blank'>replay the last minute</a>"


def quaternion(rotation: Array) -> Array:
    """Return a rotation (..., 3, 3) as w, x, y, z."""
    return np.roll(so3.to_quaternion(rotation), 1, axis=-1)


class Replay:
    """Remembers where bodies and legs were. The page's thread reads the file, the node's thread adds pictures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moments: deque[tuple[float, Array | None, Array | None]] = deque()

    def clear(self) -> None:
        """Forget everything, as for another robot."""
        with self._lock:
            self._moments.clear()

    def remember(self, picture: Picture, now: float) -> None:
        """Add a picture, drawn at the time ``now`` [s]; drop those older than a minute."""
        with self._lock:
            moments = self._moments
            if moments and now - moments[-1][0] < SPACING:
                return
            moments.append((now, picture.poses, None if picture.platform is None else picture.platform.points))
            while moments[0][0] < now - LENGTH:
                moments.popleft()

    def file(self, server: Any) -> bytes:
        """Return the file: the scene of a viser server as it is now, then the motion, from its beginning."""
        with self._lock:
            moments = list(self._moments)
        recorder = server.get_scene_serializer()
        before = moments[0][0] if moments else 0.0
        for now, poses, legs in moments:
            recorder.insert_sleep(now - before)
            before = now
            for message in _messages(poses, legs):
                recorder._insert_message(message)
        return bytes(recorder.serialize())


def _messages(poses: Array | None, legs: Array | None) -> Iterator[Any]:
    """Yield what puts bodies (n, 4, 4) and legs (6, 2, 3) in their places."""
    from viser import _messages as wire

    if poses is not None:
        turns = quaternion(poses[:, :3, :3])
        for body, (pose, turn) in enumerate(zip(poses, turns, strict=True), start=1):
            yield wire.SetPositionMessage(f"/robot/{body}", tuple(pose[:3, 3].tolist()))
            yield wire.SetOrientationMessage(f"/robot/{body}", tuple(turn.tolist()))
    if legs is not None:
        yield wire.SceneNodeUpdateMessage("/platform/legs", {"points": legs.astype(np.float32)})
        yield wire.SceneNodeUpdateMessage("/platform/outline", {"points": outline(legs)})


def outline(legs: Array) -> Array:
    """Return the edges (6, 2, 3) of a platform, around its middle, from the ends (6, 2, 3) of its legs."""
    ends = legs[:, 1]
    arms = ends - ends.mean(axis=0)
    _, _, axes = np.linalg.svd(arms)
    around = np.argsort(np.arctan2(arms @ axes[1], arms @ axes[0]))
    return np.stack((ends[around], ends[np.roll(around, -1)]), axis=1).astype(np.float32)
