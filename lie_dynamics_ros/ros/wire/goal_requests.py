"""An action server that takes goals with long trajectories without keeping the interpreter meanwhile.

rclpy takes a goal of 10,000 points in one call of some milliseconds, and makes Python objects of it in 75 ms more. Here
the first is left to the C library alone, and the points are arrays at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.action import ActionServer
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.errors import MessageError
from ..workarounds import enabled
from .compatibility import exchange_server, rcl_class
from .messages import nanoseconds
from .serialized import FIELDS, TrajectoryFields, check_lengths, let_go

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEQUENCE = np.dtype([("data", np.uintp), ("size", np.uintp), ("capacity", np.uintp)])
POINT = np.dtype([*((name, SEQUENCE) for name in FIELDS), ("sec", np.int32), ("nanosec", np.uint32)], align=True)
"""A point as the C library holds it."""
POINTS = 16 + 8 + 2 * SEQUENCE.itemsize
"""Place of the sequence of points in the request: behind the goal's id, time stamp, frame and names."""
PAGE = 4096
"""Below, there is nothing in memory."""
HEADER = 64
"""Bytes for what tells the client of a request, which takes 24."""


class GoalTrajectory:
    """The trajectory of a goal, its points as arrays; ``points`` tells how many, and is of no use otherwise."""

    def __init__(self, message: JointTrajectory, points: NDArray[Any]) -> None:
        self.joint_names: list[str] = list(message.joint_names)
        self._start = nanoseconds(message.header.stamp)
        self.points: Any = range(len(points))
        self._fields: dict[str, Any] = {}
        self._problem: MessageError | None = None
        self._times = points["sec"].astype(np.int64) * 10**9 + points["nanosec"]
        try:
            self._fields = {name: self._rows(name, points[name]) for name in FIELDS}
        except MessageError as error:  # told to whoever reads it
            self._problem = error

    def _rows(self, name: str, rows: NDArray[Any]) -> NDArray[np.float64] | None:
        lengths = set(np.unique(rows["size"]).tolist())
        if lengths <= {0}:
            return None
        size = len(self.joint_names)
        check_lengths(name, lengths, size)
        data = b"".join([ctypes.string_at(place, 8 * size) for place in rows["data"].tolist()])
        return np.frombuffer(data, dtype=np.float64).reshape(-1, size)

    def fields(self) -> TrajectoryFields:
        """Return what it holds; raises MessageError where its points differ in what they carry."""
        if self._problem is not None:
            raise self._problem
        return TrajectoryFields(self._start, self.joint_names, self._times, self._fields)

    def clear(self) -> None:
        """Forget the points."""
        self._fields, self._times, self.points = {}, self._times[:0], ()


def forget_points(trajectory: JointTrajectory | GoalTrajectory) -> None:
    """Forget points that have been read: goals are kept for as long as their results may be asked for."""
    if isinstance(trajectory, GoalTrajectory):
        trajectory.clear()
    else:
        let_go(trajectory)


class _Goal:
    """A goal with another trajectory."""

    def __init__(self, message: Any, trajectory: GoalTrajectory) -> None:
        self._message, self.trajectory = message, trajectory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)


class _Request:
    def __init__(self, message: Any, trajectory: GoalTrajectory) -> None:
        self.goal_id, self.goal = message.goal_id, _Goal(message.goal, trajectory)


class Form:
    """What rosidl has for a message type whose support is loaded: its C functions, by the capsules that rclpy uses."""

    def __init__(self, type_: Any) -> None:
        self.type = type_
        self._create = ctypes.CFUNCTYPE(ctypes.c_void_p)(_pointer(type_._CREATE_ROS_MESSAGE))
        self._destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_pointer(type_._DESTROY_ROS_MESSAGE))
        self.to_python = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(_pointer(type_._CONVERT_TO_PY))
        self._fill = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)(
            _pointer(type_._CONVERT_FROM_PY)
        )

    def use(self, do: Callable[[int], Any], content: Any = None) -> Any:
        """Return what something returns for an empty message, or one with a content; it is gone afterwards."""
        message = self._create()
        if not message:
            raise MemoryError("no memory for a message")
        try:
            if content is not None and not self._fill(content, message):
                raise RuntimeError("a message could not be converted")
            return do(message)
        finally:
            self._destroy(message)


def _pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, None))


def read_request(form: Form, message: int) -> _Request:
    """Return the request in a C message, whose points stay where they are."""
    points, sequence = _raw_points(message), _sequence(message)
    sequence["size"] = 0  # rclpy makes none
    try:
        found = form.to_python(message)
    finally:
        sequence["size"] = len(points)
    return _Request(found, GoalTrajectory(found.goal.trajectory, points))


def _sequence(message: int) -> NDArray[Any]:
    return _seen(message + POINTS, SEQUENCE, 1)


def _raw_points(message: int) -> NDArray[Any]:
    sequence = _sequence(message)[0]
    return _seen(int(sequence["data"]), POINT, int(sequence["size"]))


def _seen(place: int, kind: np.dtype[Any], count: int) -> NDArray[Any]:
    """Return what is at a place of memory."""
    return np.frombuffer((ctypes.c_char * (count * kind.itemsize)).from_address(place) if count else b"", kind)


def reads_well(form: Form) -> bool:
    """Return whether a goal is laid out as this module believes, by one that has something in every field."""
    request = form.type()
    trajectory = request.goal.trajectory
    trajectory.joint_names, trajectory.header.frame_id = ["one", "two"], "frame"
    for k in range(3):
        rows = {name: [k + place + 0.25, -k - place] for place, name in enumerate(FIELDS)}
        trajectory.points.append(JointTrajectoryPoint(time_from_start=Duration(sec=k, nanosec=7 + k), **rows))
    points = form.use(lambda message: _points_of(form, message), request)
    expected = [np.array([getattr(point, name) for point in trajectory.points]) for name in FIELDS]
    same = all(np.array_equal(points.fields[name], values) for name, values in zip(FIELDS, expected, strict=True))
    return same and points.names == ["one", "two"] and points.times.tolist() == [7, 10**9 + 8, 2 * 10**9 + 9]


def _points_of(form: Form, message: int) -> TrajectoryFields:
    place, size, capacity = _sequence(message)[0].tolist()
    if (size, capacity) != (3, 3) or place < PAGE:  # a place that is none could end the process
        raise RuntimeError("no 3 points where they are expected")
    points = _raw_points(message)
    if any((points[name][word] != 2).any() for name in FIELDS for word in ("size", "capacity")):
        raise RuntimeError("points that are no points")
    return read_request(form, message).goal.trajectory.fields()


class _Header:
    """What tells the client of a request."""

    def __init__(self) -> None:
        self.data = ctypes.create_string_buffer(HEADER)


_Rcl: Any = rcl_class("ActionServer")


class _Handle(_Rcl):  # type: ignore[misc]
    """A server of the C library that takes goals and answers them without the interpreter."""

    def __init__(self, requests: Form, responses: Form, *args: Any) -> None:
        super().__init__(*args)
        self._requests, self._responses = requests, responses
        library = ctypes.CDLL("librcl_action.so")  # a call of which lets others have the interpreter
        self._take, self._send = library.rcl_action_take_goal_request, library.rcl_action_send_goal_response
        self._take.argtypes = self._send.argtypes = [ctypes.c_void_p] * 3
        self._forget_error = ctypes.CDLL("librcutils.so").rcutils_reset_error

    def take_goal_request(self, _type: Any) -> tuple[Any, Any]:
        """Return a header and a request; both None where none has come."""
        header = _Header()
        request = self._requests.use(lambda message: self._request(header, message))
        return (None, None) if request is None else (header, request)

    def _request(self, header: _Header, message: int) -> _Request | None:
        if self._take(self.pointer, header.data, message):
            self._forget_error()
            return None
        return read_request(self._requests, message)

    def send_goal_response(self, header: _Header, response: Any) -> None:
        """Answer a request."""
        if self._responses.use(lambda message: self._send(self.pointer, header.data, message), response):
            self._forget_error()
            raise rcl_class("RCLError")("failed to answer a goal")


class GoalServer(ActionServer):  # type: ignore[misc]
    """An action server for FollowJointTrajectory, whose goals have a `GoalTrajectory` where that can be had."""

    def __init__(self, node: Any, action_type: Any, action_name: str, execute_callback: Any, **options: Any) -> None:
        super().__init__(node, action_type, action_name, execute_callback, **options)
        if not enabled():
            return
        service = action_type.Impl.SendGoalService
        try:
            requests, responses = Form(service.Request), Form(service.Response)
            if not reads_well(requests):
                raise RuntimeError("a goal is laid out otherwise")
            make = partial(_Handle, requests, responses)
            exchange_server(self, make, node, action_type, action_name, execute_callback, **options)
        except Exception as error:  # another rclpy, which takes goals itself
            node.get_logger().debug(f"goals are taken by rclpy: {error}")
