"""Poses of the frames of an SDF, and the link that carries each: along chains of frames in any order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import se3
from ...texts import listed, quoted
from .scopes import WORLD, Scope, SdfFrame


class Frames:
    """Poses and carriers of frames, found as they are requested, each once.

    All raise DescriptionError for names that are not there and frames that lead back to themselves.
    """

    def __init__(self) -> None:
        self._poses: dict[int, AnyArray] = {}
        self._steps: dict[int, tuple[SdfFrame, AnyArray]] = {}
        self._carriers: dict[int, SdfFrame] = {}

    def pose(self, frame: SdfFrame) -> AnyArray:
        """Return the pose (4, 4) of a frame in the world [m]."""
        path: dict[int, tuple[SdfFrame, AnyArray]] = {}
        while id(frame) not in self._poses and frame.kind != WORLD:
            if id(frame) in path:
                raise _cycle("relative to", (one for one, _ in path.values()))
            base, step = self._step(frame)
            path[id(frame)] = frame, step
            frame = base
        pose = self._poses.get(id(frame), np.eye(4))
        for key in reversed(path):
            pose = self._poses[key] = pose @ path[key][1]
        return pose

    def carrier(self, frame: SdfFrame) -> SdfFrame:
        """Return the link that carries a frame; the world's frame where nothing moves it."""
        path: dict[int, SdfFrame] = {}
        while id(frame) not in self._carriers and frame.kind != WORLD:
            if id(frame) in path:
                raise _cycle("attached to", path.values())
            path[id(frame)] = frame
            if frame.kind == "link" and not frame.scope.static:
                break
            frame = _holder(frame)
        found = self._carriers.get(id(frame), frame)
        self._carriers.update(dict.fromkeys(path, found))
        return found

    def _step(self, frame: SdfFrame) -> tuple[SdfFrame, AnyArray]:
        """Return the frame in which the pose of a frame is given, and that pose."""
        if id(frame) not in self._steps:
            name, pose = frame.relative_to or frame.attached_to, frame.pose
            base = frame.scope.find(name, frame) if name else frame.scope.own
            if frame.model is not None and frame.model.placement:
                pose = pose @ se3.inverse(self._placement(frame, frame.model))
            self._steps[id(frame)] = base, pose
        return self._steps[id(frame)]

    def _placement(self, frame: SdfFrame, model: Scope) -> AnyArray:
        """Return the pose of a model's placement frame in the model."""
        at, pose, seen = model.find(model.placement, frame, "placement_frame: "), np.eye(4), set()
        while at is not frame:
            if id(at) in seen or at.kind == WORLD:
                raise DescriptionError(
                    f"{frame.label}: placement_frame {quoted(model.placement)} is expected to have its pose "
                    "told in the model itself",
                    name=frame.name,
                    value=model.placement,
                    expected="a frame of the model",
                )
            seen.add(id(at))
            base, step = self._step(at)
            at, pose = base, step @ pose
        return pose


def _holder(frame: SdfFrame) -> SdfFrame:
    """Return the frame that a frame other than that of a moving link is attached to."""
    if frame.scope.static or (frame.model is not None and frame.model.static):
        return frame.scope.find(WORLD, frame)
    if frame.model is None:
        return frame.scope.find(frame.attached_to, frame) if frame.attached_to else frame.scope.own
    if frame.model.canonical:
        return frame.model.find(frame.model.canonical, frame, "canonical_link: ")
    first = [*frame.model.of_kind("link"), *frame.model.of_kind("model")][:1]
    if not first:
        raise DescriptionError(f"{frame.label} has no links, at least one expected", name=frame.name)
    return first[0]


def _cycle(how: str, frames: Iterable[SdfFrame]) -> DescriptionError:
    names = [frame.name for frame in frames]
    message = f"frames {listed(names)}: each is {how} the next, and one leads back to itself"
    return DescriptionError(message, name=names[0], value=names, expected="frames that lead to a model")
