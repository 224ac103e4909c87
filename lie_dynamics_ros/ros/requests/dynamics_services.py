"""The dynamics of one robot as services, for many states in one call.

Answers follow from the parameters of the dynamics (gravity, payload, losses), and from the request;
friction of drives counts in efforts, not in matrices and derivatives;
never from what the node receives on topics, nor from what it leaves out of its own outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import lie_dynamics
from ...core.errors import RequestError
from ...core.joint_mapping import JointMapping
from ...core.robot_core import RobotCore
from ...lie_dynamics import (
    Model,
    bias_force,
    coriolis_matrix,
    external_wrench,
    forward_dynamics,
    gravity_force,
    hybrid_dynamics,
    inverse_dynamics,
    mass_matrix,
)
from ...lie_dynamics.arrays import Array
from ..wire.messages import wrench_to_array
from .services import Batch

if TYPE_CHECKING:
    from ..node.robot_node import RobotNode

TYPES = {
    "inverse_dynamics": "ComputeInverseDynamics",
    "forward_dynamics": "ComputeForwardDynamics",
    "hybrid_dynamics": "ComputeHybridDynamics",
    "mass_matrix": "ComputeMassMatrix",
    "bias_force": "ComputeBiasForce",
    "dynamics_derivatives": "ComputeDynamicsDerivatives",
}


class DynamicsServices:
    """Answers requests about the robot of a node.

    Parameters
    ----------
    node : RobotNode
        Whose robot, options and limit of states it takes.
    """

    def __init__(self, node: RobotNode[Any]) -> None:
        self._node = node

    def offer(self, *names: str) -> None:
        """Offer services by their names in `TYPES`, as ``~/compute_<name>``."""
        for name in names:
            self._node.offers.offer(TYPES[name], f"~/compute_{name}", getattr(self, name), self._node.worker)

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
            wrench = external_wrench(model, neutral, link, wrench_to_array(stamped.wrench), "body")
            total = wrench if total is None else total + wrench
        return total

    def inverse_dynamics(self, request: Any, response: Any) -> None:
        """Answer ComputeInverseDynamics."""
        core, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        qdd = batch.read("acceleration", request.acceleration, optional=True)
        tau = inverse_dynamics(model, q, qd, qdd, self._on_bodies(model, request))
        response.effort = batch.write(core.drive_effort(qd, tau))

    def forward_dynamics(self, request: Any, response: Any) -> None:
        """Answer ComputeForwardDynamics."""
        core, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        tau = batch.read("effort", request.effort, optional=True)
        force = core.body_effort(qd, tau)
        response.acceleration = batch.write(forward_dynamics(model, q, qd, force, self._on_bodies(model, request)))

    def hybrid_dynamics(self, request: Any, response: Any) -> None:
        """Answer ComputeHybridDynamics."""
        core, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        prescribed, qdd, tau = _hybrid_input(batch, request)
        force = core.body_effort(qd, tau)
        qdd, force = hybrid_dynamics(model, q, qd, qdd, force, prescribed, self._on_bodies(model, request))
        response.acceleration = batch.write(qdd)
        response.effort = batch.write(np.where(prescribed, core.drive_effort(qd, force), tau))

    def mass_matrix(self, request: Any, response: Any) -> None:
        """Answer ComputeMassMatrix."""
        _, model, batch, q = self._begin(request, response)
        response.mass_matrix = batch.write_matrices(mass_matrix(model, q))

    def bias_force(self, request: Any, response: Any) -> None:
        """Answer ComputeBiasForce."""
        _, model, batch, q = self._begin(request, response)
        qd = batch.read("velocity", request.velocity, optional=True)
        response.bias = batch.write(bias_force(model, q, qd))
        response.gravity = batch.write(gravity_force(model, q))
        response.coriolis_matrix = batch.write_matrices(coriolis_matrix(model, q, qd))

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
