"""Services of a node, never with an exception for an answer, and requests for many states at once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node

from ...core.errors import NodeError, RequestError, reason_of
from ...core.joint_mapping import JointMapping
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ..outputs.diagnostics import Report
from ..wire.compatibility import BUILD_IT, INTERFACE_PACKAGE, interfaces
from .worker import SideNode, Worker

# Many states at once: numbers in rows, joints (or legs) matched by name, and the way back.


class Batch:
    """The states of one request: how many, and where each wanted name stands among the columns.

    Parameters
    ----------
    wanted : JointMapping
        The names in the order of the library.
    names : sequence of str
        The names in the order of the request; none stands for those wanted, in their order.
    count : int
        Number of states; 0 stands for as many as ``numbers``, the field that every request must have, holds.
    limit : int
        Largest number of states.
    kind : str
        What the names are names of, for errors.

    Raises
    ------
    RequestError
        Names are missing or given twice, or the number of states does not fit or exceeds the limit.
    """

    def __init__(
        self,
        wanted: JointMapping,
        names: Sequence[str],
        count: int,
        numbers: Sequence[float],
        limit: int,
        kind: str = "joint",
    ) -> None:
        names = tuple(names)
        match = wanted.match(names or wanted.joints)
        if not match.complete:
            problems = []
            if match.missing:
                problems.append(f"{kind}s missing: {', '.join(match.missing)}")
            if match.duplicated:
                problems.append(f"{kind}s named more than once: {', '.join(match.duplicated)}")
            raise RequestError(f"{'; '.join(problems)}; expected each once of {', '.join(wanted.joints)}")
        self.columns = match.size
        self._columns_wanted = None if match.identity else match.indices
        known = set(wanted.joints)
        self.names = tuple(name for name in names if name in known) or wanted.joints
        place = {name: index for index, name in enumerate(wanted.joints)}
        self._places = None if self.names == wanted.joints else np.array([place[name] for name in self.names])
        self.count = count or -(-len(numbers) // self.columns)
        if not self.count:
            raise RequestError("no states: the request holds no positions and no count")
        if self.count > limit:
            raise RequestError(f"{self.count} states in one request; max_batch allows {limit}")

    def read(self, field: str, values: array[float], optional: bool = False, finite: bool = True) -> Array:
        """Return a field, whose name is for errors, as rows in the wanted order, shape (count, n).

        Its values come row by row, one column for each name of the request; an ``optional`` field may be empty for
        zero. Raises RequestError where it has the wrong size, or what is not finite where it must be.
        """
        n = self.columns
        if optional and not len(values):
            return np.zeros((self.count, n if self._columns_wanted is None else len(self._columns_wanted)))
        if len(values) != self.count * n:
            raise RequestError(
                f"{field} has {len(values)} entries; expected {self.count * n}: {self.count} x {n} names, row by row"
            )
        # A copy of the request's memory: the library wants arrays it could write to.
        rows = np.array(np.frombuffer(values)).reshape(self.count, n)
        if self._columns_wanted is not None:
            rows = np.ascontiguousarray(rows[:, self._columns_wanted])
        if finite:
            bad = ~np.isfinite(rows)
            if bad.any():
                state, column = (int(i) for i in np.argwhere(bad)[0])
                raise RequestError(
                    f"{field} of {self._wanted_name(column)} in state {state} is {rows[state, column]}; "
                    "expected a finite number"
                )
        return rows

    def read_flags(self, field: str, values: Sequence[bool]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return one flag for each name in the wanted order, shape (n,); none stands for all false."""
        if not len(values):
            return np.zeros(self.columns if self._columns_wanted is None else len(self._columns_wanted), dtype=bool)
        if len(values) != self.columns:
            raise RequestError(f"{field} has {len(values)} entries; expected one for each of {self.columns} names")
        flags = np.array(values, dtype=bool)
        return flags if self._columns_wanted is None else flags[self._columns_wanted]

    def _wanted_name(self, column: int) -> str:
        if self._places is None:
            return self.names[column]
        return self.names[int(np.flatnonzero(self._places == column)[0])]

    def write(self, rows: Array) -> array[float]:
        """Return rows in the wanted order, shape (count, n), as a field in the order of the answer."""
        return to_field(rows if self._places is None else rows[..., self._places])

    def write_matrices(self, matrices: Array) -> array[float]:
        """Return matrices in the wanted order, shape (count, n, n), as a field in the order of the answer."""
        if self._places is not None:
            matrices = matrices[..., self._places[:, None], self._places]
        return to_field(matrices)


def to_field(values: Array) -> array[float]:
    """Return numbers row by row, as a field of a message; raises RequestError where not all are finite."""
    if not np.isfinite(values).all():
        raise RequestError("the result is not finite: the numbers of the request are too large")
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def answer_request(response: Any, do: Callable[[], str]) -> Any:
    """Fill in ``success`` and ``message`` of a response: ``do`` says what is done, or raises why it is not."""
    try:
        response.message, response.success = do(), True
    except Exception as error:  # whatever is requested, the node goes on
        response.success, response.message = False, reason_of(error)
    return response


Handler = Callable[[Any, Any], None]
"""Fills in a response for a request; raises `NodeError` or `LieDynamicsError` with the reason where it cannot."""


class Services:
    """The services that a node offers of its own, beside those of ROS; none without the interface package.

    Responses have ``success``, true unless the handler sets it, and ``message``. Where a handler raises,
    ``success`` is false and all else in the response is empty.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._types = interfaces("srv")
        self._calls = self._refused = 0
        self._problem = ""
        if self._types is None:
            what = f"the package {INTERFACE_PACKAGE} is not installed; {BUILD_IT}"
            node.get_logger().info(f"without services and topics of own types: {what}")

    @property
    def available(self) -> bool:
        """Whether services can be offered."""
        return self._types is not None

    def offer(
        self, type_name: str, name: str, handler: Handler, worker: Worker | None = None, side: SideNode | None = None
    ) -> None:
        """Offer a service under a name such as ``~/compute_mass_matrix``, where its type is installed.

        With a ``worker`` the handler runs on its thread, and topics go on meanwhile; with a ``side`` node requests are
        taken on that one's.
        """
        type_ = getattr(self._types, type_name, None)
        if type_ is None:
            return
        if worker is None:
            self._node.create_service(type_, name, lambda request, _: self._respond(type_, name, handler, request))
            return

        node, full_name = (self._node, name) if side is None else (side, side.name_of(name))
        service = node.create_service(type_, full_name, lambda request, _: request)
        worker.serve(service, lambda request: self._respond(type_, name, handler, request))

    def _respond(self, type_: Any, name: str, handler: Handler, request: Any) -> Any:
        self._calls += 1
        response = type_.Response(success=True)
        try:
            handler(request, response)
        except (NodeError, LieDynamicsError) as error:
            text = str(error)
        except Exception as error:  # whatever is requested, the node goes on
            text = reason_of(error)
            self._node.get_logger().error(f"{name} failed: {text}", throttle_duration_sec=5.0)
        else:
            return response
        self._refused += 1
        self._problem = f"{name.removeprefix('~/')}: {text}"
        return type_.Response(success=False, message=text)

    def describe(self, report: Report) -> None:
        """Write the key figures into a diagnostic report."""
        if self.available:
            report.values["service calls"] = self._calls
            report.values["service calls refused"] = self._refused
            if self._problem:
                report.values["last refused call"] = self._problem
